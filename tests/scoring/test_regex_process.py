import re

import pytest

from gradetrail.scoring import regex_process
from gradetrail.scoring.regex_process import Match, RegexProcess
from gradetrail.scoring.worker import Failure
from tests.scoring.grading import answer, graded

EXPONENTIAL = r"(?<!x)(a+)+$"
"""Takes 2**n steps on n times `a` and something else."""


def test_first_and_last_pass_over_blank_groups_and_search_does_not() -> None:
    with RegexProcess() as process:
        text = "A: \nA: 1\nA: 2\nA:"
        assert process.search(r"A:[ ]?(.*)", 0, "first", [text]) == [Match("1", "A: 1")]
        assert process.search(r"A:[ ]?(.*)", 0, "last", [text]) == [Match("2", "A: 2")]
        assert process.search(r"A:[ ]?(.*)", 0, "search", [text]) == [Match("A: ", "A: ")]
        assert process.search(r"(x)|A", 0, "last", [text, "x"]) == [None, Match("x", "x")]


def test_texts_come_back_in_order_over_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_process, "BATCH_CHARACTERS", 10)
    texts = [f"n{number} \u2028 \U0001f600" for number in range(100)]
    with RegexProcess() as process:
        found = process.search(r"n(\d+)", re.MULTILINE, "first", texts)
    assert [match.group for match in found if isinstance(match, Match)] == [str(n) for n in range(100)]


def test_a_pattern_that_runs_too_long_fails_on_that_answer_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_process, "MATCH_SECONDS", 0.05)
    rows = [answer("aaa"), answer("a" * 60 + "b"), answer("b")]
    results = graded({"type": "regex", "pattern": EXPONENTIAL}, rows, target=None)
    assert [result.outcome for result in results] == ["scored", "scorer_error", "scored"]
    assert [result.score for result in results] == [1, None, 0]
    assert results[1].detail is not None
    assert "engine=python" in results[1].detail
    assert "more than 0.05 s" in results[1].detail


def test_an_extraction_that_runs_too_long_is_an_error_and_no_later_rule_hides_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(regex_process, "MATCH_SECONDS", 0.05)
    rows = [answer("a" * 60 + "b 7", "7"), answer("7", "7")]
    results = graded("numeric", rows, extract=[EXPONENTIAL, "number"])
    assert [result.outcome for result in results] == ["scorer_error", "scored"]
    assert results[1].detail == "engine=python"


SLOW = "a" * 60 + "b"
GIVEN_UP = "the pattern was given up after it had failed on 20 answers"


def test_a_pattern_that_always_runs_too_long_is_given_up_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_process, "MATCH_SECONDS", 0.02)
    rows = [answer(SLOW + str(number)) for number in range(200)]
    results = graded({"type": "regex", "pattern": EXPONENTIAL}, rows, target=None)
    assert {result.outcome for result in results} == {"scorer_error"}
    told = [result.detail or "" for result in results]
    assert sum("took more than 0.02 s" in detail for detail in told) == 20
    assert sum(GIVEN_UP in detail for detail in told) == 180


def test_patterns_of_one_template_are_given_up_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_process, "MATCH_SECONDS", 0.02)
    rows = [answer(SLOW, pattern=f"{EXPONENTIAL}|{number}") for number in range(30)]
    results = graded({"type": "regex", "pattern": EXPONENTIAL + "|{{ n }}"}, rows, target=None)
    assert sum(GIVEN_UP in (result.detail or "") for result in results) == 10


def test_a_pattern_that_is_slow_on_few_answers_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_process, "MATCH_SECONDS", 0.02)
    texts = [SLOW if number % 11 == 10 else "aa" for number in range(11 * 25)]
    with RegexProcess() as process:
        found = process.search(EXPONENTIAL, 0, "search", texts)
        assert process.search(EXPONENTIAL, re.DOTALL, "search", ["aa"]) == [Match("aa", "aa")]
    assert sum(isinstance(one, Match) for one in found) == 250
    assert {one.reason for one in found if isinstance(one, Failure)} == {
        "the pattern took more than 0.02 s on this answer"
    }


def test_a_pattern_that_was_given_up_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_process, "MATCH_SECONDS", 0.02)
    with RegexProcess() as process:
        process.search(EXPONENTIAL, 0, "search", [SLOW] * 21)
        assert process.search(EXPONENTIAL, 0, "search", ["aa"]) == [Failure(GIVEN_UP)]
        assert process.search("a(?<=a)", 0, "search", ["aa"]) == [Match("a", "a")]


def test_a_lost_worker_is_started_again_and_no_text_is_lost() -> None:
    with RegexProcess() as process:
        process.search("a", 0, "first", ["a"])
        assert process._process is not None
        process._process.kill()
        process._process.wait()
        assert process.search(r"\w+", 0, "first", ["one", "-", "two"]) == [
            Match("one", "one"),
            None,
            Match("two", "two"),
        ]


def test_no_worker_is_left_behind() -> None:
    with RegexProcess() as process:
        process.search("a", 0, "first", ["a"])
        worker = process._process
        assert worker is not None
        assert worker.poll() is None
    assert worker.poll() is not None
