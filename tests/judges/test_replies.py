"""How a reply is read: what other judges misread, and everything that is no grade."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gradetrail import sql
from gradetrail.scorer_spec import JudgeFile
from gradetrail.scoring.judge_reply import final_text, read_reply

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "judge.jsonl").read_text(encoding="utf-8").split("\n")
    if line
]


def judge_file(kind: str = "binary", **parts: Any) -> JudgeFile:
    return JudgeFile.model_validate({"kind": kind, "version": 1, **parts})


GRADES = judge_file("score_0_1", reply="grade")
UNIT = judge_file("score_0_1")
RUBRIC = judge_file("rubric", criteria={"truth": "Is it true?", "tone": "Is it kind?"}, levels=[1, 2, 3])
PAIR = judge_file("preference")


@pytest.mark.parametrize("case", [c for c in CASES if "verdict" in c["expect"]], ids=lambda c: str(c["case"]))
def test_the_last_grade_that_is_a_word_of_its_own_counts(case: Any) -> None:
    file = GRADES if case["case"].startswith("H26") else judge_file()
    reading = read_reply(file, case["judge_reply"])
    assert (reading.verdict or None) == case["expect"]["verdict"]
    assert reading.scores.get("score") == case["expect"].get("score")
    assert (reading.fault is None) == (case["expect"]["verdict"] is not None)


WRITTEN = [
    "**GRADE:** C",
    "**GRADE: C**",
    "__GRADE__: C",
    "`GRADE`: `C`",
    "GRADE\uff1aC",
    "GRADE: $C$",
    "GRADE: \\boxed{C}",
    "GRADE: $\\boxed{\\text{C}}$.",
    "GRADE: \u201cC\u201d",
    "GRADE: <C>",
    "GRADE: __C__",
    "GRADE -> C",
    "GRADE \u2192 C",
    "### GRADE\nC",
    "**Grade**\r\n\r\nC\r\n",
    "GRADE: C (correct)",
    "GRADE: **C**. It agrees.",
    "GRADE: C.",
    "(GRADE: C)",
]
UNCLEAR = [
    "GRADE: C/I",
    "GRADE: C-",
    "GRADE: C+",
    "GRADE: I think C.",
    "GRADE: C or I",
    "GRADE: C, I",
    "GRADE: \u0130",
    "GRADE:",
    "GRADE C",
    "GRADE: X",
    "Final grade C",
    "<grade>C</grade>",
]


@pytest.mark.parametrize("before", ["", "GRADE: I was my draft.\n\n", "GRADE: I\n\n"])
@pytest.mark.parametrize("text", WRITTEN)
def test_markdown_tex_and_quotes_around_a_grade_make_no_difference(before: str, text: str) -> None:
    assert read_reply(GRADES, before + text).scores == {"score": 1.0}


@pytest.mark.parametrize("before", ["", "GRADE: I\n\n"])
@pytest.mark.parametrize("text", UNCLEAR)
def test_a_last_grade_that_is_unclear_is_no_grade_and_no_earlier_one_counts(before: str, text: str) -> None:
    reading = read_reply(GRADES, before + text)
    assert reading.scores == {}
    assert reading.fault


@pytest.mark.parametrize("text", ["0.8", "1.5", "1/2", "1,5", "0-1", "1%", "-1", "1e0", "0 - 1", "10"])
def test_a_part_of_a_number_is_no_grade(text: str) -> None:
    file = judge_file("score_0_1", reply="grade", grades={"0": 0, "1": 1})
    assert read_reply(file, f"GRADE: {text}").scores == {}
    assert read_reply(file, "GRADE: 1").scores == {"score": 1.0}


def test_a_reply_full_of_markers_is_read_in_time_linear_in_its_length() -> None:
    started = time.process_time()
    assert read_reply(GRADES, "GRADE: " * 100_000 + "*" * 100_000).scores == {}
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 1, "reason": "ok"}',
        '  {"reason": "ok", "score": 1.0, "more": [1]}\n',
        '```json\n{"score": 1, "reason": "ok"}\n```',
        '```\n{"score": 1, "reason": "ok"}\n```',
        '```JSON\r\n{"score": 1, "reason": "ok"}\r\n```\n',
        '<think>{"score": 0}</think>\n{"score": 1, "reason": "ok"}',
    ],
)
def test_an_object_with_score_and_reason_is_read_with_or_without_a_fence(text: str) -> None:
    reading = read_reply(judge_file(), text)
    assert (reading.scores, reading.reason, reading.fault) == ({"score": 1.0}, "ok", None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "looks right to me",
        '{"score": 1}',
        '{"reason": "ok"}',
        '{"score": true, "reason": "ok"}',
        '{"score": "1", "reason": "ok"}',
        '{"score": null, "reason": "ok"}',
        '{"score": 1, "reason": ["ok"]}',
        '{"score": 0.5, "reason": "ok"}',
        '{"score": 2, "reason": "ok"}',
        '{"score": NaN, "reason": "ok"}',
        '{"score": 1e999, "reason": "ok"}',
        '[{"score": 1, "reason": "ok"}]',
        'Sure: {"score": 1, "reason": "ok"}',
        '```json\n{"score": 1, "reason": "ok"}\n```\nDone.',
        '{"score": 1, "reas',
    ],
)
def test_what_does_not_follow_the_protocol_is_no_grade(text: str) -> None:
    reading = read_reply(judge_file(), text)
    assert reading.scores == {}
    assert reading.fault


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 0, "score": 1, "reason": "ok"}',
        '{"score": 1, "reason": "ok", "score": 1}',
        '{"score": 0, "\\u0073core": 1, "reason": "ok"}',
        '```json\n{"reason": "no", "score": 1, "reason": "ok"}\n```',
        '{"score": 1, "reason": "ok", "more": {"a": 1, "a": 2}}',
    ],
)
def test_a_reply_that_says_a_key_twice_is_no_grade(text: str) -> None:
    reading = read_reply(judge_file(), text)
    assert reading.scores == {}
    assert "stands twice" in str(reading.fault)


def test_a_rubric_that_grades_a_criterion_twice_is_no_grade() -> None:
    reading = read_reply(RUBRIC, '{"scores": {"truth": 1, "truth": 3, "tone": 1}, "reason": "ok"}')
    assert (reading.scores, str(reading.fault)[:20]) == ({}, "`truth` stands twice")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 1010 + "1" + "}" * 1010])
def test_a_reply_nested_without_end_is_no_grade(text: str) -> None:
    assert read_reply(judge_file(), text).scores == {}


def test_a_fault_shows_the_beginning_of_the_reply_and_whether_it_was_cut_off() -> None:
    reading = read_reply(judge_file(), "x" * 500, "length")
    assert reading.fault == f"cut off, not a JSON object: {'x' * 200}…"


@pytest.mark.parametrize(
    ("score", "is_read"), [(0, True), (0.25, True), (1, True), (1.5, False), (-0.1, False)]
)
def test_a_score_of_0_to_1_is_within(score: float, is_read: bool) -> None:
    reading = read_reply(UNIT, json.dumps({"score": score, "reason": ""}))
    assert reading.scores == ({"score": score} if is_read else {})


@pytest.mark.parametrize(
    ("scores", "is_read"),
    [
        ({"truth": 3, "tone": 1}, True),
        ({"truth": 3, "tone": 1, "wit": 2}, True),
        ({"truth": 3}, False),
        ({"truth": 3, "tone": 1.5}, False),
        ({"truth": 3, "tone": 4}, False),
        ({"truth": 3, "tone": True}, False),
        ([3, 1], False),
    ],
)
def test_a_rubric_wants_a_level_for_each_criterion(scores: Any, is_read: bool) -> None:
    reading = read_reply(RUBRIC, json.dumps({"scores": scores, "reason": "ok"}))
    assert reading.scores == ({"truth": 3, "tone": 1} if is_read else {})


@pytest.mark.parametrize(
    ("winner", "score"),
    [("A", 1.0), ("b", 0.0), (" tie ", 0.5), ("C", None), ("", None), (1, None), (None, None)],
)
def test_a_preference_names_a_winner_or_a_tie(winner: Any, score: float | None) -> None:
    reading = read_reply(PAIR, json.dumps({"winner": winner, "reason": "ok"}))
    assert reading.scores.get("score") == score


@pytest.mark.parametrize(
    ("confidence", "read"), [(0.3, 0.3), (0, 0.0), (1, 1.0), (70, None), ("high", None), (True, None)]
)
def test_a_confidence_outside_0_to_1_is_none(confidence: Any, read: float | None) -> None:
    text = json.dumps({"score": 1, "reason": "ok", "confidence": confidence})
    assert read_reply(judge_file(), text).confidence == read


TAGGED = st.lists(
    st.sampled_from(
        [
            "<think>",
            "</think>",
            "<THINKING>",
            "</thinking>",
            "<reasoning>",
            "</Reasoning>",
            "a",
            "\n",
            ">",
            "<",
        ]
    ),
    max_size=12,
).map("".join)


@given(TAGGED)
@example("<think>a</think>b")
@example("a</think>b<think>c")
@example("<thi<think>a</think>nk>b")
@example("<rea\u017foning>a</rea\u017foning>b")
@example("<THIN\u212a>a</THIN\u212a>b")
def test_reasoning_is_set_apart_in_replies_as_it_is_in_answers(text: str) -> None:
    con = sql.connect(threads=1)
    sql.create(con, "macros/final_text")
    (row,) = con.execute("select final_text($text)", {"text": text}).fetchall()
    assert final_text(text) == row[0]


@pytest.mark.parametrize("tag", ["<think>", "<thinking></think>", "<reasoning><think>", "</think>"])
def test_a_reply_full_of_tags_is_read_in_time_linear_in_its_length(tag: str) -> None:
    started = time.process_time()
    assert final_text(tag * 100_000) == ""
    assert time.process_time() - started < 5


@pytest.mark.parametrize("text", ["```" + " " * 100_000 + "x", "```\n" + "\t" * 100_000 + "x"])
def test_a_fence_full_of_blanks_is_read_in_time_linear_in_its_length(text: str) -> None:
    started = time.process_time()
    assert read_reply(judge_file(), text).scores == {}
    assert time.process_time() - started < 2


@given(st.text(max_size=300))
def test_no_reply_breaks_the_reader(text: str) -> None:
    for file in (judge_file(), GRADES, RUBRIC, PAIR):
        reading = read_reply(file, text)
        assert bool(reading.scores) == (reading.fault is None)
