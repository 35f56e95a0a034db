"""Edit distance is Levenshtein's over the longer length."""

from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tests.scoring.grading import answer, graded, graded_one
from tests.scoring.whole import Desk

TEXTS = st.text(alphabet="abcA \u00e9\U0001f600", max_size=12)


def table_distance(one: str, other: str) -> int:
    """The textbook table, row by row."""
    row = list(range(len(other) + 1))
    for up, left in enumerate(one, start=1):
        before, row = row, [up]
        for place, right in enumerate(other, start=1):
            row.append(min(before[place] + 1, row[-1] + 1, before[place - 1] + (left != right)))
    return row[-1]


@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=10, max_size=60))
def test_the_distance_is_that_of_the_textbook_table(pairs: list[tuple[str, str]]) -> None:
    kept = [(text, target) for text, target in pairs if text.strip()]
    rows = [answer(text, target) for text, target in kept]
    similar = graded({"type": "edit_distance", "normalize": []}, rows)
    distant = graded({"type": "edit_distance", "normalize": [], "measure": "distance"}, rows)
    for (text, target), one, other in zip(kept, similar, distant, strict=True):
        share = table_distance(text, target) / max(len(text), len(target))
        assert other.score == pytest.approx(share)
        assert one.score == pytest.approx(1 - share)


def test_worked_values() -> None:
    result = graded_one("edit_distance", "kitten", "sitting")
    assert result.score == pytest.approx(4 / 7)
    assert (result.detail, result.is_pass) == ("3 of 7 characters", True)
    assert graded_one("edit_distance", " Same\n", "Same").score == 1
    assert graded_one({"type": "edit_distance", "case": False}, "SAME", "same").score == 1
    words = {"type": "edit_distance", "unit": "word"}
    assert graded_one(words, "the cat sat", "the  cat sat down").score == pytest.approx(3 / 4)


def test_two_texts_of_which_nothing_is_left_are_equal() -> None:
    assert graded_one({"type": "edit_distance", "normalize": ["punctuation"]}, "...", "!").score == 1


def test_the_nearest_of_several_targets_counts_for_both_measures() -> None:
    targets = ["sitting", "kittens", "x"]
    assert graded_one("edit_distance", "kitten", targets).score == pytest.approx(6 / 7)
    distance = graded_one({"type": "edit_distance", "measure": "distance"}, "kitten", targets)
    assert distance.score == pytest.approx(1 / 7)
    assert distance.is_pass


def test_a_far_answer_fails_where_lower_is_better() -> None:
    far = graded_one({"type": "edit_distance", "measure": "distance", "pass_threshold": 0.2}, "abc", "xyz")
    assert (far.score, far.is_pass) == (1, False)


@pytest.mark.parametrize("extract", [None, ["A: (.*)"]])
def test_the_answers_of_a_whole_run_are_measured(tmp_path: Path, extract: list[str] | None) -> None:
    desk = Desk(tmp_path, [{"sample_id": "a", "text": "A: 4"}, {"sample_id": "b", "text": "A: 5"}])
    desk.run({"s": "edit_distance"}, extract=extract)
    scores = [1.0, 0.0] if extract else [0.25, 0.0]
    assert [row[2] for row in desk.grades("s")] == scores
