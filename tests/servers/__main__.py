"""Run the fake server as a process: `python -m tests.servers --port 8399 --latency-ms 20`.

Prints one JSON line when it is ready (`{"ready": true, "port": ...}`), and the counts when it is
stopped. GET /stats gives the counts, POST /reset zeroes them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from typing import Any

from tests.servers.api import Behaviour, FakeApi
from tests.servers.replies import Manner


def _say(facts: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


async def _serve(api: FakeApi, port: int) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, api.stop)
    await api.serve(port, lambda ready: _say({"ready": True, "host": "127.0.0.1", "port": ready}))
    _say(api.stats())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--jitter-ms", type=float, default=0.0, help="either way, by prompt")
    parser.add_argument("--max-in-flight", type=int, default=0, help="429 above this many; 0: no limit")
    parser.add_argument("--retry-after", type=float, default=1.0, help="seconds, sent with those 429")
    parser.add_argument("--fail-rate", type=float, default=0.0, help="share answered with 500")
    parser.add_argument("--accuracy", type=float, default=0.8)
    parser.add_argument("--words", type=int, default=60, help="length of a reply")
    args = parser.parse_args()
    behaviour = Behaviour(
        latency_s=args.latency_ms / 1000,
        jitter_s=args.jitter_ms / 1000,
        max_in_flight=args.max_in_flight,
        retry_after_s=args.retry_after,
        fail_rate=args.fail_rate,
        manner=Manner(args.accuracy, args.words),
        keep_calls=False,
    )
    asyncio.run(_serve(FakeApi(behaviour=behaviour), args.port))


if __name__ == "__main__":
    main()
