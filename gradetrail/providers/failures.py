"""Why a call failed: status, headers and body in, one ProviderError out.

Invariant: every failure has one of ERROR_TYPES, and no message holds a key.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from gradetrail.errors import ProviderError
from gradetrail.providers.response import repaired

MESSAGE_LIMIT = 500
"""Characters of a provider's message that are kept."""

_BY_STATUS = {
    401: "auth", 402: "quota", 403: "auth", 404: "not_found", 405: "not_found", 408: "timeout", 409: "server",
    410: "not_found", 413: "over_context", 429: "rate_limit", 503: "overloaded", 529: "overloaded",
}  # fmt: skip
_BY_NAME = {
    "api_error": "server",
    "authentication_error": "auth",
    "billing_error": "quota",
    "billing_hard_limit_reached": "quota",
    "content_filter": "filtered",
    "content_policy_violation": "filtered",
    "context_length_exceeded": "over_context",
    "engine_overloaded": "overloaded",
    "exceed_context_size_error": "over_context",
    "insufficient_quota": "quota",
    "invalid_api_key": "auth",
    "invalid_prompt": "filtered",
    "invalid_request_error": "bad_request",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "overloaded_error": "overloaded",
    "permission_error": "auth",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "request_too_large": "over_context",
    "responsibleaipolicyviolation": "filtered",
    "server_error": "server",
    "timeout_error": "timeout",
}
"""Codes and types that servers give beside the status, lower case."""
_SHARPER = ("quota", "filtered", "over_context", "not_found")
"""What a code may say more exactly than a status of 400, 402, 403, 413, 422 or 429 does."""
_OVER_CONTEXT = re.compile(
    r"context[ _-]?length|context window|context limit|context size|prompt is too long|input is too long"
    r"|too many (input |prompt )?tokens|maximum (input|prompt) length",
    re.IGNORECASE,
)
_OUTPUT_LIMIT = re.compile(
    r"max_(completion_|output_|new_)?tokens\W{0,2} (is )?too (large|high|big)", re.IGNORECASE
)
"""Asking for too long an answer is a fault of the spec, not of one prompt."""
_FILTERED = re.compile(
    r"content[ _-]?(filter|management policy|policy)|flagged (as|for|by)|usage polic(y|ies)", re.IGNORECASE
)
_OUT_OF_CREDIT = re.compile(
    r"credit balance is too low|insufficient (credits?|balance|funds|quota)|out of credits?", re.IGNORECASE
)
_LIKE_A_KEY = re.compile(r"\b(sk-[\w-]{8,}|Bearer\s+[\w.~+/-]{8,}=*)")

OUR_NAMES = {
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "output_config.effort": "reasoning",
    "reasoning.effort": "reasoning",
    "reasoning_effort": "reasoning",
    "stop_sequences": "stop",
    "text.format": "response_format",
    "thinking.budget_tokens": "reasoning",
}
"""What a spec calls a parameter that an API calls otherwise."""


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What a server says about a failure."""

    message: str
    code: str = ""
    """The server's code, lower case, such as `insufficient_quota` or `429`."""
    type: str = ""
    param: str = ""

    @property
    def status(self) -> int | None:
        """An HTTP status that the body itself gives as its code."""
        return int(self.code) if re.fullmatch(r"[45]\d\d", self.code) else None


class Secrets:
    """Values that must never be shown; prints as nothing."""

    __slots__ = ("_values",)

    def __init__(self, values: Iterable[str] = ()) -> None:
        # longest first, so that a key that holds another leaves nothing behind
        self._values = sorted({value for value in values if len(value) >= 4}, key=len, reverse=True)

    def __repr__(self) -> str:
        return f"Secrets({len(self._values)})"

    def redact(self, text: str) -> str:
        """Blank out the values, and whatever looks like a key; the result is valid Unicode."""
        for value in self._values:
            text = text.replace(value, "[redacted]")
        return repaired(_LIKE_A_KEY.sub("[redacted]", text))[0]


def error_body(body: Any) -> ErrorBody | None:
    """Read the error out of a reply in any of the usual forms; None if there is none in it."""
    if not isinstance(body, dict):
        return None
    error = body.get("error")
    if isinstance(error, dict):
        inner = error.get("innererror")
        code = error.get("code")
        if isinstance(inner, Mapping) and _lower(inner.get("code")) in _BY_NAME:
            code = inner["code"]
        message = error.get("message")
        text = message if isinstance(message, str) and message else _compact(error)
        return ErrorBody(text, _lower(code), _lower(error.get("type")), _text(error.get("param")))
    if isinstance(error, str) and error:
        return ErrorBody(error, _lower(body.get("code")), _lower(body.get("error_type")))
    if error:
        return ErrorBody(_compact(error))
    if body.get("object") == "error" or body.get("type") == "error":
        return ErrorBody(_text(body.get("message")), _lower(body.get("code")), _lower(body.get("type")))
    return None


def failure(status: int, headers: Mapping[str, str], body: Any, secrets: Secrets) -> ProviderError:
    """Turn a reply that is no answer into the error it stands for.

    `body` is parsed JSON, or the raw text where it was none. `headers` may be of any case that its
    own `get` understands. An error inside an HTTP 200 counts as the code that the body gives.
    """
    error = error_body(body) or ErrorBody(_plain(body))
    kind = classify(status, error)
    said = secrets.redact(error.message).strip() or "no message"
    text = said if len(said) <= MESSAGE_LIMIT else said[:MESSAGE_LIMIT] + "..."
    lead = f"HTTP {status}" if status >= 400 else f"an error inside HTTP {status}"
    if 300 <= status < 400:
        target = secrets.redact(headers.get("location", "nowhere"))
        lead = f"HTTP {status}, a redirect to {target}: put that in base_url"
    return ProviderError(
        kind,
        f"{lead}: {text}{_advice(kind, error)}",
        http_status=status,
        retry_after_s=retry_after(headers, datetime.now(UTC)),
    )


def classify(status: int, error: ErrorBody) -> str:
    """Give the error type; the code in the body is heard before the status where it says more."""
    named = _BY_NAME.get(error.code) or _BY_NAME.get(error.type)
    effective = status if status >= 400 else error.status
    if effective is None:
        effective = 0
    if _OUT_OF_CREDIT.search(error.message) and effective in (0, 400, 402, 403, 429):
        return "quota"
    if named in _SHARPER and effective in (0, 400, 402, 403, 413, 422, 429):
        return named
    if effective in (0, 400, 403, 413, 422):
        if _OUTPUT_LIMIT.search(error.message):
            return "bad_request"
        if _OVER_CONTEXT.search(error.message):
            return "over_context"
        if _FILTERED.search(error.message):
            return "filtered"
    if effective == 0:
        return "bad_request" if 300 <= status < 400 else named or "server"
    return _BY_STATUS.get(effective, "server" if effective >= 500 else "bad_request")


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Read how many seconds the server asks to wait: `retry-after-ms`, seconds, or an HTTP date."""
    exact = _seconds(headers.get("retry-after-ms"))
    if exact is not None:
        return exact / 1000
    stated = headers.get("retry-after")
    if stated is None:
        return None
    plain = _seconds(stated)
    if plain is not None:
        return plain
    try:
        date = parsedate_to_datetime(stated)
    except (ValueError, TypeError, IndexError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())


def _seconds(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _advice(kind: str, error: ErrorBody) -> str:
    if kind != "bad_request" or not error.param:
        return ""
    ours = OUR_NAMES.get(error.param, error.param)
    if error.param == "max_tokens":
        other = "extra: {max_completion_tokens: ...}"
        fix = f"use the `openai` provider, which sends max_completion_tokens, or `{other}`"
    else:
        fix = f"give the model a value of `{ours}` that it takes, or leave `{ours}` out"
    return f" (parameter `{error.param}`: {fix})"


def _plain(body: Any) -> str:
    """Show a body of unknown form in one line, markup taken out."""
    if not isinstance(body, str):
        return _compact(body) if body is not None else ""
    without_markup = re.sub(
        r"<(script|style)\b.*?</\1>|<[^>]*>", " ", body[:20_000], flags=re.DOTALL | re.IGNORECASE
    )
    return " ".join(without_markup.split())


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else _compact(value)


def _lower(value: Any) -> str:
    return _text(value).lower() if isinstance(value, str | int) and not isinstance(value, bool) else ""
