"""The gate bounds what is in flight, and shares pauses and rates between all calls."""

from __future__ import annotations

import asyncio
import time

import pytest

from gradetrail.generation.gate import SLOW_START_LIMIT, Gate


async def call(gate: Gate, seconds: float = 0.001, used: int | None = None) -> float:
    await gate.enter()
    started = time.monotonic()
    await asyncio.sleep(seconds)
    gate.leave(used)
    gate.succeed()
    return started


def test_no_more_calls_than_the_limit_are_in_flight_and_all_get_their_turn() -> None:
    async def main() -> Gate:
        gate = Gate(5)
        await asyncio.gather(*(call(gate) for _ in range(200)))
        return gate

    gate = asyncio.run(main())
    assert gate.max_in_flight == 5
    assert gate.in_flight == 0


def test_a_pause_holds_every_call_that_has_not_started() -> None:
    async def main() -> tuple[float, list[float]]:
        gate = Gate(50)
        gate.pause(0.2)
        until = gate.paused_until
        return until, await asyncio.gather(*(call(gate) for _ in range(20)))

    until, starts = asyncio.run(main())
    assert min(starts) >= until - 0.005


def test_the_limit_halves_once_for_one_storm_and_grows_back_to_the_ceiling() -> None:
    gate = Gate(16)
    for _ in range(10):
        gate.halve()
    assert gate.limit == 8
    for _ in range(sum(range(8, 16))):
        gate.succeed()
    assert gate.limit == 16
    gate.succeed()
    assert gate.limit == 16


def test_the_limit_never_falls_below_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradetrail.generation.gate.HALVE_EVERY_S", 0.0)
    gate = Gate(3)
    for _ in range(10):
        gate.halve()
    assert gate.limit == 1


def test_a_slow_start_doubles_with_each_round_until_the_first_refusal() -> None:
    gate = Gate(64, slow_start=True)
    assert gate.limit == SLOW_START_LIMIT
    for _ in range(SLOW_START_LIMIT):
        gate.succeed()
    assert gate.limit == 2 * SLOW_START_LIMIT
    gate.halve()
    for _ in range(SLOW_START_LIMIT):
        gate.succeed()
    assert gate.limit == SLOW_START_LIMIT + 1


def test_requests_per_minute_spaces_the_starts() -> None:
    async def main() -> list[float]:
        gate = Gate(50, requests_per_minute=6000)
        return await asyncio.gather(*(call(gate) for _ in range(30)))

    starts = sorted(asyncio.run(main()))
    assert starts[-1] - starts[0] >= 29 * 0.01 - 0.005


def test_tokens_per_minute_bound_what_is_used() -> None:
    async def main() -> float:
        gate = Gate(4, tokens_per_minute=6000)
        started = time.monotonic()
        # the first minute's 6,000 tokens are there at once, the other 60 come at 100 a second
        await asyncio.gather(*(call(gate, 0.0001, 303) for _ in range(20)))
        return time.monotonic() - started

    assert asyncio.run(main()) >= 0.4
