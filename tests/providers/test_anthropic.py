from typing import Any

import pytest

from gradetrail.providers.anthropic import parse
from gradetrail.providers.response import ToolCall, Usage
from tests.providers.calls import ASKED, Asked, call, faults_of, spec_of
from tests.providers.conftest import KEY
from tests.servers import FakeApi, Reply

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
OPENAI_TOOL = {"type": "function", "function": {"name": "look", "description": "d", "parameters": SCHEMA}}


NO_ROOM = (
    "models.0.reasoning: the thinking budget of 4000 tokens leaves none of max_tokens 4000 for the answer"
)


def message(**fields: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "role": "assistant",
        "model": "claude-x-1",
        "content": [],
        "stop_reason": "end_turn",
        **fields,
    }


def sent(api: FakeApi, asked: Asked = Asked(), **request: Any) -> dict[str, Any]:
    """Give what the server received beyond the model."""
    call(
        spec_of({"model": "anthropic/claude-x", "base_url": api.url}, **{"max_tokens": 4000, **request}),
        asked,
    )
    body = dict(api.bodies[-1])
    assert body.pop("model") == "claude-x"
    return body


def test_nothing_but_model_messages_and_max_tokens_is_sent_unless_the_spec_says_it(api: FakeApi) -> None:
    assert sent(api) == {"messages": ASKED, "max_tokens": 4000}
    assert api.calls[0].path == "/v1/messages"
    assert KEY in (api.calls[0].headers.get("x-api-key", "") + api.calls[0].headers.get("authorization", ""))
    assert "anthropic-beta" not in api.calls[0].headers


@pytest.mark.parametrize(
    ("stated", "received"),
    [
        ({"temperature": 0}, {"temperature": 0}),
        ({"top_p": 0.5, "top_k": 3}, {"top_p": 0.5, "top_k": 3}),
        ({"stop": ["a", "b"]}, {"stop_sequences": ["a", "b"]}),
        ({"reasoning": 2048}, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ({"reasoning": "high"}, {"output_config": {"effort": "high"}}),
        ({"reasoning": "adaptive"}, {"thinking": {"type": "adaptive"}}),
        ({"reasoning": "none"}, {"thinking": {"type": "disabled"}}),
        (
            {"reasoning": "high", "extra": {"thinking": {"type": "adaptive"}}},
            {"output_config": {"effort": "high"}, "thinking": {"type": "adaptive"}},
        ),
        (
            {"response_format": SCHEMA},
            {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        ),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "n", "schema": SCHEMA, "strict": True},
                },
                "reasoning": "low",
            },
            {"output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}}},
        ),
        (
            {"tools": [OPENAI_TOOL], "tool_choice": "required"},
            {
                "tools": [{"name": "look", "description": "d", "input_schema": SCHEMA}],
                "tool_choice": {"type": "any"},
            },
        ),
        (
            {
                "tools": [{"type": "web_search_20250305", "name": "web_search"}],
                "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
            },
            {
                "tools": [{"type": "web_search_20250305", "name": "web_search"}],
                "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
            },
        ),
        ({"extra": {"service_tier": "auto"}}, {"service_tier": "auto"}),
    ],
)
def test_each_parameter_reaches_the_messages_api_under_its_name(
    api: FakeApi, stated: dict[str, Any], received: dict[str, Any]
) -> None:
    assert sent(api, **stated) == {"messages": ASKED, "max_tokens": 4000, **received}


def test_beta_headers_are_sent_together_and_only_when_stated(api: FakeApi) -> None:
    model = {"model": "anthropic/claude-x", "base_url": api.url, "headers": {"anthropic-beta": "b-1"}}
    call(spec_of(model, max_tokens=5, betas=["c-2", "a-3"]))
    assert api.calls[0].headers["anthropic-beta"] == "a-3,b-1,c-2"


def test_a_system_message_is_the_system_field_and_tool_results_are_blocks(api: FakeApi) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": "Be kind."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            ],
        },
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": '{"n":1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    ]
    assert sent(api, Asked(messages)) == {
        "max_tokens": 4000,
        "system": "Be brief.\n\nBe kind.",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look:"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "look", "input": {"n": 1}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "seen"}]},
        ],
    }


@pytest.mark.parametrize(
    ("stated", "fault"),
    [
        ({"seed": 1}, "models.0.seed: anthropic cannot send `seed`"),
        ({"presence_penalty": 1}, "models.0.presence_penalty: anthropic cannot send `presence_penalty`"),
        ({"logprobs": True}, "models.0.logprobs: anthropic cannot send `logprobs`"),
        ({"reasoning": 500}, "models.0.reasoning: a thinking budget of 500 tokens is too small"),
        ({"reasoning": 4000}, NO_ROOM),
        (
            {"response_format": {"type": "json_object"}},
            "models.0.response_format: anthropic needs a schema in `response_format`",
        ),
    ],
)
def test_a_parameter_that_cannot_be_sent_is_refused_before_any_call(
    api: FakeApi, stated: dict[str, Any], fault: str
) -> None:
    assert faults_of("anthropic/claude-x", max_tokens=4000, **stated) == [fault]


def test_thinking_before_the_text_is_normal_and_text_blocks_join() -> None:
    content = [
        {"type": "thinking", "thinking": "Two and two.", "signature": "s"},
        {"type": "redacted_thinking", "data": "xx"},
        {"type": "text", "text": "The answer "},
        {"type": "text", "text": "is 4."},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {"n": 1, "s": "é"}},
        {"type": "server_tool_use", "id": "t2", "name": "web_search", "input": {}},
    ]
    response = parse(message(content=content, stop_reason="tool_use"))
    assert (response.text, response.reasoning) == ("The answer is 4.", "Two and two.")
    assert response.tool_calls == (ToolCall("look", '{"n":1,"s":"é"}', "t1"),)
    assert (response.served_model, response.stop_reason) == ("claude-x-1", "tool")


@pytest.mark.parametrize(
    ("raw", "stop"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("tool_use", "tool"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "other"),
        ("new", "other"),
        (None, None),
    ],
)
def test_stop_reasons_have_one_word_each_and_the_raw_one_is_kept(raw: str | None, stop: str | None) -> None:
    response = parse(message(stop_reason=raw))
    assert (response.stop_reason, response.raw_stop_reason) == (stop, raw)


def test_input_tokens_leave_cached_ones_out_already() -> None:
    usage = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 10000,
        "cache_read_input_tokens": 2000,
        "output_tokens": 400,
        "output_tokens_details": {"thinking_tokens": 150},
    }
    assert parse(message(usage=usage)).usage == Usage(5, 2000, 10000, 400, 150)
    assert parse(message(usage={"input_tokens": 5})).usage == Usage(input_tokens=5)
    assert parse(message()).usage == Usage()


def test_a_message_whose_blocks_are_malformed_is_a_bad_reply(api: FakeApi) -> None:
    from tests.providers.calls import failure

    api.script(Reply(body=message(content=[{"text": "no type"}])))
    error = failure(spec_of({"model": "anthropic/claude-x", "base_url": api.url}, max_tokens=5))
    assert error.error_type == "bad_reply"
