"""`show leaderboard RUN`: the board of a run, also of one that newer runs have taken the place of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab


def of_run(run: str, *words: str) -> list[dict[str, Any]]:
    done = gradetrail("show", "leaderboard", run, *words, "--format", "json")
    assert done.code == 0, done.err
    rows: list[dict[str, Any]] = json.loads(done.raw)
    return rows


@pytest.fixture
def runs(lab: Lab) -> list[str]:
    """Two models; then both again; then one of them, of three samples, which is not ranked."""
    lab.write(models=[lab.model(name=name, **{"as": name}) for name in ("m1", "m2")])
    for words in (("--tag", "first"), ("--new",), ("--new", "--limit", "3", "--model", "m1")):
        assert gradetrail("run", "spec.yaml", *words).code == 0
    return [row["run_id"] for row in lab.rows("select run_id from runs order by started_at")]


@pytest.mark.parametrize("name", ["latest~2", "sums@first"])
def test_a_run_that_newer_ones_replaced_has_its_own_board(runs: list[str], name: str) -> None:
    done = gradetrail("show", "leaderboard", name)
    assert (done.code, done.err) == (
        0, f"newer runs stand on the board of `sums`; this is the board of {runs[0]} alone\n",
    )  # fmt: skip
    assert "m1" in done.out and "m2" in done.out and "sums: numeric\n" in done.out
    board = of_run(name)
    assert {(row["run_id"], row["model"], row["n"]) for row in board} == {
        (runs[0], "m1", 6), (runs[0], "m2", 6),
    }  # fmt: skip


def test_its_numbers_are_those_of_run_scores(runs: list[str], lab: Lab) -> None:
    stored = lab.rows("select model, mean, stderr, n from run_scores where run_id = $run", run=runs[0])
    board = [{name: row[name] for name in ("model", "mean", "stderr", "n")} for row in of_run(runs[0])]
    assert sorted(board, key=lambda row: row["model"]) == sorted(stored, key=lambda row: row["model"])


def test_a_run_that_shows_all_of_its_entrants_is_seen_on_the_board_as_it_stands(runs: list[str]) -> None:
    board = json.loads(gradetrail("show", "leaderboard", "--format", "json").raw)
    assert gradetrail("show", "leaderboard", runs[1]).err == ""
    assert of_run(runs[1]) == [row for row in board if row["run_id"] == runs[1]] == board


def test_a_partial_run_that_the_board_passes_over_has_a_board_of_its_own(runs: list[str]) -> None:
    assert [(row["run_id"], row["n"]) for row in of_run(runs[2])] == [(runs[2], 3)]


def test_a_run_of_which_one_entrant_is_shown_by_a_newer_run_is_shown_whole(runs: list[str]) -> None:
    assert gradetrail("run", "spec.yaml", "--new", "--model", "m1").code == 0
    assert [row["model"] for row in json.loads(gradetrail("show", "--format", "json").raw)] == ["m1", "m2"]
    assert sorted(row["model"] for row in of_run(runs[1])) == ["m1", "m2"]


def test_its_chart_is_drawn_too(runs: list[str]) -> None:
    done = gradetrail("show", "leaderboard", runs[0], "--plot", "-")
    assert (done.code, "m1" in done.out, "m2" in done.out) == (0, True, True), done.err


def test_a_bundle_of_a_run_that_is_also_in_the_warehouse_has_its_board(runs: list[str]) -> None:
    assert gradetrail("export", runs[0], "--bundle", "main.bundle").code == 0
    assert {row["run_id"] for row in of_run("main.bundle")} == {runs[0]}
    assert gradetrail("show", "leaderboard", "main.bundle", "--plot", "-").code == 0


def test_an_ungraded_run_says_so_of_itself(lab: Lab) -> None:
    lab.write()
    assert gradetrail("generate", "spec.yaml").code == 0
    done = gradetrail("show", "leaderboard", "latest")
    assert (done.code, done.out.strip()) == (0, "") and "no grades of " in done.err, done.err
