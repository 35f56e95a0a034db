"""What every HTTP provider does with a reply: bytes to JSON, numbers that may be missing.

Invariant: a reply that is not what the API promises becomes ProviderError `bad_reply`, never a
crash; a number that the server did not give is None, never 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from gradetrail.errors import ProviderError
from gradetrail.providers.endpoint import Endpoint
from gradetrail.providers.failures import Secrets, error_body, failure
from gradetrail.providers.response import Response, repaired, with_repaired_text
from gradetrail.request import SAFE_INTEGER

NANODOLLAR = Decimal("1e-9")
MOST_DOLLARS = Decimal("1e9")
BOM = b"\xef\xbb\xbf"
"""Byte order mark of UTF-8, which some servers put before JSON."""
SHOWN = 200
"""Characters of a strange reply that a message shows."""
MOST_BYTES = 64 * 2**20
"""A reply may not be longer, unpacked; one without end would fill the memory."""


def too_long(most: int = MOST_BYTES, what: str = "a reply") -> ProviderError:
    """Make the error for a reply that is too long; asking again would bring as much."""
    return ProviderError("bad_reply", f"{what} of more than {most // 2**20} MiB", is_final=True)


@dataclass(slots=True)
class Bounded:
    """The chunks of one reply, unpacked; raises `too_long` once their sum is too much."""

    chunks: AsyncIterator[bytes]
    n_bytes: int = 0

    def __aiter__(self) -> Bounded:
        return self

    async def __anext__(self) -> bytes:
        chunk = await anext(self.chunks)
        self.n_bytes += len(chunk)
        if self.n_bytes > MOST_BYTES:
            raise too_long()
        return chunk


def read_json(raw: bytes) -> Any:
    """Parse a body; ValueError if it is no JSON.

    Half surrogates and bytes that are no UTF-8, which the fast parser refuses, come through as lone
    surrogates, so that the text is repaired and marked.
    """
    import orjson

    if raw.startswith(BOM):
        raw = raw.removeprefix(BOM)
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        try:
            return json.loads(raw.decode("utf-8", "surrogateescape"))
        except RecursionError as error:
            raise ValueError("JSON nested too deeply") from error


def read_answer(
    status: int,
    headers: Mapping[str, str],
    raw: bytes,
    parse: Callable[[Any], Response],
    is_answer: Callable[[Any], bool],
    endpoint: Endpoint,
) -> Response:
    """Turn status, headers and body into an answer; ProviderError if it is none.

    What counts is whether the body is an answer: an error inside HTTP 200 fails, and a completion
    inside HTTP 400 (some servers send what their filter stopped that way) is an answer.
    """
    secrets = endpoint.secrets
    try:
        body = read_json(raw)
    except ValueError:
        text = raw[:20_000].decode("utf-8", "replace")
        if is_success(status):
            kind = headers.get("content-type", "no content type")
            raise bad_reply(f"the reply is not JSON ({kind}): {text[:SHOWN]}", secrets, status) from None
        raise failure(status, headers, text, secrets) from None
    return answer_from(status, headers, body, parse, is_answer, endpoint)


def answer_from(
    status: int,
    headers: Mapping[str, str],
    body: Any,
    parse: Callable[[Any], Response],
    is_answer: Callable[[Any], bool],
    endpoint: Endpoint,
) -> Response:
    """Turn a body that was JSON into an answer; ProviderError if it is none."""
    secrets = endpoint.secrets
    if not is_answer(body):
        if is_success(status) and error_body(body) is None:
            raise bad_reply(f"the reply is no answer: {json.dumps(body)[:SHOWN]}", secrets, status)
        raise failure(status, headers, body, secrets)
    try:
        response = parse(body)
    except ProviderError as error:
        text = secrets.redact(str(error))
        raise ProviderError(error.error_type, text, http_status=error.http_status) from None
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        shown = json.dumps(body)[:SHOWN]
        raise bad_reply(
            f"the reply is not as the API promises ({reason}): {shown}", secrets, status
        ) from None
    return with_repaired_text(replace(response, raw=_storable(body)) if endpoint.keep_raw else response)


def is_success(status: int) -> bool:
    """Tell whether an HTTP status says that all went well."""
    return 200 <= status < 300


def _storable(body: Any) -> Any:
    """Give a body that any file can hold: valid Unicode, and null for NaN and infinity."""
    return json.loads(repaired(json.dumps(body, ensure_ascii=False))[0], parse_constant=lambda _: None)


def bad_reply(message: str, secrets: Secrets, status: int | None) -> ProviderError:
    """Make the error for a reply that cannot be understood."""
    return ProviderError("bad_reply", secrets.redact(message), http_status=status)


def block(value: Any) -> Mapping[str, Any]:
    """Give a JSON object as it is, and an empty one for anything else (null above all)."""
    # a dict, since the test for any mapping takes five times as long
    return value if isinstance(value, dict) else {}


def count(value: Any) -> int | None:
    """Give a token count; None for anything that is no count."""
    if type(value) is int and 0 <= value <= SAFE_INTEGER:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or not 0 <= value <= SAFE_INTEGER or value != int(value):
        return None
    return int(value)


def dollars(value: Any) -> Decimal | None:
    """Give an amount to the nine decimals that are stored; None for anything that is no amount."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount.quantize(NANODOLLAR) if amount.is_finite() and 0 <= amount < MOST_DOLLARS else None


def text_or_none(value: Any) -> str | None:
    """Give a text as it is; None for anything else and for the empty text."""
    return value if isinstance(value, str) and value else None
