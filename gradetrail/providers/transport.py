"""Our connections as the transport of an SDK's client, for replies that are read as a whole.

Invariant: what the SDK asked for is sent as it is, but for the coding of the reply, which is none.
"""

from __future__ import annotations

import httpx2

from gradetrail.providers.endpoint import Endpoint, Limits
from gradetrail.providers.lines import Lines

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
