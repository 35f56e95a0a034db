from decimal import Decimal
from typing import Any

import pytest

from gradetrail.providers.openai import parse
from gradetrail.providers.response import ToolCall, Usage
from tests.providers.calls import ASKED, Asked, call, faults_of, spec_of
from tests.providers.conftest import KEY
from tests.servers import FakeApi, Reply

TOOL = {
    "type": "function",
    "function": {"name": "look", "description": "d", "parameters": {"type": "object"}},
}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def sent(api: FakeApi, asked: Asked = Asked(), api_name: str | None = None, **request: Any) -> dict[str, Any]:
    """Give what the server received beyond model and messages."""
    model = {"model": "openai/gpt-x", "base_url": api.v1, **({"api": api_name} if api_name else {})}
    call(spec_of(model, **request), asked)
    body = dict(api.bodies[-1])
    assert body.pop("model") == "gpt-x"
    return body


def test_nothing_but_model_and_messages_is_sent_unless_the_spec_says_it(api: FakeApi) -> None:
    assert sent(api) == {"messages": ASKED}
    assert api.calls[0].path == "/v1/chat/completions"
    assert api.calls[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("stated", "received"),
    [
        ({"max_tokens": 7}, {"max_completion_tokens": 7}),
        ({"temperature": 0}, {"temperature": 0}),
        ({"top_p": 0.5}, {"top_p": 0.5}),
        ({"seed": 3}, {"seed": 3}),
        ({"stop": "END"}, {"stop": ["END"]}),
        ({"stop": ["a", "b"]}, {"stop": ["a", "b"]}),
        ({"presence_penalty": -1, "frequency_penalty": 1}, {"presence_penalty": -1, "frequency_penalty": 1}),
        ({"logprobs": True, "top_logprobs": 2}, {"logprobs": True, "top_logprobs": 2}),
        ({"reasoning": "high"}, {"reasoning_effort": "high"}),
        (
            {"tools": [TOOL], "tool_choice": "look"},
            {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "look"}}},
        ),
        (
            {"tools": [{"name": "look", "input_schema": {"type": "object"}}], "tool_choice": {"type": "any"}},
            {
                "tools": [
                    {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
                ],
                "tool_choice": "required",
            },
        ),
        ({"response_format": {"type": "json_object"}}, {"response_format": {"type": "json_object"}}),
        (
            {"response_format": SCHEMA},
            {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}},
        ),
        (
            {"extra": {"service_tier": "flex", "metadata": {"a": "b"}}},
            {"service_tier": "flex", "metadata": {"a": "b"}},
        ),
    ],
)
def test_each_parameter_reaches_chat_completions_under_its_name(
    api: FakeApi, stated: dict[str, Any], received: dict[str, Any]
) -> None:
    assert sent(api, **stated) == {"messages": ASKED, **received}


def test_the_seed_moves_with_the_epoch(api: FakeApi) -> None:
    assert sent(api, Asked(epoch=3), seed=10)["seed"] == 12


@pytest.mark.parametrize(
    ("stated", "received"),
    [
        ({"max_tokens": 7}, {"max_output_tokens": 7}),
        ({"temperature": 0, "top_p": 1}, {"temperature": 0, "top_p": 1}),
        ({"reasoning": "low"}, {"reasoning": {"effort": "low"}}),
        (
            {"reasoning": "low", "extra": {"reasoning": {"summary": "auto"}, "store": False}},
            {"reasoning": {"effort": "low", "summary": "auto"}, "store": False},
        ),
        (
            {"logprobs": True, "top_logprobs": 2},
            {"include": ["message.output_text.logprobs"], "top_logprobs": 2},
        ),
        (
            {"tools": [TOOL], "tool_choice": "look"},
            {
                "tools": [{"type": "function", **TOOL["function"]}],
                "tool_choice": {"type": "function", "name": "look"},
            },
        ),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "n", "schema": SCHEMA, "strict": True},
                }
            },
            {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}}},
        ),
    ],
)
def test_each_parameter_reaches_the_responses_api_under_its_name(
    api: FakeApi, stated: dict[str, Any], received: dict[str, Any]
) -> None:
    assert sent(api, api_name="responses", **stated) == {"input": ASKED, **received}
    assert api.calls[0].path == "/v1/responses"


def test_a_leading_system_message_is_instructions_in_the_responses_api(api: FakeApi) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "u"}}],
        },
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    ]
    assert sent(api, Asked(messages), "responses") == {
        "instructions": "Be brief.",
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Look:"},
                    {"type": "input_image", "image_url": "u"},
                ],
            },
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        ],
    }


@pytest.mark.parametrize(
    ("model", "stated", "fault"),
    [
        ("openai/m", {"top_k": 5}, "models.0.top_k: openai cannot send `top_k`"),
        (
            "openai/m",
            {"reasoning": 2000},
            "models.0.reasoning: openai takes an effort, not a budget of 2000 tokens",
        ),
        (
            {"model": "openai/m", "api": "responses"},
            {"seed": 1},
            "models.0.seed: openai with `api: responses` cannot send `seed`",
        ),
        (
            {"model": "openai/m", "api": "responses"},
            {"stop": "x"},
            "models.0.stop: openai with `api: responses` cannot send `stop`",
        ),
        ("openai/m", {"betas": ["b"]}, "models.0.betas: openai has no beta headers"),
    ],
)
def test_a_parameter_that_cannot_be_sent_is_refused_before_any_call(
    api: FakeApi, model: Any, stated: dict[str, Any], fault: str
) -> None:
    assert faults_of(model, **stated) == [fault]
    assert api.n_calls == 0


def test_cached_and_written_tokens_are_taken_out_of_the_input_of_both_apis() -> None:
    usage = {
        "prompt_tokens": 2600,
        "completion_tokens": 300,
        "prompt_tokens_details": {"cached_tokens": 2000, "cache_write_tokens": 400},
        "completion_tokens_details": {"reasoning_tokens": 120},
        "cost": 0.0000728,
    }
    expected = Usage(200, 2000, 400, 300, 120, Decimal("0.0000728"))
    body = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "usage": usage}
    assert parse(body).usage == expected
    renamed = {
        "input_tokens": 2600,
        "output_tokens": 300,
        "cost": "0.0000728",
        "input_tokens_details": usage["prompt_tokens_details"],
        "output_tokens_details": usage["completion_tokens_details"],
    }
    assert parse({"status": "completed", "output": [], "usage": renamed}, "responses").usage == expected


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": "many"}, {"prompt_tokens": True}, []]
)
def test_a_count_that_is_not_given_is_none_and_never_0(usage: Any) -> None:
    body = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "usage": usage}
    assert parse(body).usage == Usage()


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "tool"),
        ("function_call", "tool"),
        ("content_filter", "filter"),
        ("something_new", "other"),
        (None, None),
    ],
)
def test_finish_reasons_have_one_word_each_and_the_raw_one_is_kept(
    finish: str | None, stop: str | None
) -> None:
    response = parse({"choices": [{"message": {"content": "a"}, "finish_reason": finish}]})
    assert (response.stop_reason, response.raw_stop_reason) == (stop, finish)


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": None}, "", None),
        ({"content": "a", "reasoning_content": "r"}, "a", "r"),
        ({"content": "a", "reasoning": "r", "reasoning_content": None}, "a", "r"),
        (
            {"content": "a", "reasoning_details": [{"text": "r1"}, {"summary": "r2"}, {"data": "x"}]},
            "a",
            "r1\nr2",
        ),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", None),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "r"}]},
                    {"type": "text", "text": "a"},
                ]
            },
            "a",
            "r",
        ),
    ],
)
def test_text_and_reasoning_come_apart_in_every_form(
    message: dict[str, Any], text: str, reasoning: str | None
) -> None:
    response = parse({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert (response.text, response.reasoning) == (text, reasoning)


def test_a_refusal_keeps_its_text_and_is_marked() -> None:
    response = parse(
        {"choices": [{"message": {"content": None, "refusal": "I won't."}, "finish_reason": "stop"}]}
    )
    assert (response.text, response.stop_reason, response.raw_stop_reason) == ("I won't.", "refusal", "stop")


def test_tool_calls_keep_their_arguments_as_the_model_wrote_them() -> None:
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1 '}},
        {"type": "function", "function": {"name": "g", "arguments": {"b": 2}}},
    ]
    response = parse(
        {"choices": [{"message": {"content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}]}
    )
    assert response.tool_calls == (ToolCall("f", '{"a": 1 ', "c1"), ToolCall("g", '{"b":2}', None))


def test_log_probabilities_are_summed_in_nats(api: FakeApi) -> None:
    tokens = [
        {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": [{"token": "a", "logprob": -0.5}]},
        {"token": "b", "logprob": -1.25},
    ]
    body = {
        "choices": [{"message": {"content": "ab"}, "finish_reason": "stop", "logprobs": {"content": tokens}}]
    }
    api.script(Reply(body=body))
    response = call(spec_of({"model": "openai/m", "base_url": api.v1}, logprobs=True))
    assert (response.token_nll, response.token_count) == (1.75, 2)
    assert response.logprobs == [
        {"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "a", "logprob": -0.5}]},
        {"token": "b", "logprob": -1.25},
    ]


@pytest.mark.parametrize(
    ("fields", "stop", "raw"),
    [
        ({"status": "completed"}, "stop", "completed"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
            "max_output_tokens",
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "filter",
            "content_filter",
        ),
        ({"status": "incomplete", "incomplete_details": None}, "other", "incomplete"),
    ],
)
def test_the_responses_api_says_why_it_stopped(fields: dict[str, Any], stop: str, raw: str) -> None:
    response = parse({"output": [], **fields}, "responses")
    assert (response.stop_reason, response.raw_stop_reason) == (stop, raw)


def test_output_items_of_the_responses_api_come_apart() -> None:
    output = [
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "r1"}],
            "content": [{"text": "r2"}],
        },
        {
            "type": "message",
            "content": [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}],
        },
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "web_search_call", "status": "completed"},
    ]
    response = parse({"status": "completed", "model": "m-2", "output": output}, "responses")
    assert (response.text, response.reasoning, response.stop_reason) == ("ab", "r1\n\nr2", "tool")
    assert response.tool_calls == (ToolCall("f", "{}", "c1"),)
    assert response.served_model == "m-2"
    refused = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    response = parse({"status": "completed", "output": [refused]}, "responses")
    assert (response.text, response.stop_reason) == ("No.", "refusal")


def test_a_failed_response_is_an_error_of_its_own_code(api: FakeApi) -> None:
    from tests.providers.calls import failure

    body = {
        "status": "failed",
        "output": [],
        "error": {"code": "rate_limit_exceeded", "message": "slow down"},
    }
    api.script(Reply(body=body))
    error = failure(spec_of({"model": "openai/m", "base_url": api.v1, "api": "responses"}))
    assert (error.error_type, error.http_status) == ("rate_limit", 200)


def test_the_body_of_the_reply_is_kept_only_where_asked_for(api: FakeApi) -> None:
    model = {"model": "openai/m", "base_url": api.v1}
    assert call(spec_of(model)).raw is None
    assert call(spec_of({**model, "keep_raw": True})).raw["object"] == "chat.completion"
