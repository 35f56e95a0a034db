"""A run that is graded stretch by stretch gets the scores that it gets as a whole."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from gradetrail.scoring.grade import definitions
from gradetrail.scoring.in_place import MACROS, STORED, InPlaceGrader
from gradetrail.scoring.run_grader import RunGrader
from gradetrail.scoring.stretches import enter, leave, ways_to_cut
from gradetrail.store import Store
from gradetrail.store.segments import ordered, publish_batches
from gradetrail.warehouse import Warehouse
from tests.scoring.test_in_place import ANSWERS, SCORERS, both, opened, pairs_of, rows_of, spec_of
from tests.sql.given import RUN

SIZE = 50
N_TRIALS = 4 * 2 * len(ANSWERS)

Order = Callable[[list[str]], list[str]]
"""Puts answers, which come in the order of their first trials, into that in which they are stored."""


def swapped(ids: list[str]) -> list[str]:
    """Let an answer of the first stretch and one of the last change places."""
    ids[10], ids[-10] = ids[-10], ids[10]
    return ids


ORDERS: dict[str, tuple[Order, bool]] = {
    "that of the trials": (lambda ids: ids, True),
    "one out of place": (swapped, True),
    "others between": (lambda ids: ["unused", *ids], True),
    "backwards": (lambda ids: ids[::-1], False),
    "one in no file": (lambda ids: ids[1:], False),
}
"""And whether stretches know where their answers are then."""


def filed(folder: Path, order: Order, *, has_choices: bool = False) -> Warehouse:
    """Open the run of `opened` from a file of trials, in order, and one of answers."""
    with opened(folder, pairs_of(ANSWERS), has_choices=has_choices) as warehouse:
        live = warehouse.live
    trials = pa.concat_tables(ordered("trials", live.loose["trials"]))
    answers = live.loose["responses"]
    used = list(dict.fromkeys(filter(None, trials.column("response_id").to_pylist())))
    stored = answers.column("response_id").to_pylist()
    filed_ids = order(used)
    places = [stored.index(name) for name in filed_ids]
    rest = [place for place, name in enumerate(stored) if name not in filed_ids]
    storage = Store(folder).storage
    for table, rows in (("trials", trials), ("responses", answers.take(places))):
        assert publish_batches(storage, table, f"{RUN}.1{'f' if table == 'trials' else ''}", [rows])
    files = {**live.files, "trials": [f"{folder}/trials/{RUN}.1f.parquet"]}
    files["responses"] = [f"{folder}/responses/{RUN}.1.parquet"]
    loose = {name: rows for name, rows in live.loose.items() if name != "trials"}
    loose["responses"] = answers.take(pa.array(rest, pa.int64()))
    return Warehouse(folder, live=replace(live, files=files, loose=loose))


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradetrail.scoring.in_place.STRETCH_PIECES", SIZE)
    monkeypatch.setattr("gradetrail.scoring.in_place.STRETCH_TEXTS", SIZE)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["exact", "whole", "own pattern", "letter in a piece"])
def test_scores_are_those_of_whole_texts_whatever_the_order_of_answers(
    name: str, order: str, tmp_path: Path
) -> None:
    arrange, is_near = ORDERS[order]
    with filed(tmp_path, arrange, has_choices="choices" in SCORERS[name]) as warehouse:
        found, wanted = both(warehouse, spec_of(SCORERS[name]))
        ways = [*ways_to_cut(warehouse.connection(*MACROS, *STORED), RUN, SIZE)]
    assert found == wanted
    assert len(wanted) == N_TRIALS
    assert [len(stretches) for stretches in ways] == [-(-N_TRIALS // SIZE)] * len(ways)
    assert [all(each.answers for each in stretches) for stretches in ways] == [True, False][not is_near :]


@pytest.mark.usefixtures("_small")
def test_several_scorers_are_graded_one_after_the_other(tmp_path: Path) -> None:
    scorers = {"a": "exact", "b": {"type": "includes", "extract": []}, "c": "numeric", "d": "exact"}
    spec = spec_of({"extract": SCORERS["exact"]["extract"], "scorers": scorers})
    with (
        filed(tmp_path, swapped) as warehouse,
        contextlib.closing(InPlaceGrader(warehouse, spec, RUN)) as grader,
        contextlib.closing(RunGrader(warehouse, spec, RUN)) as whole,
    ):
        for definition in definitions(spec):
            scores = grader.scores(definition)
            assert scores is not None
            assert rows_of(scores) == rows_of(whole.scores(definition))


def test_stretches_hold_every_trial_once_in_order(tmp_path: Path) -> None:
    with filed(tmp_path, lambda ids: ids) as warehouse:
        con = warehouse.connection(*STORED)
        query = "select model, sample_id, epoch from trials"
        whole = con.execute(query).fetchall()
        for stretches in ways_to_cut(con, RUN, SIZE):
            seen = []
            for stretch in stretches:
                enter(con, stretch)
                seen += con.execute(query).fetchall()
            leave(con)
            assert seen == whole == con.execute(query).fetchall()
        assert [*ways_to_cut(con, RUN, N_TRIALS)] == []


@pytest.mark.usefixtures("_small")
def test_a_run_that_misses_an_answer_is_left_to_grading_of_whole_texts(tmp_path: Path) -> None:
    with filed(tmp_path, lambda ids: ids[:-1]) as warehouse:
        live = warehouse.live
    loose = {name: rows for name, rows in live.loose.items() if name != "responses"}
    with Warehouse(tmp_path, live=replace(live, loose=loose)) as warehouse:
        found, wanted = both(warehouse, spec_of(SCORERS["exact"]))
    assert found is None
    assert wanted
