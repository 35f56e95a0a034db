"""Manifests, tasks, scorers, samples and scores: what is published beside a run's answers."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gradetrail.store import Store
from gradetrail.store.scores import added
from gradetrail.store.storage import LocalStorage
from tests.store.rows import (
    OTHER,
    RUN,
    SCORER,
    answered,
    digest,
    failed,
    planned,
    rows_of,
    score,
    table_of,
    trial,
)


def test_a_manifest_is_replaced_whole_and_manifests_come_sorted(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write_manifest(OTHER, {"run_id": OTHER, "status": "running"})
    store.write_manifest(RUN, {"run_id": RUN, "status": "running"})
    store.write_manifest(RUN, {"run_id": RUN, "status": "complete", "note": "größer"})
    expected = [
        {"run_id": RUN, "status": "complete", "note": "größer"},
        {"run_id": OTHER, "status": "running"},
    ]
    assert store.manifests() == store.live().manifests == expected
    assert [path.name for path in sorted((tmp_path / "runs").iterdir())] == [f"{RUN}.json", f"{OTHER}.json"]


def test_samples_and_scorers_are_stored_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    rows = [
        {"dataset_id": "d", "sample_id": name, "sample_hash": digest(name), "position": at, "content": "{}"}
        for at, name in ((1, "b"), (0, "a"))
    ]
    store.publish_samples("d" * 64, table_of("samples", rows))
    store.publish_samples("d" * 64, table_of("samples", rows[:1]))
    store.publish_scorer("b" * 64, {"scorer_id": "b" * 64, "score_min": 0.0})
    store.publish_scorer("a" * 64, {"scorer_id": "a" * 64})
    store.publish_scorer("a" * 64, {"scorer_id": "a" * 64, "ignored": True})
    live = store.live()
    assert rows_of(live, "samples", "sample_id") == [("a",), ("b",)]
    assert live.scorers == [{"scorer_id": "a" * 64}, {"scorer_id": "b" * 64, "score_min": 0.0}]


def test_a_task_gets_a_new_number_only_when_its_definition_changes(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first, second = (
        {"scorers": {"strict": "a"}, "primary": "strict"},
        {"scorers": {"strict": "b"}, "primary": "strict"},
    )
    numbers = [
        store.publish_task("gsm8k.v2", definition) for definition in (first, first, second, second, first)
    ]
    assert numbers == [1, 1, 2, 2, 3]
    assert store.publish_task("gsm8k", first) == 1
    found = [(task["task"], task["n"], task["scorers"]["strict"]) for task in store.live().tasks]
    assert found == [("gsm8k", 1, "a"), ("gsm8k.v2", 1, "a"), ("gsm8k.v2", 2, "b"), ("gsm8k.v2", 3, "a")]


def test_a_damaged_task_is_named_and_followed_by_a_whole_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.publish_task("t", {"primary": "a"})
    (tmp_path / "tasks" / "t.1.json").write_text("{")
    assert store.publish_task("t", {"primary": "a"}) == 2
    live = store.live()
    assert [(task["n"], task["primary"]) for task in live.tasks] == [(2, "a")]
    assert [fault.where for fault in live.damaged] == [str(tmp_path / "tasks" / "t.1.json")]


def scores_of(store: Store) -> dict[str, tuple[Any, ...]]:
    return {row[0]: row[1:] for row in rows_of(store.live(), "scores", "sample_id || model, outcome, score")}


def graded(*numbers: int, value: float = 1.0) -> pa.Table:
    return table_of("scores", [score(number, value=value) for number in numbers])


def test_only_the_highest_number_of_a_run_and_scorer_is_live(tmp_path: Path) -> None:
    store = planned(tmp_path, 4)
    assert store.scores_number(RUN, SCORER) == 0
    assert store.publish_scores(RUN, SCORER, graded(0, 1), {}) == 1
    assert store.publish_scores(RUN, SCORER, graded(0, 1, 2), {}) == 2
    other = graded(3).set_column(3, "scorer_id", pa.array(["cd" * 32]))
    assert store.publish_scores(RUN, "cd" * 32, other, {}) == 1
    assert store.scores_number(RUN, SCORER) == 2
    names = [Path(file).name for file in store.live().files["scores"]]
    assert names == [f"{RUN}.{SCORER[:12]}.2f.parquet", f"{RUN}.cdcdcdcdcdcd.1f.parquet"]


def test_scores_that_say_the_same_are_not_published_again(tmp_path: Path) -> None:
    store = planned(tmp_path, 3)
    assert store.publish_scores(RUN, SCORER, graded(2, 0, 1), {"scored_at": "now"}) == 1
    assert store.publish_scores(RUN, SCORER, graded(0, 1, 2), {"scored_at": "later"}) == 1
    assert store.publish_scores(RUN, SCORER, graded(0, 1, 2, value=0.0), {}) == 2


def test_what_was_known_when_grading_is_kept_beside_the_scores(tmp_path: Path) -> None:
    store = planned(tmp_path, 1)
    store.publish_scores(
        RUN, SCORER, graded(0), {"scored_at": "2026-11-30T08:31:12Z", "counts": {"scored": 1}}
    )
    metadata = pq.read_metadata(store.live().files["scores"][0]).metadata
    assert metadata[b"scored_at"] == b"2026-11-30T08:31:12Z"
    assert metadata[b"counts"] == b'{"scored": 1}'


def stale(number: int, value: float = 0.0) -> dict[str, Any]:
    return score(number, value=value, response_id=digest("an older answer", number))


@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_gradings_the_one_of_the_present_answer_counts_whoever_publishes_first(is_first: bool) -> None:
    trials = table_of("trials", [trial(0, "answered"), trial(1, "error")])
    current = table_of("scores", [score(0), score(1, "provider_error", response_id=None)])
    older = table_of("scores", [stale(0), stale(1)])
    merged = added(current, older, trials) if is_first else added(older, current, trials)
    assert merged.equals(current)


@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_gradings_of_one_answer_the_one_with_a_grade_counts(is_first: bool) -> None:
    trials = table_of("trials", [trial(0, "answered")])
    grade, failure = table_of("scores", [score(0)]), table_of("scores", [score(0, "judge_error")])
    assert (added(grade, failure, trials) if is_first else added(failure, grade, trials)).equals(grade)


def test_of_two_grades_of_one_answer_the_one_that_was_published_first_stays() -> None:
    trials = table_of("trials", [trial(0, "answered")])
    assert added(graded(0, value=1.0), graded(0, value=0.0), trials).equals(graded(0, value=1.0))


def test_a_grading_that_began_before_another_was_published_takes_nothing_back(tmp_path: Path) -> None:
    store = planned(tmp_path, 3)
    with store.writer(RUN) as writer:
        for number in range(3):
            writer.append(**answered(number))
    assert store.publish_scores(RUN, SCORER, graded(0, 1, 2), {}, over=0) == 1
    late = table_of("scores", [score(0), score(1, "pending"), stale(2)])
    assert store.publish_scores(RUN, SCORER, late, {}, over=0) == 1  # it adds nothing
    more = table_of("scores", [score(0), score(3)])
    assert store.publish_scores(RUN, SCORER, more, {}, over=0) == 2
    assert {value for _, value in scores_of(store).values()} == {1.0}
    assert len(scores_of(store)) == 4
    # one that has seen them may replace them
    assert store.publish_scores(RUN, SCORER, graded(0, value=0.0), {}, over=2) == 3
    assert list(scores_of(store).values()) == [("scored", 0.0)]


class TakingTurns(LocalStorage):
    """Lets one of two threads go on at each listing and publication, as the schedule says."""

    def __init__(self, root: Path, schedule: Schedule, name: str) -> None:
        super().__init__(root)
        self._schedule, self._name = schedule, name

    def list(self, folder: str) -> list[str]:
        if folder != "scores":
            return super().list(folder)
        with self._schedule.turn(self._name):
            return super().list(folder)

    def create(self, name: str, write: Callable[[BinaryIO], object]) -> bool:
        with self._schedule.turn(self._name):
            return super().create(name, write)


class Schedule:
    """Turns of two threads; when the list is used up, or the other is done, anyone may go."""

    def __init__(self, turns: str) -> None:
        self._turns = list(turns)
        self._done: set[str] = set()
        self._change = threading.Condition()

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        with self._change:
            self._change.wait_for(lambda: self._next() in (name, None), timeout=30)
            yield  # one step at a time
            del self._turns[:1]
            self._change.notify_all()

    def _next(self) -> str | None:
        while self._turns and self._turns[0] in self._done:
            self._turns.pop(0)
        return self._turns[0] if self._turns else None

    def done(self, name: str) -> None:
        with self._change:
            self._done.add(name)
            self._change.notify_all()


def test_two_gradings_at_once_lose_no_grade_in_whatever_order_their_steps_come(tmp_path: Path) -> None:
    store = planned(tmp_path, 4)
    with store.writer(RUN) as writer:
        writer.append(**answered(0))
        writer.append(**answered(1))
        writer.append(**failed(2))
    no_answer = score(2, "provider_error", response_id=None)
    rows = {
        "A": table_of("scores", [score(0), score(1, "judge_error"), no_answer]),
        "B": table_of("scores", [score(0), score(1)]),
    }

    def grade(name: str, schedule: Schedule) -> None:
        mine = Store(tmp_path)
        mine.storage = mine._look.storage = TakingTurns(tmp_path, schedule, name)
        try:
            mine.publish_scores(RUN, SCORER, rows[name], {}, over=0)
        finally:
            schedule.done(name)

    outcomes = set()
    for turns in itertools.product("AB", repeat=6):
        schedule = Schedule("".join(turns))
        threads = [threading.Thread(target=grade, args=(name, schedule)) for name in rows]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = {
            "s00000m0": ("scored", 1.0),
            "s00000m1": ("scored", 1.0),
            "s00001m0": ("provider_error", None),
        }
        assert scores_of(store) == expected, turns
        files = sorted(tmp_path.glob("scores/*"))
        outcomes.add(len(files))
        for file in files:
            file.unlink()
    assert outcomes == {2}
