import asyncio
from dataclasses import asdict
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradetrail.providers import call_shape, open_provider
from gradetrail.providers.reply import dollars
from gradetrail.providers.response import Usage
from gradetrail.request import Request
from tests.providers.calls import ASKED, Asked, call, failure, faults_of, spec_of
from tests.servers import FakeApi, Reply


def model_at(server: FakeApi, **options: Any) -> dict[str, Any]:
    return {"model": "openai_compatible/org/model:free", "base_url": server.v1, **options}


@pytest.mark.parametrize(
    ("stated", "received"),
    [
        ({}, {}),
        ({"max_tokens": 7}, {"max_tokens": 7}),
        (
            {"temperature": 0, "top_p": 0.5, "top_k": 3, "seed": 1, "stop": "x"},
            {"temperature": 0, "top_p": 0.5, "top_k": 3, "seed": 1, "stop": ["x"]},
        ),
        ({"reasoning": "low"}, {"reasoning_effort": "low"}),
        ({"logprobs": True, "top_logprobs": 1}, {"logprobs": True, "top_logprobs": 1}),
        (
            {"extra": {"guided_regex": "a+", "chat_template_kwargs": {"enable_thinking": False}}},
            {"guided_regex": "a+", "chat_template_kwargs": {"enable_thinking": False}},
        ),
    ],
)
def test_each_parameter_reaches_the_server_under_its_name(
    api: FakeApi, stated: dict[str, Any], received: dict[str, Any]
) -> None:
    call(spec_of(model_at(api), **stated))
    assert api.bodies == [{"model": "org/model:free", "messages": ASKED, **received}]
    assert api.calls[0].path == "/v1/chat/completions"
    assert "authorization" not in api.calls[0].headers


def test_the_key_and_headers_come_from_the_environment(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "lab-0123456789")
    monkeypatch.setenv("TEAM", "blue")
    monkeypatch.setenv("LAB_URL", api.v1 + "/")
    model = {
        "model": "openai_compatible/m",
        "base_url": "${LAB_URL}",
        "endpoint": "lab",
        "api_key_env": "LAB_KEY",
        "headers": {"X-Team": "t-${TEAM}"},
    }
    call(spec_of(model))
    headers = api.calls[0].headers
    assert (headers["authorization"], headers["x-team"]) == ("Bearer lab-0123456789", "t-blue")


def test_the_responses_api_is_spoken_where_the_model_says_so(api: FakeApi) -> None:
    response = call(spec_of(model_at(api, api="responses"), max_tokens=9))
    assert api.bodies == [{"model": "org/model:free", "input": ASKED, "max_output_tokens": 9}]
    assert response.stop_reason == "stop"


def test_a_token_budget_is_refused_since_no_such_server_takes_one() -> None:
    assert faults_of({"model": "openai_compatible/m", "base_url": "http://127.0.0.1:1"}, reasoning=2000) == [
        "models.0.reasoning: openai_compatible takes an effort, not a budget of 2000 tokens"
    ]


def test_an_integer_beyond_64_bits_is_sent_digit_for_digit(api: FakeApi) -> None:
    call(spec_of(model_at(api), extra={"big": 2**70}))
    assert api.bodies[0]["big"] == 2**70


def test_calls_in_flight_share_connections_and_never_exceed_the_concurrency(api: FakeApi) -> None:
    spec = spec_of(model_at(api))
    shape = call_shape(spec, spec.models[0])
    api.answer = lambda _: Reply(delay_s=0.01)

    async def many() -> set[str]:
        provider = open_provider(spec, spec.models[0], shape, concurrency=4, timeout_s=20)
        asked = [[{"role": "user", "content": f"number {n}"}] for n in range(40)]
        requests = [Request(shape, messages, 1, "", "") for messages in asked]
        answers = await asyncio.gather(*(provider.complete(request, 20) for request in requests))
        await provider.close()
        return {answer.text for answer in answers}

    assert len(asyncio.run(many())) > 10
    assert (api.n_calls, api.max_in_flight, api.connections) == (40, 4, 4)


def test_a_half_surrogate_in_a_reply_becomes_a_replacement_character_and_is_marked(api: FakeApi) -> None:
    # UKGovernmentBEIS/inspect_ai and others: a lone surrogate cannot be written to any file
    body = (
        '{"choices": [{"message": {"content": "half: \\ud835 end"}, "finish_reason": "stop"}], "model": "m"}'
    )
    api.script(Reply(body=body))
    response = call(spec_of(model_at(api)))
    assert (response.text, response.is_text_repaired) == ("half: \ufffd end", True)
    api.script(Reply(body=body.replace("\\ud835", "\\ud835\\udd38").encode()))
    response = call(spec_of(model_at(api)))
    assert (response.text, response.is_text_repaired) == ("half: \U0001d538 end", False)


def test_a_byte_order_mark_before_json_is_passed_over(api: FakeApi) -> None:
    body = b'\xef\xbb\xbf{"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}]}'
    api.script(Reply(body=body))
    assert call(spec_of(model_at(api))).text == "4"


def test_bytes_that_are_no_utf8_are_repaired_and_marked(api: FakeApi) -> None:
    body = b'{"choices": [{"message": {"content": "caf\xe9"}, "finish_reason": "stop"}]}'
    api.script(Reply(body=body))
    response = call(spec_of(model_at(api)))
    assert (response.text, response.is_text_repaired) == ("caf\ufffd", True)


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        5,
        None,
        {"choices": []},
        {"choices": [None]},
        {"choices": ["x"]},
        {"choices": [{}]},
        {"choices": [{"message": {"content": 5}}]},
        {"choices": {"0": {}}},
        {"choices": [{"message": {"content": "a", "tool_calls": [{}]}}]},
        {"choices": [{"message": {"content": "a"}, "logprobs": {"content": [{"token": "a"}]}}]},
    ],
)
def test_a_reply_that_is_not_as_the_api_promises_is_a_bad_reply(api: FakeApi, body: Any) -> None:
    import json

    api.script(Reply(body=json.dumps(body)))
    assert failure(spec_of(model_at(api))).error_type == "bad_reply"


@pytest.mark.parametrize("text", ["", "<html><b>hi</b></html>", '{"choices": [', "[" * 100_000])
def test_a_reply_that_is_no_json_is_a_bad_reply_that_shows_it(api: FakeApi, text: str) -> None:
    api.script(Reply(body=text, content_type="text/html"))
    error = failure(spec_of(model_at(api)))
    assert error.error_type == "bad_reply"
    assert "text/html" in str(error)
    assert len(str(error)) < 400


def test_messages_of_any_mapping_type_can_be_sent(api: FakeApi) -> None:
    from types import MappingProxyType

    call(spec_of(model_at(api)), Asked([MappingProxyType(ASKED[0])]))  # type: ignore[list-item]
    assert api.bodies[0]["messages"] == ASKED


HALF = "\\ud835"
HOSTILE = (
    f'{{"model": "m{HALF}", "n": NaN, "usage": {{"prompt_tokens": 1e300, "cost": 1e40}}, "choices": [{{'
    f'"finish_reason": "x{HALF}", "logprobs": {{"content": [{{"token": "{HALF}", "logprob": -Infinity}}]}}, '
    f'"message": {{"content": "a", "tool_calls": [{{"id": "{HALF}", "function": '
    f'{{"name": "f{HALF}", "arguments": "{HALF}"}}}}]}}}}]}}'
)


def test_a_reply_that_no_file_can_hold_is_mended_everywhere(api: FakeApi) -> None:
    api.script(Reply(body=HOSTILE))
    response = call(spec_of(model_at(api, keep_raw=True)))
    orjson.dumps([asdict(response), response.raw], default=str)
    response.response_id("key")
    assert (response.served_model, response.raw_stop_reason) == ("m\ufffd", "x\ufffd")
    assert response.logprobs == [{"token": "\ufffd", "logprob": None}]
    assert (response.token_nll, response.usage, response.raw["n"]) == (None, Usage(), None)


def test_an_error_message_is_valid_unicode(api: FakeApi) -> None:
    api.script(Reply(500, '{"error": {"message": "half \\ud835"}}'))
    assert "half \ufffd" in str(failure(spec_of(model_at(api))))


@given(st.floats() | st.integers() | st.text() | st.decimals(allow_nan=True).map(str))
def test_an_amount_always_fits_its_column(value: Any) -> None:
    amount = dollars(value)
    assert amount is None or (0 <= amount < 10**9 and amount.as_tuple().exponent == -9)
