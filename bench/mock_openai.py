"""A fast, deterministic mock of an OpenAI- and Anthropic-compatible API on loopback.

Standard library only. One process, one thread: an asyncio.Protocol answers with loop.call_later, so
there is no task and no coroutine per request, and a benchmark measures its client rather than this.

    POST /v1/chat/completions   OpenAI chat; n, logprobs and top_logprobs are honoured
    POST /v1/messages           Anthropic messages
    GET  /v1/models             model list
    GET  /stats                 counters as JSON; max_in_flight leaves out what got a 429
    POST /reset                 zero the counters and the attempts of each prompt

A reply depends on the request alone: its key hashes model, messages, seed and temperature. Where the
prompt holds `[[gold=72]]` (the last counts), the reply ends `Answer: 72` for a fraction --accuracy of
keys and another number for the rest. A 500 (--fail-rate) depends on the key and on how often that key
was asked, so that a retry can succeed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

GOLD = re.compile(r"\[\[gold=([^\]]*)\]\]")
WORDS = (
    "first we add the two numbers then multiply by the count and subtract what was given away "
    "so the total per day is taken over the week which leaves the remaining amount to share "
).split()
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests", 500: "Server Error"}
MODELS = ("mock-model", "mock-a", "mock-b")


@dataclass(frozen=True)
class Options:
    """How the server behaves."""

    latency_ms: float = 0
    jitter_ms: float = 0
    """Added or taken off by the key's hash, so that it is the same in every run."""
    max_in_flight: int = 0
    """429 above this many; 0 is no limit."""
    retry_after_s: float = 1
    """Sent with a 429."""
    fail_rate: float = 0
    """Fraction of attempts answered with a 500."""
    accuracy: float = 0.8
    n_words: int = 60
    """Length of a reply."""


@dataclass
class Counters:
    """What happened since the last reset."""

    requests: int = 0
    in_flight: int = 0
    max_in_flight: int = 0
    connections: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    first_request_at: float | None = None
    last_response_at: float | None = None
    by_status: Counter[int] = field(default_factory=Counter)
    by_path: Counter[str] = field(default_factory=Counter)
    keys: set[bytes] = field(default_factory=set)
    attempts: Counter[bytes] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        """Give the counters with the derived span in seconds."""
        first, last = self.first_request_at, self.last_response_at
        span = None if first is None or last is None else last - first
        shown = {name: value for name, value in vars(self).items() if name not in ("keys", "attempts")}
        return {**shown, "unique_keys": len(self.keys), "span_s": span}


def encoded(value: Any) -> bytes:
    """Encode as compact JSON."""
    return json.dumps(value, separators=(",", ":")).encode()


def plain(content: Any) -> str:
    """Give the text of a message's content, a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part.get("text", "") for part in parts if isinstance(part, dict))


def digest(*parts: bytes, size: int = 16) -> bytes:
    """Hash bytes."""
    return blake2b(b"".join(parts), digest_size=size).digest()


def unit(key: bytes, offset: int) -> float:
    """Give a uniform number in [0, 1) from four bytes of a digest."""
    return int.from_bytes(key[offset : offset + 4], "little") / 2**32


class Replies:
    """Turns requests into replies."""

    def __init__(self, options: Options) -> None:
        self.options = options
        # 64 precomputed fillers: replies differ between prompts without costing anything
        n = max(0, options.n_words - 3)
        self.fillers = [
            " ".join(WORDS[(start * 7 + j) % len(WORDS)] for j in range(n)) for start in range(64)
        ]

    def text(self, prompt: str, key: bytes) -> str:
        """Write the reply to a prompt: filler, then an answer that is right or wrong."""
        filler = self.fillers[key[0] & 63]
        golds = GOLD.findall(prompt)
        if not golds:
            return f"{filler} Answer: {int.from_bytes(key[1:3], 'little') % 100}"
        gold = golds[-1]
        if unit(key, 4) < self.options.accuracy:
            return f"{filler} Answer: {gold}"
        wrong = int(gold) + 1 + key[8] % 9 if gold.lstrip("-").isdigit() else f"not-{gold}"
        return f"{filler} Answer: {wrong}"

    def chat(self, request: dict[str, Any], prompt: str, key: bytes) -> dict[str, Any]:
        """Make an OpenAI chat completion."""
        choices = []
        for index in range(int(request.get("n") or 1)):
            own = key if index == 0 else digest(key, index.to_bytes(4, "little"))
            text = self.text(prompt, own)
            top = int(request.get("top_logprobs") or 0)
            choices.append(
                {
                    "index": index,
                    "message": {"role": "assistant", "content": text, "refusal": None},
                    "logprobs": logprobs(text, top, own) if request.get("logprobs") else None,
                    "finish_reason": "stop",
                }
            )
        n_in, n_out = max(1, len(prompt) // 4), self.options.n_words * len(choices)
        return {
            "id": f"chatcmpl-{key.hex()}",
            "object": "chat.completion",
            "created": 1700000000,
            "model": request.get("model", "mock-model"),
            "system_fingerprint": "fp_mock",
            "service_tier": "default",
            "choices": choices,
            "usage": {
                "prompt_tokens": n_in,
                "completion_tokens": n_out,
                "total_tokens": n_in + n_out,
                "prompt_tokens_details": {"cached_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0},
            },
        }

    def message(self, request: dict[str, Any], prompt: str, key: bytes) -> dict[str, Any]:
        """Make an Anthropic message."""
        return {
            "id": f"msg_{key.hex()}",
            "type": "message",
            "role": "assistant",
            "model": request.get("model", "mock-model"),
            "content": [{"type": "text", "text": self.text(prompt, key)}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": max(1, len(prompt) // 4),
                "output_tokens": self.options.n_words,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
            },
        }


def logprobs(text: str, top: int, key: bytes) -> dict[str, Any]:
    """Invent a log-probability for every word, and `top` alternatives."""
    content = []
    for number, token in enumerate(re.findall(r"\s*\S+", text)):
        value = -0.01 - key[(number + 3) % len(key)] / 255
        likely = [{"token": token, "logprob": value, "bytes": list(token.encode())}]
        likely += [
            {"token": f" alt{k}", "logprob": value - 1 - k, "bytes": list(b" alt")} for k in range(top - 1)
        ]
        content.append({**likely[0], "top_logprobs": likely[:top]})
    return {"content": content, "refusal": None}


def http_response(status: int, payload: bytes, *, extra: bytes = b"", close: bool = False) -> bytes:
    """Write an HTTP/1.1 response with a JSON body."""
    head = f"HTTP/1.1 {status} {REASONS[status]}\r\ncontent-type: application/json\r\n"
    head += f"content-length: {len(payload)}\r\n"
    return head.encode() + extra + (b"connection: close\r\n" if close else b"") + b"\r\n" + payload


def failure(kind: str, message: str) -> bytes:
    """Write an error body that both vendors' SDKs read."""
    return encoded({"type": "error", "error": {"type": kind, "message": message}})


class Server:
    """Routes requests, counts them, delays the replies."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.replies = Replies(options)
        self.counters = Counters()
        self.loop = asyncio.get_running_loop()

    def route(self, connection: Connection, method: bytes, path: str, body: bytes, close: bool) -> None:
        """Answer one request, now or after its latency."""
        if path == "/stats":
            payload = encoded(self.counters.as_json())
        elif path == "/reset":
            self.counters = Counters(in_flight=self.counters.in_flight)
            payload = b"{}"
        elif method == b"GET" and path == "/v1/models":
            models = [
                {"id": name, "object": "model", "created": 1700000000, "owned_by": "mock"} for name in MODELS
            ]
            payload = encoded({"object": "list", "data": models, "has_more": False})
        elif method == b"POST" and path in ("/v1/chat/completions", "/v1/messages"):
            self.complete(connection, path, body, close)
            return
        else:
            connection.send(http_response(404, failure("not_found_error", "not found"), close=close), close)
            return
        connection.send(http_response(200, payload, close=close), close)

    def complete(self, connection: Connection, path: str, body: bytes, close: bool) -> None:
        """Count a completion and answer it after its latency, or at once with a 429."""
        counters, options = self.counters, self.options
        counters.first_request_at = counters.first_request_at or time.time()
        counters.requests += 1
        counters.bytes_in += len(body)
        counters.by_path[path] += 1
        counters.in_flight += 1
        if options.max_in_flight and counters.in_flight > options.max_in_flight:
            extra = f"retry-after: {options.retry_after_s}\r\n".encode()
            payload = failure("rate_limit_error", "mock rate limit")
            self.finish(connection, 429, http_response(429, payload, extra=extra, close=close), close)
            return
        counters.max_in_flight = max(counters.max_in_flight, counters.in_flight)
        status, payload, key = self.reply(path, body)
        counters.keys.add(key)
        delay_s = (options.latency_ms + options.jitter_ms * (2 * unit(key, 9) - 1)) / 1000
        data = http_response(status, payload, close=close)
        if delay_s > 0:
            self.loop.call_later(delay_s, self.finish, connection, status, data, close)
        else:
            self.finish(connection, status, data, close)

    def reply(self, path: str, body: bytes) -> tuple[int, bytes, bytes]:
        """Give status, body and key of one completion."""
        try:
            request = json.loads(body)
        except ValueError:
            return 400, failure("invalid_request_error", "bad JSON"), digest(body)
        texts = [
            plain(request.get("system")),
            *(plain(m.get("content")) for m in request.get("messages", ())),
        ]
        prompt = "\n".join(text for text in texts if text)
        key = digest(
            f"{request.get('model')}\0{request.get('seed')}\0{request.get('temperature')}\0{prompt}".encode()
        )
        attempt = self.counters.attempts[key]
        self.counters.attempts[key] += 1
        if unit(digest(key, attempt.to_bytes(4, "little")), 0) < self.options.fail_rate:
            return 500, failure("server_error", "mock failure"), key
        make = self.replies.message if path == "/v1/messages" else self.replies.chat
        return 200, encoded(make(request, prompt, key)), key

    def finish(self, connection: Connection, status: int, data: bytes, close: bool) -> None:
        """Send a completion's reply and count it."""
        self.counters.in_flight -= 1
        self.counters.last_response_at = time.time()
        self.counters.by_status[status] += 1
        self.counters.bytes_out += len(data)
        connection.send(data, close)


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive; bodies by Content-Length or chunked; no pipelining."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.buffer = bytearray()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.server.counters.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (the name is asyncio's)
        """Forget the transport: a late reply is dropped."""
        self.transport = None

    def data_received(self, data: bytes) -> None:
        """Answer every whole request in the buffer."""
        self.buffer += data
        while self._take_one():
            pass

    def send(self, data: bytes, close: bool) -> None:
        """Write, unless the client has gone."""
        if self.transport is not None:
            self.transport.write(data)
            if close:
                self.transport.close()

    def _take_one(self) -> bool:
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(self.buffer[:end])
        lower = head.lower()
        length = re.search(rb"\r\ncontent-length: *(\d+)", lower)
        if b"\r\ntransfer-encoding: chunked" in lower:
            whole = self._chunked(end + 4)
        else:
            stop = end + 4 + (int(length[1]) if length else 0)
            whole = (bytes(self.buffer[end + 4 : stop]), stop) if len(self.buffer) >= stop else None
        if whole is None:
            return False
        body, stop = whole
        del self.buffer[:stop]
        method, target, _ = head.split(b"\r\n", 1)[0].split(b" ", 2)
        path = target.split(b"?", 1)[0].decode()
        self.server.route(self, method, path, body, b"\r\nconnection: close" in lower)
        return True

    def _chunked(self, position: int) -> tuple[bytes, int] | None:
        parts: list[bytes] = []
        while True:
            end = self.buffer.find(b"\r\n", position)
            if end < 0:
                return None
            size = int(bytes(self.buffer[position:end]).split(b";")[0], 16)
            if len(self.buffer) < end + 2 + size + 2:
                return None
            if size == 0:
                return b"".join(parts), end + 4
            parts.append(bytes(self.buffer[end + 2 : end + 2 + size]))
            position = end + 2 + size + 2


async def serve(port: int, options: Options) -> None:
    """Listen until SIGTERM or SIGINT; print the port as JSON first and the counters last."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = Server(options)
    listener = await loop.create_server(lambda: Connection(server), "127.0.0.1", port, backlog=4096)
    print(json.dumps({"ready": True, "port": listener.sockets[0].getsockname()[1]}), flush=True)
    await stop.wait()
    listener.close()
    print(json.dumps(server.counters.as_json()), flush=True)


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8399, help="0 picks a free one")
    for name, default in vars(Options()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    given = vars(parser.parse_args())
    asyncio.run(serve(given.pop("port"), Options(**given)))


if __name__ == "__main__":
    main()
