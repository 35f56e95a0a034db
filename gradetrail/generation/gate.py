"""How many calls are in flight, and when none may start: shared by all models of one command.

Invariant: at most `limit` calls are in flight, none starts before `paused_until`, and no minute sees
more than `requests_per_minute` starts or, by what calls have used so far, `tokens_per_minute`.
The limit halves (or more, to a quarter) when the server says that it is too much, grows back at once to
what the server takes, and from time to time by one more.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque

SLOW_START_LIMIT = 8
"""Calls in flight at first, where the server is a vendor's: it doubles with each round of successes."""
PROBE_AFTER_S = 10.0
"""Time without a refusal after which one call more is tried than the server takes; a tenth of it after as
many rounds of successes as it has seconds."""
FEW_ROUNDS = 2
"""A refusal after fewer rounds of successes than this tells that one call fewer should be in flight."""
CHANCE_SHARE = 16
"""Up to one of so many calls in flight may be refused by chance; more tell that the server is full."""
MOST_PATIENCE_S = 160.0
"""That time doubles up to this while the one call more is refused."""


class Gate:
    """Admits calls; to be used on one event loop."""

    def __init__(
        self,
        concurrency: int,
        *,
        slow_start: bool = False,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self.ceiling = concurrency
        self.limit = min(SLOW_START_LIMIT, concurrency) if slow_start else concurrency
        self.in_flight = 0
        self.max_in_flight = 0
        self.paused_until = 0.0
        """Monotonic seconds."""
        self._is_starting = slow_start
        self._spacing_s = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._next_start = 0.0
        self._tokens = _TokenBucket(tokens_per_minute) if tokens_per_minute else None
        self._successes = 0
        self._taken = concurrency
        """Calls in flight that the server takes, by what it refused so far."""
        self._n_taken = 0
        """Successes since the last refusal."""
        self._least = 1
        """What the present storm may lower the limit to: a quarter of what it was."""
        self._n_refused = 0
        """Refusals of the present storm."""
        self._patience_s = PROBE_AFTER_S
        self._refused_at = self._backed_off_at = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._sleeping: set[asyncio.Future[None]] = set()
        self._is_shut = False

    async def enter(self) -> bool:
        """Wait until a call may start, and count it as in flight; False once the gate is shut."""
        while not self._is_shut:
            if self.in_flight >= self.limit:
                future = asyncio.get_running_loop().create_future()
                self._waiting.append(future)
                await future
                continue
            wait = self._wait_s()
            if wait > 0:
                await self.sleep(wait)
                continue
            if self._spacing_s:
                self._next_start = max(time.monotonic(), self._next_start) + self._spacing_s
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
            return True
        return False

    async def sleep(self, seconds: float) -> None:
        """Wait so long, or until the gate is shut."""
        if self._is_shut:
            return
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(seconds, _finish, future)
        self._sleeping.add(future)
        try:
            await future
        finally:
            timer.cancel()
            self._sleeping.discard(future)

    def shut(self) -> None:
        """Let no further call start, and send away everybody who waits, whatever for."""
        self._is_shut = True
        for future in (*self._waiting, *self._sleeping):
            _finish(future)
        self._waiting.clear()

    def open(self) -> None:
        """Let calls start again."""
        self._is_shut = False

    @property
    def counts_tokens(self) -> bool:
        """Whether what calls use decides when others may start."""
        return self._tokens is not None

    def _wait_s(self) -> float:
        if not (self.paused_until or self._spacing_s or self._tokens):
            return 0.0
        now = time.monotonic()
        wait = max(self.paused_until, self._next_start) - now
        if self.paused_until and now >= self.paused_until:
            self.paused_until = 0.0
        if self._tokens is not None:
            wait = max(wait, self._tokens.wait_s(now, self.in_flight))
        return wait

    def leave(self, used_tokens: int | None = None) -> None:
        """Count a call as ended, with the tokens that it used (None if unknown)."""
        self.in_flight -= 1
        if self._tokens is not None:
            self._tokens.settle(used_tokens)
        self._wake()

    def pause(self, seconds: float) -> None:
        """Let no call start for so long."""
        self.paused_until = max(self.paused_until, time.monotonic() + seconds)

    def back_off(self, started: float, wait_s: float, *, is_stated: bool, is_too_much: bool) -> None:
        """Pause after a fault that all share, and lower the limit where the server says `too much`.

        One storm is one signal: of a call that had `started` (monotonic seconds) before the last
        signal, only a wait that the server stated counts. Called after `leave`.
        """
        if started > self._backed_off_at:
            self._backed_off_at = time.monotonic()
            self.pause(wait_s)
        elif is_stated:
            self.pause(wait_s)
        if is_too_much:
            self._lower(started)

    def _lower(self, started: float) -> None:
        if started <= self._refused_at:
            self._n_refused += 1
            if self._n_refused > max(1, self._least * 4 // CHANCE_SHARE):
                # refusals come faster than answers: what is in flight when they are over, the server took
                self._taken = max(self._least, min(self._taken, self.in_flight))
                self.limit = min(self.limit, self._taken)
            return
        if self._is_starting:
            self._is_starting, self._taken = False, self.limit
        if self.limit > self._taken:
            self._patience_s = min(self._patience_s * 2, MOST_PATIENCE_S)
        else:
            self._patience_s = PROBE_AFTER_S
            if self._n_taken < FEW_ROUNDS * self._taken:
                self._taken = max(1, self._taken - 1)
        self._refused_at = time.monotonic()
        self._n_refused = 1
        self._n_taken = self._successes = 0
        self._least = max(1, self.limit // 4)
        self.limit = max(1, self.limit // 2)

    def succeed(self) -> None:
        """Let the limit grow: by one each success up to what the server took, then by one each round."""
        self._n_taken += 1
        if self.limit >= self.ceiling:
            return
        self._successes += 1
        if not self._is_starting and self.limit >= self._taken:
            if self._successes < self.limit or not self._is_patient():
                return
            if self.limit > self._taken:
                self._taken, self._patience_s = self.limit, PROBE_AFTER_S
        self.limit += 1
        self._successes = 0
        self._wake()

    def _is_patient(self) -> bool:
        waited_s = time.monotonic() - self._refused_at
        is_proven = self._n_taken >= self._patience_s * self.limit
        return waited_s >= (self._patience_s / 10 if is_proven else self._patience_s)

    def _wake(self) -> None:
        free = self.limit - self.in_flight
        while free > 0 and self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                free -= 1


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class _TokenBucket:
    """Tokens that may be used now; a call that is under way is taken to use the mean of those before it."""

    def __init__(self, per_minute: float) -> None:
        self.per_second = per_minute / 60
        self.capacity = per_minute
        self.left = per_minute
        self._at = time.monotonic()
        self._mean = 0.0
        self._n = 0

    def wait_s(self, now: float, in_flight: int) -> float:
        self.left = min(self.capacity, self.left + (now - self._at) * self.per_second)
        self._at = now
        needed = min(self._mean * (in_flight + 1), self.capacity)
        return 0.0 if self.left >= max(needed, 1.0) else max(needed - self.left, 1.0) / self.per_second

    def settle(self, used: int | None) -> None:
        if used is None:
            return
        self.left -= used
        self._n += 1
        self._mean += (used - self._mean) / min(self._n, 100)
