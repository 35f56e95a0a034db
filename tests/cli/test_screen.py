"""What a table for people shows: columns that fit a screen, and no two rows that look alike."""

from __future__ import annotations

import re

import pytest

from gradetrail import sql
from gradetrail.cli.board import SCREEN, screen_columns
from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab

PAIR = {"pair": ("a_model", "a_prompt", "b_model", "b_prompt")}
TRIAL = {"trial": ("run_id", "model", "prompt", "sample_id", "epoch")}


@pytest.mark.parametrize("view", sorted(SCREEN))
def test_every_column_that_tells_rows_of_a_view_apart_can_be_seen(view: str) -> None:
    grain = sql.text_of(f"views/{view}").splitlines()[1]
    inside = re.search(r"\(([^)]*)\)", grain)
    keys = {key.strip() for key in (inside[1] if inside else "run_id").split(",")}
    keys |= {"trial"} if "per trial" in grain else set()
    wanted = {name for key in keys for name in {**PAIR, **TRIAL}.get(key, (key,))} - {"trial"}
    shown = set(SCREEN[view].replace("?", "").split())
    # a run id says the task, and what stands in an empty grain is said in words
    assert wanted <= shown, wanted - shown
    assert shown <= set(sql_columns(view))


def sql_columns(view: str) -> list[str]:
    return re.findall(rf"comment on column {view}\.(\w+) is", sql.text_of(f"views/{view}"))


def names_shown(view: str, **values: object) -> list[str]:
    names = sql_columns(view)
    columns = {name: values.get(name, "same") for name in names}
    rows = [[value[n] if isinstance(value, list) else value for value in columns.values()] for n in range(2)]
    return screen_columns(view, names, rows)[0]


def test_a_key_is_shown_only_where_it_tells_rows_apart() -> None:
    plain = names_shown("pairwise", metric="score")
    assert not {"a_prompt", "b_prompt", "metric", "task"} & set(plain)
    assert {"a_prompt", "b_prompt"} <= set(names_shown("pairwise", metric="score", a_prompt=["x", "y"]))
    assert {"a_prompt", "b_prompt"} <= set(names_shown("power", metric="score", a_prompt="x", b_prompt="y"))
    assert "epoch" not in names_shown("wrong", metric="score", epoch=1)
    assert "epoch" in names_shown("audit", metric="score", epoch=[1, 2])
    for view in ("pairwise", "power", "variance", "calibration", "flaky", "sample_stats"):
        assert "metric" in names_shown(view, metric=["score", "f1"]), view
        assert "metric" not in names_shown(view, metric="score"), view
        assert "metric" in names_shown(view, metric="tone"), view


def test_a_leaderboard_of_one_run_has_the_columns_of_the_leaderboard(lab: Lab) -> None:
    lab.write()
    assert gradetrail("run", "spec.yaml").code == 0
    whole = gradetrail("show", "leaderboard")
    for arguments in (("latest",), ("latest", "--limit", "9"), ("--limit", "9")):
        assert gradetrail("show", "leaderboard", *arguments).out == whole.out


def test_boards_stand_in_the_order_of_the_spec_and_a_score_above_its_parts(lab: Lab) -> None:
    lab.write(
        scorer=None,
        scorers={
            "zeta": {"type": "exact"},
            "words": {"type": "python", "path": "grade.py"},
            "alpha": {"type": "includes"},
        },
    )
    (lab.folder / "grade.py").write_text(
        "import polars as pl\n\ndef grade(frame):\n"
        "    return frame.select(score=pl.col('text').is_not_null(), arguments=pl.col('text').len() * 0)\n"
    )
    assert gradetrail("run", "spec.yaml").code == 0
    heads = [line.partition(": ")[2] for line in gradetrail("show").out.splitlines() if ": " in line]
    assert heads == ["zeta", "words", "words (arguments)", "alpha"]


@pytest.mark.parametrize(
    ("view", "command"),
    [("diff", "gradetrail diff A B"), ("gate", "gradetrail gate A B"), ("comparison", "gradetrail gate A B")],
)
def test_a_view_that_takes_two_runs_names_the_command_for_it(lab: Lab, view: str, command: str) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    done = gradetrail("show", view)
    assert (done.code, command in done.err) == (2, True), done.err


@pytest.mark.parametrize("view", ["wrong", "audit"])
def test_of_several_runs_the_newest_comes_first_and_each_row_names_its_own(lab: Lab, view: str) -> None:
    lab.write(extract=None, scorer="exact")
    assert gradetrail("run", "spec.yaml").code == 0
    assert "run_id" not in gradetrail("show", view, "--limit", "1").out
    assert gradetrail("run", "spec.yaml", "--new").code == 0
    old, new = [row["run_id"] for row in lab.rows("select run_id from runs order by run_id")]
    shown = [line.split()[0] for line in gradetrail("show", view).out.splitlines()[2:]]
    assert shown == sorted(shown, reverse=True)
    assert set(shown) == {old, new}
    first = gradetrail("show", view, "--limit", "1").out.splitlines()
    assert (first[0].split()[0], first[2].split()[0]) == ("run_id", new)
    assert "run_id" not in gradetrail("show", view, "latest").out
