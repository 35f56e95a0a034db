"""How an object store is reached: address, endpoint and credentials, from the environment and AWS's files.

Invariant: one store has one address and one identity, however it is written, so that a process finds
the copies and the spool of another. Credentials go to the store's client and nowhere else.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradetrail.errors import Fault, StoreError, did_you_mean

KINDS = {
    "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs",
    "az": "az", "azure": "az", "abfs": "az", "abfss": "az",
}  # fmt: skip
"""The schemes of addresses, and which one stands for them."""
ADDRESS = re.compile(rf"({'|'.join(sorted(KINDS, key=len, reverse=True))}):/+([^/].*?)/*\Z")
"""`s3://bucket/prefix`, also as pathlib writes it, with one slash."""
KEYS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT",
    "az": "AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN",
}
"""The variables that give credentials."""
WHERE = {
    "s3": "AWS_ENDPOINT_URL and AWS_REGION", "gs": "GOOGLE_BASE_URL",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ENDPOINT",
}  # fmt: skip
"""The variables that say where the store is."""

_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
_OTHER_KEYS = (
    "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_SKIP_SIGNATURE",
)  # fmt: skip
_BY_BOTO = ("credential_process", "sso_session", "sso_start_url", "role_arn", "login_session")


@dataclass(frozen=True)
class Endpoint:
    """A place for a client to talk to."""

    url: str
    identity: str
    """Tells the store from another of the same address, at another endpoint or of another account."""
    config: Mapping[str, str]
    allows_http: bool
    provider: Any = None
    """Gives credentials that change; None where the client finds them itself, or `config` has them."""


def normal_address(text: str) -> str | None:
    """Write an address as it is known here: `s3://`, `gs://` or `az://`; None if it is no such address."""
    found = ADDRESS.match(text)
    return f"{KINDS[found[1]]}://{found[2]}" if found else None


def endpoint_of(url: str) -> Endpoint:
    """Find out how a store of a normal address is reached; StoreError if what it needs is missing."""
    kind = url.partition(":")[0]
    profile = _profile() if kind == "s3" else {}
    given = [os.environ[name] for name in _ENDPOINTS[kind] if os.environ.get(name)]
    endpoint = (given or [profile.get("endpoint_url", "")])[0]
    config = {"base_url" if kind == "gs" else "endpoint": endpoint} if endpoint else {}
    identity = f"{url} {endpoint}" if kind == "s3" or endpoint else url
    provider = None
    if kind == "s3":
        if "region" in profile and not (os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")):
            config["region"] = profile["region"]
        keys, provider = _keys(profile, url)
        config |= keys
    if kind == "az":
        account = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME", "")
        is_emulated = os.environ.get("AZURE_STORAGE_USE_EMULATOR", "").lower() in ("1", "true")
        if not account and not is_emulated:
            fix = f"set {KEYS['az']}"
            raise StoreError(Fault("AZURE_STORAGE_ACCOUNT_NAME is not set", url, fix=fix))
        identity += f" {account}"
    allows_http = endpoint.startswith("http://") or (kind == "az" and not account)
    return Endpoint(url, identity, config, allows_http, provider)


def _keys(profile: Mapping[str, str], url: str) -> tuple[dict[str, str], Any]:
    """Give keys of the profile, or what gives them, where the environment has none."""
    if os.environ.get("AWS_ACCESS_KEY_ID") or any(os.environ.get(name) for name in _OTHER_KEYS):
        return {}, None
    if profile.get("aws_access_key_id"):
        names = {
            "access_key_id": "aws_access_key_id", "secret_access_key": "aws_secret_access_key",
            "session_token": "aws_session_token",
        }  # fmt: skip
        return {key: profile[name] for key, name in names.items() if profile.get(name)}, None
    sources = [name for name in _BY_BOTO if name in profile]
    if sources:
        try:
            boto3: Any = importlib.import_module("boto3")
        except ImportError:
            message = f"profile `{_name()}` gets its credentials by `{sources[0]}`, which takes boto3"
            fix = "pip install boto3, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            raise StoreError(Fault(message, url, fix=fix)) from None
        by_boto: Any = importlib.import_module("obstore.auth.boto3")
        try:
            return {}, by_boto.Boto3CredentialProvider(boto3.Session(profile_name=_name()))
        except Exception as error:  # each source of credentials has errors of its own
            reason = str(error).strip().partition("\n")[0]
            fix = f"renew them, as with `aws sso login --profile {_name()}`, or set {KEYS['s3']}"
            raise StoreError(
                Fault(f"profile `{_name()}` gave no credentials: {reason}", url, fix=fix)
            ) from None
    if _is_named() and not profile:
        fix = did_you_mean(_name(), _sections()) or f"write it to {_file('AWS_CONFIG_FILE', 'config')}"
        raise StoreError(Fault(f"there is no profile `{_name()}`", "AWS_PROFILE", fix=fix))
    return {}, None


def _is_named() -> bool:
    return bool(os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE"))


def _name() -> str:
    return os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"


def _file(variable: str, name: str) -> Path:
    return Path(os.environ.get(variable) or "~/.aws/" + name).expanduser()


def _sections() -> dict[str, dict[str, str]]:
    """Read the profiles of AWS's two files; what stands in `credentials` wins."""
    import configparser  # folders need none

    found: dict[str, dict[str, str]] = {}
    for variable, name in (("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")):
        file = _file(variable, name)
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read(file, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            reason = (
                str(error).splitlines()[0]
                if isinstance(error, configparser.MissingSectionHeaderError)
                else ""
            )
            raise StoreError(Fault(f"cannot be read {reason}".rstrip(), str(file))) from None
        for section in parser.sections():
            profile = section.removeprefix("profile ").strip() if name == "config" else section
            found.setdefault(profile, {}).update(parser.items(section))
    return found


def _profile() -> dict[str, str]:
    return _sections().get(_name(), {})
