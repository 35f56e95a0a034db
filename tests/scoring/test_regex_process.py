import re

import pytest

from gradetrail.scoring import regex_process
from gradetrail.scoring.regex_process import Match, RegexProcess
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
