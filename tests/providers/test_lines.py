"""The lean HTTP client, against a server that sends exactly these bytes."""

import asyncio
import gzip
import os
import socket
import ssl
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gradetrail.errors import ProviderError
from gradetrail.providers.connection import Raw
from gradetrail.providers.endpoint import Endpoint, Limits
from gradetrail.providers.failures import Secrets
from gradetrail.providers.lines import IDLE_S, Lines, unconfirmed
from gradetrail.providers.reply import MOST_BYTES

OK = b"HTTP/1.1 200 OK\r\n"
SMALL = OK + b"content-length: 2\r\n\r\n{}"
# the time in it would be in the names of tests, which two workers have to agree on
gzipped = partial(gzip.compress, mtime=0)


class Server:
    """Answers each request with the next of its scripted bytes; None ends the connection."""

    def __init__(self, *replies: bytes | None, cut: int = 20) -> None:
        self.replies = list(replies)
        self.cut = cut
        self.requests: list[bytes] = []
        self.connections = 0
        self.writers: list[asyncio.StreamWriter] = []
        self.asked = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                self.asked.set()
                reply = self.replies.pop(0) if self.replies else SMALL
                if reply is None:
                    break
                # in two pieces, so that nothing relies on getting a reply at once
                writer.write(reply[: self.cut])
                await writer.drain()
                await asyncio.sleep(0)
                writer.write(reply[self.cut :].removesuffix(b"<end>"))
                if reply.endswith(b"<end>"):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def opened(
    server: Server, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, **parts: Any
) -> AsyncIterator[Lines]:
    listening = await asyncio.start_server(server.serve, host, 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    scheme, name = ("https", "localhost") if tls else ("http", f"[{host}]" if ":" in host else host)
    endpoint = Endpoint(
        f"{scheme}://{name}:{port}/v1", **{"api_key": None, "headers": {}, **parts}, secrets=Secrets()
    )
    lines = Lines(endpoint, Limits(4, 20), "/chat")
    try:
        yield lines
    finally:
        await lines.close()
        listening.close()
        for writer in server.writers:
            writer.close()
        await listening.wait_closed()


def posted(server: Server, n: int = 1, body: bytes = b"{}", timeout_s: float = 10, **parts: Any) -> list[Raw]:
    """Post one after the other."""

    async def main() -> list[Raw]:
        async with opened(server, **parts) as lines:
            return [await lines.post(body, timeout_s) for _ in range(n)]

    return asyncio.run(main())


def refused(server: Server, timeout_s: float = 10) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        posted(server, timeout_s=timeout_s)
    return caught.value


def test_a_request_is_the_bytes_that_http_wants() -> None:
    server = Server()
    posted(server, body=b'{"a": 1}', api_key="sk-1", headers={"X-Team": "blue"})
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in rest)
    assert (first, body) == ("POST /v1/chat HTTP/1.1", b'{"a": 1}')
    assert headers.pop("host").startswith("127.0.0.1:")
    assert headers == {
        "accept": "application/json",
        "accept-encoding": "identity",
        "authorization": "Bearer sk-1",
        "content-length": "8",
        "content-type": "application/json",
        "user-agent": "gradetrail",
        "x-team": "blue",
    }


def packed(coding: str, body: bytes) -> bytes:
    return OK + b"content-encoding: %s\r\ncontent-length: %d\r\n\r\n" % (coding.encode(), len(body)) + body


def chunked(head: str, body: bytes) -> bytes:
    return OK + head.encode() + b"\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


@pytest.mark.parametrize(
    "reply",
    [
        OK + b"content-length: 5\r\n\r\nhello",
        OK + b"transfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=1\r\nllo\r\n0\r\ntrailer: t\r\n\r\n",
        OK + b"Content-Encoding: gzip\r\ncontent-length: 25\r\n\r\n" + gzipped(b"hello"),
        OK + b"content-encoding: deflate\r\ncontent-length: 13\r\n\r\n" + zlib.compress(b"hello"),
        packed("gzip", gzipped(b"he") + gzipped(b"llo")),
        packed("X-GZip", gzipped(b"hello") + bytes(8)),
        packed("gzip", gzipped(b"he") + bytes(8) + gzipped(b"llo") + bytes(3)),
        packed("gzip", gzipped(b"hello") + b"\r\n"),
        packed("gzip, gzip", gzipped(gzipped(b"hello"))),
        packed("gzip, identity", gzipped(b"hello")),
        packed("deflate, gzip", gzipped(zlib.compress(b"hello"))),
        packed("gzip\r\ncontent-encoding: Deflate", zlib.compress(gzipped(b"hello"))),
        packed("identity", b"hello"),
        chunked("transfer-encoding: gzip, chunked", gzipped(b"hello")),
        chunked("transfer-encoding: GZip\r\ntransfer-encoding: Chunked", gzipped(b"hello")),
        chunked(
            "transfer-encoding: gzip, chunked\r\ncontent-encoding: deflate",
            gzipped(zlib.compress(b"hello")),
        ),
        OK + b"transfer-encoding: gzip\r\n\r\n" + gzipped(b"hello") + b"<end>",
        packed("deflate", zlib.compress(b"hello")[2:-4]),
        OK + b"\r\nhello<end>",
        SMALL.replace(b"{}", b"hello").replace(b": 2", b": 5").replace(b"\r\n", b"\n"),
        OK.replace(b"\r\n", b"\n") + b"transfer-encoding: chunked\n\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nhello<end>",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
        + OK
        + b"content-length: 5\r\n\r\nhello",
    ],
)
def test_a_body_is_read_however_it_is_framed(reply: bytes) -> None:
    (status, headers, body), second = posted(Server(reply), 2)
    assert (status, body) == (200, b"hello")
    assert "link" not in headers
    assert second[2] == b"{}"


def test_headers_have_lower_case_names_and_repeated_ones_are_joined() -> None:
    reply = b"HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nA: 1\r\na: 2\r\ncontent-length: 0\r\n\r\n"
    ((status, headers, body),) = posted(Server(reply))
    assert (status, headers["retry-after"], headers["a"], body) == (429, "3", "1, 2", b"")


def test_trailers_of_a_chunked_body_are_no_headers() -> None:
    trailers = b"content-encoding: gzip\r\nretry-after: 9\r\nx-request-id: other\r\n"
    reply = (
        OK + b"transfer-encoding: chunked\r\nx-request-id: r1\r\n\r\n2\r\n{}\r\n0\r\n" + trailers + b"\r\n"
    )
    first, second = posted(Server(reply), 2)
    assert first == (200, {"transfer-encoding": "chunked", "x-request-id": "r1"}, b"{}")
    assert second[2] == b"{}"


@pytest.mark.parametrize(
    "preliminary",
    [
        b"HTTP/1.1 103 Early Hints\r\nconnection: close\r\n\r\n",
        b"HTTP/1.1 102 Processing\r\ncontent-length: 7\r\nconnection: close\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\ntransfer-encoding: chunked\r\ncontent-encoding: gzip\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nupgrade: h2c\r\nconnection: upgrade, close\r\n\r\n",
        b"HTTP/1.0 100 Continue\r\n\r\n",
    ],
)
def test_a_preliminary_reply_is_skipped_whatever_it_says(preliminary: bytes) -> None:
    server = Server(preliminary * 2 + SMALL, preliminary + OK + b"connection: close\r\n\r\nhello<end>")
    first, second, third = posted(server, 3)
    assert first == third == (200, {"content-length": "2"}, b"{}")
    assert second == (200, {"connection": "close"}, b"hello")
    assert server.connections == 2


HELLO = {"content-length": "5", "x-a": "b"}


@pytest.mark.parametrize(
    ("head", "headers"),
    [
        (b"content-length: 5\r\nx-a: b\r\nContent-Length: 5\r\n", HELLO),
        (b"content-length: 5, 5\r\nx-a: b\r\n", HELLO),
        (b"content-length: 5\r\nx-a: b\r\ncontent-length:5 ,5\r\n", HELLO),
        (b"x-a:\r\n b\r\ncontent-length:\r\n\t5\r\n", HELLO),
        (b"content-length: 5\r\nx-a: one\r\n  two \r\n\tthree\r\n", {**HELLO, "x-a": "one two three"}),
        (b"content-length: 5\nx-a: one\n two\n", {**HELLO, "x-a": "one two"}),
    ],
    ids=["twice", "a list", "both", "folded before its value", "folded", "folded without carriage returns"],
)
@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"])
@pytest.mark.parametrize("cut", [20, 52, -6])
def test_a_head_of_one_meaning_is_read(head: bytes, headers: dict[str, str], before: bytes, cut: int) -> None:
    reply = before + OK + head + b"\r\nhello"
    server = Server(reply, cut=cut)
    first, second = posted(server, 2)
    assert first == (200, headers, b"hello")
    assert (second[2], server.connections) == (b"{}", 1)


def test_a_connection_is_kept_unless_the_server_says_otherwise() -> None:
    server = Server(SMALL, SMALL, OK + b"connection: close\r\ncontent-length: 2\r\n\r\n{}", SMALL)
    assert len(posted(server, 4)) == 4
    assert server.connections == 2


@pytest.mark.parametrize(
    "reply",
    [
        None,
        b"HTTP/1.1 200 OK\r\ncontent-le<end>",
        OK + b"content-length: 5\r\ncontent-length: 2\r\n\r\nhello",
        OK + b"content-length: 5, 2\r\n\r\nhello",
        OK + b"content-length: 5,\r\n\r\nhello",
        OK + b"content-length: 5\r\ncontent-length: 5\r\n<end>",
        OK + b"content-length: 5\r\n\r\nhel<end>",
        OK + b"transfer-encoding: chunked\r\n\r\n5\r\nhel<end>",
        OK + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n<end>",
        OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n<end>",
        packed("gzip", b"hello"),
        packed("gzip", gzipped(b"hello") + gzipped(b"world")[:-1]),
        packed("gzip", gzipped(b"hello") + bytes(4) + gzipped(b"world")[:-1]),
        packed("gzip, gzip", gzipped(b"hello")),
        packed("gzip, deflate", gzipped(zlib.compress(b"hello"))),
        packed("gzip, " * 5 + "gzip", b"hello"),
        chunked("transfer-encoding: gzip, chunked", b"hello"),
        packed("deflate", zlib.compress(b"hello")[2:-5]),
        b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n<end>",
    ],
)
def test_half_a_reply_is_a_lost_connection_and_no_answer(reply: bytes | None) -> None:
    error = refused(Server(reply))
    assert error.error_type == "connection"
    assert not error.is_unreachable


@pytest.mark.parametrize(
    "reply",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n<end>",
        b"\x15\x03\x01\x00\x02\x02\x50",
        b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    ids=["ssh", "an alert of TLS", "a frame of HTTP/2", "the preface of HTTP/2"],
)
def test_a_server_that_speaks_no_http_is_unreachable(reply: bytes) -> None:
    error = refused(Server(reply))
    assert (error.error_type, error.is_unreachable) == ("connection", True)
    assert "wrong scheme or port" in str(error)


def test_a_server_that_speaks_before_it_is_asked_is_unreachable() -> None:
    class Greeter(Server):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.writers.append(writer)
            writer.write(b"220 mail.example ESMTP\r\n")

    assert refused(Greeter()).is_unreachable


def test_more_than_was_asked_for_ends_the_connection_and_changes_no_reply() -> None:
    server = Server(SMALL + SMALL.replace(b"{}", b"[]"), SMALL)
    first, second = posted(server, 2)
    assert (first[2], second[2]) == (b"{}", b"{}")
    assert first[1] == {"content-length": "2"}


def tell(server: Server, unasked: bytes) -> None:
    """Send bytes over the first connection at once, before any client has a turn to read them."""
    os.write(server.writers[0].get_extra_info("socket").fileno(), unasked)


OTHERS = SMALL.replace(b"{}", b"[]")


@pytest.mark.parametrize("unasked", [OTHERS, OTHERS[:1], b"\r\n"])
def test_a_reply_that_nobody_asked_for_is_not_taken_for_that_of_the_next_request(unasked: bytes) -> None:
    server = Server()

    async def main() -> list[bytes]:
        async with opened(server) as lines:
            first = await lines.post(b"{}", 10)
            tell(server, unasked)
            return [first[2], *[(await lines.post(b"{}", 10))[2] for _ in range(3)]]

    assert asyncio.run(main()) == [b"{}"] * 4
    assert (server.connections, len(server.requests)) == (2, 4)


def test_a_reply_that_comes_before_its_request_is_written_is_another_ones() -> None:
    server = Server()

    async def main() -> list[bytes]:
        async with opened(server) as lines:
            first = await lines.post(b"{}", 10)
            second = asyncio.create_task(lines.post(b" " * 30_000_000, 10))
            await asyncio.sleep(0)
            tell(server, OTHERS)
            return [first[2], (await second)[2], (await lines.post(b"{}", 10))[2]]

    assert asyncio.run(main()) == [b"{}"] * 3
    assert (server.connections, len(server.requests)) == (2, 3)


def test_a_reply_that_crosses_its_request_on_the_way_is_another_ones() -> None:
    class Slow(Server):
        """Takes no bytes of the second request on its first connection."""

        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            transport = writer.transport
            assert isinstance(transport, asyncio.Transport)
            if self.connections == 0:
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
                self.first = transport
            await super().serve(reader, writer)

    server = Slow()

    async def main() -> list[bytes]:
        async with opened(server) as lines:
            first = await lines.post(b"{}", 10)
            server.first.pause_reading()
            (line,) = lines._open
            second = asyncio.create_task(lines.post(b" " * 50_000, 10))
            await asyncio.sleep(0)
            assert line._transport is not None
            assert line._transport.get_write_buffer_size() == 0 < unconfirmed(line._descriptor)
            tell(server, OTHERS)
            return [first[2], (await second)[2], (await lines.post(b"{}", 10))[2]]

    assert asyncio.run(main()) == [b"{}"] * 3
    assert (server.connections, len(server.requests)) == (2, 3)


def test_a_server_may_refuse_the_first_request_of_a_connection_before_it_is_written() -> None:
    refusal = b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"

    class Hasty(Server):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.writers.append(writer)
            await reader.readuntil(b"\r\n\r\n")
            writer.write(refusal)

    ((status, _, _),) = posted(Hasty(), body=b" " * 30_000_000)
    assert status == 413


def test_a_refusal_of_a_later_request_before_it_is_written_is_heard_over_a_new_connection() -> None:
    refusal = b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"

    class Hasty(Server):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            self.writers.append(writer)
            while b"\r\ncontent-length: 2\r\n" in await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(2)
                writer.write(SMALL)
            writer.write(refusal)

    server = Hasty()

    async def main() -> list[int]:
        async with opened(server) as lines:
            return [(await lines.post(body, 10))[0] for body in (b"{}", b" " * 30_000_000, b"{}")]

    assert asyncio.run(main()) == [200, 413, 200]
    assert server.connections == 3


def zeros(*sizes: int) -> bytes:
    return packed("gzip", b"".join(gzipped(bytes(size), 9) for size in sizes))


@pytest.mark.parametrize(
    "reply",
    [
        zeros(MOST_BYTES + 1),
        zeros(MOST_BYTES, 1),
        packed("gzip, gzip", gzipped(gzipped(bytes(MOST_BYTES + 1)))),
        zeros(300_000_000),
        OK + b"\r\n" + b"x" * MOST_BYTES + b"<end>",
        OK + b"a: b\r\n" * 500_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000,
    ],
    ids=[
        "just too much",
        "in two members",
        "packed twice",
        "a bomb",
        "without end",
        "headers without end",
        "preliminary replies without end",
    ],
)
def test_a_reply_of_too_many_bytes_is_a_bad_reply_that_is_not_asked_for_again(reply: bytes) -> None:
    error = refused(Server(reply), timeout_s=60)
    assert (error.error_type, error.is_final) == ("bad_reply", True)
    assert "MiB" in str(error)


def test_a_small_body_that_unpacks_to_much_takes_no_more_memory_than_the_limit() -> None:
    reply = zeros(300_000_000)
    tracemalloc.start()
    try:
        refused(Server(reply), timeout_s=60)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2.5 * MOST_BYTES


def test_a_body_of_just_the_limit_is_read() -> None:
    ((_, _, body),) = posted(Server(zeros(MOST_BYTES)), timeout_s=60)
    assert len(body) == MOST_BYTES


@pytest.mark.parametrize("coding", ["br", "gzip, br", "zstd, gzip"])
def test_a_body_of_a_coding_that_is_not_known_is_left_as_it_came(coding: str) -> None:
    ((_, headers, body),) = posted(Server(packed(coding, b"hello")))
    assert (headers["content-encoding"], body) == (coding, b"hello")


def test_a_server_that_hangs_is_a_timeout_and_its_connection_is_not_used_again() -> None:
    server = Server(OK + b"content-length: 5\r\n\r\nhel", SMALL)

    async def main() -> None:
        async with opened(server) as lines:
            with pytest.raises(ProviderError) as caught:
                await lines.post(b"{}", 0.1)
            assert caught.value.error_type == "timeout"
            assert (await lines.post(b"{}", 10))[2] == b"{}"

    asyncio.run(main())
    assert server.connections == 2


def test_a_call_that_is_cut_off_leaves_no_connection_that_the_next_would_read_from() -> None:
    server = Server(OK + b"content-length: 5\r\n\r\nhel", SMALL)

    async def main() -> None:
        async with opened(server) as lines:
            task = asyncio.create_task(lines.post(b"{}", 10))
            await server.asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await lines.post(b"{}", 10))[2] == b"{}"

    asyncio.run(main())


def test_a_connection_that_the_server_closed_meanwhile_is_not_used_again() -> None:
    server = Server(SMALL + b"<end>", SMALL)

    async def main() -> list[bytes]:
        async with opened(server) as lines:
            first = await lines.post(b"{}", 10)
            await asyncio.gather(*(line.closed for line in lines._open))
            return [first[2], (await lines.post(b"{}", 10))[2]]

    assert asyncio.run(main()) == [b"{}", b"{}"]
    assert server.connections == 2


def test_a_connection_that_rested_long_is_not_used_again() -> None:
    server = Server()

    async def main() -> None:
        async with opened(server) as lines:
            await lines.post(b"{}", 10)
            for line in lines._idle:
                line.idle_since -= IDLE_S + 1
            await lines.post(b"{}", 10)

    asyncio.run(main())
    assert server.connections == 2


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "no-such-host.invalid"])
def test_a_server_that_is_not_there_is_unreachable_whichever_address_was_tried(host: str) -> None:
    async def main() -> None:
        endpoint = Endpoint(f"http://{host}:{free_port()}/v1", None, {}, Secrets())
        await Lines(endpoint, Limits(1, 20), "/x").post(b"{}", 20)

    with pytest.raises(ProviderError) as caught:
        asyncio.run(main())
    assert caught.value.error_type == "connection"
    assert caught.value.is_unreachable


CERTIFICATE = Path(__file__).parent / "data" / "localhost.pem"


def secured() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


def test_a_server_with_a_trusted_certificate_is_asked_over_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    server = Server(SMALL, OK + b"\r\nhello<end>")
    first, second = posted(server, 2, tls=secured())
    assert (first[2], second[2]) == (b"{}", b"hello")
    assert server.connections == 1


def test_a_server_with_an_untrusted_certificate_is_unreachable() -> None:
    with pytest.raises(ProviderError) as caught:
        posted(Server(), tls=secured())
    assert caught.value.is_unreachable
    assert "certificate" in str(caught.value).lower()


def test_as_many_calls_are_in_flight_as_there_is_room_for() -> None:
    server = Server()

    async def main() -> int:
        async with opened(server) as lines:
            await asyncio.gather(*(lines.post(b"{}", 10) for _ in range(40)))
            return server.connections

    assert asyncio.run(main()) == 4
