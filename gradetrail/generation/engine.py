"""Sends requests, many at a time, and hands every answer to the journal as it comes.

Invariant: a request ends in exactly one journal line, with all of its attempts, whatever happened, and
the line is written before anything else follows from it; nothing depends on the order in which answers
come. Memory holds the calls in flight and no more (where conversations share turns: the answers too).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from gradetrail.errors import GradetrailError, ProviderError, StoreError
from gradetrail.generation.budget import Budget
from gradetrail.generation.fail_fast import FailFast
from gradetrail.generation.gate import Gate
from gradetrail.generation.log import RunLog
from gradetrail.generation.progress import Progress
from gradetrail.generation.records import (
    answered_trials,
    call_row,
    failed_trials,
    of_answer,
    of_failure,
    response_row,
    used_tokens,
)
from gradetrail.generation.retry import RETRIED, SHARED, TOO_MUCH, Retry
from gradetrail.generation.work import Turn, Work
from gradetrail.providers.response import Response, repaired, with_repaired_text
from gradetrail.spec import RunKnobs

TICK_S = 0.05
SYNC_EVERY_S = 1.0


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


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer to a request of this generation, and the call that brought it."""

    response: Response
    call: Mapping[str, Any]


Outcome = Asked | ProviderError | None
"""What became of a request; None if it was not asked to the end and is still owed."""


class Engine:
    """Runs one stream of work through a gate into a sink.

    `shares_turns` tells that conversations may have turns in common: an answer then is kept until
    the end, for others that come to ask the same.
    """

    def __init__(
        self,
        run_id: str,
        knobs: RunKnobs,
        shared: Shared,
        sink: Sink,
        progress: Progress,
        log: RunLog,
        *,
        shares_turns: bool = False,
    ) -> None:
        self.run_id, self.knobs, self.sink, self.progress, self.log = run_id, knobs, sink, progress, log
        self.gate, self.budget = shared.gate, shared.budget
        self.ending = Ending()
        self._watch = FailFast()
        self._random = random.Random()
        self._stopping = False
        self._broken: StoreError | None = None
        """Why the sink cannot go on; it still takes the answers of calls in flight."""
        self._interrupts = 0
        self._asked: dict[str, asyncio.Future[Outcome]] | None = {} if shares_turns else None
        """Requests of this generation by request_key."""
        self._unwritten: list[asyncio.Future[None]] = []
        """Whoever waits for what the sink took in this turn of the loop to be in the journal."""

    async def run(self, work: Iterator[Work]) -> Ending:
        """Work through all requests; return how it ended. Closes nothing that it did not open."""
        self.gate.open()
        self._hold_ceiling()
        workers = [
            asyncio.create_task(self._worker(work))
            for _ in range(min(self.knobs.concurrency, self.gate.ceiling, max(1, self.progress.n_requests)))
        ]
        working, ticker = asyncio.gather(*workers), asyncio.create_task(self._tick())
        remove = self._on_interrupt(workers)
        try:
            await asyncio.wait((working, ticker), return_when=asyncio.FIRST_COMPLETED)
            if ticker.done():
                # without it nothing would reach the disk for good, so its failure is the run's
                ticker.result()
            await working
        except asyncio.CancelledError:
            if self._interrupts < 2:
                raise
        finally:
            remove()
            for task in (*workers, ticker):
                task.cancel()
            await asyncio.gather(*workers, working, ticker, return_exceptions=True)
            self.log.flush()
            self.sink.flush()
            self.sink.sync()
        self.progress.end()
        if self._broken is not None:
            raise self._broken
        return self.ending

    def _on_interrupt(self, workers: Sequence[asyncio.Task[None]]) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            self._interrupts += 1
            self.stop("interrupted", "interrupted by Ctrl-C")
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
            await asyncio.sleep(TICK_S)
            self.log.flush()
            if time.monotonic() - synced >= SYNC_EVERY_S and self._broken is None:
                try:
                    await asyncio.to_thread(self.sink.sync)
                except StoreError as error:
                    self._broken = error
                    self.stop("aborted", error.faults[0].message)
                synced = time.monotonic()
            self.progress.limit, self.progress.n_in_flight = self.gate.limit, self.gate.in_flight
            self.progress.tell()

    async def _worker(self, work: Iterator[Work]) -> None:
        while not self._stopping:
            item = next(work, None)
            if item is None:
                return
            await self._answer(item)

    async def _answer(self, work: Work) -> None:
        """Ask all turns of a conversation that have no answer yet; the last one answers the trials."""
        while (turn := work.next_turn()) is not None:
            outcome = await self._outcome(work, turn)
            if outcome is None:
                return
            if isinstance(outcome, ProviderError):
                self.progress.errors[outcome.error_type] += 1
                if work.forgive is None:
                    break
                work.forgive(outcome)
            elif turn.is_last:
                break
            else:
                work.answers.append(outcome.response.text)
            self.progress.n_done += work.counts_turns
        self.progress.n_done += not work.counts_turns

    async def _outcome(self, work: Work, turn: Turn) -> Outcome:
        """Ask one turn, unless another conversation has asked the same: then that answer serves here too."""
        if self._asked is None:
            return await self._ask(work, turn)
        asked = self._asked.get(turn.request.key)
        if asked is None:
            asked = self._asked[turn.request.key] = asyncio.get_running_loop().create_future()
            outcome = await self._ask(work, turn)
            kept = outcome
            if isinstance(outcome, Asked):
                kept = Asked(replace(outcome.response, raw=None, logprobs=None), outcome.call)
            asked.set_result(kept)
            return outcome
        outcome = await asked
        await self._keep(None, (), self._ended(work, turn, outcome, datetime.now(UTC)))
        return outcome

    async def _ask(self, work: Work, turn: Turn) -> Outcome:
        """Make the attempts of one request, and keep them and the answer whatever happens meanwhile."""
        calls: list[dict[str, Any]] = []
        try:
            outcome = await self._attempts(work, turn, calls)
        except BaseException:
            if calls:
                with contextlib.suppress(StoreError):
                    self.sink.append(response=None, calls=calls, trials=[])
                    self.sink.flush()
            raise
        response, now = None, datetime.now(UTC)
        if isinstance(outcome, Asked):
            response_id = calls[-1]["response_id"]
            response = response_row(self.run_id, work, turn, outcome.response, response_id, now)
        ended = self._ended(work, turn, outcome, now)
        await self._keep(response, calls, ended)
        if ended and self.progress.answered is not None:
            said = response or {"text": None, "tool_calls": None}
            self.progress.answered(ended, said["text"], said["tool_calls"])
        if isinstance(outcome, Asked):
            self._pay(outcome.call)
        elif outcome is not None:
            reason = self._watch.fail(turn.request.shape, outcome)
            if reason:
                self.stop("aborted", reason)
        return outcome

    def _ended(self, work: Work, turn: Turn, outcome: Outcome, now: datetime) -> list[dict[str, Any]]:
        """Give the rows of the trials that end with a turn: all of them, or none."""
        if isinstance(outcome, ProviderError):
            return failed_trials(self.run_id, work, outcome, now)
        if outcome is None or not turn.is_last:
            return []
        return answered_trials(self.run_id, work, outcome.response, outcome.call, now)

    async def _attempts(self, work: Work, turn: Turn, calls: list[dict[str, Any]]) -> Outcome:
        """Try until there is an answer or no hope, and note each attempt in `calls`."""
        retry: Retry | None = None
        gate, progress, shape = self.gate, self.progress, turn.request.shape
        while await gate.enter():
            started_at = datetime.now(UTC)
            started = time.monotonic()
            try:
                response = await work.provider.complete(turn.request, self.knobs.timeout_s)
            except ProviderError as error:
                failure = error
            except GradetrailError:
                gate.leave()
                raise
            except Exception as error:
                # one strange reply must not end the run
                failure = ProviderError("bad_reply", repaired(f"{type(error).__name__}: {error}")[0])
            except BaseException:
                gate.leave()
                raise
            else:
                latency_ms = (time.monotonic() - started) * 1000
                gate.leave(used_tokens(response) if gate.counts_tokens else None)
                gate.succeed()
                self._watch.reach(shape)
                self._watch.succeed(shape)
                progress.n_calls += 1
                response = with_repaired_text(response)
                row = call_row(self.run_id, turn, len(calls) + 1, started_at, latency_ms)
                calls.append(row | of_answer(response, row))
                progress.output_tokens += response.usage.output_tokens or 0
                self._note(calls[-1], "success")
                return Asked(response, calls[-1])
            gate.leave()
            latency_ms = (time.monotonic() - started) * 1000
            row = call_row(self.run_id, turn, len(calls) + 1, started_at, latency_ms)
            calls.append(row | of_failure(failure))
            progress.n_calls += 1
            if failure.http_status is not None:
                self._watch.reach(shape)
            if retry is None:
                retry = Retry(self.knobs.max_retries, self.knobs.retry_for_s, self._random)
            wait = retry.wait_s(failure, time.monotonic(), is_reached=self._watch.is_reached(shape))
            if failure.error_type in SHARED:
                gate.back_off(
                    started, wait or 0.0,
                    is_stated=failure.retry_after_s is not None, is_too_much=failure.error_type in TOO_MUCH,
                )  # fmt: skip
            if wait is None:
                is_given_up = failure.error_type in RETRIED and not failure.is_final
                self._note(calls[-1], "retries_exhausted" if is_given_up else "fatal_error")
                return failure
            self._note(calls[-1], "retrying")
            progress.retries[failure.error_type] += 1
            if failure.error_type not in SHARED:
                await gate.sleep(wait)
        return None

    async def _keep(
        self,
        response: Mapping[str, Any] | None,
        calls: Sequence[Mapping[str, Any]],
        trials: Sequence[Mapping[str, Any]],
    ) -> None:
        """Return when it is in the journal: kill -9 then takes nothing but calls in flight.

        Answers that come in one turn of the loop are written together.
        """
        if response is None and not calls and not trials:
            return
        self.sink.append(response=response, calls=calls, trials=trials)
        loop = asyncio.get_running_loop()
        if not self._unwritten:
            loop.call_soon(self._write)
        written = loop.create_future()
        self._unwritten.append(written)
        await written

    def _write(self) -> None:
        waiting, self._unwritten = self._unwritten, []
        error = None
        try:
            self.sink.flush()
        except Exception as caught:
            error = caught
        for written in waiting:
            if written.done():
                continue
            if error is None:
                written.set_result(None)
            else:
                written.set_exception(error)

    def _pay(self, call: Mapping[str, Any]) -> None:
        before = self.budget.spent_usd
        self.budget.add(call)
        self.progress.cost_usd += self.budget.spent_usd - before
        self.progress.unpriced = frozenset(self.budget.unpriced)
        self._hold_ceiling()

    def _hold_ceiling(self) -> None:
        """Stop where no further call may be paid; what was spent grows until those in flight have ended."""
        halt = self.budget.halt
        if halt is None or (self._stopping and self.progress.halt is None):
            return
        self.stop("aborted", str(halt))
        self.progress.halt = halt
        self.ending.reason = self.progress.stopping = str(halt)

    def _note(self, call: Mapping[str, Any], outcome: str) -> None:
        self.log.attempt(
            timestamp=call["started_at"],
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

    def stop(self, status: str, reason: str) -> None:
        """Start no further call; those in flight end by themselves."""
        if not self._stopping:
            self._stopping = True
            self.ending.status, self.ending.reason = status, reason
            self.progress.stopping = reason
        self.gate.shut()
