"""Values that graders before this one gave, and the rules by which a few come out otherwise here."""

import math
from typing import Any

import pytest

from tests.scoring.grading import answer, graded, graded_one


@pytest.mark.parametrize(
    ("text", "target"), [("114,200", "114200"), ("114200", "114,200"), ("2125", "2,125")]
)
def test_a_comma_between_thousands_is_no_difference(text: str, target: str) -> None:
    assert graded_one("numeric", f"Answer: {text}", target).score == 1


def test_a_rounded_number_is_another_number_unless_a_tolerance_says_otherwise() -> None:
    assert graded_one("numeric", "Answer: 106.12", "106").score == 0
    assert graded_one({"type": "numeric", "abs_tol": 0.5}, "Answer: 106.12", "106").score == 1


def test_bleu_add1_of_two_words_beside_thirteen_is_the_brevity_penalty_alone() -> None:
    reference = "the cat " + " ".join(f"w{number}" for number in range(11))
    score = graded_one("bleu_add1", "the cat", reference).score
    assert score == pytest.approx(math.exp(1 - 13 / 2))
    assert score == pytest.approx(0.004087, abs=5e-7)


def test_white_space_at_the_ends_is_stripped_by_default_and_case_is_not() -> None:
    """An older matcher lowers case by default; here a step must say so."""
    assert graded_one("exact", " yes\n", "yes").score == 1
    assert graded_one("exact", " Yes\n", "yes").score == 0
    assert graded_one({"type": "exact", "normalize": ["strip", "lower"]}, " Yes\n", "yes").score == 1


@pytest.mark.parametrize("scorer", ["exact", "f1", "bleu_add1", "rouge_l"])
@pytest.mark.parametrize("targets", [None, []])
def test_no_target_is_no_score_where_an_older_rule_says_zero(scorer: str, targets: Any) -> None:
    result = graded_one(scorer, "the cat", targets)
    assert (result.score, result.outcome) == (None, "no_target")


@pytest.mark.parametrize("scorer", ["exact", "f1", "bleu_add1", "rouge_l"])
def test_an_empty_answer_is_unanswered_where_an_older_rule_says_zero(scorer: str) -> None:
    """It counts as the worst all the same, unless the task excludes the unanswered."""
    result = graded_one(scorer, " \n", "the cat")
    assert (result.score, result.outcome) == (None, "empty")


def test_includes_wants_every_item_of_a_list_where_it_says_all() -> None:
    all_of = {"type": "includes", "all": True}
    assert graded_one(all_of, "a cat and a dog", ["cat", "dog"]).score == 1
    missing = graded_one(all_of, "a cat", ["cat", "dog"])
    assert missing.score == 0
    assert "dog" in (missing.detail or "")
    assert graded_one("includes", "a cat", ["cat", "dog"]).score == 1


@pytest.mark.parametrize(
    ("threshold", "text", "is_pass"),
    [(0.5, "a b", True), (0.51, "a b", False), (2 / 3, "a b c d e f g h", True)],
)
def test_a_score_that_is_the_threshold_passes(threshold: float, text: str, is_pass: bool) -> None:
    targets = {"a b": "a c", "a b c d e f g h": "a b c d"}
    result = graded_one({"type": "f1", "pass_threshold": threshold}, text, targets[text])
    assert result.is_pass is is_pass


def test_where_lower_is_better_the_threshold_is_the_most_that_passes() -> None:
    scorer = {"type": "edit_distance", "measure": "distance", "pass_threshold": 0.25}
    rows = [answer(text, "abcd") for text in ("abcx", "abxx", "abcd")]
    assert [(g.score, g.is_pass) for g in graded(scorer, rows)] == [(0.25, True), (0.5, False), (0, True)]


@pytest.mark.parametrize(
    ("text", "theirs", "ours"),
    [
        ("Answer: C is right", "C", "C"),
        ("The answer is (B).", "B", "B"),
        ("**C**", "C", "C"),
        ("no letter here", "", None),
        ("Definitely", "D", None),
    ],
)
def test_letters_are_those_of_the_older_rule_but_for_letters_inside_words(
    text: str, theirs: str, ours: str | None
) -> None:
    options = [f"option {number}" for number in range(5)]
    row = answer(text, theirs or "A", choices=options)
    (result,) = graded("choice", [row], target=None, choices={"from": "c", "answer": "a"})
    assert result.extracted == ours
