"""One scriptable HTTP server that speaks OpenAI chat, OpenAI Responses and Anthropic messages.

A hand-written asyncio protocol answers without a task for each request, so that a benchmark measures
its client and not this server. It listens on loopback only.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Literal

from tests.servers.replies import Manner, default_body, digest_of, unit
from tests.servers.streams import stream_of

SPOKEN = ("/chat/completions", "/responses", "/messages")
"""Ends of the paths that are answered by default."""


@dataclass(frozen=True)
class Reply:
    """One scripted reply."""

    status: int = 200
    body: Any = None
    """Text and bytes as they are, everything else as JSON; None is the default answer."""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    delay_s: float = 0.0
    fault: Literal["", "hang", "stall", "drip", "cut", "reset"] = ""
    """hang: no reply at all. stall: headers, then nothing. drip: a byte now and then, for ever.
    cut: half the body, then the end of the connection. reset: the connection is reset. Of a stream, `stall`
    and `cut` begin after its events."""
    events: Sequence[bytes] | None = None
    """Parts of a streamed body, sent one by one; they take the place of `body`."""
    gap_s: float = 0.0
    """Time between two of them."""


@dataclass(frozen=True)
class Call:
    """One request as it came in."""

    number: int
    """From 1."""
    method: str
    target: str
    """Path and query."""
    headers: Mapping[str, str]
    """Names in lower case."""
    raw: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def body(self) -> Any:
        return json.loads(self.raw) if self.raw else None


Answer = Callable[[Call], Reply | None]
"""Decides on a reply; None leaves it to the default answer."""


@dataclass
class Behaviour:
    """How a server behaves towards all requests."""

    latency_s: float = 0.0
    jitter_s: float = 0.0
    """Latency differs by up to this much either way, by prompt."""
    max_in_flight: int = 0
    """Above this many a request gets 429; 0 is no limit."""
    retry_after_s: float = 1.0
    """Sent with those 429."""
    fail_rate: float = 0.0
    """Share of calls answered with 500, by prompt and attempt."""
    manner: Manner = field(default_factory=Manner)
    keep_calls: bool = True
    gather: int = 0
    """Hold the first replies back until so many requests are in flight at once."""


class FakeApi:
    """A server in a thread of its own; a context manager."""

    def __init__(self, answer: Answer | None = None, behaviour: Behaviour | None = None) -> None:
        self.answer = answer
        self.behaviour = behaviour or Behaviour()
        self.calls: list[Call] = []
        self.n_calls = 0
        self.by_path: Counter[str] = Counter()
        self.by_status: Counter[int] = Counter()
        self.in_flight = 0
        self.max_in_flight = 0
        self.connections = 0
        self._script: deque[Reply] = deque()
        self._held: list[Callable[[], None]] = []
        self._attempts: Counter[bytes] = Counter()
        self._open: set[_Connection] = set()
        self._loop = asyncio.new_event_loop()
        self._port = 0
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="fake-api", daemon=True)

    @property
    def url(self) -> str:
        """Root of the server; where Anthropic's SDK starts."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def v1(self) -> str:
        """Where OpenAI's SDK and its like start."""
        return f"{self.url}/v1"

    @property
    def bodies(self) -> list[Any]:
        """Bodies of all requests, parsed, in order."""
        return [call.body for call in self.calls]

    @property
    def n_connected(self) -> int:
        """Connections that are open now."""
        return len(self._open)

    def script(self, *replies: Reply) -> None:
        """Answer the next requests with these replies, in order; then by default again."""
        self._script.extend(replies)

    def reset(self) -> None:
        """Forget the calls, the counts and what is left of the script."""
        self.calls.clear()
        self.n_calls = self.max_in_flight = self.connections = 0
        for counter in (self.by_path, self.by_status, self._attempts):
            counter.clear()
        self._script.clear()

    def __enter__(self) -> FakeApi:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self.stop)
        self._thread.join()
        self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self.serve())

    async def serve(self, port: int = 0, on_ready: Callable[[int], None] = lambda _: None) -> None:
        """Serve until stopped; `on_ready` is told the port."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(self, loop), "127.0.0.1", port, backlog=4096)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        on_ready(self._port)
        await self._stop.wait()
        server.close()
        for connection in list(self._open):
            connection.abort()
        # one turn of the loop, so that the sockets are closed before it is
        await asyncio.sleep(0)

    def stop(self) -> None:
        """End serving; called inside the server's own loop."""
        self._stop.set()

    def stats(self) -> dict[str, Any]:
        """Give the counts."""
        return {
            "n_calls": self.n_calls, "by_path": dict(self.by_path), "max_in_flight": self.max_in_flight,
            "by_status": {str(status): n for status, n in self.by_status.items()},
            "connections": self.connections,
        }  # fmt: skip

    def _reply_to(self, call: Call) -> Reply:
        if self._script:
            return self._script.popleft()
        reply = self.answer(call) if self.answer is not None else None
        if reply is not None:
            return reply
        if call.path == "/stats":
            return Reply(body=self.stats())
        if call.path == "/v1/models":
            return Reply(body={"object": "list", "data": [{"id": "fake-model", "object": "model"}]})
        if not call.path.endswith(SPOKEN):
            return Reply(404, {"error": {"message": f"no such path: {call.path}", "type": "not_found_error"}})
        rules = self.behaviour
        if rules.max_in_flight and self.in_flight > rules.max_in_flight:
            error = {"message": "too many at once", "type": "rate_limit_error", "code": "rate_limit_exceeded"}
            return Reply(429, {"type": "error", "error": error}, {"retry-after": f"{rules.retry_after_s:g}"})
        return self._default(call)

    def _default(self, call: Call) -> Reply:
        rules = self.behaviour
        try:
            body = json.loads(call.raw)
            digest = digest_of(call.path, body)
        except (ValueError, AttributeError, TypeError):
            return Reply(400, {"error": {"message": "not a request", "type": "invalid_request_error"}})
        if rules.fail_rate > 0:
            self._attempts[digest] += 1
            draw = unit(digest_of(call.path, {"model": digest.hex(), "seed": self._attempts[digest]}), 0)
            if draw < rules.fail_rate:
                error = {"message": "made to fail", "type": "server_error"}
                return Reply(500, {"type": "error", "error": error}, delay_s=rules.latency_s)
        whole = default_body(call.path, body, rules.manner)
        events = stream_of(call.path, whole) if body.get("stream") else None
        delay = rules.latency_s + rules.jitter_s * (2 * unit(digest, 9) - 1)
        return Reply(body=whole, events=events, delay_s=max(0.0, delay))


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive and Content-Length or chunked bodies; no pipelining."""

    def __init__(self, api: FakeApi, loop: asyncio.AbstractEventLoop) -> None:
        self._api, self._loop = api, loop
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._api.connections += 1
        self._api._open.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        self._api._open.discard(self)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (request := self._next_request()) is not None:
            self._handle(*request)

    def _next_request(self) -> tuple[str, str, dict[str, str], bytes] | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        first, *lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        start = end + 4
        if headers.get("transfer-encoding") == "chunked":
            found = self._chunked(start)
            if found is None:
                return None
            raw, stop = found
        else:
            stop = start + int(headers.get("content-length", 0))
            if len(self._buffer) < stop:
                return None
            raw = bytes(self._buffer[start:stop])
        del self._buffer[:stop]
        return method, target, headers, raw

    def _chunked(self, position: int) -> tuple[bytes, int] | None:
        parts: list[bytes] = []
        while True:
            end = self._buffer.find(b"\r\n", position)
            if end < 0:
                return None
            size = int(bytes(self._buffer[position:end]).split(b";")[0], 16)
            if len(self._buffer) < end + size + 4:
                return None
            if size == 0:
                return b"".join(parts), end + 4
            parts.append(bytes(self._buffer[end + 2 : end + 2 + size]))
            position = end + size + 4

    def _handle(self, method: str, target: str, headers: dict[str, str], raw: bytes) -> None:
        api = self._api
        if target == "/reset":
            api.reset()
            self._write(Reply(body={}))
            return
        api.n_calls += 1
        call = Call(api.n_calls, method, target, headers, raw)
        api.by_path[call.path] += 1
        api.in_flight += 1
        if api.behaviour.keep_calls:
            api.calls.append(call)
        reply = api._reply_to(call)
        if reply.status != 429:
            api.max_in_flight = max(api.max_in_flight, api.in_flight)
        if reply.body is None and reply.events is None and reply.fault in ("", "stall", "cut"):
            default = api._default(call)
            reply = replace(reply, body=default.body, events=default.events)
        if call.number <= api.behaviour.gather:
            api._held.append(partial(self._answer_later, reply))
            if len(api._held) == api.behaviour.gather:
                for answer in api._held:
                    answer()
                api._held.clear()
        else:
            self._answer_later(reply)

    def _answer_later(self, reply: Reply) -> None:
        if reply.delay_s > 0:
            self._loop.call_later(reply.delay_s, self._answer, reply)
        else:
            self._answer(reply)

    def _answer(self, reply: Reply) -> None:
        self._api.in_flight -= 1
        self._api.by_status[reply.status] += 1
        if self._transport is None:
            return
        if reply.fault == "hang":
            return
        if reply.fault == "reset":
            self._transport.abort()
            return
        if reply.events is not None:
            self._stream(reply)
        else:
            self._write(reply)

    def _stream(self, reply: Reply) -> None:
        assert self._transport is not None
        assert reply.events is not None
        head = [f"HTTP/1.1 {reply.status} OK", "content-type: text/event-stream; charset=utf-8"]
        head += ["transfer-encoding: chunked", *(f"{name}: {value}" for name, value in reply.headers.items())]
        self._transport.write(("\r\n".join(head) + "\r\n\r\n").encode("latin-1"))
        self._next_event(reply, 0)

    def _next_event(self, reply: Reply, number: int) -> None:
        events = reply.events or ()
        while self._transport is not None and number < len(events):
            self._transport.write(b"%x\r\n%s\r\n" % (len(events[number]), events[number]))
            number += 1
            if reply.gap_s:
                self._loop.call_later(reply.gap_s, self._next_event, reply, number)
                return
        if self._transport is None or reply.fault == "stall":
            return
        if reply.fault == "cut":
            self._transport.close()
        else:
            self._transport.write(b"0\r\n\r\n")

    def _write(self, reply: Reply) -> None:
        assert self._transport is not None
        body = reply.body if reply.body is not None else {}
        payload = (
            body
            if isinstance(body, bytes)
            else body.encode()
            if isinstance(body, str)
            else json.dumps(body).encode()
        )
        reason = HTTPStatus(reply.status).phrase if reply.status in HTTPStatus._value2member_map_ else ""
        head = [f"HTTP/1.1 {reply.status} {reason}", f"content-type: {reply.content_type}"]
        head += [f"content-length: {len(payload) + (1 << 20 if reply.fault == 'drip' else 0)}"]
        head += [f"{name}: {value}" for name, value in reply.headers.items()]
        start = ("\r\n".join(head) + "\r\n\r\n").encode("latin-1")
        if reply.fault in ("stall", "drip"):
            self._transport.write(start)
            if reply.fault == "drip":
                self._drip()
        elif reply.fault == "cut":
            self._transport.write(start + payload[: len(payload) // 2])
            self._transport.close()
        else:
            self._transport.write(start + payload)

    def _drip(self) -> None:
        if self._transport is not None:
            with contextlib.suppress(RuntimeError):
                self._transport.write(b" ")
                self._loop.call_later(0.02, self._drip)
