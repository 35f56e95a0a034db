"""Lean HTTP/1.1 to one server: kept connections, one request at a time on each, parsed by llhttp.

Invariant: as for `Connection`, one call is one request within one time limit; it is never repeated and
never redirected. A connection is used again only after a whole reply that lets it be, and never once
it brought a byte that nobody asked for: such a reply would be taken for the next request's.
"""

from __future__ import annotations

import asyncio
import fcntl
import select
import socket
import ssl
import sys
import termios
import zlib
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlsplit

import httptools

from gradetrail.errors import ProviderError
from gradetrail.providers.coding import CODINGS, codings, unpacked
from gradetrail.providers.connection import (
    WrongProtocolError,
    connect_timeout_s,
    connection_error,
    sent_headers,
)
from gradetrail.providers.endpoint import Endpoint, Limits
from gradetrail.providers.heads import MendingParser, is_mendable
from gradetrail.providers.reply import MOST_BYTES, too_long

if TYPE_CHECKING:
    from gradetrail.providers.connection import Raw

EYEBALLS_S = 0.25
"""Head start of one address family over the other."""
IN_A_PATH = "/%:@!$&'()*+,;=~"
MOST_HEADER_BYTES = 2**20
"""Of one reply, with the preliminary ones before it."""
ADDRESS_S = 300.0
"""How long an address counts."""
IDLE_S = 15.0
"""A connection that rested longer is not used again: servers close theirs, and may do so just then."""


Address = tuple[int, int, int, str, tuple[Any, ...]]
"""As `socket.getaddrinfo` gives it."""


class UnaskedError(ConnectionError):
    """Bytes came over a kept connection before the server can have had the whole request."""


def unconfirmed(descriptor: int) -> int:
    """Count the bytes that the other side has not confirmed to have; 0 where the system does not tell."""
    try:
        return int.from_bytes(fcntl.ioctl(descriptor, termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except OSError:
        return 0


def new_parser(line: Line) -> httptools.HttpResponseParser:
    """Make the parser of one reply, which takes bare line feeds in its head as other clients do."""
    parser = httptools.HttpResponseParser(line)
    parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True)
    return parser


class Line(asyncio.Protocol):
    """One connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[Raw] | None = None
        self._parser: httptools.HttpResponseParser | MendingParser = new_parser(self)
        self._begin: list[bytes] = []
        """What came before the end of the head, if that did not come at once."""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._n_bytes = 0
        self._spoke_first = False
        self._has_headers = self._is_complete = self._may_stay = self._was_used = False
        self._poll, self._descriptor = select.poll(), -1
        self.idle_since = 0.0
        self.closed = loop.create_future()
        """Done once the connection is gone."""

    @property
    def is_open(self) -> bool:
        """Whether the connection stands."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def is_quiet(self) -> bool:
        """Whether another request may be sent: nothing waits to be read, be it bytes or the end."""
        return self.is_open and not self._poll.poll(0)

    async def ask(self, request: bytes, timeout_s: float) -> Raw:
        """Send a request and wait for its reply, for no longer than this.

        Raises UnaskedError where the server cannot have seen the whole request, so that it may be sent anew.
        """
        if self._transport is None or not self.is_open:
            if self._spoke_first:
                raise WrongProtocolError("the server speaks before it is asked: not HTTP")
            raise ConnectionResetError("the server hung up before it was asked")
        self._parser = new_parser(self)
        self._begin, self._headers, self._body, self._n_bytes = [], {}, [], 0
        self._has_headers = self._is_complete = False
        reply: asyncio.Future[Raw] = self._loop.create_future()
        self._reply = reply
        timer = self._loop.call_later(timeout_s, self._fail, TimeoutError())
        try:
            # with nothing in between: what is there already answers another request than this
            if self._was_used and not self.is_quiet:
                raise UnaskedError("the server sent bytes, or hung up, before it was asked")
            self._transport.write(request)
            return await reply
        finally:
            timer.cancel()
            self._reply = None
            self._was_used = True
            if not self._is_complete or not self._may_stay:
                self.abort()
            else:
                self.idle_since = self._loop.time()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, error: BaseException) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(error)

    # what the transport tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # other event loops have transports of their own classes
        self._transport = cast("asyncio.Transport", transport)
        self._descriptor = transport.get_extra_info("socket").fileno()
        self._poll.register(self._descriptor, select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Parse what has come; bytes that nobody asked for end the connection."""
        if self._reply is None or self._reply.done():
            self._spoke_first = not self._was_used and self._reply is None
            self.abort()
            return
        if self._was_used and self._n_bytes == 0 and self._is_unsent():
            self._fail(UnaskedError("the server sent bytes that nobody asked for"))
            self.abort()
            return
        self._n_bytes += len(data)
        if self._n_bytes > (MOST_BYTES if self._has_headers else MOST_HEADER_BYTES):
            self._fail(too_long() if self._has_headers else too_long(MOST_HEADER_BYTES, "headers"))
            self.abort()
            return
        try:
            self._parser.feed_data(data)
            if not self._has_headers:
                self._begin.append(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._mend(b"".join([*self._begin, data]), error)

    def _mend(self, begin: bytes, error: Exception) -> None:
        """Read a reply with a fault in its head anew; any other fault ends the connection."""
        is_mending = isinstance(self._parser, MendingParser)
        if not self._has_headers and not is_mending and is_mendable(begin):
            self._headers = {}
            self._parser = MendingParser(new_parser(self))
            try:
                self._parser.feed_data(begin)
                return
            except (httptools.HttpParserError, httptools.HttpParserUpgrade) as again:
                is_mending, error = True, again
        is_upgrade = isinstance(error, httptools.HttpParserUpgrade)
        is_http = is_upgrade or is_mending or self._has_headers or bool(self._headers)
        kind = ConnectionError if is_http else WrongProtocolError
        self._fail(kind(f"not an HTTP reply: {error}"))
        self.abort()

    def _is_unsent(self) -> bool:
        """Whether the server cannot have had the whole request when it sent what came now.

        Each packet confirms all that its sender had got by then.
        """
        assert self._transport is not None
        return self._transport.get_write_buffer_size() > 0 or unconfirmed(self._descriptor) > 0

    def connection_lost(self, error: Exception | None) -> None:
        """End the reply that lasts as long as its connection; any other is cut off."""
        self._transport = None
        chunked = "chunked" in self._headers.get("transfer-encoding", "").lower()
        lasts_to_the_end = self._has_headers and not chunked and "content-length" not in self._headers
        if error is None and lasts_to_the_end and not self._is_complete:
            self.on_message_complete()
        self._fail(error or ConnectionResetError("the server hung up before the end of its reply"))
        self.closed.set_result(None)

    # what the parser tells

    def on_message_begin(self) -> None:
        """End the connection if this is more than the reply that was asked for."""
        if self._is_complete:
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, one that comes twice joined; trailers must not change what the head said."""
        if self._has_headers:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self._headers.get(key)
        self._headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        """Know that a body may follow, and whether the connection may stay."""
        self._has_headers = True
        self._may_stay = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        if not self._is_complete:
            self._body.append(body)

    def on_message_complete(self) -> None:
        """Hand the reply over; a preliminary one (1xx) is not it."""
        status = self._parser.get_status_code()
        if self._is_complete:
            return
        if 100 <= status < 200:
            self._headers, self._body, self._has_headers = {}, [], False
            return
        self._is_complete = True
        if self._reply is not None and not self._reply.done():
            try:
                self._reply.set_result((status, self._headers, self._decoded()))
            except zlib.error as error:
                self._fail(ConnectionError(f"a body that cannot be decompressed: {error}"))
            except ProviderError as error:
                self._fail(error)

    def _decoded(self) -> bytes:
        """Give the body; no coding was asked for, but some servers compress regardless."""
        raw = b"".join(self._body)
        transfer = self._headers.get("transfer-encoding", "chunked")
        if raw and transfer != "chunked":
            raw = unpacked(raw, [coding for coding in codings(transfer) if coding in CODINGS])
        if not raw or "content-encoding" not in self._headers:
            return raw
        applied = codings(self._headers["content-encoding"])
        if not CODINGS.issuperset(applied):
            return raw
        # so that nobody decompresses it again
        del self._headers["content-encoding"]
        return unpacked(raw, applied)


class Lines:
    """A pool of connections to one server, which POSTs JSON to one path."""

    def __init__(self, endpoint: Endpoint, limits: Limits, path: str) -> None:
        self.endpoint, self._limits = endpoint, limits
        url = urlsplit(endpoint.url + path)
        self._host, self._is_secure = url.hostname or "", url.scheme == "https"
        self._port = url.port or (443 if self._is_secure else 80)
        # bare IPv6 addresses need their brackets again
        name = f"[{self._host}]" if ":" in self._host else self._host.encode("idna").decode()
        place = name if url.port is None else f"{name}:{url.port}"
        headers = {"host": place, "accept-encoding": "identity", **sent_headers(endpoint)}
        lines = [f"POST {quote(url.path or '/', safe=IN_A_PATH)} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._head = ("\r\n".join(lines) + "\r\ncontent-length: ").encode()
        self._room = asyncio.Semaphore(limits.concurrency)
        self._idle: list[Line] = []
        self._open: set[Line] = set()
        self._context: ssl.SSLContext | None = None
        self._found: asyncio.Task[list[Address]] | None = None
        self._found_until = 0.0

    async def post(self, body: bytes, timeout_s: float, head: bytes | None = None) -> Raw:
        """Send one body; give status, headers (names in lower case) and body of the reply.

        `head` takes the place of the request's own: its first line and headers, up to the number of
        bytes in the body.
        """
        loop = asyncio.get_running_loop()

        def left_s(began: float) -> float:
            return max(0.0, timeout_s - (loop.time() - began))

        try:
            async with self._room:
                began = loop.time()
                line = self._rested(began) or await self._connected(loop, timeout_s)
                request = b"%s%d\r\n\r\n%s" % (head or self._head, len(body), body)
                try:
                    reply = await line.ask(request, left_s(began))
                except UnaskedError:
                    line = await self._connected(loop, left_s(began))
                    reply = await line.ask(request, left_s(began))
                if line.is_open:
                    self._idle.append(line)
                return reply
        except TimeoutError:
            raise ProviderError("timeout", f"no whole reply within {timeout_s:g} s") from None
        except OSError as error:
            raise connection_error(error, self.endpoint) from None

    def _rested(self, now: float) -> Line | None:
        """Give the connection that was used last, if it is still open."""
        while self._idle:
            line = self._idle.pop()
            if line.is_open and now - line.idle_since < IDLE_S:
                return line
            line.abort()
            self._open.discard(line)
        return None

    async def _connected(self, loop: asyncio.AbstractEventLoop, timeout_s: float) -> Line:
        """Open a connection, to whichever address of the server answers first."""
        most_s = connect_timeout_s(self._limits)
        try:
            async with asyncio.timeout(min(timeout_s, most_s)):
                line = await self._opened(loop)
        except TimeoutError:
            if timeout_s <= most_s:
                raise
            raise ConnectionError(f"no connection within {most_s:g} s") from None
        self._open = {other for other in self._open if other.is_open} | {line}
        return line

    async def _opened(self, loop: asyncio.AbstractEventLoop) -> Line:
        import aiohappyeyeballs

        found = await self._addresses(loop)
        delay = EYEBALLS_S if len(found) > 1 else None
        sock = await aiohappyeyeballs.start_connection(found, happy_eyeballs_delay=delay)
        if self._is_secure and self._context is None:
            self._context = ssl.create_default_context()
        name = self._host if self._is_secure else None
        try:
            _, line = await loop.create_connection(
                lambda: Line(loop), sock=sock, ssl=self._context, server_hostname=name
            )
        except BaseException:
            sock.close()
            raise
        return line

    async def _addresses(self, loop: asyncio.AbstractEventLoop) -> list[Address]:
        """Look the server up, once for all connections that are opened meanwhile and some time after."""
        if self._found is None or loop.time() > self._found_until:
            self._found = loop.create_task(self._looked_up(loop))
            self._found_until = loop.time() + ADDRESS_S
        try:
            return await asyncio.shield(self._found)
        except OSError:
            self._found = None
            raise

    async def _looked_up(self, loop: asyncio.AbstractEventLoop) -> list[Address]:
        found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        return cast("list[Address]", found)

    async def close(self) -> None:
        """Close the connections."""
        for line in self._open:
            line.abort()
        await asyncio.gather(*(line.closed for line in self._open))
        self._open.clear()
        self._idle.clear()
