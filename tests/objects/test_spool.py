"""What a dead or overtaken writer left on its machine: brought in once, whoever went on meanwhile."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from gradetrail.errors import RunLockedError, StoreError
from gradetrail.store import Store, leases
from tests.cli.command import gradetrail
from tests.objects.places import Machine
from tests.store.rows import RUN, answered, planned, rows_of, statuses, texts
from tests.store.test_processes import WRITE, lines_of, python

N = 30


def kill_a_writer(root: Path, n: int = N, part_rows: int = 1000) -> None:
    """Let a process answer the first `n` trials and promise them, and kill it before it seals the rest."""
    with python(WRITE, root, 0, part_rows, 10 * n) as process:
        for line in lines_of(process):
            if line.isdigit() and int(line) >= n - 3:
                break
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def texts_by(prefix: str, store: Store) -> list[str]:
    return [text for text in texts(store.live()) if text.startswith(prefix)]


@pytest.mark.parametrize("part_rows", [1000, 7])
def test_a_killed_writer_goes_on_from_what_it_has_on_its_machine(
    any_address: Path, monkeypatch: pytest.MonkeyPatch, part_rows: int
) -> None:
    monkeypatch.setenv("GRADETRAIL_UPLOAD_S", "3600")
    store = planned(any_address, 10 * N)
    kill_a_writer(any_address, part_rows=part_rows)
    before = store.live()
    assert before.damaged == []
    assert len(texts(before)) < N - 3, "the last part was not uploaded"
    store.writer(RUN).close()
    found = texts(store.live())
    assert len(found) == len(set(found))
    assert {f"answer {number}" for number in range(N - 2)} <= set(found)
    assert statuses(store.live())["answered"] == len(found)
    assert store.storage.stranded(RUN) == ()


def test_a_lost_machine_loses_no_more_than_what_was_not_uploaded_yet(
    address: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(address, 10 * N)
    kill_a_writer(address)
    machine("two")
    monkeypatch.setattr(leases, "LAPSE_S", -1.0)
    store = Store(address)
    store.writer(RUN).close()
    assert {f"answer {number}" for number in range(N - 2)} <= set(texts(store.live()))


@pytest.mark.parametrize("upload_s", ["0", "3600"])
def test_a_machine_that_comes_back_after_another_went_on_adds_its_answers_and_doubles_none(
    address: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch, upload_s: str
) -> None:
    monkeypatch.setenv("GRADETRAIL_UPLOAD_S", upload_s)
    planned(address, 10 * N)
    kill_a_writer(address)
    machine("two")
    monkeypatch.setattr(leases, "LAPSE_S", -1.0)
    two = Store(address)
    with two.writer(RUN) as writer:
        for number in range(10 * N):
            row = answered(number, text=f"by two {number}", response_id=f"two {number}")
            row["calls"][0]["call_id"] = f"two {number}"
            row["trials"][0]["response_id"] = f"two {number}"
            writer.append(**row)
    assert two.compact(0.0) is not None
    machine("one")
    one = Store(address)
    one.writer(RUN).close()
    for store in (one, two, Store(address, create=False)):
        live = store.live()
        answers = Counter(rows_of(live, "responses", "response_id"))
        calls = Counter(rows_of(live, "calls", "call_id"))
        assert set(answers.values()) == set(calls.values()) == {1}
        assert len(texts_by("by two", store)) == 10 * N
        assert len(texts_by("answer", store)) >= N - 2, "an answer that was paid for is gone"
        used = rows_of(live, "trials", "response_id")
        assert {row[0][:4] for row in used} == {"two "}, "a trial that had an answer got another"
        assert statuses(live) == {"answered": 10 * N}


def test_a_writer_that_was_overtaken_while_it_slept_stops_and_loses_nothing(
    address: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = planned(address, 20)
    sleeping = one.writer(RUN, part_rows=1000)
    for number in range(5):
        sleeping.append(**answered(number))
    sleeping.flush()
    sleeping.sync()
    machine("two")
    monkeypatch.setattr(leases, "LAPSE_S", -1.0)
    with Store(address).writer(RUN) as writer:
        for number in range(10, 15):
            writer.append(**answered(number))
    sleeping.append(**answered(5))
    with pytest.raises(StoreError, match="another process"):
        sleeping.close()
    machine("one")
    again = Store(address)
    again.writer(RUN).close()
    found = texts(again.live())
    assert found == sorted(f"answer {number}" for number in [*range(6), *range(10, 15)])
    assert statuses(again.live()) == {"answered": 11, "pending": 9}


def test_a_writer_on_another_machine_is_refused_while_the_first_gives_signs(
    address: Path, machine: Machine
) -> None:
    store = planned(address, 2)
    with store.writer(RUN):
        machine("two")
        other = Store(address)
        with pytest.raises(RunLockedError, match=f"process {os.getpid()} on "):
            other.writer(RUN)
        assert other.live().running == {RUN}
    other.writer(RUN).close()
    assert other.live().running == set()


def test_compact_brings_in_what_a_killed_writer_left_and_leaves_what_belongs_to_no_run(
    address: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADETRAIL_UPLOAD_S", "3600")
    store = planned(address, 10 * N)
    kill_a_writer(address)
    where = ("--warehouse", str(address))
    assert f"{RUN} is no run any more" in gradetrail("compact", *where).err
    assert store.storage.stranded() != ()
    store.write_manifest(RUN, {"run_id": RUN, "task": "t", "status": "incomplete"})
    done = gradetrail("compact", *where)
    assert (done.code, f"{RUN}: brought in" in done.err) == (0, True)
    assert store.storage.stranded() == ()
    assert {f"answer {number}" for number in range(N - 2)} <= set(texts(store.live()))
