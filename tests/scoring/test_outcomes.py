import math
from typing import Any

import pytest

from tests.scoring.grading import answer, graded, graded_one


@pytest.mark.parametrize(
    ("columns", "outcome"),
    [
        ({"status": "pending", "text": None}, "pending"),
        ({"status": "skipped", "text": None}, "skipped"),
        ({"status": "error", "text": None, "error_type": "timeout"}, "provider_error"),
        ({"status": "error", "text": None, "error_type": "over_context"}, "over_context"),
        ({"status": "error", "text": None, "error_type": "filtered"}, "filtered"),
        ({"targets": None}, "no_target"),
        ({"targets": []}, "no_target"),
        ({"text": ""}, "empty"),
        ({"text": None}, "empty"),
        ({"text": " \u00a0\n"}, "empty"),
        ({"text": "", "stop_reason": "length"}, "truncated"),
        ({"text": "", "stop_reason": "refusal"}, "refused"),
        ({"text": "", "stop_reason": "filter"}, "filtered"),
        ({"text": "none"}, "unparsed"),
        ({"text": "none", "stop_reason": "length"}, "truncated"),
        ({"text": "none", "stop_reason": "refusal"}, "refused"),
        ({"text": "none", "stop_reason": "filter"}, "filtered"),
        ({"text": "none", "stop_reason": None}, "unparsed"),
        ({"text": "<think>42"}, "empty"),
    ],
)
def test_an_answer_without_a_grade_says_why(columns: dict[str, Any], outcome: str) -> None:
    (result,) = graded("numeric", [answer("42", "42") | columns])
    assert (result.outcome, result.score, result.is_pass) == (outcome, None, None)


@pytest.mark.parametrize("stop_reason", ["length", "refusal", "filter", "other", None])
def test_what_can_be_graded_is_graded_however_the_model_stopped(stop_reason: str | None) -> None:
    assert graded_one("numeric", "42", "42", columns={"stop_reason": stop_reason}).score == 1


def test_no_answers_give_no_grades() -> None:
    assert graded("numeric", []) == []


def test_a_missing_target_is_never_wrong_for_any_scorer() -> None:
    for scorer in (
        "exact",
        "accuracy",
        "includes",
        "numeric",
        "f1",
        "rouge_l",
        "bleu_add1",
        {"type": "regex", "pattern": "x"},
    ):
        assert graded_one(scorer, "x 1", None).outcome == "no_target"


def test_every_row_has_one_grade_whatever_happens_to_it() -> None:
    rows = [
        answer("A: 1", "1"),
        answer("A: x", "1"),
        answer("", "1"),
        answer("7", "seven"),
        answer("1", None),
    ]
    rows += [answer(None, "1", status=status) for status in ("pending", "skipped", "error")]
    for chain in (None, ["number"], [r"A: (\d)", r"A: (\w)", "boxed"]):
        results = graded("numeric", rows, extract=chain)
        assert [result.row for result in results] == list(range(1, len(rows) + 1))
        assert all((result.score is None) == (result.outcome != "scored") for result in results)


def test_a_target_that_no_number_is_in_is_our_fault_and_not_a_wrong_answer() -> None:
    result = graded_one("numeric", "7", "seven")
    assert (result.outcome, result.score) == ("scorer_error", None)
    assert result.detail == "the target `seven` holds no number"


def test_long_texts_are_kept_short() -> None:
    result = graded_one("exact", "x" * 2000, "y")
    assert result.extracted == "x" * 500 + "\u2026"


def test_passing_needs_the_threshold() -> None:
    half = {"type": "f1", "pass_threshold": 0.7}
    assert [g.is_pass for g in graded("f1", [answer("a b", "a c"), answer("x", "y")])] == [True, False]
    assert [g.is_pass for g in graded(half, [answer("a b", "a c"), answer("a", "a")])] == [False, True]


def test_reasoning_tags_are_read_without_regard_to_case_and_the_last_close_counts() -> None:
    for text in (
        "<THINK>5</Think>7",
        "<thinking>5</thinking>7",
        "<reasoning>5</reasoning>7",
        "5</think>6</think>7",
    ):
        assert graded_one("numeric", text, "7").score == 1
    assert graded_one("numeric", "<think>5</think>7<think>8</think>", "7").score == 1
    assert graded_one("numeric", "<think>a<think>b</think>5</think>7", "7").score == 1
    assert graded_one("numeric", "7 <think>so 8", "7").outcome == "empty"
    assert graded_one("numeric", "a > b, so 7", "7").score == 1


@pytest.mark.parametrize("value", [1.5, -0.1, math.nan, math.inf])
def test_a_confidence_outside_0_to_1_is_dropped_with_the_reason(value: float) -> None:
    result = graded_one("numeric", "7", "7", columns={"confidence": value})
    assert (result.confidence, result.confidence_source) == (None, None)
    assert "is outside 0..1" in (result.detail or "")


def test_the_providers_confidence_counts_where_the_spec_says_nothing() -> None:
    result = graded_one("numeric", "7", "7", columns={"confidence": 0.25})
    assert (result.confidence, result.confidence_source, result.detail) == (0.25, "provider", None)
    assert graded_one("numeric", "7", "7").confidence_source is None


def test_confidence_from_text_is_scaled_and_comes_from_the_answer_and_not_its_reasoning() -> None:
    rule = {"regex": r"Confidence:\s*(\d+)%", "scale": 100}
    text = "<think>Confidence: 10%</think>7. Confidence: 50%. No, Confidence: 85%"
    result = graded_one({"type": "numeric", "which": "first"}, text, "7", confidence=rule)
    assert (result.score, result.confidence, result.confidence_source) == (1, 0.85, "text")
    result = graded_one({"type": "numeric", "which": "first"}, "7 Confidence: 850%", "7", confidence=rule)
    assert (result.confidence, result.detail) == (None, "confidence 8.5 is outside 0..1")
    result = graded_one("numeric", "7", "7", confidence={"regex": r"Confidence: (\w+)"})
    assert (result.confidence, result.detail) == (None, None)
    result = graded_one("numeric", "7 Confidence: high", "7", confidence={"regex": r"Confidence: (\w+)"})
    assert (result.confidence, result.detail) == (None, "confidence `high` is no number")


def test_confidence_from_log_probabilities_is_the_mean_probability_of_a_token() -> None:
    columns = {"token_nll": 2 * math.log(2), "token_count": 2}
    result = graded_one("numeric", "7", "7", columns=columns, confidence={"from": "logprobs"})
    assert result.confidence == pytest.approx(0.5)
    assert result.confidence_source == "logprobs"
    none = {"token_nll": 0.0, "token_count": 0}
    assert graded_one("numeric", "7", "7", columns=none, confidence={"from": "logprobs"}).confidence is None


def test_votes_are_shares_within_one_entrant_and_sample() -> None:
    rows = [
        *(answer(text, "1", sample_id="a", epoch=n) for n, text in enumerate(["1", "01", "2", "?"])),
        *(answer("1", "1", sample_id="a", epoch=n, entrant="other") for n in range(2)),
        answer("1", "1", sample_id="b"),
        answer(None, "1", sample_id="a", epoch=9, status="error"),
    ]
    results = graded("numeric", rows, confidence={"from": "votes"})
    assert [result.confidence for result in results] == [0.5, 0.5, 0.25, None, 1, 1, None, None]
    assert {result.confidence_source for result in results} == {"votes", None}
