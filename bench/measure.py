"""Measures whole processes: wall and CPU seconds from fork to reap, peak memory, requests made.

Invariant: the numbers are the kernel's (wait4), interpreter start and imports included; a command
that fails, or that makes another number of requests than planned, is not a measurement.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Cost:
    """What one command took."""

    wall_s: float
    cpu_s: float
    """User and system, children that were waited for included."""
    peak_mb: float
    """Peak resident size of the largest single process, MiB."""


def median(costs: Sequence[Cost]) -> Cost:
    """Give the median of each number."""
    return Cost(
        statistics.median(cost.wall_s for cost in costs),
        statistics.median(cost.cpu_s for cost in costs),
        statistics.median(cost.peak_mb for cost in costs),
    )


def run(
    command: Sequence[str],
    *,
    log: Path,
    env: dict[str, str],
    timeout_s: float = 900,
    folder: Path | None = None,
    accepted: Sequence[int] = (0,),
) -> Cost:
    """Run a command to its end; raise RuntimeError with its last output if its code is not `accepted`."""
    with log.open("wb") as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env, cwd=folder
        )
        killer = threading.Timer(timeout_s, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
        killer.cancel()
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    if code not in accepted:
        tail = log.read_text(errors="replace")[-3000:]
        raise RuntimeError(f"{' '.join(command)} ended with {code}:\n{tail}")
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


class MockServer:
    """The fake API of the tests as a process of its own, on a port of loopback; 0 picks a free one."""

    def __init__(self, latency_ms: float, port: int = 0) -> None:
        self.latency_ms = latency_ms
        self.port = port

    def __enter__(self) -> Self:
        """Start it and wait until it listens."""
        server = ["-m", "tests.servers", "--port", str(self.port), "--latency-ms", str(self.latency_ms)]
        self._process = subprocess.Popen(
            [sys.executable, *server], cwd=HERE.parent, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = json.loads(self._process.stdout.readline())["port"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.communicate()

    def n_requests(self, path: str = "/chat/completions") -> int:
        """Count the calls that it got to a path that ends so."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=10) as reply:
            by_path: dict[str, int] = json.load(reply)["by_path"]
        return sum(n for asked, n in by_path.items() if asked.endswith(path))
