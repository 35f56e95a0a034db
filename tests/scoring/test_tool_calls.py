"""Tool calls are compared by name and by the JSON of their arguments."""

import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tests.scoring.grading import answer, graded

A = {"name": "weather", "arguments": {"city": "Ulm", "days": 1}}
B = {"name": "time", "arguments": {"zone": "CET"}}


def stored(*calls: Any) -> str | None:
    """Write calls as responses keep them: arguments as text."""
    rows = [{"id": None, "name": call["name"], "arguments": arguments(call)} for call in calls]
    return json.dumps(rows) if rows else None


def arguments(call: Any) -> str:
    return call["arguments"] if isinstance(call["arguments"], str) else json.dumps(call["arguments"])


def metrics(target: Any, *calls: Any, text: str = "ok", **options: Any) -> tuple[Any, Any, Any]:
    """Give (score, name, arguments)."""
    targets = [target] if isinstance(target, str) else [json.dumps(item) for item in target]
    row = answer(text, targets, tool_calls=stored(*calls))
    found = {one.metric: one.score for one in graded({"type": "tool_calls", **options}, [row])}
    return found["score"], found["name"], found["arguments"]


def test_calls_are_right_whatever_their_order_unless_told_otherwise() -> None:
    assert metrics([A, B], A, B) == (1, 1, 1)
    assert metrics([A, B], B, A) == (1, 1, 1)
    assert metrics([A, B], B, A, order="strict") == (0, 0.5, 0.5)
    assert metrics([A, B], A, B, order="strict") == (1, 1, 1)


@pytest.mark.parametrize(
    ("given_", "wanted", "is_right"),
    [
        ('{"x": 1.0, "y": "a"}', {"y": "a", "x": 1}, True),
        ('{"x": "1"}', {"x": 1}, False),
        ('{"x": "a "}', {"x": "a"}, False),
        ('{"x": {"b": 2, "a": [1, 2]}}', {"x": {"a": [1, 2], "b": 2}}, True),
        ('{"x": [2, 1]}', {"x": [1, 2]}, False),
        ('{"x": 1, "y": 2}', {"x": 1}, False),
        ("", {}, True),
        ("{}", {}, True),
        ("{x: 1}", {"x": 1}, False),
        ("{}", '{"x": 1}', False),
        ('{"x": 1}', '{"x": 1}', True),
    ],
)
def test_arguments_are_compared_as_json(given_: str, wanted: Any, is_right: bool) -> None:
    expected = (1, 1, 1) if is_right else (0, 1, 0)
    assert metrics([{"name": "f", "arguments": wanted}], {"name": "f", "arguments": given_}) == expected


def test_arguments_may_be_more_or_left_out_of_it() -> None:
    more = {"name": "weather", "arguments": {"city": "Ulm", "days": 1, "unit": "C"}}
    assert metrics([A], more) == (0, 1, 0)
    assert metrics([A], more, arguments="subset") == (1, 1, 1)
    assert metrics([more], A, arguments="subset") == (0, 1, 0)
    assert metrics([A], {"name": "weather", "arguments": "{"}, arguments="ignore") == (1, 1, 1)
    assert metrics([{"name": "weather"}], more) == (1, 1, 1)


def test_calls_that_are_missing_or_too_many_are_wrong() -> None:
    assert metrics([A, B], A) == (0, 0.5, 0.5)
    assert metrics([A], A, A) == (0, 0.5, 0.5)
    assert metrics([A], A, B) == (0, 0.5, 0.5)
    assert metrics([A], B, A, extra="ignore") == (1, 1, 1)
    assert metrics([A, B], A, A, B, extra="ignore", order="strict") == (1, 1, 1)


def test_a_target_is_a_list_of_calls_in_any_of_the_usual_forms() -> None:
    openai = {
        "id": "1",
        "type": "function",
        "function": {"name": "weather", "arguments": json.dumps(A["arguments"])},
    }
    anthropic = {"type": "tool_use", "name": "weather", "input": A["arguments"]}
    for form in (A, openai, anthropic):
        assert metrics([form], A) == (1, 1, 1)
        assert metrics(json.dumps([form]), A) == (1, 1, 1)


def test_of_several_lists_any_will_do_and_an_empty_one_means_no_call() -> None:
    assert metrics([[A, B], [B]], B) == (1, 1, 1)
    assert metrics(json.dumps([[A, B], [B]]), B) == (1, 1, 1)
    assert metrics(json.dumps([[A, B], []])) == (1, 1, 1)
    assert metrics("[]") == (1, 1, 1)
    assert metrics("[]", A) == (0, 0, 0)
    assert metrics([A]) == (0, 0, 0)


def test_a_grade_says_what_was_called_and_what_is_wrong() -> None:
    row = answer("", [json.dumps(A), json.dumps(B)], tool_calls=stored(A, {"name": "time", "arguments": "{"}))
    (whole,) = (one for one in graded("tool_calls", [row]) if one.metric == "score")
    assert (whole.extracted_by, whole.outcome) == ("tool_calls", "scored")
    assert whole.extracted == (
        '[{"name":"weather","arguments":{"city":"Ulm","days":1}},{"name":"time","arguments":null}]'
    )
    assert whole.detail == (
        'expected {"name":"time","arguments":{"zone":"CET"}}; '
        'found {"name":"time","arguments":null}; the arguments of time are no JSON'
    )


def test_a_reply_without_calls_is_unanswered_only_if_it_was_cut_off_refused_or_empty() -> None:
    target = json.dumps([A])
    rows = [
        answer("I would call it", target),
        answer("I would", target, stop_reason="length"),
        answer("", target, stop_reason="refusal"),
        answer("", target),
        answer("", target, stop_reason="length", tool_calls=stored(A)),
        answer("ok", "no calls"),
        answer("ok", None),
    ]
    results = [(one.row, one.metric, one.score, one.outcome) for one in graded("tool_calls", rows)]
    by_row = {row: (score, outcome) for row, metric, score, outcome in results if metric == "score"}
    assert list(by_row.values()) == [
        (0, "scored"), (None, "truncated"), (None, "refused"), (None, "empty"), (1, "scored"),
        (None, "scorer_error"), (None, "no_target"),
    ]  # fmt: skip
    assert len(results) == 3 * len(rows)


def test_no_extraction_applies_and_text_with_reasoning_does_not_matter() -> None:
    row = answer("<think>{}", json.dumps([A]), tool_calls=stored(A))
    assert {one.score for one in graded("tool_calls", [row], extract="boxed")} == {1}


CALLS = st.lists(
    st.builds(
        lambda name, value: {"name": name, "arguments": {"x": value}},
        st.sampled_from("fg"),
        st.integers(0, 1),
    ),
    max_size=4,
)


@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(CALLS, CALLS), min_size=10, max_size=40), st.randoms(use_true_random=False))
def test_the_score_is_that_of_multisets_and_of_lists(pairs: list[tuple[Any, Any]], random_: Any) -> None:
    def texts(calls: Any) -> list[str]:
        return [json.dumps(call) for call in calls]

    rows = [answer("ok", json.dumps(wanted), tool_calls=stored(*calls)) for calls, wanted in pairs]
    for order in ("any", "strict"):
        results = graded({"type": "tool_calls", "order": order}, rows)
        scores = [one.score for one in results if one.metric == "score"]
        key = sorted if order == "any" else list
        assert scores == [float(key(texts(calls)) == key(texts(wanted))) for calls, wanted in pairs]
