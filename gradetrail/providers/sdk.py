"""One call through a vendor's SDK: the client's exceptions become ProviderErrors.

Invariant: the SDK never tries again by itself, never follows a redirect (which could carry the key
elsewhere), and nothing but ProviderError and cancellation leaves here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradetrail.errors import ProviderError
from gradetrail.providers.connection import connect_timeout_s, connection_error
from gradetrail.providers.endpoint import Endpoint, Limits
from gradetrail.providers.forms import merged
from gradetrail.providers.reply import read_answer
from gradetrail.providers.response import Response
from gradetrail.providers.streaming import Api, streamed_answer


def make_client(
    sdk: Any,
    client: type,
    endpoint: Endpoint,
    headers: Mapping[str, str],
    limits: Limits,
    *,
    is_streamed: bool,
) -> Any:
    """Make an SDK client, whose pool holds as many connections as calls may be in flight."""
    import httpx2

    from gradetrail.providers.transport import LinesTransport, limit_length

    # the whole call has one limit, in `Line.ask`; the SDK's own would cut long answers off
    timeout = httpx2.Timeout(None, connect=connect_timeout_s(limits))
    if is_streamed or endpoint.proxy is not None:
        room = limits.concurrency
        pool = httpx2.Limits(max_connections=room, max_keepalive_connections=room)
        http = sdk.DefaultAioHttpClient(
            limits=pool, timeout=timeout, follow_redirects=False, event_hooks={"response": [limit_length]}
        )
    else:
        http = httpx2.AsyncClient(
            transport=LinesTransport(endpoint, limits),
            timeout=timeout,
            follow_redirects=False,
            trust_env=False,
        )
    return client(
        api_key=endpoint.api_key,
        base_url=endpoint.url,
        default_headers={**endpoint.headers, **headers},
        max_retries=0,
        timeout=timeout,
        http_client=http,
    )


@dataclass(frozen=True, slots=True)
class Line:
    """A client of an SDK, and how one API is spoken over it."""

    sdk: Any
    client: Any
    endpoint: Endpoint
    api: Api
    is_streamed: bool

    async def ask(self, body: dict[str, Any], timeout_s: float) -> Response:
        """Post a body, within a limit that covers the whole reply."""
        import aiohttp
        import httpx2

        try:
            async with asyncio.timeout(timeout_s):
                return await (self._streamed(body) if self.is_streamed else self._whole(body))
        except TimeoutError:
            raise ProviderError("timeout", f"no whole reply within {timeout_s:g} s") from None
        except self.sdk.APIConnectionError as error:
            raise connection_error(error, self.endpoint) from None
        except (OSError, httpx2.HTTPError, aiohttp.ClientError) as error:
            raise connection_error(error, self.endpoint) from None

    async def _whole(self, body: dict[str, Any]) -> Response:
        import httpx2

        try:
            reply = await self.client.post(self.api.path, cast_to=httpx2.Response, body=body)
        except self.sdk.APIStatusError as error:
            reply = error.response
        api = self.api
        return read_answer(
            reply.status_code, reply.headers, reply.content, api.parse, api.is_answer, self.endpoint
        )

    async def _streamed(self, body: dict[str, Any]) -> Response:
        started = time.monotonic()
        try:
            stream = await self.client.post(
                self.api.path, cast_to=object, body=merged(self.api.stream_fields, body),
                stream=True, stream_cls=self.sdk.AsyncStream[object],
            )  # fmt: skip
            reply = stream.response
        except self.sdk.APIStatusError as error:
            reply = error.response
        try:
            return await streamed_answer(
                reply.status_code, reply.headers, reply.aiter_bytes(), self.api, self.endpoint, started
            )
        finally:
            await reply.aclose()
