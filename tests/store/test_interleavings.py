"""The real reader against every visible state of a real writer, in every order that time allows.

A recording storage keeps a hard-linked copy of the warehouse after each change; a replaying storage
serves each listing and reading of one look from a later or the same copy.
"""

from __future__ import annotations

import itertools
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from gradetrail.store import Live
from gradetrail.store.claim import Claim
from gradetrail.store.reading import Look
from gradetrail.store.storage import LocalStorage
from gradetrail.store.writer import RunWriter
from tests.store.rows import RUN, answered, failed, planned, rows_of


class Recording(LocalStorage):
    def __init__(self, root: Path, copies: Path) -> None:
        super().__init__(root)
        self.copies = copies
        self.states: list[Path] = []
        self._lock = threading.RLock()

    def keep(self) -> None:
        copy = self.copies / f"{len(self.states):03d}"
        shutil.copytree(self.root, copy, copy_function=os.link)
        for journal in copy.glob("journal/*.jsonl"):  # grows, so a link would show the future
            content = journal.read_bytes()
            journal.unlink()
            journal.write_bytes(content)
        self.states.append(copy)

    def create(self, name: str, write: Callable[[BinaryIO], object]) -> bool:
        with self._lock:
            done = super().create(name, write)
            self.keep()
        return done

    def claim_new(self, name: str) -> Claim | None:
        with self._lock:
            claim = super().claim_new(name)
            self.keep()
        return claim

    def delete(self, name: str) -> None:
        with self._lock:
            super().delete(name)
            self.keep()


class Replaying(LocalStorage):
    """Moves on in time at the steps of a look that matter, as the schedule says; then time stands still."""

    def __init__(self, states: list[Path], schedule: tuple[int, ...]) -> None:
        super().__init__(states[schedule[0]])
        self._states = states
        self._schedule = list(schedule)

    def _step(self) -> None:
        if self._schedule:
            self.root = self._states[self._schedule.pop(0)]

    def list(self, folder: str) -> list[str]:
        if folder in ("journal", "trials", "responses"):
            self._step()
        return super().list(folder)

    def read(self, name: str) -> bytes:
        if name.startswith("journal/"):
            self._step()
        return super().read(name)


def answers_of(live: Live) -> tuple[dict[tuple[str, str], str | None], list[str]]:
    trials = rows_of(live, "trials", "model, sample_id, response_id")
    assert len(trials) == 4
    responses = [row[0] for row in rows_of(live, "responses", "response_id")]
    return {(model, sample): response for model, sample, response in trials}, responses


def first_invocation(storage: Recording) -> None:
    with RunWriter(storage, RUN) as writer:
        writer.append(**answered(0))
        writer.append(**failed(1))
        writer.append(**answered(2))
        writer.flush()
        storage.keep()


def second_invocation(storage: Recording) -> None:
    with RunWriter(storage, RUN) as writer:
        writer.append(**answered(1))
        writer.append(**answered(3))
        writer.flush()
        storage.keep()


@pytest.mark.parametrize("is_second", [False, True], ids=["a new run", "a run that goes on"])
def test_whatever_a_writer_does_meanwhile_a_look_finds_each_row_once(tmp_path: Path, is_second: bool) -> None:
    root = tmp_path / "warehouse"
    planned(root, 4)
    storage = Recording(root, tmp_path / "copies")
    if is_second:
        first_invocation(storage)
        storage.states.clear()
        storage.copies = tmp_path / "later"
    storage.keep()
    (second_invocation if is_second else first_invocation)(storage)
    assert len(storage.states) >= 7
    truth = [answers_of(Look(LocalStorage(state)).live()) for state in storage.states]
    assert truth[0] != truth[-1]

    for schedule in itertools.combinations_with_replacement(range(len(storage.states)), 4):
        live = Look(Replaying(storage.states, schedule)).live()
        assert live.damaged == []
        trials, responses = answers_of(live)
        assert len(responses) == len(set(responses)), f"an answer twice: {schedule}"
        (promised, paid), (latest, _) = truth[schedule[0]], truth[-1]
        assert set(paid) <= set(responses), f"an answer is missing: {schedule}"
        for key, response in trials.items():
            assert response in (promised[key], latest[key])
            if promised[key] is not None:
                assert response is not None, f"a promised answer is missing: {schedule}"
            assert response is None or response in responses, f"a trial without its answer: {schedule}"
