import gzip
from typing import Any

import pytest

from tests.providers.calls import Asked, call, failure, faults_of, spec_of
from tests.servers import FakeApi, Reply

HOSTILE = 'say "hi"\n{{ 7 * 7 }} \\ {"a": 1}'


def model_at(server: FakeApi, **options: Any) -> dict[str, Any]:
    body = {"prompt": "{{ prompt }}"}
    return {
        "model": "http/lab",
        "base_url": f"{server.url}/generate",
        "body": body,
        "reply": "out.0.text",
        **options,
    }


def said(text: Any) -> Reply:
    return Reply(body={"out": [{"text": text}]})


@pytest.mark.parametrize(
    ("body", "received"),
    [
        ({"prompt": "{{ prompt }}", "n": 1}, {"prompt": HOSTILE, "n": 1}),
        ({"q": "Q: {{ prompt }}!"}, {"q": f"Q: {HOSTILE}!"}),
        (
            {
                "messages": "{{ messages }}",
                "options": {"t": "{{ temperature }}", "stop": "{{ stop }}"},
                "m": ["{{ model }}"],
            },
            {
                "messages": [{"role": "user", "content": HOSTILE}],
                "options": {"t": 0.5, "stop": ["x"]},
                "m": ["lab"],
            },
        ),
        (
            '{"p": {{ prompt }}, "stop": {{ stop | tojson }}, "t": {{ temperature }}}',
            {"p": HOSTILE, "stop": ["x"], "t": 0.5},
        ),
        ('{"p": "{{ prompt }}"}', {"p": HOSTILE}),
    ],
)
def test_values_enter_the_body_as_json_and_cannot_change_it(api: FakeApi, body: Any, received: Any) -> None:
    api.script(said("ok"))
    asked = Asked([{"role": "user", "content": HOSTILE}])
    response = call(spec_of(model_at(api, body=body), temperature=0.5, stop="x"), asked)
    assert response.text == "ok"
    assert api.bodies == [received]
    assert (api.calls[0].method, api.calls[0].path) == ("POST", "/generate")


def test_prompt_is_all_turns_but_the_system_message(api: FakeApi) -> None:
    api.script(said("ok"))
    turns = [("system", "Be brief."), ("user", "a"), ("assistant", "b"), ("user", "c")]
    messages = [{"role": role, "content": content} for role, content in turns]
    call(spec_of(model_at(api, body={"p": "{{ prompt }}", "s": "{{ system }}"})), Asked(messages))
    assert api.bodies == [{"p": "a\n\nb\n\nc", "s": "Be brief."}]


def test_a_small_reply_that_unpacks_to_too_much_is_a_bad_reply_that_is_not_asked_for_again(
    api: FakeApi,
) -> None:
    packed = gzip.compress(bytes(300_000_000), 9)
    api.script(Reply(200, packed, {"content-encoding": "gzip"}))
    error = failure(spec_of(model_at(api)))
    assert (error.error_type, error.is_final) == ("bad_reply", True)


def test_a_get_sends_the_body_as_a_query(api: FakeApi) -> None:
    api.script(said("ok"))
    call(spec_of(model_at(api, method="GET", body={"q": "{{ prompt }}", "n": 2})))
    assert (api.calls[0].method, api.calls[0].target) == ("GET", "/generate?q=What+is+2+%2B+2?&n=2")


@pytest.mark.parametrize(
    ("reply", "path", "text"),
    [
        ({"a": {"b": "x"}}, "a.b", "x"),
        ([{"generated_text": "x"}], "0.generated_text", "x"),
        ({"a": ["x", "y"]}, "a.-1", "y"),
        ({"a": None}, "a", ""),
        ({"a": 4.5}, "a", "4.5"),
        ({"a": {"n": 1}}, "a", '{"n": 1}'),
    ],
)
def test_the_answer_is_where_the_path_leads(api: FakeApi, reply: Any, path: str, text: str) -> None:
    api.script(Reply(body=reply))
    assert call(spec_of(model_at(api, reply=path))).text == text


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"out": []}, "`out` has 0 items"),
        ({"other": 1}, "has no `out`; it has other"),
        ({"out": [5]}, "has no `text`"),
    ],
)
def test_a_path_that_leads_nowhere_is_a_bad_reply_that_says_how_far_it_went(
    api: FakeApi, reply: Any, told: str
) -> None:
    api.script(Reply(body=reply))
    error = failure(spec_of(model_at(api)))
    assert error.error_type == "bad_reply"
    assert told in str(error)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(429, {"error": "slow"}, {"retry-after": "2"}), "rate_limit"),
        (Reply(500, "oops"), "server"),
        (Reply(200, {"error": {"code": 503, "message": "busy"}}), "overloaded"),
        (Reply(200, "not json"), "bad_reply"),
    ],
)
def test_errors_have_the_same_kinds_as_everywhere(api: FakeApi, reply: Reply, kind: str) -> None:
    api.script(reply)
    assert failure(spec_of(model_at(api))).error_type == kind


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"p": "{{ promt }}"}, "promt"),
        ({"p": "{{ temperature }}"}, "temperature"),
        ({"p": "{{ prompt"}, "template"),
        ('{"p": {{ prompt }}', "Expecting"),
        (None, "needs `body`"),
    ],
)
def test_a_template_that_cannot_be_filled_is_refused_before_any_call(
    api: FakeApi, body: Any, told: str
) -> None:
    (fault,) = faults_of(model_at(api, body=body))
    assert fault.startswith("models.0.body")
    assert told in fault
    assert api.n_calls == 0


def test_the_template_and_the_path_are_in_the_key_and_a_query_may_stand_in_the_url(api: FakeApi) -> None:
    from gradetrail.providers import call_shape
    from gradetrail.request import request_key

    def key(**options: Any) -> str:
        spec = spec_of(model_at(api, **options))
        return request_key(call_shape(spec, spec.models[0]), [])

    keys = {
        key(),
        key(body={"p": "{{ prompt }}"}),
        key(reply="out.1.text"),
        key(method="PUT"),
        key(base_url=f"{api.url}/g?v=2"),
    }
    assert len(keys) == 5
