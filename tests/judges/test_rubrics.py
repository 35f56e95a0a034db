"""A rubric: a metric for each criterion, and `score`, their mean by weight."""

from __future__ import annotations

import json
import re

import pytest

from tests.judges.bench import Bench
from tests.pipeline.lab import SIX

RUBRIC = {
    "kind": "rubric",
    "version": 1,
    "levels": {"1": "poor", "3": "fair", "5": "good"},
    "criteria": {"truth": {"description": "Is it true?", "weight": 3}, "tone": "Is it kind?"},
}


@pytest.fixture
def rubric(bench: Bench) -> Bench:
    bench.file(RUBRIC)
    bench.lab.data(SIX[:2])
    bench.replies(
        {
            "1+1": [{"scores": {"truth": 5, "tone": 1}, "reason": "true but rude"}],
            "2+2": ["hm", "hm"],
        }
    )
    return bench


def test_each_criterion_is_a_metric_and_score_their_mean_by_weight(rubric: Bench) -> None:
    rubric.run()
    found = {m: rubric.grade("s1", m) for m in ("score", "truth", "tone")}
    assert {m: grade["raw_score"] for m, grade in found.items()} == {"score": 4.0, "truth": 5.0, "tone": 1.0}
    assert {m: grade["is_pass"] for m, grade in found.items()} == {
        "score": True,
        "truth": True,
        "tone": False,
    }
    assert found["score"]["extracted"] == "truth 5, tone 1"
    assert {grade["detail"] for grade in found.values()} == {"true but rude"}


def test_bounds_are_those_of_the_levels_and_the_middle_passes(rubric: Bench) -> None:
    rubric.run()
    scorer = rubric.lab.row("select * from scorers")
    assert (scorer["score_min"], scorer["score_max"], scorer["pass_threshold"]) == (1.0, 5.0, 3.0)


def test_an_unreadable_reply_and_an_empty_answer_are_so_by_every_criterion(rubric: Bench) -> None:
    rubric.lab.data(SIX[:3])
    rubric.answers["3+3"] = " "
    rubric.run()
    outcomes = {(m, s): rubric.grade(s, m) for m in ("score", "truth", "tone") for s in ("s2", "s3")}
    assert {grade["outcome"] for (_, s), grade in outcomes.items() if s == "s2"} == {"judge_error"}
    assert {(g["outcome"], g["score"]) for (_, s), g in outcomes.items() if s == "s3"} == {("empty", 1.0)}
    board = rubric.lab.rows("select metric, mean, n_errors from leaderboard order by metric")
    assert [(row["metric"], row["mean"], row["n_errors"]) for row in board] == [
        ("score", 2.5, 1), ("tone", 1.0, 1), ("truth", 3.0, 1),
    ]  # fmt: skip


def test_the_criteria_are_shown_with_their_levels(rubric: Bench) -> None:
    rubric.run()
    asked = str(rubric.judged[0].body["messages"][0]["content"])
    assert "- truth: Is it true?\n  - 1: poor\n  - 3: fair\n  - 5: good\n- tone: Is it kind?" in asked
    (form,) = re.findall(r"of this form: (.*)\n", asked)
    assert json.loads(form)["scores"] == {"truth": "one of 1, 3, 5", "tone": "one of 1, 3, 5"}
    assert "Give numbers without quotes" in asked


def test_a_majority_is_taken_criterion_by_criterion(rubric: Bench) -> None:
    rubric.lab.data(SIX[:1])
    votes = [(5, 1), (5, 3), (1, 3)]
    said = [{"scores": {"truth": truth, "tone": tone}, "reason": ""} for truth, tone in votes]
    rubric.replies({"1+1": said})
    rubric.run(rubric.judge(votes=3, aggregate="majority"))
    scores = {m: rubric.grade("s1", m)["raw_score"] for m in ("score", "truth", "tone")}
    assert scores == {"score": 4.5, "truth": 5.0, "tone": 3.0}
