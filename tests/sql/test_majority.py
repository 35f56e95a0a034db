"""`majority_vote` against the rule itself: the most frequent answer of a sample, ties shared."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradetrail.warehouse.catalog import Catalog
from tests.sql.given import live_of

Answer = tuple[str | None, bool]
"""What was extracted (None: unparsed), and whether it is right; equal answers are equally right."""
ANSWERS: list[Answer] = [("4", True), ("4.0", True), ("5", False), ("6", False), (None, False)]
SAMPLES = st.lists(st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=7), min_size=1, max_size=4)


def majority(answers: list[Answer]) -> Fraction:
    """Give the share of the leading answers that are right; a sample that says nothing is wrong."""
    votes = Counter(answer for answer in answers if answer[0] is not None)
    if not votes:
        return Fraction(0)
    most = max(votes.values())
    leading = [is_right for (_, is_right), n in votes.items() if n == most]
    return Fraction(sum(leading), len(leading))


def view_says(samples: list[list[Answer]]) -> float:
    grades = [
        {
            "sample_id": f"s{number}",
            "epoch": epoch,
            **({"outcome": "unparsed"} if text is None else {"score": float(is_right), "extracted": text}),
        }
        for number, answers in enumerate(samples)
        for epoch, (text, is_right) in enumerate(answers, start=1)
    ]
    catalog = Catalog(live_of({"grades": grades}))
    catalog.provide("pass_at_k")
    rows = catalog.cursor().execute("select distinct majority_vote from pass_at_k").fetchall()
    catalog.close()
    ((value,),) = rows
    return float(value)


@settings(max_examples=40, deadline=None)
@given(SAMPLES)
def test_it_is_the_mean_over_samples_of_the_leading_answer(samples: list[list[Answer]]) -> None:
    expected = sum(map(majority, samples)) / len(samples)
    assert view_says(samples) == pytest.approx(float(expected))


def test_a_majority_may_be_right_where_most_samples_first_answers_are_wrong() -> None:
    right, wrong = ("4", True), ("5", False)
    assert view_says([[wrong, right, right], [wrong, right, right]]) == 1.0
    assert view_says([[wrong, wrong, right]]) == 0.0
    assert view_says([[wrong, right]]) == 0.5
    assert view_says([[(None, False), (None, False), right]]) == 1.0
