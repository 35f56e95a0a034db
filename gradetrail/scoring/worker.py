"""A process of its own for judgements that may take too long, or take the process with them.

Invariant: asking ends. An item that is too much for the worker gets a reason in place of a reply, and the
items after it are judged all the same.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Any, Self

SILENCE_SECONDS = 60.0
"""Wall-clock time without a reply after which the worker counts as stuck."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no reply to an item."""

    reason: str


class _DeadError(Exception):
    """The worker is gone or stuck."""


class Worker(ABC):
    """One process, started at the first question and again after it was lost; a context manager.

    A question is a line `{..., "items": [...]}`; the process answers one line of JSON for each item, in
    order, and says what went wrong in `{"failure": ...}`.
    """

    def __init__(
        self,
        killed: str,
        silence_s: float = SILENCE_SECONDS,
        ends: Mapping[int | None, str] = MappingProxyType({}),
    ) -> None:
        """Make a worker that is not started yet.

        `killed` is the reason for an item that kills it, `ends` that by the code with which it ended.
        """
        self._killed, self._ends = killed, ends
        self._silence_s = silence_s
        self._process: subprocess.Popen[bytes] | None = None
        self._code: int | None = None
        self._lines: deque[bytes] = deque()
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @abstractmethod
    def command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        """Give the command that starts the process, and its environment."""

    def ask(self, question: Mapping[str, Any], items: Sequence[Any], size: int) -> list[Any]:
        """Give a reply or Failure for each item; a line holds about `size` characters of items."""
        replies: list[Any] = []
        for batch in _batches(items, size):
            done = self._try(question, batch)
            while len(done) < len(batch):
                done += self._one_by_one(question, batch[len(done) :])
            replies += done
        return replies

    def _try(self, question: Mapping[str, Any], items: Sequence[Any]) -> list[Any]:
        """Ask for a batch; shorter than the batch if the worker was lost on the way."""
        done: list[Any] = []
        try:
            self._send({**question, "items": list(items)})
            done.extend(_reply(self._line()) for _ in items)
        except (_DeadError, OSError):
            self._end()
        return done

    def _one_by_one(self, question: Mapping[str, Any], items: Sequence[Any]) -> list[Any]:
        """Ask until an item kills the worker alone, and blame that one."""
        done: list[Any] = []
        for item in items:
            result = self._try(question, [item])
            if not result:
                return [*done, Failure(self._ends.get(self._code, self._killed))]
            done += result
        return done

    def _send(self, job: Mapping[str, Any]) -> None:
        if self._process is None:
            command, environment = self.command()
            self._process = subprocess.Popen(  # noqa: S603 - our own file, run by our own interpreter
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        self._process.stdin.flush()

    def _line(self) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        source = self._process.stdout.fileno()
        while not self._lines:
            ready, _, _ = select.select([source], [], [], self._silence_s)
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
            self._code, self._process = self._process.returncode, None
        self._lines.clear()
        self._rest = b""


def _batches(items: Sequence[Any], limit: int) -> Iterator[Sequence[Any]]:
    begin, size = 0, 0
    for number, item in enumerate(items):
        size += len(item)
        if size > limit:
            yield items[begin : number + 1]
            begin, size = number + 1, 0
    if begin < len(items):
        yield items[begin:]


def _reply(line: bytes) -> Any:
    reply = json.loads(line)
    return Failure(reply["failure"]) if isinstance(reply, dict) and "failure" in reply else reply
