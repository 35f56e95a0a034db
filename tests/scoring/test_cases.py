"""Faults of other graders: `cases/README.md` says who met them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scoring.grading import answer, graded, graded_one

CASES = Path(__file__).parent / "cases"


def cases(name: str) -> list[Any]:
    lines = (CASES / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    return [pytest.param(case, id=case["case"]) for case in map(json.loads, filter(None, lines))]


def scored(result: Any) -> float:
    """Give what counts on a board where unanswered is wrong."""
    return result.score if result.score is not None else 0.0


@pytest.mark.parametrize("case", cases("numeric"))
def test_numbers_are_found_and_compared_as_numbers(case: Any) -> None:
    result = graded_one("numeric", case["response"], case["target"])
    assert result.extracted == case["expect"]["extracted"]
    if case["expect"]["score"] is not None:
        assert scored(result) == case["expect"]["score"]
    if result.extracted is None:
        assert result.outcome == "unparsed"


def test_a_percent_sign_is_ignored_or_means_a_hundredth_as_the_option_says() -> None:
    text = "Of the 20 pupils, 35% passed. ANSWER: 35%"
    assert graded_one("numeric", text, "35").score == 1
    assert graded_one("numeric", text, "0.35").score == 0
    fraction = {"type": "numeric", "percent": "fraction"}
    assert graded_one(fraction, text, "0.35").score == 1
    assert graded_one(fraction, text, "35").score == 0
    assert graded_one(fraction, text, "35%").score == 1


@pytest.mark.parametrize("case", cases("choice"))
def test_a_choice_is_a_whole_letter_and_the_last_marker_wins(case: Any) -> None:
    options = case["choices"]
    texts = list(options.values()) if isinstance(options, dict) else options
    choices = {"from": "c", "answer": "a"}
    row = answer(case["response"], case["target"], choices=texts)
    (result,) = graded("choice", [row], target=None, choices=choices)
    assert result.extracted == case["expect"]["extracted"]
    assert scored(result) == case["expect"]["score"]
    assert result.outcome == ("unparsed" if result.extracted is None else "scored")


@pytest.mark.parametrize("case", cases("boxed"))
def test_a_box_is_read_to_its_own_brace_and_the_last_counts(case: Any) -> None:
    result = graded_one("exact", case["response"], case["target"], extract="boxed")
    assert result.extracted == case["expect"]["extracted"]
    assert scored(result) == case["expect"]["score"]
    assert result.outcome == ("unparsed" if result.extracted is None else "scored")


@pytest.mark.parametrize("case", cases("think"))
def test_reasoning_in_the_text_is_not_the_answer(case: Any) -> None:
    result = graded_one("numeric", case["response"], case["target"])
    assert result.extracted == case["expect"]["extracted"]
    assert scored(result) == case["expect"]["score"]


def test_an_unclosed_trace_is_truncated_when_the_model_ran_out_of_tokens() -> None:
    text = "<think>it may be 7, let me check"
    assert graded_one("numeric", text, "7", columns={"stop_reason": "length"}).outcome == "truncated"
    assert graded_one("numeric", text, "7").outcome == "empty"


@pytest.mark.parametrize("case", [c for c in cases("empty") if "response" in c.values[0]])
def test_an_empty_answer_is_never_right(case: Any) -> None:
    scorer = {"type": case["scorer"], **({"pattern": case["pattern"]} if "pattern" in case else {})}
    result = graded_one(scorer, case["response"], case["target"])
    assert (result.extracted, scored(result)) == (None, case["expect"]["score"])
    assert result.outcome == case["expect"]["status"]


def test_two_unparsed_answers_do_not_agree() -> None:
    (case,) = (c.values[0] for c in cases("empty") if "responses" in c.values[0])
    rows = [
        answer(text, case["target"], sample_id="1", epoch=epoch)
        for epoch, text in enumerate(case["responses"], start=1)
    ]
    votes = graded("exact", rows, extract=r"Answer: (\w)", confidence={"from": "votes"})
    assert [vote.extracted for vote in votes] == [case["expect"]["extracted"], None, None]
    assert [vote.confidence for vote in votes] == [1 / 3, None, None]


@pytest.mark.parametrize("case", [c for c in cases("regex_engine") if "score" in c.values[0]["expect"]])
def test_what_re2_cannot_search_python_does(case: Any) -> None:
    result = graded_one({"type": "regex", "pattern": case["pattern"]}, case["response"], case["target"])
    assert result.score == case["expect"]["score"]
    assert result.detail == "engine=python"


@pytest.mark.parametrize("space", [" ", "\u00a0", "\u2003", "\x1c", ""])
def test_white_space_in_a_pattern_is_pythons_on_every_path(space: str) -> None:
    (case,) = (c.values[0] for c in cases("regex_engine") if c.values[0]["case"] == "H98c")
    result = graded_one({"type": "regex", "pattern": case["pattern"]}, f"Total:{space}12", case["target"])
    assert (result.score, result.extracted, result.detail) == (1, "12", None)


@pytest.mark.parametrize("case", cases("code_block"))
def test_the_last_complete_block_is_the_code(case: Any) -> None:
    result = graded_one("exact", case["response"], "x", extract="code_block")
    assert result.extracted == case["expect"]["extracted"]
