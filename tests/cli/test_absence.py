"""A view without rows says why in one line, to people and not to programs."""

from __future__ import annotations

import pytest

import gradetrail as gt
from gradetrail import sql
from gradetrail.cli.absence import ONLY_WITH
from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab


def why(view: str, *more: str) -> str:
    done = gradetrail("show", view, *more)
    assert done.code == 0
    first, *lines = done.err.splitlines()
    assert first == "no rows"
    assert len(lines) == 1, lines
    return lines[0]


def test_what_a_view_would_be_made_of_is_named_with_the_way_to_it(lab: Lab) -> None:
    lab.run()
    assert "no graded answer has a confidence" in why("calibration")
    assert "`confidence: {from: logprobs}`" in why("reliability_bins")
    assert "`request: {logprobs: true}`" in why("output_perplexity")
    assert "epochs: 4" in why("flaky")
    assert "second model" in why("pairwise")
    assert "category: FIELD" in why("category_scores")


def test_a_warehouse_of_answers_without_grades_says_so(lab: Lab) -> None:
    gt.generate(lab.spec(), warehouse=lab.warehouse)
    assert why("wrong").startswith("wrong is empty: nothing is graded; `gradetrail score SPEC`")


def test_programs_and_whoever_asks_for_no_row_are_told_nothing(lab: Lab) -> None:
    lab.run()
    assert gradetrail("show", "calibration", "--format", "json").err == ""
    assert gradetrail("show", "wrong", "--limit", "0").err == "no rows\n"


@pytest.mark.parametrize("view", ONLY_WITH)
def test_every_view_that_is_explained_is_there(view: str) -> None:
    assert view in sql.names("views")
