"""Identities follow from content alone, and canonical JSON is RFC 8785."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from gradetrail.request import (
    CallShape,
    KeyMaker,
    canonical_json,
    canonical_messages,
    content_id,
    hash_canonical,
    request_key,
    strings_id,
)

CASES = [json.loads(line) for line in (Path(__file__).parent / "cache_pairs.jsonl").read_text().splitlines()]
TEXT = st.text(st.characters(exclude_categories=("Cs",)))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
SHAPE = CallShape("openai", "m1", {"temperature": 0, "max_tokens": 16}, base_url="http://127.0.0.1:9001/v1")
ASK = [{"role": "user", "content": "Say hi"}]


def key_of(call: dict[str, Any]) -> str:
    """Make the key of a case's call; the API key that a case names has no place to go."""
    outside = ("provider", "base_url", "model", "messages", "epoch", "api_key")
    shape = CallShape(
        call["provider"],
        call["model"],
        {k: v for k, v in call.items() if k not in outside},
        base_url=call["base_url"],
    )
    return request_key(shape, call["messages"], call.get("epoch", 1))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_calls_share_an_answer_only_when_nothing_that_can_change_it_differs(case: dict[str, Any]) -> None:
    assert (key_of(case["a"]) == key_of(case["b"])) is (case["expect"] == "same_key")


def test_rfc_8785_example_comes_out_to_the_byte() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical_json(value).decode() == expected


def test_keys_sort_by_utf_16_units_and_not_by_code_point() -> None:
    value = {"\ufb33": 1, "\U0001f600": 2}
    assert canonical_json(value).decode() == '{"\U0001f600":2,"\ufb33":1}'


@given(JSON)
def test_canonical_json_is_what_the_reference_implementation_gives(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@given(st.dictionaries(TEXT, JSON, max_size=6), st.randoms(use_true_random=False))
def test_key_order_never_matters(value: dict[str, Any], random: Any) -> None:
    items = list(value.items())
    random.shuffle(items)
    assert content_id("t", dict(items)) == content_id("t", value)


@given(st.integers(2**53, 2**80))
def test_neighbouring_long_integers_never_share_an_id(number: int) -> None:
    assert content_id("t", [number]) != content_id("t", [number + 1])
    assert json.loads(canonical_json({"b": number, "a": 1.0})) == {"b": number, "a": 1}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "\ud800"])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON|surrogate"):
        canonical_json({"x": value})


@given(
    st.lists(
        st.fixed_dictionaries({"role": st.sampled_from(["user", "system"]), "content": TEXT}), max_size=4
    )
)
def test_the_short_cut_for_messages_gives_canonical_json(messages: list[dict[str, str]]) -> None:
    assert canonical_messages(messages) == rfc8785.dumps(messages)


@given(
    TEXT,
    st.integers(1, 5),
    st.dictionaries(st.sampled_from(["temperature", "seed", "top_p"]), st.integers(0, 9)),
)
def test_a_key_is_the_hash_of_the_whole_canonical_request(
    text: str, epoch: int, params: dict[str, int]
) -> None:
    shape = CallShape("openai", "m", params, endpoint="lab", tools=[{"name": "f"}])
    messages = [{"role": "user", "content": text}]
    whole = {**shape.identity(epoch), "messages": messages}
    expected = hash_canonical("gradetrail.request.v1", rfc8785.dumps(whole))
    assert request_key(shape, messages, epoch) == expected


@pytest.mark.parametrize("shape", [SHAPE, CallShape("a", "b", {})])
def test_stored_request_and_messages_reproduce_the_key(shape: CallShape) -> None:
    maker = KeyMaker(shape)
    stored = json.loads(maker.without_messages(2))
    whole = {**stored, "messages": ASK}
    assert hash_canonical("gradetrail.request.v1", rfc8785.dumps(whole)) == maker.key(
        canonical_messages(ASK), 2
    )


def test_seed_is_sent_as_seed_plus_epoch_minus_one() -> None:
    shape = CallShape("openai", "m", {"seed": 7})
    assert [shape.identity(epoch)["params"]["seed"] for epoch in (1, 2, 3)] == [7, 8, 9]


def test_an_endpoint_name_takes_the_place_of_the_address() -> None:
    here = CallShape("openai_compatible", "m", {}, endpoint="lab", base_url="http://127.0.0.1:1/v1")
    there = CallShape("openai_compatible", "m", {}, endpoint="lab", base_url="http://127.0.0.1:2/v1")
    assert request_key(here, ASK) == request_key(there, ASK)
    assert request_key(here, ASK) != request_key(SHAPE, ASK)


def test_the_sample_is_in_the_key_only_for_providers_that_see_it() -> None:
    blind = CallShape("openai", "m", {})
    seeing = CallShape("python", "m", {}, source_digest="d", sees_sample=True)
    assert request_key(blind, ASK, 1, "h1", "a") == request_key(blind, ASK, 1, "h2", "b")
    assert request_key(seeing, ASK, 1, "h1", "a") != request_key(seeing, ASK, 1, "h2", "a")


@given(
    st.recursive(st.none() | TEXT | st.booleans() | st.integers(0, 9999), lambda x: st.lists(x, max_size=4))
)
def test_the_short_cut_for_strings_gives_the_same_id(value: Any) -> None:
    assert strings_id("t", [value]) == content_id("t", [value])


@given(TEXT, TEXT, st.integers(1, 3))
def test_a_key_that_covers_the_sample_is_the_hash_of_all_of_it(
    sample_id: str, prompt: str, epoch: int
) -> None:
    shape = CallShape("replay", "m", {}, source_digest="d", sees_sample=True, sees_prompt=True)
    sample = {"prompt": prompt, "sample_hash": "ab" * 32, "sample_id": sample_id}
    whole = {**shape.identity(epoch), **sample, "messages": ASK}
    made = KeyMaker(shape, prompt).canonical(canonical_messages(ASK), epoch, "ab" * 32, sample_id)
    assert made == rfc8785.dumps(whole)


def test_known_answers_pin_the_identities_of_format_1() -> None:
    assert content_id("gradetrail.sample.v1", {"a": 1.0, "b": [None, "é"]}) == (
        "36c9e593643a398ed14c18457cddd2401e55f3ef9be9e1acb9e7ba70a57073bb"
    )
    assert request_key(SHAPE, ASK) == "67677cf83cf4b40823d7beb85442d9f204ba3181c899dfd10e584f9f4cef1152"
