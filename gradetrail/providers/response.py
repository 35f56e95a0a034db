"""What comes back from a call, the same for every provider.

Invariant: token counts are disjoint (`input_tokens` leaves out cached ones) and None where the
provider said nothing; text is valid Unicode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from gradetrail.request import strings_id

STOP_REASONS = ("stop", "length", "tool", "refusal", "filter", "other")
"""Normalised reasons why a model stopped."""

ERROR_TYPES = (
    "rate_limit",  # 429
    "overloaded",  # 503, 529
    "connection",  # refused, reset, unknown host, cut body
    "timeout",  # the call's own time limit, 408
    "server",  # 409 and other 5xx
    "bad_request",  # 400, 422
    "auth",  # 401, 403, missing key
    "not_found",  # 404
    "quota",  # out of credit
    "over_context",  # prompt longer than the model's window
    "filtered",  # refused by a content filter before an answer
    "bad_reply",  # a reply that is not what the API promises
    "no_answer",  # replay: no recorded answer for the sample
    "adapter",  # an exception in the user's python provider
)
"""Closed list of what a call can fail with."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; None where the provider gave no number."""

    input_tokens: int | None = None
    """Uncached input."""
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    """Output with reasoning."""
    reasoning_tokens: int | None = None
    billed_usd: Decimal | None = None
    """Dollars, where the reply itself states a cost."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call that the model asked for."""

    name: str
    arguments: str
    """JSON text as the model wrote it."""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """One answer."""

    text: str
    stop_reason: str | None = None
    raw_stop_reason: str | None = None
    reasoning: str | None = None
    tool_calls: Sequence[ToolCall] = ()
    served_model: str | None = None
    usage: Usage = Usage()
    confidence: float | None = None
    token_nll: float | None = None
    """Sum of -ln p over the answer's tokens, in nats."""
    token_count: int | None = None
    logprobs: Sequence[Any] | None = None
    """[{"token": str, "logprob": float}, ...] where asked for."""
    raw: Any = None
    """The reply's body, kept only where the spec asks for it."""
    ttft_ms: float | None = None
    latency_ms: float | None = None
    """Set by replay alone; elsewhere the engine measures."""
    origin: str = "api"
    is_text_repaired: bool = False

    def response_id(self, request_key: str) -> str:
        """Hash the content: equal answers to equal requests are one response."""
        calls = [[call.name, call.arguments] for call in self.tool_calls]
        content = [request_key, self.text, self.reasoning, calls, self.stop_reason, self.served_model]
        return strings_id("gradetrail.response.v1", content)


def repaired(text: str) -> tuple[str, bool]:
    """Replace lone surrogates by U+FFFD, which no file can hold; say whether there were any."""
    try:
        text.encode()
    except UnicodeEncodeError:
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole, True
    return text, False


def with_repaired_text(response: Response) -> Response:
    """Give the response with valid Unicode in everything that the server wrote."""
    texts = [response.text, response.reasoning, response.served_model, response.raw_stop_reason]
    for call in response.tool_calls:
        texts += (call.name, call.arguments, call.id)
    for text in texts:
        if text is not None and not text.isascii() and repaired(text)[1]:
            break
    else:
        return response
    return replace(
        response,
        text=repaired(response.text)[0],
        reasoning=_repaired_or_none(response.reasoning),
        served_model=_repaired_or_none(response.served_model),
        raw_stop_reason=_repaired_or_none(response.raw_stop_reason),
        tool_calls=tuple(
            ToolCall(repaired(call.name)[0], repaired(call.arguments)[0], _repaired_or_none(call.id))
            for call in response.tool_calls
        ),
        is_text_repaired=True,
    )


def _repaired_or_none(text: str | None) -> str | None:
    return None if text is None else repaired(text)[0]
