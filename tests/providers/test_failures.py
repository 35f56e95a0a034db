import contextlib
import gzip
import json
import socket
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradetrail.providers.failures import Secrets, retry_after
from gradetrail.providers.failures import failure as made_failure
from gradetrail.providers.reply import MOST_BYTES
from gradetrail.providers.response import ERROR_TYPES
from gradetrail.spec import Spec
from tests.providers.calls import CHAT, EVERY, SpecAt, failure, spec_of
from tests.providers.conftest import KEY
from tests.servers import FakeApi, Reply


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"message": "bad"}}, "bad_request"),
        (401, {"error": {"message": "no key"}}, "auth"),
        (402, {"error": {"message": "pay"}}, "quota"),
        (403, {"error": {"message": "not yours"}}, "auth"),
        (404, {"error": {"message": "no model"}}, "not_found"),
        (408, {"error": {"message": "late"}}, "timeout"),
        (409, {"error": {"message": "conflict"}}, "server"),
        (413, {"error": {"type": "request_too_large", "message": "too large"}}, "over_context"),
        (418, {"error": {"message": "teapot"}}, "bad_request"),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request"),
        (429, {"error": {"message": "slow down"}}, "rate_limit"),
        (500, {"error": {"message": "boom"}}, "server"),
        (502, "<html><title>502 Bad Gateway</title></html>", "server"),
        (503, {"error": {"message": "busy"}}, "overloaded"),
        (504, "", "server"),
        (
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            "overloaded",
        ),
        (
            429,
            {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
            "quota",
        ),
        (429, {"error": {"message": "quota", "type": "insufficient_quota"}}, "quota"),
        (
            400,
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "Your credit balance is too low to access the API",
                },
            },
            "quota",
        ),
        (
            400,
            {
                "error": {
                    "message": "This model's maximum context length is 4096 tokens",
                    "code": "context_length_exceeded",
                }
            },
            "over_context",
        ),
        (
            400,
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "prompt is too long: 210000 tokens > 200000 maximum",
                },
            },
            "over_context",
        ),
        (
            400,
            {
                "object": "error",
                "message": "This model's maximum context length is 2048 tokens.",
                "code": 400,
            },
            "over_context",
        ),
        (400, {"error": "input is too long"}, "over_context"),
        (
            400,
            {
                "error": {
                    "message": "max_tokens is too large: 5000. This model's maximum context length is 4096"
                }
            },
            "bad_request",
        ),
        (
            400,
            {"error": {"message": "max_tokens: 200000 > 8192, the maximum allowed number of output tokens"}},
            "bad_request",
        ),
        (
            400,
            {
                "error": {
                    "code": "content_filter",
                    "innererror": {"code": "ResponsibleAIPolicyViolation"},
                    "message": "x",
                }
            },
            "filtered",
        ),
        (
            400,
            {
                "error": {
                    "code": "invalid_prompt",
                    "message": "flagged as potentially violating our usage policy",
                }
            },
            "filtered",
        ),
        (400, {"error": {"message": "no such model", "code": "model_not_found"}}, "not_found"),
        (307, "", "bad_request"),
    ],
)
def test_each_status_and_code_has_its_kind_of_error(status: int, body: Any, kind: str) -> None:
    error = made_failure(status, {}, body, Secrets())
    assert (error.error_type, error.http_status) == (kind, status)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"message": "x", "code": 503}}, "overloaded"),
        ({"error": {"message": "x", "code": "429"}}, "rate_limit"),
        ({"error": {"message": "x", "type": "rate_limit_error"}}, "rate_limit"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, "overloaded"),
        ({"error": "something broke"}, "server"),
        ({"error": {"message": "prompt is too long", "code": 400}}, "over_context"),
        (
            {
                "choices": [
                    {
                        "message": {"content": ""},
                        "finish_reason": "error",
                        "error": {"code": 502, "message": "x"},
                    }
                ]
            },
            "server",
        ),
    ],
)
@CHAT
def test_errors_inside_http_200_have_their_kinds_too(
    api: FakeApi, spec_at: SpecAt, body: Any, kind: str
) -> None:
    api.script(Reply(body=body))
    assert failure(spec_at(api)).error_type == kind


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("hang", "timeout"),
        ("stall", "timeout"),
        ("drip", "timeout"),
        ("cut", "connection"),
        ("reset", "connection"),
    ],
)
@EVERY
def test_one_limit_covers_the_whole_call_and_a_cut_is_no_answer(
    api: FakeApi, spec_at: SpecAt, fault: Any, kind: str
) -> None:
    # H73: openai/evals #1292, confident-ai/deepeval #2128
    api.script(Reply(fault=fault))
    timeout_s = 0.3 if kind == "timeout" else 20
    error = failure(spec_at(api), timeout_s=timeout_s)
    assert error.error_type == kind
    assert api.n_calls == 1


@EVERY
def test_a_server_that_is_not_there_is_a_connection_error(api: FakeApi, spec_at: SpecAt) -> None:
    import socket

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        spec = spec_at(api)
        closed = spec.models[0].model_copy(update={"base_url": f"http://127.0.0.1:{unused.getsockname()[1]}"})
        error = failure(spec.model_copy(update={"models": (closed,)}))
    assert error.error_type == "connection"


@EVERY
def test_a_redirect_is_not_followed_since_it_could_carry_the_key_elsewhere(
    api: FakeApi, spec_at: SpecAt
) -> None:
    api.script(Reply(307, "", {"location": f"{api.url}/elsewhere"}))
    error = failure(spec_at(api))
    assert (error.error_type, api.n_calls) == ("bad_request", 1)
    assert "put that in base_url" in str(error)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("provider", ["openai", "openai_compatible", "anthropic", "http"])
@pytest.mark.parametrize(
    ("scheme", "said"),
    [("https", b"HTTP/1.1 400 Bad Request\r\n\r\n"), ("http", b"SSH-2.0-OpenSSH_9.6\r\n\r\n")],
)
def test_a_server_of_another_protocol_is_unreachable(
    monkeypatch: pytest.MonkeyPatch, scheme: str, said: bytes, provider: str, stream: bool
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)

        def answer() -> None:
            with listening.accept()[0] as taken:
                taken.recv(100_000)
                taken.sendall(said)
                taken.shutdown(socket.SHUT_WR)
                taken.settimeout(5)
                with contextlib.suppress(OSError):
                    while taken.recv(100_000):
                        pass

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        url = f"{scheme}://127.0.0.1:{listening.getsockname()[1]}"
        error = failure(asked_wrongly(provider, url, stream))
        thread.join(20)
    assert (error.error_type, error.is_unreachable) == ("connection", True)
    assert f"{scheme} may be the wrong scheme" in str(error)


def asked_wrongly(provider: str, url: str, stream: bool) -> Spec:
    if provider == "http":
        return spec_of({"model": "http/m", "base_url": url, "body": {"q": "{{ prompt }}"}, "reply": "a"})
    return spec_of({"model": f"{provider}/m", "base_url": url}, stream=stream, max_tokens=9)


@EVERY
@pytest.mark.parametrize("status", [200, 500])
def test_a_small_reply_that_unpacks_to_too_much_is_a_bad_reply_that_is_not_asked_for_again(
    api: FakeApi, spec_at: SpecAt, status: int
) -> None:
    packed = gzip.compress(bytes(MOST_BYTES + 1), 9)
    api.script(Reply(status, packed, {"content-encoding": "gzip"}))
    error = failure(spec_at(api))
    assert (error.error_type, error.is_final) == ("bad_reply", True)


@EVERY
def test_a_wrong_content_type_that_is_no_json_is_a_bad_reply(api: FakeApi, spec_at: SpecAt) -> None:
    api.script(Reply(body="<html>Sign in</html>", content_type="text/html"))
    assert failure(spec_at(api)).error_type == "bad_reply"


@EVERY
def test_a_key_never_shows_in_an_error(
    api: FakeApi, spec_at: SpecAt, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    spec = spec_at(api)
    model = spec.models[0].model_copy(
        update={"headers": {"X-Extra": "Basic hunter2hunter2"}, "api_key_env": "OPENAI_API_KEY"}
    )
    spec = spec.model_copy(update={"models": (model,)})
    said = f"key {KEY} of Basic hunter2hunter2, that is hunter2hunter2, is wrong"
    for reply in (
        Reply(401, {"error": {"message": said}}),
        Reply(401, said),
        Reply(500, json.dumps({"error": said})),
        Reply(200, said),
        Reply(200, {"strange": said}),
    ):
        api.script(reply)
        error = failure(spec)
        text = f"{error} {error!r} {error.__cause__!r}"
        assert KEY not in text
        assert "hunter2" not in text
    assert KEY not in caplog.text
    assert "hunter2" not in caplog.text
    api.script(Reply(302, "", {"location": f"http://127.0.0.1/{KEY}"}))
    assert KEY not in str(failure(spec))


def test_what_looks_like_a_key_is_blanked_out_even_if_unknown() -> None:
    assert Secrets().redact("sk-ant-api03-abcdefgh and Bearer abcdefghijkl") == "[redacted] and [redacted]"
    assert repr(Secrets(["abcdefgh"])) == "Secrets(1)"


NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "Mon, 30 Nov 2026 12:01:30 GMT"}, 90.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_retry_after_is_read_in_each_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@given(st.integers(0, 10**6))
def test_a_date_and_the_seconds_until_it_are_the_same_wait(seconds: int) -> None:
    date = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
    assert retry_after({"retry-after": date}, NOW) == retry_after({"retry-after": str(seconds)}, NOW)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["error", "code", "type", "message", "x"]), inner)
    ),
    max_leaves=10,
)


@given(st.integers(300, 599), json_values)
def test_any_body_gives_an_error_of_the_closed_list(status: int, body: Any) -> None:
    error = made_failure(status, {}, body, Secrets())
    assert error.error_type in ERROR_TYPES
    assert str(error)
