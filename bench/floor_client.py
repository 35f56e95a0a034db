"""The floor under any harness: N chat requests with K in flight and nothing else.

    python bench/floor_client.py --client aiohttp --port 8399 --data gsm10k.jsonl

Prints one JSON line: requests, right answers, wall and CPU seconds of the request loop alone.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import resource
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

ANSWER = re.compile(r"Answer: (-?\d+)")
LENGTH = re.compile(rb"content-length: (\d+)")

Ask = Callable[[str], Awaitable[str]]


def body(question: str) -> dict[str, Any]:
    """Make the request that every client sends."""
    message = {"role": "user", "content": question}
    return {"model": "mock-model", "messages": [message], "temperature": 0, "max_tokens": 256}


@contextlib.asynccontextmanager
async def raw(base: str, in_flight: int) -> AsyncIterator[Ask]:
    """Speak HTTP by hand over asyncio streams: what no client library can beat."""
    port = int(base.rpartition(":")[2])
    pool = [await asyncio.open_connection("127.0.0.1", port) for _ in range(in_flight)]

    async def ask(question: str) -> str:
        connection = pool.pop()
        reader, writer = connection
        data = json.dumps(body(question)).encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        writer.write(head + b"content-length: %d\r\n\r\n" % len(data) + data)
        length = LENGTH.search(await reader.readuntil(b"\r\n\r\n"))
        assert length is not None
        reply = json.loads(await reader.readexactly(int(length[1])))
        pool.append(connection)
        return str(reply["choices"][0]["message"]["content"])

    yield ask
    for _, writer in pool:
        writer.close()


@contextlib.asynccontextmanager
async def with_aiohttp(base: str, in_flight: int) -> AsyncIterator[Ask]:
    """Use aiohttp as its manual says."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask(question: str) -> str:
            async with session.post(f"{base}/v1/chat/completions", json=body(question)) as reply:
                return str((await reply.json())["choices"][0]["message"]["content"])

        yield ask


@contextlib.asynccontextmanager
async def with_openai(base: str, in_flight: int) -> AsyncIterator[Ask]:
    """Use the vendor's SDK, its retries off; it sizes its own pool."""
    import openai

    assert in_flight
    async with openai.AsyncOpenAI(api_key="x", base_url=f"{base}/v1", max_retries=0) as client:

        async def ask(question: str) -> str:
            reply = await client.chat.completions.create(**body(question))
            return str(reply.choices[0].message.content)

        yield ask


@contextlib.asynccontextmanager
async def with_anthropic(base: str, in_flight: int) -> AsyncIterator[Ask]:
    """Use the vendor's SDK, its retries off; it sizes its own pool and takes no temperature."""
    import anthropic

    assert in_flight
    async with anthropic.AsyncAnthropic(api_key="x", base_url=base, max_retries=0) as client:

        async def ask(question: str) -> str:
            fields = body(question)
            del fields["temperature"]
            reply = await client.messages.create(**fields)
            return str(reply.content[0].text)

        yield ask


@contextlib.asynccontextmanager
async def with_openai_aiohttp(base: str, in_flight: int) -> AsyncIterator[Ask]:
    """Use the vendor's SDK over its aiohttp transport, with room for all calls."""
    import httpx2
    import openai

    http = openai.DefaultAioHttpClient(
        limits=httpx2.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    )
    async with openai.AsyncOpenAI(
        api_key="x", base_url=f"{base}/v1", max_retries=0, http_client=http
    ) as client:

        async def ask(question: str) -> str:
            reply = await client.chat.completions.create(**body(question))
            return str(reply.choices[0].message.content)

        yield ask


@contextlib.asynccontextmanager
async def with_anthropic_aiohttp(base: str, in_flight: int) -> AsyncIterator[Ask]:
    """Use the vendor's SDK over its aiohttp transport, with room for all calls; it takes no temperature."""
    import anthropic
    import httpx2

    http = anthropic.DefaultAioHttpClient(
        limits=httpx2.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    )
    async with anthropic.AsyncAnthropic(
        api_key="x", base_url=base, max_retries=0, http_client=http
    ) as client:

        async def ask(question: str) -> str:
            fields = body(question)
            del fields["temperature"]
            reply = await client.messages.create(**fields)
            return str(reply.content[0].text)

        yield ask


CLIENTS = {
    "raw": raw,
    "aiohttp": with_aiohttp,
    "openai": with_openai,
    "anthropic": with_anthropic,
    "openai_aiohttp": with_openai_aiohttp,
    "anthropic_aiohttp": with_anthropic_aiohttp,
}


async def pump(items: list[tuple[str, str]], in_flight: int, ask: Ask) -> int:
    """Ask everything; count the right answers."""
    waiting = iter(items)
    n_right = 0

    async def worker() -> None:
        nonlocal n_right
        for question, gold in waiting:
            found = ANSWER.search(await ask(question))
            n_right += found is not None and found[1] == gold

    await asyncio.gather(*(worker() for _ in range(in_flight)))
    return n_right


async def measure(client: str, port: int, items: list[tuple[str, str]], in_flight: int) -> dict[str, Any]:
    """Time the request loop alone."""
    async with CLIENTS[client](f"http://127.0.0.1:{port}", in_flight) as ask:
        wall, cpu = time.perf_counter(), time.process_time()
        n_right = await pump(items, in_flight, ask)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "client": client,
        "n": len(items),
        "right": n_right,
        "wall_s": round(wall, 3),
        "cpu_s": round(cpu, 3),
        "cpu_us_per_request": round(cpu / len(items) * 1e6),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main() -> None:
    """Parse the command line, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--client", choices=sorted(CLIENTS), default="aiohttp")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--in-flight", type=int, default=64)
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.data.read_text(encoding="utf-8").splitlines()]
    items = [(row["question"] + "\nEnd with 'Answer: <number>'.", row["answer"]) for row in rows]
    print(json.dumps(asyncio.run(measure(args.client, args.port, items, args.in_flight))))


if __name__ == "__main__":
    main()
