"""Where a model's calls go: URL, key and headers from the spec and the environment.

Invariant: what identifies a place holds no secret. `${NAME}` stays unexpanded in it and credentials
in a URL are refused; keys and header values live in an Endpoint alone, which prints none of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from gradetrail.errors import Fault, SpecError
from gradetrail.providers.failures import Secrets
from gradetrail.spec import Model

OWN_URL = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
"""The vendors' own servers: what no base_url means."""
KEY_NAME = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
"""Environment variables of the keys; other providers need none unless `api_key_env` names one."""
URL_NAME = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
"""Variables by which the SDKs would send elsewhere than the spec says."""
CALLED = frozenset({"anthropic", "http", "openai", "openai_compatible"})
"""Providers that call a server."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(.*)", re.DOTALL)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a client makes room for."""

    concurrency: int
    """Calls in flight, and so connections."""
    timeout_s: float
    """Bounds the time to reach a server; the time for an answer is given with each call."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server as it is called, with what must not be shown."""

    url: str = field(repr=False)
    """Expanded, without a slash at the end."""
    api_key: str | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    """The spec's further headers, expanded."""
    secrets: Secrets
    proxy: str | None = field(default=None, repr=False)
    """Proxy that the environment names for this URL."""
    keep_raw: bool = False
    """Whether replies' bodies are kept."""
    stream: bool | None = None
    """Whether replies are streamed; None: where the API needs it."""


def expand(text: str) -> str:
    """Put the values of environment variables in for `${NAME}`; KeyError for one that is not set."""
    return _VARIABLE.sub(lambda match: os.environ[match[1]], text)


def unset_variables(text: str) -> list[str]:
    """List the `${NAME}` of a text that the environment lacks."""
    return sorted({name for name in _VARIABLE.findall(text) if name not in os.environ})


def normalised_url(url: str, *, with_query: bool = False) -> str:
    """Give a URL as identities hold it: scheme and host in lower case, no default port or last slash.

    `${NAME}` stays as it is. Raises ValueError, which does not show the URL, for credentials, an
    unknown scheme, or a query where none may be.
    """
    url = url.strip()
    parts = _URL.fullmatch(url)
    if parts is None:
        if _VARIABLE.match(url):
            return url.rstrip("/")
        raise ValueError("is not a URL: it begins with http:// or https://")
    scheme, authority, path, tail = parts[1].lower(), parts[2], parts[3], parts[4]
    if scheme not in ("http", "https"):
        raise ValueError(f"has the scheme `{scheme}`: only http and https are called")
    if "@" in authority:
        raise ValueError("holds credentials: they would be stored with every answer")
    if not authority:
        raise ValueError("names no host")
    if tail and not with_query:
        raise ValueError("holds a query or fragment: give what goes before the API's own paths")
    default_port = ":80" if scheme == "http" else ":443"
    host = "".join(
        piece if number % 2 else piece.lower()
        for number, piece in enumerate(re.split(r"(\$\{\w+\})", authority))
    )
    return f"{scheme}://{host.removesuffix(default_port)}{path.rstrip('/')}{tail}"


def base_url_of(model: Model) -> str | None:
    """Give the base_url for the key: None where it is the vendor's own; ValueError for a bad one."""
    if model.base_url is None or model.provider not in CALLED:
        return None
    url = normalised_url(model.base_url, with_query=model.provider == "http")
    return None if url == OWN_URL.get(model.provider) else url


def header_betas(model: Model) -> tuple[str, ...]:
    """Give the beta headers that stand among `headers`: they change the answer."""
    found: list[str] = []
    for name, value in model.headers.items():
        low = name.lower()
        if low == "anthropic-beta":
            found.extend(part.strip() for part in value.split(",") if part.strip())
        elif low.endswith("-beta"):
            found.append(f"{low}: {value}")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Unset(Fault):
    """An environment variable that is not set, and that nothing needs before the first call."""


def endpoint_faults(model: Model, where: str, place: str) -> Iterator[Fault]:
    """Check URL, variables, headers and key of a model that calls a server, without calling it."""
    if model.provider not in CALLED:
        return
    yield from _url_faults(model, where, f"{place}.base_url")
    for name, value in model.headers.items():
        field_name = f"{place}.headers.{name}"
        unset = unset_variables(value)
        for variable in unset:
            yield _unset(variable, where, field_name)
        sent = value if unset else expand(value)
        if not _HEADER_NAME.fullmatch(name) or re.search(r"[\r\n\0]", sent):
            yield Fault("not a valid header", where, field_name)
    key_name = model.api_key_env or KEY_NAME.get(model.provider)
    if key_name is not None:
        yield from _key_faults(key_name, where, place)


def _url_faults(model: Model, where: str, field_name: str) -> Iterator[Fault]:
    if model.base_url is None:
        other = URL_NAME.get(model.provider)
        if other is not None and os.environ.get(other):
            yield Fault(
                f"{other} is set, but where a model is asked is part of an answer's identity",
                where, field_name,
                f'write `base_url: "${{{other}}}"` and `endpoint: NAME`, or unset {other}',
            )  # fmt: skip
        return
    unset = unset_variables(model.base_url)
    for variable in unset:
        yield _unset(variable, where, field_name)
    try:
        base_url_of(model)
        if not unset:
            url = urlsplit(normalised_url(expand(model.base_url), with_query=model.provider == "http"))
            url.port  # noqa: B018
            (url.hostname or "").encode("idna")
    except UnicodeError:
        yield Fault(
            "base_url names a host that cannot be: a part of it is empty or too long", where, field_name
        )
    except ValueError as error:
        yield Fault(f"base_url {error}", where, field_name, "such as `http://127.0.0.1:8000/v1`")


def _key_faults(name: str, where: str, place: str) -> Iterator[Fault]:
    value = os.environ.get(name)
    if not value:
        state = "is not set" if value is None else "is empty"
        fix = f"export {name}=..., or name another variable with `api_key_env:`"
        yield Unset(f"the API key {name} {state}", where, f"{place}.api_key_env", fix)
    elif not value.isascii() or not value.isprintable() or value != value.strip():
        yield Fault(
            f"the API key {name} holds characters that no key has (a space at an end, a line break, ...)",
            where, f"{place}.api_key_env", f"set {name} again",
        )  # fmt: skip


def _unset(variable: str, where: str, field_name: str) -> Unset:
    return Unset(
        f"the environment variable {variable} is not set", where, field_name, f"export {variable}=..."
    )


def open_endpoint(model: Model, *, keep_raw: bool = False, stream: bool | None = None) -> Endpoint:
    """Read URL, key and headers; SpecError names what is missing."""
    faults = list(endpoint_faults(model, "", model.display))
    if faults:
        raise SpecError(*faults)
    key_name = model.api_key_env or KEY_NAME.get(model.provider)
    api_key = os.environ[key_name] if key_name is not None else None
    url = expand(model.base_url) if model.base_url is not None else OWN_URL[model.provider]
    url = url.strip() if model.provider == "http" else url.strip().rstrip("/")
    headers = {name: expand(value) for name, value in model.headers.items()}
    hidden = [value for name, value in headers.items() if not name.lower().endswith("-beta")]
    hidden += [os.environ[name] for value in model.headers.values() for name in _VARIABLE.findall(value)]
    hidden += [part for value in hidden for part in value.split(" ", 1)[1:]]
    secrets = Secrets([*hidden, *([api_key] if api_key else [])])
    return Endpoint(url, api_key, headers, secrets, _proxy(url), keep_raw, stream)


def _proxy(url: str) -> str | None:
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)
