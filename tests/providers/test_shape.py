import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradetrail.errors import SpecError
from gradetrail.providers import call_shape, open_provider
from gradetrail.providers.endpoint import normalised_url, open_endpoint
from gradetrail.request import CallShape, request_key
from tests.providers.calls import ASKED, faults_of, spec_of

SERVER = {"model": "openai_compatible/m", "base_url": "http://127.0.0.1:8000/v1"}


def shape_of(model: Any, base: Path = Path(), **request: Any) -> CallShape:
    spec = spec_of(model, base, **request)
    return call_shape(spec, spec.models[0])


def key_of(model: Any, base: Path = Path(), **request: Any) -> str:
    return request_key(shape_of(model, base, **request), ASKED)


@pytest.mark.parametrize(
    ("given_url", "normal"),
    [
        ("http://LocalHost:8000/v1/", "http://localhost:8000/v1"),
        ("HTTP://h:80/", "http://h"),
        ("https://h:443/V1", "https://h/V1"),
        ("https://h:80/v1", "https://h:80/v1"),
        ("http://[::1]:80/v1", "http://[::1]/v1"),
        ("${LAB_Url}/", "${LAB_Url}"),
        ("http://${LAB_Host}:8000/v1", "http://${LAB_Host}:8000/v1"),
        ("http://GPU.${LAB_Host}:80/v1", "http://gpu.${LAB_Host}/v1"),
    ],
)
def test_urls_that_mean_one_place_are_one(given_url: str, normal: str) -> None:
    assert normalised_url(given_url) == normal
    assert normalised_url(normal) == normal


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://user:hunter2@h/v1", "holds credentials"),
        ("http://hunter2@h/v1", "holds credentials"),
        ("http://${A}:${B}@h/v1", "holds credentials"),
        ("ftp://h/v1", "has the scheme `ftp`"),
        ("h:8000/v1", "is not a URL"),
        ("localhost", "is not a URL"),
        ("http:///v1", "names no host"),
        ("http://h/v1?key=hunter2", "holds a query"),
    ],
)
def test_a_url_that_cannot_be_an_identity_is_refused_without_being_shown(url: str, reason: str) -> None:
    model = {"model": "openai_compatible/m", "base_url": url, "endpoint": "lab"}
    with pytest.raises(SpecError, match=reason) as caught:
        shape_of(model)
    assert "hunter2" not in str(caught.value)
    assert any(reason in fault for fault in faults_of(model))


@given(
    st.from_regex(r"https?://[A-Za-z0-9.-]{1,20}(:[0-9]{1,4})?(/[A-Za-z0-9._~-]{0,8}){0,3}", fullmatch=True)
)
def test_normalising_twice_changes_nothing(url: str) -> None:
    assert normalised_url(normalised_url(url)) == normalised_url(url)


@pytest.mark.parametrize(
    "other",
    [
        {"model": "openai_compatible/m2"},
        {"base_url": "http://127.0.0.1:8001/v1"},
        {"revision": "step-2"},
        {"temperature": 0},
        {"temperature": 0.7},
        {"max_tokens": 16},
        {"seed": 1},
        {"stop": "x"},
        {"reasoning": "high"},
        {"extra": {"a": 1}},
        {"tools": [{"name": "f"}]},
        {"tool_choice": "auto"},
        {"response_format": {"type": "json_object"}},
        {"api": "responses"},
        {"headers": {"OpenAI-Beta": "x=1"}},
        {"endpoint": "lab"},
    ],
)
def test_what_can_change_an_answer_changes_the_key(other: dict[str, Any]) -> None:
    assert key_of({**SERVER, **other}) != key_of(SERVER)


@pytest.mark.parametrize(
    "other",
    [
        {"as": "shown"},
        {"base_url": "HTTP://127.0.0.1:8000/v1/"},
        {"api_key_env": "LAB_KEY"},
        {"headers": {"X-Team": "blue"}},
        {"keep_raw": True},
        {"stream": True},
        {"api": "chat"},
    ],
)
def test_what_cannot_change_an_answer_is_not_in_the_key(other: dict[str, Any]) -> None:
    assert key_of({**SERVER, **other}) == key_of(SERVER)


def test_an_endpoint_takes_the_place_of_its_url() -> None:
    moved = {**SERVER, "endpoint": "lab", "base_url": "http://127.0.0.1:9999/v1"}
    assert key_of(moved) == key_of({**SERVER, "endpoint": "lab"})


def test_the_vendors_own_url_is_no_other_place_than_none() -> None:
    assert key_of({"model": "openai/m", "base_url": "https://api.openai.com/v1/"}) == key_of("openai/m")
    assert shape_of("openai/m").base_url is None


def test_beta_headers_are_in_the_key_wherever_they_stand() -> None:
    stated = key_of("anthropic/m", max_tokens=9, betas=["b", "a"])
    header = {"model": "anthropic/m", "headers": {"anthropic-beta": "a, b"}}
    assert stated == key_of(header, max_tokens=9)
    assert stated != key_of("anthropic/m", max_tokens=9)


def test_json_files_count_by_content_not_by_name(tmp_path: Path) -> None:
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    (tmp_path / "a.json").write_text(json.dumps(tools))
    (tmp_path / "b.json").write_text(json.dumps(tools, indent=4))
    keys = {key_of("openai/m", tmp_path, tools=value) for value in ("a.json", "b.json", tools)}
    assert len(keys) == 1
    (tmp_path / "b.json").write_text("[]")
    assert key_of("openai/m", tmp_path, tools="b.json") not in keys


@pytest.mark.parametrize(
    ("content", "message"), [(None, "No such file"), (b"{", "not JSON"), (b"\xff", "not UTF-8")]
)
def test_a_json_file_that_cannot_be_read_is_a_fault_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, message: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    if content is not None:
        (tmp_path / "t.json").write_bytes(content)
    (fault,) = faults_of({"model": "openai/m", "tools": "t.json"}, tmp_path)
    assert fault.startswith("models.0.tools: ")
    assert message in fault
    with pytest.raises(SpecError, match=message):
        shape_of({"model": "openai/m", "tools": "t.json"}, tmp_path)


def test_keys_and_variables_are_checked_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAB_URL", raising=False)
    monkeypatch.delenv("LAB_KEY", raising=False)
    monkeypatch.delenv("TEAM", raising=False)
    assert faults_of("openai/m") == ["models.0.api_key_env: the API key OPENAI_API_KEY is not set"]
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert faults_of("openai/m") == ["models.0.api_key_env: the API key OPENAI_API_KEY is empty"]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123\n")
    assert "holds characters that no key has" in faults_of("openai/m")[0]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    assert faults_of("openai/m") == []
    assert faults_of(SERVER) == []
    lab = {
        "model": "openai_compatible/m",
        "base_url": "${LAB_URL}",
        "endpoint": "lab",
        "api_key_env": "LAB_KEY",
        "headers": {"T": "${TEAM}"},
    }
    assert faults_of(lab) == [
        "models.0.base_url: the environment variable LAB_URL is not set",
        "models.0.headers.T: the environment variable TEAM is not set",
        "models.0.api_key_env: the API key LAB_KEY is not set",
    ]


def test_a_url_that_the_sdk_would_take_from_the_environment_is_not_taken_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert "OPENAI_BASE_URL is set" in faults_of("openai/m")[0]
    assert faults_of({"model": "openai/m", "base_url": "${OPENAI_BASE_URL}", "endpoint": "proxy"}) == []


@pytest.mark.parametrize("headers", [{"Bad Name": "x"}, {"X": "a\r\nb: c"}, {"": "x"}])
def test_a_header_that_is_none_is_refused(headers: dict[str, str]) -> None:
    assert [fault.partition(": ")[2] for fault in faults_of({**SERVER, "headers": headers})] == [
        "not a valid header"
    ]


def test_a_header_that_the_environment_makes_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "abc\n")
    faults = faults_of({**SERVER, "headers": {"X": "Bearer ${TOKEN}"}})
    assert faults == ["models.0.headers.X: not a valid header"]


@pytest.mark.parametrize("host", ["a..b", "a" * 64 + ".org"])
def test_a_host_that_no_name_can_be_is_refused_before_the_first_call(host: str) -> None:
    (fault,) = faults_of({**SERVER, "base_url": f"http://{host}/v1"})
    assert fault.startswith("models.0.base_url: base_url names a host that cannot be")


def test_a_missing_key_is_a_spec_error_when_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    spec = spec_of("openai/m")
    with pytest.raises(SpecError, match="OPENAI_API_KEY is not set"):
        open_provider(spec, spec.models[0], call_shape(spec, spec.models[0]), concurrency=1, timeout_s=1)


def test_neither_key_nor_headers_show_in_what_is_printed_of_an_endpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LAB_KEY", "lab-0123456789")
    monkeypatch.setenv("LAB_URL", "http://127.0.0.1:8000/secret-path")
    model = {
        **SERVER,
        "base_url": "${LAB_URL}",
        "endpoint": "lab",
        "api_key_env": "LAB_KEY",
        "headers": {"X": "hunter2hunter2"},
    }
    endpoint = open_endpoint(spec_of(model).models[0])
    assert endpoint.api_key == "lab-0123456789"
    assert endpoint.url == "http://127.0.0.1:8000/secret-path"
    for secret in ("lab-0123456789", "hunter2", "secret-path"):
        assert secret not in f"{endpoint!r} {endpoint}"
    assert shape_of(model).base_url == "${LAB_URL}"


def test_a_proxy_of_the_environment_is_used_but_not_for_hosts_it_leaves_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:3128")
    monkeypatch.setenv("no_proxy", "lab.example")
    away = {"model": "openai_compatible/m", "base_url": "http://far.example/v1"}
    near = {"model": "openai_compatible/m", "base_url": "http://lab.example/v1"}
    assert open_endpoint(spec_of(away).models[0]).proxy == "http://127.0.0.1:3128"
    assert open_endpoint(spec_of(near).models[0]).proxy is None


def test_importing_the_providers_loads_no_sdk_and_no_arrow() -> None:
    import subprocess
    import sys

    heavy = ["openai", "anthropic", "aiohttp", "pyarrow", "jinja2", "orjson"]
    modules = "gradetrail.providers, gradetrail.providers.check"
    code = f"import sys, {modules}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_fault_names_the_line_of_its_parameter(tmp_path: Path) -> None:
    from gradetrail.providers import check_model
    from gradetrail.spec import load_spec

    model = "  - model: openai_compatible/m\n    base_url: http://127.0.0.1:1\n    reasoning: 5\n"
    text = "name: t\ndataset: d.jsonl\nprompt: q\ntarget: x\nscorer: exact\nmodels:\n  - mock/noisy\n"
    (tmp_path / "s.yaml").write_text(text + model)
    spec = load_spec(tmp_path / "s.yaml")
    (fault,) = check_model(spec, spec.models[1], "models.1")
    assert (fault.where, fault.field) == (f"{tmp_path / 's.yaml'}:10", "models.1.reasoning")
