"""What an SDK's client sends and reads through: our connections, or the general ones within a limit.

Invariant: what the SDK asked for is sent as it is, but for the coding of the reply over our connections,
which is none. Whichever way a reply comes, no more than MOST_BYTES of it are read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx2

from gradetrail.providers.endpoint import Endpoint, Limits
from gradetrail.providers.lines import Lines
from gradetrail.providers.reply import Bounded

OURS = frozenset({b"accept-encoding", b"connection", b"content-length"})
"""Headers that are the connection's business."""


NO_LIMIT_S = 86_400.0
"""The call has a limit of its own, around the whole of the SDK."""


class LinesTransport(httpx2.AsyncBaseTransport):
    """Sends requests over a pool of connections to one server."""

    def __init__(self, endpoint: Endpoint, limits: Limits) -> None:
        self._lines = Lines(endpoint, limits, "")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; the caller limits the time."""
        lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
        lines += [b"%s: %s" % pair for pair in request.headers.raw if pair[0].lower() not in OURS]
        lines.append(b"accept-encoding: identity\r\ncontent-length: ")
        head = b"\r\n".join(lines)
        status, headers, body = await self._lines.post(await request.aread(), NO_LIMIT_S, head)
        return httpx2.Response(status, headers=dict(headers), content=body, request=request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._lines.close()


class _Unpacked(httpx2.AsyncByteStream):
    """The body of a reply, unpacked; raises ProviderError once it is too long."""

    def __init__(self, packed: httpx2.Response) -> None:
        self._packed = packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(self._packed.aiter_bytes()) as chunks:
            async for chunk in Bounded(chunks):
                yield chunk

    async def aclose(self) -> None:
        await self._packed.aclose()


async def limit_length(reply: httpx2.Response) -> None:
    """Have a reply read as what it unpacks to, within the limit; a response hook of a client."""
    assert isinstance(reply.stream, httpx2.AsyncByteStream)
    reply.stream = _Unpacked(httpx2.Response(reply.status_code, headers=reply.headers, stream=reply.stream))
    for name in ("content-encoding", "content-length"):
        reply.headers.pop(name, None)
