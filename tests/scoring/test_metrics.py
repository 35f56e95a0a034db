"""A scorer may have several metrics; `score` is the first of them."""

import json
from typing import Any

import pytest

from tests.scoring.grading import answer, graded

PAIRS = [
    ('{"a": 1, "b": "x"}', '{"a": 1, "b": "x"}'),
    ('{"a": 2, "b": "x"}', '{"a": 1, "b": "x"}'),
    ('{"a": 1}', '{"a": 1, "b": "x"}'),
    ("none", '{"a": 1, "b": "x"}'),
    ("kitten", "sitting"),
    ("the cat sat on the mat", "the cat sat on a mat"),
    (r"\boxed{\frac{1}{2}}", "0.5"),
    ("<think>x</think>", "x"),
    ("x", None),
]
SCORERS: list[Any] = [
    "bleu", "chrf", "edit_distance", "json_match", "tool_calls", "math", "f1",
    {"type": "json_schema", "schema": {"type": "object", "required": ["b"]}},
]  # fmt: skip


def test_every_answer_has_the_same_metrics_with_a_score_or_without() -> None:
    rows = [answer(text, target) for text, target in PAIRS[:4]]
    rows += [
        answer(None, PAIRS[0][1], status=status, error_type="timeout") for status in ("error", "pending")
    ]
    results = graded("json_match", rows)
    metrics = {row: {one.metric for one in results if one.row == row} for row in range(1, 7)}
    assert list(metrics.values()) == [{"score", "a", "b"}] * 6
    outcomes = {row: {one.outcome for one in results if one.row == row} for row in range(1, 7)}
    assert list(outcomes.values()) == [{"scored"}] * 3 + [{"unparsed"}, {"provider_error"}, {"pending"}]
    assert all((one.score is None) == (one.outcome != "scored") for one in results)
    assert all((one.is_pass is None) == (one.score is None) for one in results)


def test_votes_count_answers_and_not_metrics() -> None:
    rows = [answer(PAIRS[n][0], PAIRS[0][1], sample_id="1", epoch=n + 1) for n in (0, 1)]
    rows.append(answer(PAIRS[0][0], PAIRS[0][1], sample_id="1", epoch=3))
    results = graded("json_match", rows, confidence={"from": "votes"})
    shares = [one.confidence for one in results if one.metric == "score"]
    assert shares == [pytest.approx(2 / 3), pytest.approx(1 / 3), pytest.approx(2 / 3)]
    (alone,) = (
        one for one in graded("json_match", rows[:1], confidence={"from": "votes"}) if one.metric == "score"
    )
    assert alone.confidence is None


@pytest.mark.parametrize("scorer", SCORERS, ids=str)
def test_a_grade_does_not_depend_on_batch_order_or_threads(scorer: Any) -> None:
    calls = json.dumps([{"id": None, "name": "f", "arguments": "{}"}])
    rows = [
        answer(text, target, row=number, tool_calls=calls) for number, (text, target) in enumerate(PAIRS, 1)
    ]

    def key(results: Any) -> Any:
        return {(one.row, one.metric): (one.score, one.outcome, one.extracted, one.detail) for one in results}

    together = key(graded(scorer, rows, threads=1))
    assert key(graded(scorer, rows[::-1], threads=4)) == together
    alone: dict[Any, Any] = {}
    for row in rows[::4]:
        alone |= key(graded(scorer, [row]))
    assert alone.items() <= together.items()
    assert len(alone) >= len(rows[::4])


def test_a_case_of_a_switch_keeps_its_metrics() -> None:
    cases = {"j": "json_match", "e": "exact"}
    rows = [
        answer('{"a": 1}', '{"a": 1}', switch="j"),
        answer("none", '{"a": 1}', switch="j"),
        answer("x", "x", switch="e"),
    ]
    results = graded({"type": "switch", "on": "{{ kind }}", "cases": cases}, rows)
    assert [(one.row, one.metric, one.score) for one in results] == [
        (1, "a", 1), (1, "score", 1), (2, "a", None), (2, "score", None), (3, "score", 1),
    ]  # fmt: skip
