"""Searches with Python's `re` in a worker process, for patterns that RE2 cannot take.

Invariant: a search ends. A text on which the pattern runs too long, or kills its process, gets a reason
in place of a result, and the texts after it are searched all the same.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

MATCH_SECONDS = 1.0
"""Processor time that one pattern may take on one text."""
SILENCE_SECONDS = 60.0
"""Wall-clock time without a reply after which the worker counts as stuck."""
BATCH_CHARACTERS = 1_000_000

Mode = Literal["first", "last", "search"]


@dataclass(frozen=True, slots=True)
class Match:
    """What a search found in one text."""

    group: str
    """Group 1, or the whole match where the pattern has none."""
    whole: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a text could not be searched."""

    reason: str


class _DeadError(Exception):
    """The worker is gone or stuck."""


class RegexProcess:
    """One worker, started at the first search and again after it was lost; a context manager."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: deque[bytes] = deque()
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def search(
        self, pattern: str, flags: int, mode: Mode, texts: Sequence[str]
    ) -> list[Match | Failure | None]:
        """Search each text; None means no match.

        `first` and `last` take the first or last match whose group is not blank; `search` the first
        match as it is, whole.
        """
        results: list[Match | Failure | None] = []
        for batch in _batches(texts):
            done = self._try(pattern, flags, mode, batch)
            while len(done) < len(batch):
                done += self._one_by_one(pattern, flags, mode, batch[len(done) :])
            results += done
        return results

    def _try(
        self, pattern: str, flags: int, mode: Mode, texts: Sequence[str]
    ) -> list[Match | Failure | None]:
        """Search a batch; shorter than the batch if the worker was lost on the way."""
        done: list[Match | Failure | None] = []
        try:
            self._send({"pattern": pattern, "flags": flags, "mode": mode, "texts": list(texts)})
            done.extend(_result(self._line()) for _ in texts)
        except (_DeadError, OSError):
            self._end()
        return done

    def _one_by_one(
        self, pattern: str, flags: int, mode: Mode, texts: Sequence[str]
    ) -> list[Match | Failure | None]:
        """Search until a text kills the worker alone, and blame that one."""
        done: list[Match | Failure | None] = []
        for text in texts:
            result = self._try(pattern, flags, mode, [text])
            if not result:
                return [*done, Failure("the pattern killed the process that searched this answer")]
            done += result
        return done

    def _send(self, job: dict[str, object]) -> None:
        if self._process is None:
            worker = Path(__file__).with_name("regex_worker.py")
            command = [sys.executable, "-I", "-S", str(worker), str(MATCH_SECONDS)]
            self._process = subprocess.Popen(  # noqa: S603 - our own file, run by our own interpreter
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}
            )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        self._process.stdin.flush()

    def _line(self) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        source = self._process.stdout.fileno()
        while not self._lines:
            ready, _, _ = select.select([source], [], [], SILENCE_SECONDS)
            chunk = os.read(source, 1 << 20) if ready else b""
            if not chunk:
                raise _DeadError
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._lines.extend(lines)
        return self._lines.popleft()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        self._lines.clear()
        self._rest = b""


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    begin, size = 0, 0
    for number, text in enumerate(texts):
        size += len(text)
        if size > BATCH_CHARACTERS:
            yield texts[begin : number + 1]
            begin, size = number + 1, 0
    if begin < len(texts):
        yield texts[begin:]


def _result(line: bytes) -> Match | Failure | None:
    reply = json.loads(line)
    if reply is None:
        return None
    return Failure(reply) if isinstance(reply, str) else Match(reply[0], reply[1])
