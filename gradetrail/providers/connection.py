"""A lean HTTP client over aiohttp, and the error for a server that cannot be reached.

Invariant: one call is one request on a pooled connection, within one time limit that covers the
whole reply; it is never repeated and never redirected (which could carry the key elsewhere).
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from gradetrail.errors import ProviderError
from gradetrail.providers.endpoint import Endpoint, Limits
from gradetrail.providers.reply import Bounded

if TYPE_CHECKING:
    import aiohttp

CONNECT_TIMEOUT_S = 30.0
USER_AGENT = "gradetrail"
T = TypeVar("T")
Raw = tuple[int, Mapping[str, str], bytes]
"""Status, headers and body of a reply."""
Read = Callable[["aiohttp.ClientResponse"], Awaitable[T]]
NO_WAY = (errno.EHOSTUNREACH, errno.ENETUNREACH)
NO_TLS = frozenset(
    {
        "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "SSLV3_ALERT_HANDSHAKE_FAILURE",
        "TLSV1_ALERT_PROTOCOL_VERSION", "UNEXPECTED_MESSAGE", "UNKNOWN_PROTOCOL", "UNSUPPORTED_PROTOCOL",
        "WRONG_VERSION_NUMBER",
    }
)  # fmt: skip
"""What OpenSSL says where the other side speaks no TLS, or none that we do."""


class WrongProtocolError(ConnectionError):
    """What the server sends is not HTTP/1."""


class Connection:
    """A pool of connections to one server, made at the first call, inside the running event loop."""

    def __init__(self, endpoint: Endpoint, limits: Limits) -> None:
        self.endpoint = endpoint
        self._limits = limits
        self._session: aiohttp.ClientSession | None = None
        # the modules once, not at each call
        import aiohttp

        self._aiohttp = aiohttp

    def session(self) -> aiohttp.ClientSession:
        """Give the pool."""
        if self._session is None:
            aiohttp = self._aiohttp
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._limits.concurrency, ttl_dns_cache=300),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout_s(self._limits)),
                headers=sent_headers(self.endpoint),
                cookie_jar=aiohttp.DummyCookieJar(),
                proxy=self.endpoint.proxy,
            )
        return self._session

    async def send(self, method: str, url: str, timeout_s: float, **options: Any) -> Raw:
        """Send one request; give status, headers and body, whatever the status."""
        return await self.exchange(method, url, timeout_s, _whole, **options)

    async def exchange(self, method: str, url: str, timeout_s: float, read: Read[T], **options: Any) -> T:
        """Send one request, and give what `read` makes of the reply; the limit covers both."""
        try:
            async with (
                asyncio.timeout(timeout_s),
                self.session().request(method, url, allow_redirects=False, **options) as reply,
            ):
                return await read(reply)
        except self._aiohttp.ClientError as error:
            raise connection_error(error, self.endpoint) from None
        except TimeoutError:
            raise ProviderError("timeout", f"no whole reply within {timeout_s:g} s") from None
        except OSError as error:
            raise connection_error(error, self.endpoint) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def sent_headers(endpoint: Endpoint) -> dict[str, str]:
    """Give the headers of every request; names in lower case, the user's win."""
    return {
        "content-type": "application/json",
        "accept": "application/json",
        "user-agent": USER_AGENT,
        **({"authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}),
        **{name.lower(): value for name, value in endpoint.headers.items()},
    }


async def _whole(reply: aiohttp.ClientResponse) -> Raw:
    return reply.status, reply.headers, b"".join([chunk async for chunk in Bounded(reply.content.iter_any())])


def connect_timeout_s(limits: Limits) -> float:
    """Give the time to reach a server; the time for the answer is the call's own."""
    return min(CONNECT_TIMEOUT_S, limits.timeout_s)


def connection_error(error: BaseException, endpoint: Endpoint) -> ProviderError:
    """Make the error for a server that could not be reached or hung up; the innermost cause speaks."""
    from aiohttp import ClientResponseError

    cause: BaseException = error
    # aiohttp raises it for a reply whose head is not HTTP
    is_http = not isinstance(cause, ClientResponseError | WrongProtocolError)
    while cause.__cause__ is not None:
        cause = cause.__cause__
        is_http = is_http and not isinstance(cause, ClientResponseError)
    if isinstance(cause, ProviderError):
        # an SDK may wrap what its transport, which is ours, has said
        return cause
    said = " ".join((str(cause) or str(error)).split())
    text = f"{type(cause).__name__}: {said}" if said else type(cause).__name__
    is_tls = not (isinstance(cause, ssl.SSLError) and cause.reason in NO_TLS)
    if not is_tls or not is_http:
        text += f" ({endpoint.url.partition(':')[0]} may be the wrong scheme or port for this server)"
    is_unreachable = (
        not is_tls
        or not is_http
        or isinstance(cause, ConnectionRefusedError | socket.gaierror | ssl.SSLCertVerificationError)
        or getattr(cause, "errno", None) in NO_WAY
    )
    return ProviderError("connection", endpoint.secrets.redact(text), is_unreachable=is_unreachable)
