"""One call through a vendor's SDK: the client's exceptions become ProviderErrors.

Invariant: the SDK never tries again by itself, never follows a redirect (which could carry the key
elsewhere), and nothing but ProviderError and cancellation leaves here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from gradetrail.errors import ProviderError
from gradetrail.providers.connection import connect_timeout_s, connection_error
from gradetrail.providers.endpoint import Endpoint, Limits


def make_client(
    sdk: Any, client: type, endpoint: Endpoint, headers: Mapping[str, str], limits: Limits
) -> Any:
    """Make an SDK client over aiohttp, whose pool holds as many connections as calls may be in flight."""
    import httpx2

    room = limits.concurrency
    pool = httpx2.Limits(max_connections=room, max_keepalive_connections=room)
    # the whole call has one limit, in `ask`; the SDK's own would cut long answers off
    timeout = httpx2.Timeout(None, connect=connect_timeout_s(limits))
    return client(
        api_key=endpoint.api_key,
        base_url=endpoint.url,
        default_headers={**endpoint.headers, **headers},
        max_retries=0,
        timeout=timeout,
        http_client=sdk.DefaultAioHttpClient(limits=pool, timeout=timeout, follow_redirects=False),
    )


async def ask(
    sdk: Any, client: Any, path: str, body: dict[str, Any], timeout_s: float, endpoint: Endpoint
) -> tuple[int, Mapping[str, str], bytes]:
    """Post a body; give status, headers and body of the reply, whatever the status."""
    import httpx2

    try:
        async with asyncio.timeout(timeout_s):
            try:
                reply = await client.post(path, cast_to=httpx2.Response, body=body)
            except sdk.APIStatusError as error:
                reply = error.response
            return reply.status_code, reply.headers, reply.content
    except TimeoutError:
        raise ProviderError("timeout", f"no whole reply within {timeout_s:g} s") from None
    except sdk.APIConnectionError as error:
        raise connection_error(error, endpoint) from None
    except (OSError, httpx2.HTTPError) as error:
        raise connection_error(error, endpoint) from None
