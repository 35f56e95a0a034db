"""Fields of JSON are compared one by one."""

import json
import random
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from gradetrail.scoring.json_likeness import paired
from tests.scoring.grading import answer, graded

RECORD = {"name": "Ann", "address": {"city": "Ulm", "zip": "89073"}, "total": 12.5, "tags": ["a", "b"]}


def fields(scorer: Any, text: str, target: Any, **blocks: Any) -> dict[str, Any]:
    """Give the score by metric."""
    targets = [target] if isinstance(target, str) else [json.dumps(target)]
    return {one.metric: one.score for one in graded(scorer, [answer(text, targets)], **blocks)}


def match(target: Any, text: str | Any, **options: Any) -> dict[str, Any]:
    text = text if isinstance(text, str) else json.dumps(text)
    return fields({"type": "json_match", **options}, text, target)


def test_the_score_is_the_share_of_fields_and_each_field_is_a_metric() -> None:
    given_ = {"name": "Anna", "address": {"city": "Ulm"}, "total": 12.50, "tags": ["a", "b"], "more": 1}
    assert match(RECORD, given_) == {
        "score": 3 / 5, "name": 0, "address.city": 1, "address.zip": 0, "total": 1, "tags": 1,
    }  # fmt: skip


def test_the_grade_says_what_is_wrong_and_what_was_read() -> None:
    row = answer(
        'First {"a": 9}. Then:\n```json\n{"a": 1, "b": {"c": "x"}, "d": 4}\n```',
        '{"a": 2, "b": {"c": "x", "e": null}}',
    )
    by_metric = {one.metric: one for one in graded({"type": "json_match", "extra": "wrong"}, [row])}
    whole = by_metric["score"]
    assert (whole.extracted, whole.extracted_by) == ('{"a":1,"b":{"c":"x"},"d":4}', "json")
    assert whole.detail == "1 of 3 fields; a: expected 2, found 1; b.e: missing, expected null; extra: d"
    assert whole.score == 1 / 4
    assert (by_metric["a"].extracted, by_metric["a"].detail) == ("1", "expected 2, found 1")
    assert (by_metric["b.e"].extracted, by_metric["b.e"].is_pass) == (None, False)


@pytest.mark.parametrize(
    ("given_", "wanted", "options", "is_match"),
    [
        ("1", "1.0", {}, True),
        ("1e2", "100", {}, True),
        ("9007199254740993", "9007199254740992", {}, False),
        ("0.4", "0.3", {"abs_tol": 0.1}, True),
        ("0.41", "0.3", {"abs_tol": 0.1}, False),
        ("110", "100", {"rel_tol": 0.1}, True),
        ("-100", "100", {"rel_tol": 0.1}, False),
        ('"1"', "1", {}, False),
        ('"1"', "1", {"numbers": "text"}, True),
        ('"one"', "1", {"numbers": "text"}, False),
        ("true", "1", {}, False),
        ("1", "true", {}, False),
        ("false", "null", {}, False),
        ("null", "null", {}, True),
        ('"Ann "', '"ann"', {"normalize": ["strip"], "case": False}, True),
        ('"Ann"', '"ann"', {}, False),
        ("[1,2]", "[2,1]", {}, False),
        ("[1,2]", "[2,1]", {"order": "any"}, True),
        ("[1,1,2]", "[1,2,2]", {"order": "any"}, False),
        ('[{"a":1,"b":2}]', '[{"b":2.0,"a":1}]', {}, True),
        ('[{"a":1,"b":2}]', '[{"a":1}]', {}, True),
        ('[{"a":1,"b":2}]', '[{"a":1}]', {"extra": "wrong"}, False),
        ("{}", "{}", {}, True),
        ("[]", "{}", {}, False),
        ("1e999999999999999999999", "1", {"abs_tol": 1}, False),
    ],
)  # fmt: skip
def test_values_are_compared_as_json(given_: str, wanted: str, options: Any, is_match: bool) -> None:
    scores = match(f'{{"v": {wanted}}}', f'{{"v": {given_}}}', **options)
    assert scores["score"] == (1 if is_match else 0)


def test_only_named_fields_count_each_by_its_own_rule() -> None:
    scorer = {"fields": {"name": {"case": False}, "total": {"abs_tol": 1}, "tags.1": None, "gone": {}}}
    wanted = match(RECORD, {"name": "ANN", "total": 13, "tags": ["x", "b"], "address": 3}, **scorer)
    assert wanted == {"score": 1, "name": 1, "total": 1, "tags.1": 1, "gone": 1}
    assert match(RECORD, {"gone": 1}, **scorer)["gone"] == 0
    assert match(RECORD, {"name": "Ann"}, fields=["name"]) == {"score": 1, "name": 1}


def test_what_is_missing_may_stand_for_null() -> None:
    assert match({"a": None, "b": 1}, {"b": 1})["score"] == 1 / 2
    assert match({"a": None, "b": 1}, {"b": 1}, missing="null")["score"] == 1


def test_a_path_leads_to_the_part_that_counts() -> None:
    text = '{"thought": "...", "answer": {"a": 1}}'
    assert match({"a": 1}, text, path="answer") == {"score": 1, "a": 1}
    assert match({"a": 1}, text, path="result") == {"score": None, "a": None}


def test_names_of_metrics_are_never_taken_for_each_other() -> None:
    target = {"score": 1, "a.b": 2, "a": {"b": 3}, "": 4}
    assert match(target, target) == {"score": 1, "$.score": 1, '"a.b"': 1, "a.b": 1, '""': 1}


def test_a_target_need_not_be_an_object() -> None:
    assert match([1, 2], "[1, 2.0]") == {"score": 1}
    assert match("3", "3") == {"score": 1}


def test_the_best_of_several_targets_counts() -> None:
    row = answer('{"a": 1, "b": 2}', ['{"a": 1, "b": 3}', '{"a": 1}'])
    assert {one.metric: one.score for one in graded("json_match", [row])} == {"score": 1, "a": 1}


def test_an_answer_without_json_lacks_every_metric_and_a_bad_target_is_our_fault() -> None:
    rows = [
        answer("none", '{"a": 1}'),
        answer('{"a": 1}', "{a}"),
        answer('{"a": 1}', None),
        answer(None, '{"a": 1}', status="error"),
    ]
    results = [(one.row, one.metric, one.score, one.outcome) for one in graded("json_match", rows)]
    assert results == [
        (1, "a", None, "unparsed"), (1, "score", None, "unparsed"),
        (2, "score", None, "scorer_error"),
        (3, "score", None, "no_target"),
        (4, "a", None, "provider_error"), (4, "score", None, "provider_error"),
    ]  # fmt: skip


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc."), inner, max_size=3),
    max_leaves=8,
)


def shuffled(value: Any, random_: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        random_.shuffle(keys)
        return {key: shuffled(value[key], random_) for key in keys}
    return [shuffled(item, random_) for item in value] if isinstance(value, list) else value


@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(JSON, JSON), min_size=10, max_size=40), st.randoms(use_true_random=False))
def test_the_order_of_keys_never_matters(pairs: list[tuple[Any, Any]], random_: random.Random) -> None:
    rows = [answer(json.dumps({"v": text}), json.dumps({"v": target})) for text, target in pairs]
    others = [
        answer(json.dumps({"v": shuffled(text, random_)}), json.dumps({"v": shuffled(target, random_)}))
        for text, target in pairs
    ]
    same = [
        answer(json.dumps(shuffled({"v": value}, random_)), json.dumps({"v": value})) for value, _ in pairs
    ]
    keys = [(one.row, one.metric, one.score) for one in graded("json_match", rows)]
    assert [(one.row, one.metric, one.score) for one in graded("json_match", others)] == keys
    assert {one.score for one in graded("json_match", same)} == {1}


def test_as_many_are_paired_as_can_be() -> None:
    near = paired([1.0, 2.0, 3.0], [2.5, 1.5, 3.0], lambda one, other: abs(one - other) <= 0.5)
    assert len(near) == 3
    assert paired([1, 1], [1], int.__eq__) == {0: 0}
    assert paired([], [1], int.__eq__) == {}


@pytest.mark.parametrize(
    "text",
    ["```json\n" * 100_000, "\\boxed{" * 100_000, '{"' * 100_000, '{"a":' * 100_000, "[" * 300_000],
    ids=["fences", "braces", "quotes", "objects", "lists"],
)
def test_a_hostile_text_takes_no_longer_than_a_long_one(text: str) -> None:
    assert match({"a": 1}, text)["score"] is None


def test_half_a_surrogate_pair_in_an_answer_is_graded_like_any_text() -> None:
    assert match({"a": "x"}, r'{"a": "\ud800", "\udfff": 1}') == {"score": 0, "a": 0}
    assert match({"a": "x"}, r'{"a": "x", "b": "\ud83d\ude00"}', extra="wrong")["score"] == 1 / 2
    row = answer(r'{"a": "\ud83d x"}', "�x")
    (one,) = graded({"type": "exact", "extract": [{"json": "a"}]}, [row])
    assert one.extracted == "� x"


@pytest.mark.parametrize("depth", [100, 101, 400, 980, 1_500])
def test_a_value_too_deep_to_walk_through_counts_as_none(depth: int) -> None:
    text = '{"a": ' * depth + "1" + "}" * depth
    assert match({"b": 1}, text)["score"] == (0 if depth <= 100 else None)
    assert match({"b": 1}, text + ' {"b": 1}')["score"] == 1


@pytest.mark.parametrize(
    "text", ['{"a": 2, "a": 1}', '{"a": 1} then {"a": 1, "a": 1}', '{"a": 1, "b": [{"c": 1, "\\u0063": 2}]}']
)
def test_json_in_which_a_key_stands_twice_says_nothing(text: str) -> None:
    (one,) = [one for one in graded("json_match", [answer(text, '{"a": 1}')]) if one.metric == "score"]
    assert (one.score, one.outcome) == (None, "unparsed")
    (found,) = graded({"type": "exact", "extract": [{"json": "a"}]}, [answer(text, "1")])
    assert found.outcome == "unparsed"
    assert match({"a": 1}, text + ' {"a": 1}')["score"] == 1
