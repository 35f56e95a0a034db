"""`score --preview`: what other definitions would change, over one run or all history."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gradetrail import pipeline
from gradetrail.pipeline import RankChange
from gradetrail.warehouse import Warehouse
from tests.pipeline.lab import Lab, chat, question_of
from tests.servers import Call, Reply

SHORT, LONG = "Answer: 1", "It must be a long way to the answer 1"
TARGETS = {"easy": "1", "hard one": "2", "hard two": "1", "simple": "1"}
RIGHT = {"m1": LONG, "m2": SHORT}
"""Under `includes: 1` both are right; under `exact` after `Answer:` only m2 is."""


def lab_with_two(lab: Lab) -> dict[str, Any]:
    """Make two models that differ in how they say the same."""

    def answer(call: Call) -> Reply:
        wrong = call.body["model"] == "m2" and "hard" in question_of(call)
        return Reply(body=chat("none" if wrong else RIGHT[call.body["model"]]))

    lab.api.answer = answer
    lab.data(
        [
            {"id": "a", "question": "easy", "target": "1"},
            {"id": "b", "question": "hard", "target": "1"},
            {"id": "c", "question": "easy too", "target": "1"},
        ]
    )
    return {"models": [lab.model(name=name, **{"as": name}) for name in RIGHT], "extract": None}


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_it_tells_flips_and_their_direction_and_who_moves_on_the_board(lab: Lab) -> None:
    parts = lab_with_two(lab)
    lab.run(lab.spec(scorer="includes", **parts))
    stricter = lab.spec(
        **{**parts, "extract": "Answer: (.*)"}, scorer=None, scorers={"includes": {"type": "exact"}}
    )
    before = contents(lab.warehouse)
    found = pipeline.preview(stricter, warehouse=lab.warehouse)
    assert contents(lab.warehouse) == before
    changes = Counter((flip["model"], flip["change"]) for flip in found.flips)
    assert changes == {("m1", "broken"): 3, ("m2", "same"): 3}
    assert found.changes == (("includes", "broken", "scorer", 3), ("includes", "same", None, 3))
    assert found.ranks == (
        RankChange("sums", "includes", "score", "m2", "default", "2", "1", 2 / 3, 2 / 3),
        RankChange("sums", "includes", "score", "m1", "default", "1", "2", 1.0, 0.0),
    )


def test_what_it_foretells_comes(lab: Lab) -> None:
    parts = lab_with_two(lab)
    lab.run(lab.spec(scorer="includes", **parts))
    stricter = lab.spec(
        **{**parts, "extract": "Answer: (.*)"}, scorer=None, scorers={"includes": {"type": "exact"}}
    )
    found = pipeline.preview(stricter, warehouse=lab.warehouse)
    pipeline.score(stricter, warehouse=lab.warehouse)
    ranks = {row["model"]: str(row["rank"]) for row in lab.rows("select model, rank from leaderboard")}
    assert ranks == {change.model: change.new_rank for change in found.ranks}
    assert pipeline.preview(stricter, warehouse=lab.warehouse).flips == ()
    assert pipeline.preview_all(warehouse=lab.warehouse).ranks == ()


def told(lab: Lab, found: pipeline.Preview) -> dict[str, set[tuple[str, str | None, int]]]:
    """Give what `diff` counts for each scorer that the preview looked at, of its newest two definitions."""
    counted = {}
    with Warehouse(lab.warehouse) as opened:
        for scorer in {scorer for scorer, *_ in found.changes}:
            query, params = opened.diff_query("latest", scorers=(f"{scorer}~1", scorer), include_same=True)
            text = f"select change, cause, count(*) as n from ({query}) group by all"
            counted[scorer] = {tuple(row) for row in opened.rows(text, params)[1]}
    return counted


@pytest.mark.parametrize("unanswered", ["wrong", "exclude"])
@pytest.mark.parametrize(
    "scorer",
    [
        {"type": "exact", "extract": "Answer: (.*)"},
        {"type": "f1", "extract": r"(\w+)$"},
        {"type": "edit_distance", "measure": "distance"},
        {"type": "sql", "sql": "case when text = 'none' then null else 1 end"},
        {"type": "sql", "sql": "case when text = 'none' then text::integer else 1 end"},
    ],
    ids=str,
)
def test_it_counts_changes_as_diff_counts_them_afterwards(lab: Lab, scorer: Any, unanswered: str) -> None:
    parts = {**lab_with_two(lab), "unanswered": unanswered}
    lab.run(lab.spec(scorer=None, scorers={"s": "includes"}, **parts))
    other = lab.spec(scorer=None, scorers={"s": scorer}, **parts)
    found = pipeline.preview(other, warehouse=lab.warehouse)
    pipeline.score(other, warehouse=lab.warehouse)
    foretold = {(change, cause, n) for _, change, cause, n in found.changes}
    assert told(lab, found) == {"s": foretold}
    assert sum(n for *_, n in foretold) == 6
    back = pipeline.preview(
        lab.spec(scorer=None, scorers={"s": "includes"}, **parts), warehouse=lab.warehouse
    )
    assert sum(n for *_, n in back.changes) == 6


def test_a_metric_that_goes_and_one_that_comes_are_counted_as_diff_counts_them(lab: Lab) -> None:
    parts = {**lab_with_two(lab), "scorer": None, "scorers": {"s": {"type": "python", "path": "grade.py"}}}
    source = (
        "import polars as pl\n\n\ndef grade(frame):\n"
        "    one = pl.Series([1.0] * frame.height)\n"
        "    return pl.DataFrame({'score': one, 'NAME': one})\n"
    )
    (lab.folder / "grade.py").write_text(source.replace("NAME", "one"))
    lab.run(lab.spec(**parts))
    (lab.folder / "grade.py").write_text(source.replace("NAME", "two"))
    other = lab.spec(**parts)
    found = pipeline.preview(other, warehouse=lab.warehouse)
    assert found.changes == (("s", "one_sided", None, 12), ("s", "same", None, 6))
    assert Counter((flip["metric"], flip["new_outcome"]) for flip in found.flips) == {
        ("one", None): 6,
        ("two", "scored"): 6,
    }
    pipeline.score(other, warehouse=lab.warehouse)
    assert told(lab, found) == {"s": {("one_sided", None, 12), ("same", None, 6)}}


def test_another_policy_for_the_unanswered_is_told_with_who_moves(lab: Lab) -> None:
    parts = {**lab_with_two(lab), "scorer": None, "scorers": {"s": "numeric"}}
    # m1 answers everything, one of them wrong; m2 is right where it answers
    lab.data([{"id": name, "question": name, "target": target} for name, target in TARGETS.items()])
    lab.run(lab.spec(**parts))
    other = lab.spec(**parts, unanswered="exclude")
    before = contents(lab.warehouse)
    found = pipeline.preview(other, warehouse=lab.warehouse)
    assert contents(lab.warehouse) == before
    assert (found.flips, found.policies) == ((), (("sums", "wrong", "exclude"),))
    assert [(c.model, c.old_rank, c.new_rank, c.old_mean, c.new_mean) for c in found.ranks] == [
        ("m2", "2", "1", pytest.approx(0.5), 1.0),
        ("m1", "1", "2", 0.75, 0.75),
    ]
    pipeline.score(other, warehouse=lab.warehouse)
    ranks = {row["model"]: str(row["rank"]) for row in lab.rows("select model, rank from leaderboard")}
    assert ranks == {change.model: change.new_rank for change in found.ranks}
    again = pipeline.preview(other, warehouse=lab.warehouse)
    assert (again.flips, again.policies, again.ranks) == ((), (), ())


def test_a_scorer_of_a_new_name_has_nothing_to_be_compared_with(lab: Lab) -> None:
    parts = lab_with_two(lab)
    lab.run(lab.spec(scorer=None, scorers={"s": "includes"}, **parts))
    more = lab.spec(scorer=None, scorers={"s": "includes", "t": "exact"}, **parts)
    assert pipeline.preview(more, warehouse=lab.warehouse).changes == (("t", "one_sided", None, 6),)


def test_all_history_is_every_run_of_every_task(lab: Lab) -> None:
    parts = lab_with_two(lab)
    for name in ("one", "two"):
        for _ in range(2):
            lab.run(lab.spec(name=name, scorer="includes", **parts), new=True)
    for name in ("one", "two"):
        stricter = lab.spec(
            **{**parts, "extract": "Answer: (.*)"},
            name=name,
            scorer=None,
            scorers={"includes": {"type": "exact"}},
        )
        newest = lab.rows("select run_id from runs where task = $task order by run_id", task=name)[-1][
            "run_id"
        ]
        pipeline.score_runs(lab.warehouse, stricter, [newest])
    found = pipeline.preview_all(warehouse=lab.warehouse)
    assert (found.n_runs, found.n_trials) == (4, 24)
    assert Counter(flip["run_id"] for flip in found.flips).keys() == {
        row["run_id"]
        for row in lab.rows(
            "select run_id from runs qualify row_number() over (partition by task order by run_id) = 1"
        )
    }
    pipeline.score_all(warehouse=lab.warehouse)
    assert pipeline.preview_all(warehouse=lab.warehouse).flips == ()
    assert lab.row("select count(distinct scorer_id) as n from graded") == {"n": 1}
