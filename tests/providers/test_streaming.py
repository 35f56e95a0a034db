"""Streamed replies, through a real server: the same answers as whole ones, and failures that say so."""

import asyncio
import gzip
import json
from dataclasses import replace
from typing import Any

import anthropic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradetrail.errors import ProviderError
from gradetrail.providers.events import EventReader
from gradetrail.providers.reply import MOST_BYTES
from gradetrail.providers.response import Response, ToolCall, Usage
from gradetrail.spec import Spec
from tests.providers.calls import ASKED, call, failure, faults_of, spec_of
from tests.servers import FakeApi, Reply
from tests.servers.streams import DONE, chat_stream, event, message_stream, response_stream, stream_of

USAGE = {
    "prompt_tokens": 50,
    "completion_tokens": 30,
    "prompt_tokens_details": {"cached_tokens": 20},
    "completion_tokens_details": {"reasoning_tokens": 11},
}
CALLS = [
    {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": text}}
    for n, (name, text) in enumerate([("look", '{"at": "é", "n": 1}'), ("stop", "")])
]
PATHS = {"openai": "/chat/completions", "openai_compatible": "/chat/completions", "anthropic": "/v1/messages"}


def spec_at(api: FakeApi, provider: str, **request: Any) -> Spec:
    url = api.url if provider == "anthropic" else api.v1
    return spec_of(
        {"model": f"{provider}/m", "base_url": url}, **{"stream": True, "max_tokens": 99, **request}
    )


def completion(finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": None, **message},
    }
    return {"id": "x", "object": "chat.completion", "model": "m-1", "choices": [choice], "usage": USAGE}


def message(*content: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    usage = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 2,
        "output_tokens": 40,
        "output_tokens_details": {"thinking_tokens": 15},
    }
    lead = {"id": "msg", "type": "message", "role": "assistant", "model": "claude-x-1"}
    return {**lead, "content": list(content), "stop_reason": stop, "stop_sequence": None, "usage": usage}


def response(*output: dict[str, Any], status: str = "completed", **rest: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 50,
        "output_tokens": 30,
        "input_tokens_details": {"cached_tokens": 20},
        "output_tokens_details": {"reasoning_tokens": 11},
    }
    lead = {"id": "resp", "object": "response", "model": "m-1", "error": None, "incomplete_details": None}
    return {**lead, "status": status, "output": list(output), "usage": usage, **rest}


TEXT_ITEM = {
    "type": "message",
    "content": [{"type": "output_text", "text": "The answer is 4.", "logprobs": []}],
}
TOKENS: list[dict[str, Any]] = [{"token": t, "logprob": -0.5, "top_logprobs": []} for t in ("The ", "answer")]
WHOLE: dict[str, list[dict[str, Any]]] = {
    "chat": [
        completion(content="The answer is 4, naïve 🙂."),
        completion("length", content="", reasoning_content="Two and two make"),
        completion(content="4", reasoning="Add them."),
        completion("tool_calls", tool_calls=CALLS),
        completion("tool_calls", content="I look.", tool_calls=CALLS[:1]),
        completion("stop", refusal="I cannot help with that."),
        completion("content_filter", content="partial te"),
        completion("length"),
        {**completion(content="no usage"), "usage": None},
        {
            **completion(),
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": "The answer"},
                    "logprobs": {"content": TOKENS},
                }
            ],
        },
    ],
    "anthropic": [
        message({"type": "text", "text": "The answer is 4."}),
        message(
            {"type": "thinking", "thinking": "Two and two.", "signature": "s"},
            {"type": "redacted_thinking", "data": "xx"},
            {"type": "text", "text": "The answer "},
            {"type": "text", "text": "is 4."},
        ),
        message(
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"n": 1, "s": "é"}},
            {"type": "tool_use", "id": "t2", "name": "stop", "input": {}},
            stop="tool_use",
        ),
        message(stop="refusal"),
        message({"type": "text", "text": "cut o"}, stop="max_tokens"),
    ],
    "responses": [
        response(TEXT_ITEM),
        response(
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Add them."}]},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"n":1}'},
        ),
        response(
            {"type": "message", "content": [{"type": "output_text", "text": "cut o"}]},
            status="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
        ),
        response({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}),
    ],
}
CASES = [
    pytest.param(provider, api_name, body, id=f"{provider}-{api_name}-{n}")
    for provider, api_name in (
        ("openai", "chat"),
        ("openai_compatible", "chat"),
        ("openai", "responses"),
        ("openai_compatible", "responses"),
        ("anthropic", "anthropic"),
    )
    for n, body in enumerate(WHOLE[api_name])
]
MAKE = {"chat": chat_stream, "anthropic": message_stream, "responses": response_stream}


def spec_for(api: FakeApi, provider: str, api_name: str, **request: Any) -> Spec:
    url = api.url if provider == "anthropic" else api.v1
    flavour = {"api": "responses"} if api_name == "responses" else {}
    return spec_of({"model": f"{provider}/m", "base_url": url, **flavour}, max_tokens=99, **request)


@pytest.mark.parametrize(("provider", "api_name", "body"), CASES)
def test_a_streamed_answer_is_the_answer_that_would_have_come_whole(
    api: FakeApi, provider: str, api_name: str, body: dict[str, Any]
) -> None:
    api.script(Reply(body=body), Reply(events=MAKE[api_name](body)))
    whole = call(spec_for(api, provider, api_name))
    streamed = call(spec_for(api, provider, api_name, stream=True))
    assert replace(streamed, ttft_ms=None) == whole
    assert whole.ttft_ms is None
    assert (api.bodies[0].get("stream"), api.bodies[1]["stream"]) == (None, True)


PROVIDERS = pytest.mark.parametrize("provider", ["openai", "openai_compatible", "anthropic"])


@PROVIDERS
def test_time_to_the_first_token_is_measured_before_the_end(api: FakeApi, provider: str) -> None:
    whole = WHOLE["anthropic"][0] if provider == "anthropic" else WHOLE["chat"][0]
    api.script(Reply(events=stream_of(PATHS[provider], whole), gap_s=0.05, delay_s=0.1))
    loop_time: list[float] = []

    async def timed() -> Response:
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer = await asyncio.to_thread(call, spec_at(api, provider))
        loop_time.append((loop.time() - began) * 1000)
        return answer

    answer = asyncio.run(timed())
    assert answer.ttft_ms is not None
    # a delay before the first event, then at least four gaps after the first token
    assert 100 <= answer.ttft_ms <= loop_time[0] - 4 * 50


@PROVIDERS
def test_nothing_but_the_wish_for_a_stream_is_sent_besides(api: FakeApi, provider: str) -> None:
    call(spec_at(api, provider, stream=None))
    call(spec_at(api, provider))
    whole, streamed = api.bodies
    more = {} if provider == "anthropic" else {"stream_options": {"include_usage": True}}
    assert streamed == {**whole, "stream": True, **more}
    assert "stream" not in whole


def test_a_stream_asks_the_responses_api_for_no_options(api: FakeApi) -> None:
    answer = call(spec_for(api, "openai", "responses", stream=True))
    assert api.bodies[0]["stream"] is True
    assert "stream_options" not in api.bodies[0]
    assert answer.ttft_ms is not None


def test_what_the_user_says_of_the_stream_options_wins(api: FakeApi) -> None:
    call(spec_at(api, "openai_compatible", extra={"stream_options": {"include_usage": False, "x": 1}}))
    assert api.bodies[0]["stream_options"] == {"include_usage": False, "x": 1}


# ---- failures


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
RATE = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}


def first_events(provider: str, n: int = 4) -> list[bytes]:
    whole = WHOLE["anthropic"][0] if provider == "anthropic" else WHOLE["chat"][0]
    return stream_of(PATHS[provider], whole)[:n]


@PROVIDERS
@pytest.mark.parametrize(("said", "kind"), [(OVERLOADED, "overloaded"), (RATE, "rate_limit")])
def test_an_error_in_mid_stream_counts_as_what_it_says(
    api: FakeApi, provider: str, said: dict[str, Any], kind: str
) -> None:
    api.script(Reply(events=[*first_events(provider), event(said, "error"), DONE]))
    error = failure(spec_at(api, provider))
    assert (error.error_type, error.http_status) == (kind, 200)


@PROVIDERS
def test_an_error_before_the_stream_is_the_error_of_any_reply(api: FakeApi, provider: str) -> None:
    api.script(Reply(429, RATE, {"retry-after": "3"}))
    error = failure(spec_at(api, provider))
    assert (error.error_type, error.http_status, error.retry_after_s) == ("rate_limit", 429, 3)


@PROVIDERS
def test_a_connection_cut_in_mid_stream_is_a_lost_connection(api: FakeApi, provider: str) -> None:
    api.script(Reply(events=first_events(provider), fault="cut"))
    assert failure(spec_at(api, provider)).error_type == "connection"


@PROVIDERS
def test_a_stream_that_stalls_is_a_timeout(api: FakeApi, provider: str) -> None:
    api.script(Reply(events=first_events(provider), fault="stall"))
    assert failure(spec_at(api, provider), timeout_s=0.3).error_type == "timeout"


@PROVIDERS
def test_a_stream_that_never_ends_is_a_timeout(api: FakeApi, provider: str) -> None:
    api.script(Reply(events=first_events(provider) + [b": ping\n\n"] * 1000, gap_s=0.01))
    assert failure(spec_at(api, provider), timeout_s=0.3).error_type == "timeout"


@PROVIDERS
def test_a_stream_that_ends_before_the_model_has_is_a_bad_reply_wherever_it_ends(
    api: FakeApi, provider: str
) -> None:
    whole = WHOLE["anthropic"][0] if provider == "anthropic" else WHOLE["chat"][0]
    events = stream_of(PATHS[provider], whole)
    # of a completion, what follows the finish reason is usage and the last word
    for n in range(len(events) if provider == "anthropic" else len(events) - 2):
        api.script(Reply(events=events[:n]))
        error = failure(spec_at(api, provider))
        assert error.error_type == "bad_reply", f"after {n} events"
        assert "ended before" in str(error)


@pytest.mark.parametrize("provider", ["openai", "openai_compatible"])
def test_a_clean_end_after_a_finish_reason_is_as_good_as_a_last_word(api: FakeApi, provider: str) -> None:
    events = chat_stream(WHOLE["chat"][0])
    api.script(Reply(events=events), Reply(events=events[:-1]), Reply(events=events[:-2]))
    whole, without_word, without_usage = [
        replace(call(spec_at(api, provider)), ttft_ms=None) for _ in range(3)
    ]
    assert without_word == whole
    assert without_usage == replace(whole, usage=Usage())


@pytest.mark.parametrize("provider", ["openai", "openai_compatible"])
def test_a_cut_after_a_finish_reason_is_a_lost_connection(api: FakeApi, provider: str) -> None:
    api.script(Reply(events=chat_stream(WHOLE["chat"][0])[:-2], fault="cut"))
    assert failure(spec_at(api, provider)).error_type == "connection"


def piece(said: str, finish: str | None = None) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": said}, "finish_reason": finish}]})


def test_what_comes_after_the_finish_reason_is_not_said_by_the_model(api: FakeApi) -> None:
    late = event({"choices": [{"index": 0, "delta": {"content": "!", "tool_calls": [{"index": 0}]}}]})
    usage = event({"choices": [], "usage": USAGE})
    api.script(Reply(events=[piece("4"), piece("2", "stop"), piece(" 43"), late, usage, DONE]))
    answer = call(spec_at(api, "openai_compatible"))
    assert (answer.text, answer.tool_calls, answer.stop_reason) == ("42", (), "stop")
    assert answer.usage.output_tokens == 30


@pytest.mark.parametrize("each", ["stop", ""])
def test_a_reason_with_each_piece_ends_nothing(api: FakeApi, each: str) -> None:
    api.script(Reply(events=[piece("4", each), piece("2", each), piece("", "stop"), DONE]))
    assert call(spec_at(api, "openai_compatible")).text == "42"


@pytest.mark.parametrize("provider", ["openai", "openai_compatible"])
def test_an_event_without_data_and_a_byte_order_mark_are_passed_over(api: FakeApi, provider: str) -> None:
    first, *rest = chat_stream(WHOLE["chat"][0])
    api.script(Reply(events=[b"\xef\xbb\xbf" + first, b"data:\n\n", b"data: \r\n\r\n", *rest]))
    assert call(spec_at(api, provider)).text == "The answer is 4, naïve 🙂."


def test_a_last_word_without_a_finish_reason_is_no_end(api: FakeApi) -> None:
    events = [e for e in chat_stream(WHOLE["chat"][0]) if b'"finish_reason": "stop"' not in e]
    api.script(Reply(events=events))
    assert failure(spec_at(api, "openai_compatible")).error_type == "bad_reply"


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_responses_stream_without_its_last_event_is_a_bad_reply(api: FakeApi, n: int) -> None:
    api.script(Reply(events=response_stream(WHOLE["responses"][0])[:n]))
    assert failure(spec_for(api, "openai", "responses", stream=True)).error_type == "bad_reply"


def test_a_response_that_failed_is_the_error_that_it_names(api: FakeApi) -> None:
    failed = response(status="failed") | {"error": {"code": "rate_limit_exceeded", "message": "slow"}}
    api.script(Reply(events=response_stream(failed)))
    assert failure(spec_for(api, "openai", "responses", stream=True)).error_type == "rate_limit"


@pytest.mark.parametrize("provider", PATHS)
def test_a_stream_of_too_many_bytes_is_a_bad_reply_however_small_its_events_are(
    api: FakeApi, provider: str
) -> None:
    n_events = 100
    silence = b": " + b"-" * (MOST_BYTES // n_events) + b"\n\n"
    api.script(Reply(events=[silence] * n_events))
    error = failure(spec_at(api, provider))
    assert (error.error_type, error.is_final) == ("bad_reply", True)
    assert "64 MiB" in str(error)


@PROVIDERS
@pytest.mark.parametrize("status", [200, 500])
def test_a_reply_that_unpacks_to_too_much_is_a_bad_reply_also_through_an_sdk(
    api: FakeApi, provider: str, status: int
) -> None:
    packed = gzip.compress(bytes(MOST_BYTES + 1), 9)
    api.script(Reply(status, packed, {"content-encoding": "gzip"}))
    error = failure(spec_at(api, provider))
    assert (error.error_type, error.is_final) == ("bad_reply", True)
    assert "64 MiB" in str(error)


@PROVIDERS
@pytest.mark.parametrize("status", [200, 500])
def test_a_whole_reply_through_a_proxy_has_the_same_limit(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, provider: str, status: int
) -> None:
    # the fake API stands in for a proxy: it is asked for a whole URL
    monkeypatch.setenv("http_proxy", api.url)
    packed = gzip.compress(bytes(MOST_BYTES + 1), 9)
    whole = WHOLE["anthropic"][0] if provider == "anthropic" else WHOLE["chat"][0]
    small = gzip.compress(json.dumps(whole).encode())
    lead = {"content-encoding": "gzip", "content-type": "application/json"}
    api.script(Reply(200, small, lead), Reply(status, packed, lead))
    url = "http://lab.example" if provider == "anthropic" else "http://lab.example/v1"
    spec = spec_of({"model": f"{provider}/m", "base_url": url}, max_tokens=99)
    assert call(spec).text
    error = failure(spec)
    assert (error.error_type, error.is_final) == ("bad_reply", True)


@PROVIDERS
@pytest.mark.parametrize("strange", [b"data: {\n\n", b"data: [1]\n\n", b'data: {"choices": [3]}\n\n'])
def test_an_event_that_no_api_sends_is_a_bad_reply(api: FakeApi, provider: str, strange: bytes) -> None:
    broken = [strange] if provider != "anthropic" else [strange, b'data: {"type": "content_block_delta"}\n\n']
    api.script(Reply(events=[*first_events(provider), *broken]))
    assert failure(spec_at(api, provider)).error_type == "bad_reply"


@pytest.mark.parametrize("text", [b'"x"', b"5"], ids=["no block", "no text"])
def test_blocks_that_cannot_be_put_together_are_a_bad_reply_that_says_so(api: FakeApi, text: bytes) -> None:
    start = b'data: {"type": "message_start", "message": {"type": "message", "role": "assistant"}}\n\n'
    delta = b'{"type": "text_delta", "text": %s}' % text
    piece = b'data: {"type": "content_block_delta", "index": 0, "delta": %s}\n\n' % delta
    end = b'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\n'
    api.script(Reply(events=[start, piece, end, b'data: {"type": "message_stop"}\n\n']))
    error = failure(spec_at(api, "anthropic"))
    assert error.error_type == "bad_reply"
    assert "the stream is not as the API promises" in str(error)


@pytest.mark.parametrize("after", [b'data: {"error": {"message": "late"}}\n\n', b"data: {\n\n"])
def test_what_follows_the_last_word_changes_nothing_however_it_is_cut(api: FakeApi, after: bytes) -> None:
    events = chat_stream(WHOLE["chat"][0])
    more = b'data: {"choices": [{"index": 0, "delta": {"content": "MORE"}}]}\n\n'
    for parts in ([*events, more, after], [b"".join([*events, more, after])]):
        api.script(Reply(events=parts))
        assert call(spec_at(api, "openai_compatible")).text == "The answer is 4, naïve 🙂."


def test_a_server_that_does_not_stream_is_read_as_it_answers(api: FakeApi) -> None:
    api.script(Reply(body=WHOLE["chat"][0]))
    answer = call(spec_at(api, "openai_compatible"))
    assert (answer.text, answer.ttft_ms) == ("The answer is 4, naïve 🙂.", None)


@PROVIDERS
def test_a_connection_is_used_again_after_a_stream(api: FakeApi, provider: str) -> None:
    from gradetrail.providers import open_provider
    from tests.providers.calls import request_for

    async def twice() -> list[str]:
        spec = spec_at(api, provider)
        request = request_for(spec)
        line = open_provider(spec, spec.models[0], request.shape, concurrency=1, timeout_s=20)
        try:
            return [(await line.complete(request, 20)).text for _ in range(3)]
        finally:
            await line.close()

    texts = asyncio.run(twice())
    assert len(set(texts)) == 1
    assert (api.n_calls, api.connections) == (3, 1)


# ---- servers that differ


def test_tool_calls_come_together_however_a_server_numbers_them(api: FakeApi) -> None:
    def chunk(**delta: Any) -> bytes:
        return event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})

    end = event({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    one_number = [
        chunk(tool_calls=[{"index": 0, "id": name, "function": {"name": name, "arguments": "{}"}}])
        for name in ("a", "b")
    ]
    no_number = [
        chunk(tool_calls=[{"id": "a", "function": {"name": "a", "arguments": "{"}}]),
        chunk(tool_calls=[{"function": {"name": "a", "arguments": "}"}}]),
        chunk(tool_calls=[{"id": "b", "function": {"name": "b", "arguments": {}}}]),
    ]
    mixed = [
        chunk(tool_calls=[{"index": 0, "id": "a", "function": {"name": "a", "arguments": "{"}}]),
        chunk(tool_calls=[{"index": 1, "id": "b", "function": {"name": "b", "arguments": "{"}}]),
        chunk(tool_calls=[{"index": 0, "id": "a", "function": {"arguments": "}"}}]),
        chunk(tool_calls=[{"index": 1, "function": {"arguments": "}"}}]),
    ]
    for events in (one_number, no_number, mixed):
        api.script(Reply(events=[*events, end, DONE]))
        answer = call(spec_at(api, "openai_compatible"))
        assert answer.tool_calls == (ToolCall("a", "{}", "a"), ToolCall("b", "{}", "b"))
        assert answer.usage == Usage()


def test_thoughts_that_come_as_parts_are_set_apart(api: FakeApi) -> None:
    def chunk(content: Any) -> bytes:
        return event({"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": None}]})

    events = [
        chunk([{"type": "thinking", "thinking": [{"type": "text", "text": "Two "}]}]),
        chunk([{"type": "thinking", "thinking": [{"type": "text", "text": "and two."}]}]),
        chunk("It is "),
        chunk([{"type": "text", "text": "4."}]),
        event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        DONE,
    ]
    api.script(Reply(events=events))
    answer = call(spec_at(api, "openai_compatible"))
    assert (answer.text, answer.reasoning) == ("It is 4.", "Two and two.")


def test_a_tool_input_that_max_tokens_cut_off_is_kept_as_it_is(api: FakeApi) -> None:
    tool = {"type": "tool_use", "id": "t1", "name": "look", "input": {"long": "x" * 30}}
    events = message_stream(message(tool, stop="max_tokens"))
    del events[6:-3]
    api.script(Reply(events=events))
    answer = call(spec_at(api, "anthropic"))
    assert answer.stop_reason == "length"
    assert answer.tool_calls[0].arguments.startswith('{"long"')
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(answer.tool_calls[0].arguments)


@given(st.data())
def test_events_do_not_depend_on_how_bytes_are_cut(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=4))
    newline = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    lines = [line for v in values for line in (b": a comment", b"data: " + json.dumps(v).encode(), b"")]
    raw = b"".join(line + newline for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    reader, found = EventReader(), []
    for start, stop in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        found += reader.feed(raw[start:stop])
    found += reader.end()
    assert [json.loads(event) for event in found] == values


def test_data_of_several_lines_is_one_event() -> None:
    reader = EventReader()
    assert reader.feed(b'event: x\ndata: {"a":\ndata:1}\nid: 3\n\n') == [b'{"a":\n1}']


# ---- when


NO_ROOM = "Streaming is required"


@pytest.mark.parametrize(
    ("model", "max_tokens"),
    [
        ("claude-x", 21_333),
        ("claude-x", 21_334),
        ("claude-x", 64_000),
        ("claude-opus-4-20250514", 8_192),
        ("claude-opus-4-20250514", 8_193),
        ("claude-opus-4-0", 9_000),
        ("claude-opus-4-1@20250805", 9_000),
        ("claude-opus-4-1-x", 9_000),
    ],
)
def test_long_answers_of_anthropic_are_streamed_exactly_where_its_sdk_demands_it(
    api: FakeApi, model: str, max_tokens: int
) -> None:
    async def by_the_sdk() -> None:
        async with anthropic.AsyncAnthropic(api_key="x", base_url=api.url, max_retries=0) as client:
            await client.messages.create(model=model, max_tokens=max_tokens, messages=ASKED)  # type: ignore[arg-type]

    is_demanded = False
    try:
        asyncio.run(by_the_sdk())
    except ValueError as error:
        is_demanded = NO_ROOM in str(error)
    answer = call(spec_of({"model": f"anthropic/{model}", "base_url": api.url}, max_tokens=max_tokens))
    assert ("stream" in api.bodies[-1]) == is_demanded
    assert (answer.ttft_ms is not None) == is_demanded


def test_a_spec_may_refuse_to_stream(api: FakeApi) -> None:
    call(spec_of({"model": "anthropic/m", "base_url": api.url}, max_tokens=64_000, stream=False))
    assert "stream" not in api.bodies[0]


def test_a_stream_is_asked_for_by_its_own_key_and_only_of_those_who_can(api: FakeApi) -> None:
    model = {"model": "openai_compatible/m", "base_url": api.v1}
    assert faults_of(model, extra={"stream": True}) == [
        "models.0.extra: `stream` changes how a reply is read"
    ]
    http = {"model": "http/m", "base_url": api.url, "body": {"q": "{{ prompt }}"}, "reply": "a"}
    assert faults_of({**http, "stream": True}) == ["models.0.stream: http cannot stream"]
    assert faults_of(http, stream=True) == []


def test_what_is_kept_raw_of_a_stream_is_the_whole_reply(api: FakeApi) -> None:
    answer = call(spec_at(api, "openai_compatible", keep_raw=True))
    assert answer.raw["choices"][0]["message"]["content"] == answer.text


def test_no_error_of_a_stream_shows_the_key(api: FakeApi) -> None:
    from tests.providers.conftest import KEY

    api.script(Reply(events=[event({"error": {"message": f"bad key {KEY}"}})]))
    error = failure(spec_at(api, "openai"))
    assert isinstance(error, ProviderError)
    assert KEY not in str(error)
