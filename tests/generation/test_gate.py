"""The gate bounds what is in flight, and shares pauses and rates between all calls."""

from __future__ import annotations

import asyncio
import heapq
import random
import statistics
import time
from types import SimpleNamespace

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


def refuse(gate: Gate, *, started: float | None = None, in_flight: int = 0) -> None:
    """Have a call refused that started now, with so many others in flight."""
    gate.in_flight = in_flight
    began = time.monotonic() if started is None else started
    gate.back_off(began, 0.0, is_stated=False, is_too_much=True)


def test_the_limit_halves_once_for_one_storm() -> None:
    gate = Gate(16)
    started = time.monotonic()
    for _ in range(10):
        refuse(gate, started=started, in_flight=12)
    assert gate.limit == 8


def test_calls_that_are_refused_after_a_pause_are_another_storm() -> None:
    gate = Gate(16)
    refuse(gate, in_flight=15)
    refuse(gate, in_flight=7)
    assert gate.limit == 4


@pytest.mark.parametrize(("n_taken", "limit"), [(40, 32), (20, 20), (3, 16)])
def test_a_storm_lowers_the_limit_to_what_the_server_took_between_a_half_and_a_quarter(
    n_taken: int, limit: int
) -> None:
    gate = Gate(64)
    started = time.monotonic()
    for in_flight in range(63, n_taken - 1, -1):
        refuse(gate, started=started, in_flight=in_flight)
    assert gate.limit == limit


def test_the_limit_grows_back_at_once_to_what_the_server_took_and_stays_there() -> None:
    gate = Gate(64)
    started = time.monotonic()
    for in_flight in range(63, 39, -1):
        refuse(gate, started=started, in_flight=in_flight)
    for _ in range(8):
        gate.succeed()
    assert gate.limit == 40
    for _ in range(1000):
        gate.succeed()
    assert gate.limit == 40


def test_after_a_time_without_refusals_the_limit_grows_by_one_each_round_up_to_the_ceiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gradetrail.generation.gate.PROBE_AFTER_S", 0.0)
    gate = Gate(16)
    refuse(gate, in_flight=8)
    assert gate.limit == 8
    for _ in range(15 - 8):
        gate.succeed()
    assert gate.limit == 15
    for _ in range(15):
        gate.succeed()
    assert gate.limit == 16
    gate.succeed()
    assert gate.limit == 16


def test_the_limit_never_falls_below_one() -> None:
    gate = Gate(3)
    for _ in range(10):
        refuse(gate)
    assert gate.limit == 1


def test_a_refusal_while_everybody_pauses_for_another_reason_halves_the_limit_once() -> None:
    gate = Gate(64)
    started = time.monotonic()
    gate.back_off(started, 0.0, is_stated=False, is_too_much=False)
    refuse(gate, started=started, in_flight=1)
    assert gate.limit == 32


def test_one_storm_is_one_pause_unless_the_server_states_a_longer_one() -> None:
    gate = Gate(8)
    started = time.monotonic()
    gate.back_off(started, 1.0, is_stated=False, is_too_much=False)
    until = gate.paused_until
    gate.back_off(started, 9.0, is_stated=False, is_too_much=False)
    assert gate.paused_until == until
    gate.back_off(started, 5.0, is_stated=True, is_too_much=False)
    assert gate.paused_until > until + 3


def test_a_broken_connection_pauses_and_leaves_the_limit() -> None:
    gate = Gate(8)
    gate.back_off(time.monotonic(), 1.0, is_stated=False, is_too_much=False)
    assert gate.limit == 8


def test_a_slow_start_doubles_with_each_round_until_the_first_refusal() -> None:
    gate = Gate(64, slow_start=True)
    assert gate.limit == SLOW_START_LIMIT
    for _ in range(SLOW_START_LIMIT):
        gate.succeed()
    assert gate.limit == 2 * SLOW_START_LIMIT
    refuse(gate, in_flight=SLOW_START_LIMIT)
    for _ in range(100):
        gate.succeed()
    assert gate.limit == 2 * SLOW_START_LIMIT - 1


@pytest.mark.parametrize(("n_between", "least"), [(1000, 63), (200, 38), (20, 3)])
def test_refusals_now_and_then_do_not_wear_the_limit_down(n_between: int, least: int) -> None:
    gate = Gate(64)
    for _ in range(1000):
        refuse(gate, in_flight=gate.limit - 1)
        for _ in range(n_between):
            gate.succeed()
    assert gate.limit >= least


class Server:
    """Calls in virtual time: refused at once by chance, or where more than `room` are in flight."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, chance: float, room: int, latency_s: float) -> None:
        self.now = 1.0
        self.chance, self.room, self.latency_s = chance, room, latency_s
        self.limits: list[int] = []
        self.n_refused = self._n_answering = 0
        self._random = random.Random(1)
        self._calls: list[tuple[float, float, bool]] = []
        monkeypatch.setattr("gradetrail.generation.gate.time", SimpleNamespace(monotonic=lambda: self.now))

    def work(self, gate: Gate, n: int) -> None:
        """End n calls, with as many in flight as the gate allows."""
        for _ in range(n):
            while len(self._calls) < gate.limit and (self.now >= gate.paused_until or not self._calls):
                self._start(gate)
            ended, started, is_refused = heapq.heappop(self._calls)
            self.now, gate.in_flight = max(self.now, ended), len(self._calls)
            self._n_answering -= not is_refused
            if is_refused:
                self.n_refused += 1
                wait = self._random.uniform(0, 0.5)
                gate.back_off(started, wait, is_stated=False, is_too_much=True)
            else:
                gate.succeed()
            self.limits.append(gate.limit)

    def _start(self, gate: Gate) -> None:
        self.now = max(self.now, gate.paused_until) + 1e-9
        is_refused = self._n_answering >= self.room or self._random.random() < self.chance
        self._n_answering += not is_refused
        takes_s = 0.01 if is_refused else self.latency_s * self._random.uniform(0.7, 1.3)
        heapq.heappush(self._calls, (self.now + takes_s, self.now, is_refused))


@pytest.mark.parametrize("latency_s", [0.02, 1.0])
@pytest.mark.parametrize(("chance", "least"), [(0.0005, 60), (0.0035, 50), (0.0055, 40), (0.01, 22)])
def test_a_server_that_refuses_by_chance_is_still_asked_many_things_at_once(
    monkeypatch: pytest.MonkeyPatch, latency_s: float, chance: float, least: int
) -> None:
    gate, server = Gate(64), Server(monkeypatch, chance, 10**9, latency_s)
    server.work(gate, 20_000)
    assert statistics.mean(server.limits) >= least


@pytest.mark.parametrize("latency_s", [0.02, 1.0])
@pytest.mark.parametrize("room", [62, 50, 32, 10])
def test_a_server_that_is_full_gets_what_it_takes_and_refuses_ever_more_rarely(
    monkeypatch: pytest.MonkeyPatch, latency_s: float, room: int
) -> None:
    gate, server = Gate(64), Server(monkeypatch, 0.0, room, latency_s)
    server.work(gate, 2_000)
    server.limits.clear()
    before = server.n_refused
    server.work(gate, 20_000)
    assert room - 1 <= statistics.mean(server.limits) <= room + 1
    minutes = 20_000 / room * latency_s / 60
    assert server.n_refused - before <= 10 + minutes


def test_a_gate_that_is_shut_sends_everybody_away_whatever_they_wait_for() -> None:
    async def main() -> list[bool]:
        gate = Gate(1)
        assert await gate.enter()
        waiting = asyncio.create_task(gate.enter())
        gate.pause(600)
        sleeping = asyncio.create_task(gate.sleep(600))
        other = Gate(1)
        other.pause(600)
        paused = asyncio.create_task(other.enter())
        await asyncio.sleep(0)
        gate.shut()
        other.shut()
        await sleeping
        found = [await waiting, await paused, await gate.enter()]
        gate.open()
        gate.leave()
        gate.paused_until = 0.0
        return [*found, await gate.enter()]

    assert asyncio.run(main()) == [False, False, False, True]


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
