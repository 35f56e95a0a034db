"""A streamed reply becomes the body that the same call would have brought whole.

Invariant: an answer is read from a stream only if the stream said that the model has finished; an error
event, a cut or a missing end is a failure, never a shorter answer. Everything after that is the same code as
for whole replies.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gradetrail.providers.endpoint import Endpoint
from gradetrail.providers.events import EventReader
from gradetrail.providers.failures import error_body, failure
from gradetrail.providers.reply import (
    SHOWN,
    Bounded,
    answer_from,
    bad_reply,
    is_success,
    read_answer,
    read_json,
)
from gradetrail.providers.response import Response

LAST_WORD = b"[DONE]"
DRAIN_S = 0.5
"""Time for the rest of a stream that has said it is complete, so that its connection can be used again."""


class Assembly(Protocol):
    """Puts the events of one stream together."""

    has_token: bool
    """Whether some of the answer (text, thought, tool call) has come."""
    is_complete: bool
    """Whether the stream said that the answer is whole."""

    def add(self, event: Mapping[str, Any]) -> None:
        """Take the next event."""
        ...

    def end(self) -> None:
        """Take the last word, `[DONE]` or an end of the reply that is no cut."""
        ...

    def body(self) -> dict[str, Any]:
        """Give the body of the whole reply."""
        ...


@dataclass(frozen=True, slots=True)
class Api:
    """One way to ask and to answer."""

    path: str
    parse: Callable[[Any], Response]
    """Reads the body of a whole reply."""
    is_answer: Callable[[Any], bool]
    assembly: Callable[[], Assembly]
    stream_fields: Mapping[str, Any] = field(default_factory=lambda: {"stream": True})
    """What the body of a request says besides, to have the reply streamed."""


async def streamed_answer(
    status: int,
    headers: Mapping[str, str],
    chunks: AsyncIterator[bytes],
    api: Api,
    endpoint: Endpoint,
    started: float,
) -> Response:
    """Read a reply to its end; `started` is when it was asked for (monotonic), for `ttft_ms`.

    A reply that is no stream is read as a whole one. ProviderError if there is no answer in it.
    """
    chunks = Bounded(chunks)
    if not is_success(status) or "text/event-stream" not in headers.get("content-type", "").lower():
        raw = b"".join([chunk async for chunk in chunks])
        return read_answer(status, headers, raw, api.parse, api.is_answer, endpoint)
    assembly, reader = api.assembly(), EventReader()
    ttft_ms: float | None = None
    try:
        async for chunk in chunks:
            for data in reader.feed(chunk):
                _take(assembly, data, status, headers, endpoint)
                if assembly.is_complete:
                    # as where what follows comes in a later chunk, which nobody reads
                    break
            if ttft_ms is None and assembly.has_token:
                ttft_ms = (time.monotonic() - started) * 1000
            if assembly.is_complete:
                await _drain(chunks)
                break
        else:
            for data in reader.end():
                _take(assembly, data, status, headers, endpoint)
            assembly.end()
        body = assembly.body() if assembly.is_complete else None
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise bad_reply(
            f"the stream is not as the API promises ({reason})", endpoint.secrets, status
        ) from None
    if body is None:
        raise bad_reply("the stream ended before it said that the answer is whole", endpoint.secrets, status)
    response = answer_from(status, headers, body, api.parse, api.is_answer, endpoint)
    return replace(response, ttft_ms=ttft_ms)


def _take(
    assembly: Assembly, data: bytes, status: int, headers: Mapping[str, str], endpoint: Endpoint
) -> None:
    word = data.strip()
    if word == LAST_WORD:
        assembly.end()
    if word in (LAST_WORD, b""):
        return
    try:
        event = read_json(data)
    except ValueError:
        shown = data[:SHOWN].decode("utf-8", "replace")
        raise bad_reply(f"an event of the stream is not JSON: {shown}", endpoint.secrets, status) from None
    if error_body(event) is not None:
        raise failure(status, headers, event, endpoint.secrets)
    if not isinstance(event, Mapping):
        raise TypeError(f"an event is {type(event).__name__}")
    assembly.add(event)


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read what is left, so that the connection can be used again; whatever happens here."""
    try:
        async with asyncio.timeout(DRAIN_S):
            async for _ in chunks:
                pass
    except Exception:
        # the answer is whole; the connection will be closed instead
        return
