"""Claims without locks: who has one, who may take it over, and who finds out too late."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradetrail.errors import RunLockedError
from gradetrail.store import Store, leases
from gradetrail.store.interface import Holding
from gradetrail.store.layout import run_lock
from tests.objects.places import Machine
from tests.store.rows import RUN, answered, planned
from tests.store.test_processes import lines_of, python

NAME = "packs/lock"

HOLD = """
claim = Store(root).storage.claim("packs/lock")
print("ready", flush=True)
sys.stdin.readline()
"""


def claimed(root: Path) -> Holding | None:
    return Store(root).storage.claim(NAME)


def test_a_claim_has_one_holder_on_one_machine_and_on_two(any_address: Path, machine: Machine) -> None:
    address = any_address
    first = claimed(address)
    assert first is not None
    assert claimed(address) is None
    machine("two")
    assert claimed(address) is None
    first.release()
    second = claimed(address)
    assert second is not None
    second.release()


def test_a_claim_of_a_killed_process_is_free_at_once_on_its_machine_and_later_on_another(
    address: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(address)
    with python(HOLD, address) as process:
        assert next(lines_of(process)) == "ready"
        assert claimed(address) is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    machine("two")
    assert claimed(address) is None, "nobody can tell yet that it is dead"
    machine("one")
    again = claimed(address)
    assert again is not None
    machine("two")
    monkeypatch.setattr(leases, "LAPSE_S", -1.0)
    assert claimed(address) is not None


def before_creating(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Let something happen, once, after the next claimant has looked and before it creates."""
    real, acted = leases.numbers_of, []

    def looked(remote: Any, name: str) -> Any:
        found = real(remote, name)
        if not acted:
            acted.append(name)
            act()
        return found

    monkeypatch.setattr(leases, "numbers_of", looked)


def test_of_two_that_take_over_one_lapsed_claim_the_second_is_refused(
    address: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert claimed(address) is not None
    monkeypatch.setattr(leases, "_is_over", lambda _remote, _name, number, _version, _spool: number == 1)
    winners: list[Holding | None] = []

    def third() -> None:
        machine("three")
        winners.append(claimed(address))

    machine("two")
    two = Store(address).storage
    before_creating(monkeypatch, third)
    assert two.claim(NAME) is None
    assert winners[0] is not None


def test_who_slept_while_a_claim_was_made_lapsed_and_was_taken_over_is_refused(
    address: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the number that the sleeper creates is free again, but a higher one is there
    sleeper = Store(address).storage
    monkeypatch.setattr(leases, "_is_over", lambda _remote, _name, number, _version, _spool: number == 1)
    holders: list[Holding | None] = []

    def others() -> None:
        machine("two")
        assert claimed(address) is not None
        machine("three")
        holders.append(claimed(address))

    before_creating(monkeypatch, others)
    assert sleeper.claim(NAME) is None
    assert holders[0] is not None
    assert sleeper.list("packs") == ["lock"]
    machine("four")
    assert claimed(address) is None


def test_a_holder_finds_out_that_it_was_overtaken_and_leaves_the_other_alone(
    address: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = planned(address, 1)
    sleeping = store.storage.claim(run_lock(RUN))
    assert isinstance(sleeping, leases.Lease)
    machine("two")
    with monkeypatch.context() as lapsed:
        lapsed.setattr(leases, "LAPSE_S", -1.0)
        other = Store(address).storage.claim(run_lock(RUN))
        assert other is not None
        with pytest.raises(RunLockedError, match="claim lapsed"):
            sleeping.check()
    sleeping.release(delete=True)
    machine("three")
    assert Store(address).storage.claim(run_lock(RUN)) is None, "the other still has it"
    other.release(delete=True)


def test_a_holder_that_gives_signs_keeps_its_claim(
    address: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = planned(address, 1).storage.claim(run_lock(RUN))
    assert isinstance(held, leases.Lease)
    monkeypatch.setattr(leases, "LAPSE_S", 0.0)
    before = Store(address).storage.read(f"{run_lock(RUN)}.1")
    held.check()
    assert Store(address).storage.read(f"{run_lock(RUN)}.1") == before
    held.release()
    assert Store(address).storage.list("journal") == []


@pytest.mark.parametrize("ahead_s", [-7200.0, 7200.0])
def test_whose_clock_is_wrong_leaves_alone_what_is_claimed_and_what_is_in_its_period_of_grace(
    address: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch, ahead_s: float
) -> None:
    one = planned(address, 3)
    with one.writer(RUN, part_rows=1) as writer:
        writer.append(**answered(0))
    assert one.compact(3600.0) is not None
    with one.writer(RUN):
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + ahead_s)
        machine("two")
        two = Store(address)
        done = two.compact(3600.0)
        assert done is not None
        assert (done.packed.n_files, done.reclaimed.n_files) == (0, 0)
        assert two.live().running == {RUN}
    assert two.live().running == set()
