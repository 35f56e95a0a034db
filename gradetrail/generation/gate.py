"""How many calls are in flight, and when none may start: shared by all models of one command.

Invariant: at most `limit` calls are in flight, and none starts before `paused_until`. The limit
halves when the server says that it is too much, and grows back by one for each `limit` successes.
"""

from __future__ import annotations

import asyncio
import time


class Gate:
    """Admits calls."""

    def __init__(self, concurrency: int, *, requests_per_minute: float | None = None) -> None:
        self.ceiling = concurrency
        self.limit = concurrency
        self.in_flight = 0
        self.paused_until = 0.0
        """Monotonic seconds."""
        self._spacing_s = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._next_start = 0.0
        self._successes = 0
        self._halved_at = 0.0
        self._waiting: list[asyncio.Future[None]] = []

    async def enter(self) -> None:
        """Wait until a call may start, and count it as in flight."""
        while True:
            if self.in_flight >= self.limit:
                future = asyncio.get_running_loop().create_future()
                self._waiting.append(future)
                await future
                continue
            if not (self.paused_until or self._spacing_s):
                break
            now = time.monotonic()
            start = max(self.paused_until, self._next_start)
            if now >= start:
                self.paused_until = 0.0
                self._next_start = max(now, self._next_start) + self._spacing_s if self._spacing_s else 0.0
                break
            await asyncio.sleep(start - now)
        self.in_flight += 1

    def leave(self) -> None:
        """Count a call as ended."""
        self.in_flight -= 1
        self._wake()

    def pause(self, seconds: float) -> None:
        """Let no call start for so long."""
        self.paused_until = max(self.paused_until, time.monotonic() + seconds)

    def halve(self) -> None:
        """Halve the limit, at most once a second: one storm is one signal."""
        now = time.monotonic()
        if now - self._halved_at >= 1.0:
            self.limit = max(1, self.limit // 2)
            self._halved_at = now
            self._successes = 0

    def succeed(self) -> None:
        """Let the limit grow back towards the ceiling."""
        if self.limit < self.ceiling:
            self._successes += 1
            if self._successes >= self.limit:
                self.limit += 1
                self._successes = 0
                self._wake()

    def _wake(self) -> None:
        free = self.limit - self.in_flight
        while free > 0 and self._waiting:
            future = self._waiting.pop()
            if not future.done():
                future.set_result(None)
                free -= 1
