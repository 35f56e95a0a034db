"""Sends requests, many at a time, and hands every answer to the journal as it comes.

Invariant: a request ends in exactly one journal line, with all of its attempts, whatever happened;
nothing depends on the order in which answers come. Memory holds the calls in flight and no more.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from gradetrail.errors import ProviderError
from gradetrail.generation.budget import Budget
from gradetrail.generation.gate import Gate
from gradetrail.generation.log import RunLog
from gradetrail.generation.progress import Progress
from gradetrail.generation.records import MEASURED, call_row, response_row, used_tokens
from gradetrail.generation.retry import FINAL, RETRIED, SHARED, Retry
from gradetrail.generation.work import Turn, Work
from gradetrail.providers.response import Response, with_repaired_text
from gradetrail.spec import RunKnobs

FLUSH_EVERY_S = 0.05
SYNC_EVERY_S = 1.0
SAME_FATAL_LIMIT = 5
IN_A_ROW_LIMIT = 20
_VOLATILE = re.compile(r"\b(?:req|request)[-_ ]?(?:id)?[-_:= ]*[\w-]{6,}|\b[0-9a-f]{8,}\b|\d+", re.IGNORECASE)
"""What differs between two equal errors: request ids, numbers."""


class Sink(Protocol):
    """Where ended requests go: `store.RunWriter`."""

    def append(
        self,
        *,
        response: Mapping[str, Any] | None,
        calls: Sequence[Mapping[str, Any]],
        trials: Sequence[Mapping[str, Any]],
    ) -> None:
        """Take one ended request."""
        ...

    def flush(self) -> None:
        """Hand to the operating system what was taken so far."""
        ...

    def sync(self) -> None:
        """Have it on disk."""
        ...


@dataclass(slots=True)
class FailFast:
    """Watches for errors that will not end: the rule of failing fast."""

    any_success: bool = False
    same: dict[str, int] = field(default_factory=dict)
    in_a_row: int = 0

    def succeed(self) -> None:
        """Count an answer."""
        self.any_success = True
        self.in_a_row = 0

    def fail(self, error: ProviderError) -> str | None:
        """Count a failed request; give the reason to stop, if there is one now."""
        if error.error_type in FINAL or error.error_type == "no_answer":
            return None
        self.in_a_row += 1
        text = _VOLATILE.sub("#", f"{error.error_type}: {error}")
        self.same[text] = self.same.get(text, 0) + 1
        if not self.any_success and self.same[text] >= SAME_FATAL_LIMIT:
            return f"{SAME_FATAL_LIMIT} requests failed in the same way and none succeeded: {error}"
        if self.in_a_row >= IN_A_ROW_LIMIT:
            return f"{IN_A_ROW_LIMIT} requests failed in a row; the last: {error}"
        return None


@dataclass(slots=True)
class Ending:
    """How a generation ended."""

    status: str = "complete"
    """`complete`, `aborted` or `interrupted`."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """What all generations of one command share."""

    gate: Gate
    budget: Budget


class Engine:
    """Runs one stream of work through a gate into a sink."""

    def __init__(
        self, run_id: str, knobs: RunKnobs, shared: Shared, sink: Sink, progress: Progress, log: RunLog
    ) -> None:
        self.run_id, self.knobs, self.sink, self.progress, self.log = run_id, knobs, sink, progress, log
        self.gate, self.budget = shared.gate, shared.budget
        self.ending = Ending()
        if self.budget.is_spent:
            self.ending = Ending("aborted", f"max_cost_usd of ${self.budget.max_usd} is reached already")
        self._watch = FailFast()
        self._random = random.Random()
        self._stopping = self.budget.is_spent
        self._interrupts = 0
        self._turns: dict[str, asyncio.Future[str | None]] = {}
        """Turns before the last that were asked here, by request_key: equal ones are paid once."""

    async def run(self, work: Iterator[Work]) -> Ending:
        """Work through all requests; return how it ended. Closes nothing that it did not open."""
        workers = [
            asyncio.create_task(self._worker(work))
            for _ in range(min(self.gate.ceiling, max(1, self.progress.n_requests)))
        ]
        ticker = asyncio.create_task(self._tick())
        remove = self._on_interrupt(workers)
        try:
            await asyncio.gather(*workers)
        except asyncio.CancelledError:
            if self.ending.status != "interrupted":
                raise
        finally:
            remove()
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            ticker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ticker
            self.sink.flush()
            self.sink.sync()
            self.log.flush()
            self.progress.tell()
        return self.ending

    def _on_interrupt(self, workers: Sequence[asyncio.Task[None]]) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            self._interrupts += 1
            self.stop("interrupted", "interrupted by Ctrl-C")
            self.gate.release_all()
            if self._interrupts > 1:
                for worker in workers:
                    worker.cancel()

        signals = (signal.SIGINT, signal.SIGTERM)
        for number in signals:
            loop.add_signal_handler(number, interrupt)
        return lambda: [loop.remove_signal_handler(number) for number in signals]

    async def _tick(self) -> None:
        synced = time.monotonic()
        while True:
            await asyncio.sleep(FLUSH_EVERY_S)
            self.sink.flush()
            self.log.flush()
            if time.monotonic() - synced >= SYNC_EVERY_S:
                await asyncio.to_thread(self.sink.sync)
                synced = time.monotonic()
            self.progress.limit = self.gate.limit
            self.progress.tell()

    async def _worker(self, work: Iterator[Work]) -> None:
        while not self._stopping:
            item = next(work, None)
            if item is None:
                return
            await self._answer(item)

    async def _answer(self, work: Work) -> None:
        """Ask all turns of a conversation that have no answer yet; the last one answers the trials."""
        while True:
            turn = work.next_turn()
            shared = self._turns.get(turn.request.key)
            if shared is not None and not turn.is_last:
                text = await shared
                if text is None:
                    return
                work.answers.append(text)
                continue
            calls: list[dict[str, Any]] = []
            if not turn.is_last:
                shared = self._turns[turn.request.key] = asyncio.get_running_loop().create_future()
            response = await self._ask(work, turn, calls)
            if shared is not None:
                shared.set_result(None if response is None else response.text)
            if response is None:
                return
            if turn.is_last:
                self._store(work, turn, response, calls)
                return
            response_id = response.response_id(turn.request.key)
            row = response_row(self.run_id, work, turn, response, response_id, datetime.now(UTC))
            self.sink.append(response=row, calls=calls, trials=())
            work.answers.append(response.text)

    async def _ask(self, work: Work, turn: Turn, calls: list[dict[str, Any]]) -> Response | None:
        """Make the attempts of one request and note each in `calls`; None if it is given up."""
        retry: Retry | None = None
        gate, progress = self.gate, self.progress
        while True:
            await gate.enter()
            if self._stopping and not calls:
                gate.leave()
                return None
            started_at = datetime.now(UTC)
            started = time.perf_counter()
            try:
                response = await work.provider.complete(turn.request, self.knobs.timeout_s)
            except ProviderError as error:
                failure = error
            except BaseException:
                gate.leave()
                raise
            else:
                latency_ms = (time.perf_counter() - started) * 1000
                gate.leave(used_tokens(response))
                gate.succeed()
                self._watch.succeed()
                progress.n_calls += 1
                response = with_repaired_text(response)
                calls.append(self._ended_call(turn, response, len(calls) + 1, started_at, latency_ms))
                self._note(calls[-1], "success")
                self._pay(calls[-1])
                return response
            gate.leave()
            latency_ms = (time.perf_counter() - started) * 1000
            calls.append(self._failed_call(turn, failure, len(calls) + 1, started_at, latency_ms))
            progress.n_calls += 1
            if failure.error_type in ("rate_limit", "overloaded"):
                gate.halve()
            if retry is None:
                retry = Retry(self.knobs.max_retries, self.knobs.retry_for_s, self._random)
            wait = retry.wait_s(failure, time.monotonic(), any_success=self._watch.any_success)
            if wait is None:
                self._note(calls[-1], "retries_exhausted" if failure.error_type in RETRIED else "fatal_error")
                self._give_up(work, failure, calls)
                return None
            self._note(calls[-1], "retrying")
            if self._stopping:
                # it would have been tried again, so it is still owed and no error
                self.sink.append(response=None, calls=calls, trials=())
                return None
            progress.retries[failure.error_type] += 1
            if failure.error_type in SHARED:
                gate.pause(wait)
            else:
                await asyncio.sleep(wait)

    def _pay(self, call: Mapping[str, Any]) -> None:
        self.budget.add(call)
        self.progress.cost_usd = self.budget.spent_usd
        if self.budget.is_spent:
            self.stop(
                "aborted", f"max_cost_usd of ${self.budget.max_usd} is reached (${self.budget.spent_usd:f})"
            )

    def _note(self, call: Mapping[str, Any], outcome: str) -> None:
        self.log.attempt(
            model=call["model"],
            request_key=call["request_key"],
            turn=call["turn"],
            attempt=call["attempt"],
            outcome=outcome,
            latency_ms=call["latency_ms"],
            input_tokens=call.get("input_tokens"),
            output_tokens=call.get("output_tokens"),
            error_type=call.get("error_type"),
            error=call.get("error_message"),
        )

    def _failed_call(
        self,
        turn: Turn,
        error: ProviderError,
        attempt: int,
        started_at: datetime,
        latency_ms: float,
    ) -> dict[str, Any]:
        call = call_row(self.run_id, turn, attempt, started_at, latency_ms)
        call.update(
            status="error",
            error_type=error.error_type,
            error_message=str(error)[:2000],
            http_status=error.http_status,
        )
        return call

    def _ended_call(
        self,
        turn: Turn,
        response: Response,
        attempt: int,
        started_at: datetime,
        latency_ms: float,
    ) -> dict[str, Any]:
        usage = response.usage
        call = call_row(self.run_id, turn, attempt, started_at, latency_ms)
        call.update(
            status="ok",
            response_id=response.response_id(turn.request.key),
            billed_usd=usage.billed_usd,
            served_model=response.served_model,
            latency_ms=latency_ms if response.latency_ms is None else response.latency_ms,
            ttft_ms=response.ttft_ms,
            input_tokens=usage.input_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            reasoning_tokens=usage.reasoning_tokens,
        )
        self.progress.output_tokens += usage.output_tokens or 0
        return call

    def _give_up(self, work: Work, error: ProviderError, calls: list[dict[str, Any]]) -> None:
        state = {
            "run_id": self.run_id,
            "status": "error",
            "error_type": error.error_type,
            "error_message": str(error)[:2000],
            "is_hit": False,
            "ended_at": datetime.now(UTC),
        }
        self.sink.append(response=None, calls=calls, trials=[{**trial, **state} for trial in work.trials])
        self.progress.n_done += 1
        self.progress.errors[error.error_type] += 1
        reason = self._watch.fail(error)
        if error.error_type == "connection" and not self._watch.any_success:
            reason = f"the server cannot be reached: {error}"
        if reason:
            self.stop("aborted", reason)

    def stop(self, status: str, reason: str) -> None:
        """Start no further call; those in flight end by themselves."""
        if not self._stopping:
            self._stopping = True
            self.ending.status, self.ending.reason = status, reason

    def _store(self, work: Work, turn: Turn, response: Response, calls: list[dict[str, Any]]) -> None:
        now, call = datetime.now(UTC), calls[-1]
        row = response_row(self.run_id, work, turn, response, call["response_id"], now)
        state = {name: call[name] for name in MEASURED}
        state.update(
            run_id=self.run_id,
            status="answered",
            is_hit=False,
            request_key=turn.request.key,
            response_run_id=self.run_id,
            stop_reason=response.stop_reason,
            token_nll=response.token_nll,
            token_count=response.token_count,
            confidence=response.confidence,
            ended_at=now,
        )
        self.sink.append(response=row, calls=calls, trials=[{**trial, **state} for trial in work.trials])
        self.progress.n_done += 1
