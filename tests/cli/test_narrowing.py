"""`show --scorer` and `--model`: only these rows of a view."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab


@pytest.fixture
def graded(lab: Lab) -> Lab:
    """Two models, graded by two scorers, of which one finds every answer wrong."""
    scorers = {"numeric": {"type": "numeric"}, "alike": {"type": "exact", "target": "nothing"}}
    models = [lab.model(name=name, **{"as": name}) for name in ("m1", "m2")]
    lab.write(scorer=None, scorers=scorers, models=models)
    assert gradetrail("run", "spec.yaml").code == 0
    return lab


def pairs(*words: str) -> set[tuple[Any, Any]]:
    done = gradetrail("show", *words, "--format", "json")
    assert done.code == 0, done.err
    return {(row["model"], row["scorer"]) for row in json.loads(done.raw)}


def test_rows_are_those_of_the_scorers_and_models_named(graded: Lab) -> None:
    both = {(model, scorer) for model in ("m1", "m2") for scorer in ("numeric", "alike")}
    for view in (("graded",), ("run_scores", "latest"), ("leaderboard",), ("sample", "s2")):
        assert pairs(*view, "--scorer", "alike,numeric") == pairs(*view) == both
        assert pairs(*view, "--scorer", "alike") == {("m1", "alike"), ("m2", "alike")}
        assert pairs(*view, "--scorer", "alike", "--model", "m2") == {("m2", "alike")}
        assert pairs(*view, "--model", "m1", "--model", "m2") == both
    board = gradetrail("show", "--scorer", "alike", "--model", "m2").out
    assert "sums: alike\n" in board and "m2" in board and "m1" not in board and "numeric" not in board
    text = gradetrail("show", "sample", "s2", "--scorer", "alike").out
    assert "  alike: " in text and "  numeric: " not in text
    own = graded.warehouse / "sql"
    own.mkdir()
    (own / "mine.sql").write_text("create view mine as select model, scorer from graded")
    assert pairs("mine", "--scorer", "alike", "--model", "m2") == {("m2", "alike")}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("graded", "--scorer", "nummeric"), "--scorer: no scorer is named `nummeric`"),
        (("graded", "latest", "--scorer", "nummeric"), "did you mean `numeric`?"),
        (("--model", "m3,m1"), "--model: no model is named `m3`"),
        (("runs", "--scorer", "numeric"), "view `runs` has no column `scorer`"),
        (("costs", "--scorer", "numeric"), "leave --scorer out"),
        (("leaderboard", "--model", "m1", "--plot"), "leave --model out"),
    ],
)
def test_what_narrows_nothing_is_refused(graded: Lab, words: tuple[str, ...], said: str) -> None:
    done = gradetrail("show", *words)
    assert (done.code, done.out, said in done.err) == (2, "", True), done.err
