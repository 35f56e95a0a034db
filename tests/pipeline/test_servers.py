"""The same spec against real HTTP servers: calls that the server counts equal the plan, and no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gradetrail import pipeline
from tests.pipeline.lab import PROVIDERS, Lab, chat, invocation, question_of
from tests.servers import Call, Reply

EACH = pytest.mark.parametrize("provider", PROVIDERS)
REPLIES = {
    case["case"]: case
    for case in map(
        json.loads,
        (Path(__file__).parent / "api_mocks.jsonl").read_text(encoding="utf-8").splitlines(),
    )
}


def generate(lab: Lab, **parts: Any) -> int:
    """Write a spec, make its calls, and count those that the server saw."""
    spec = lab.spec(**parts)
    return lab.calls(lambda: pipeline.generate(spec, warehouse=lab.warehouse))


# ---- the plan and the server agree


@EACH
def test_the_server_counts_what_the_plan_says_and_nothing_the_second_time(lab: Lab, provider: str) -> None:
    spec = lab.spec(model=lab.model(provider), epochs=2)
    assert lab.forecast(spec).todo.n_requests == 12
    first = lab.run(spec)
    assert lab.api.n_calls == 12
    assert (first.status, first.is_new) == ("complete", True)
    assert lab.row("select count(*) as n, sum(score) as total from graded") == {"n": 12, "total": 12}
    again = lab.run(spec)
    assert lab.api.n_calls == 12
    assert (again.run_id, again.status, again.is_new) == (first.run_id, "complete", False)


@EACH
def test_equal_requests_are_paid_once_and_answer_every_trial_that_asks_them(lab: Lab, provider: str) -> None:
    lab.data([{"id": f"s{n}", "question": "What is 1+1? [[gold=2]]", "target": "2"} for n in range(5)])
    assert generate(lab, model=lab.model(provider)) == 1
    assert lab.row("select count(*) as n, count(distinct response_id) as answers from trials") == {
        "n": 5,
        "answers": 1,
    }


@EACH
def test_a_sweep_of_models_and_prompts_makes_one_call_for_each(lab: Lab, provider: str) -> None:
    models = [lab.model(provider, "m1"), lab.model(provider, "m2")]
    prompts = {"plain": "{{ question }}", "steps": "Think. {{ question }}"}
    spec = lab.spec(model=None, models=models, prompt=None, prompts=prompts)
    assert lab.calls(lambda: lab.run(spec)) == 24
    board = lab.rows("select model, prompt, n, mean from leaderboard order by all")
    names = [model["model"] for model in models]
    assert [(row["model"], row["prompt"], row["n"]) for row in board] == [
        (model, prompt, 6) for model in names for prompt in prompts
    ]


# ---- what makes another request, and what does not

OTHER_REQUESTS: dict[str, dict[str, Any]] = {
    "temperature": {"request": {"max_tokens": 64, "temperature": 0.7}},
    "an omitted parameter that is stated as 0": {"request": {"max_tokens": 64, "temperature": 0}},
    "max_tokens": {"request": {"max_tokens": 4000}},
    "stop": {"request": {"max_tokens": 64, "stop": ["\n"]}},
    "system text": {"request": {"max_tokens": 64, "system": "Be brief."}},
    "prompt": {"prompt": "{{ question }} Please."},
}


@EACH
def test_whatever_can_change_an_answer_asks_again(lab: Lab, provider: str) -> None:
    model = lab.model(provider)
    assert generate(lab, model=model) == 6
    asked = {change: generate(lab, model=model, **parts) for change, parts in OTHER_REQUESTS.items()}
    assert asked == dict.fromkeys(OTHER_REQUESTS, 6)
    again = {change: generate(lab, model=model, **parts) for change, parts in OTHER_REQUESTS.items()}
    assert again == dict.fromkeys(OTHER_REQUESTS, 0)
    assert generate(lab, model=model) == 0


@pytest.mark.parametrize("provider", ["openai", "openai_compatible"])
def test_another_seed_asks_again(lab: Lab, provider: str) -> None:
    model = lab.model(provider)
    for seed in (1, 2):
        assert generate(lab, model=model, request={"seed": seed}) == 6
    assert generate(lab, model=model, request={"seed": 1}) == 0


@EACH
def test_another_endpoint_asks_again_and_a_trailing_slash_does_not(lab: Lab, provider: str) -> None:
    model = lab.model(provider)
    assert generate(lab, model=model) == 6
    assert generate(lab, model={**model, "base_url": model["base_url"] + "/"}) == 0
    elsewhere = {**model, "base_url": model["base_url"].replace("127.0.0.1", "localhost")}
    assert generate(lab, model=elsewhere) == 6
    assert generate(lab, model={**model, "endpoint": "lab"}) == 6
    assert generate(lab, model={**elsewhere, "endpoint": "lab"}) == 0


@EACH
def test_names_of_models_are_taken_as_they_are(lab: Lab, provider: str) -> None:
    assert generate(lab, model=lab.model(provider, "m1")) == 6
    assert generate(lab, model=lab.model(provider, "M1")) == 6
    assert generate(lab, model=lab.model(provider, "m1", **{"as": "my favourite"})) == 0


@EACH
def test_parameters_may_be_stated_in_any_order_and_place(lab: Lab, provider: str) -> None:
    model = lab.model(provider)
    assert generate(lab, model=model, request={"max_tokens": 64, "temperature": 0, "top_p": 1}) == 6
    assert generate(lab, model=model, request={"top_p": 1.0, "temperature": 0.0, "max_tokens": 64}) == 0
    assert generate(lab, model={**model, "temperature": 0, "top_p": 1}, request={"max_tokens": 64}) == 0


@EACH
def test_scorer_path_knobs_name_and_key_ask_nothing(
    lab: Lab, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = lab.model(provider)
    assert generate(lab, model=model) == 6
    assert generate(lab, model=model, scorer={"type": "numeric", "abs_tol": 0.5}, extract=None) == 0
    assert generate(lab, model=model, run={"concurrency": 1, "timeout_s": 5, "max_retries": 0}) == 0
    assert generate(lab, model=model, name="another-name", description="the same") == 0
    (lab.folder / "elsewhere").mkdir()
    lab.data((lab.folder / "data.jsonl").read_text(), "elsewhere/moved.jsonl")
    assert generate(lab, model=model, dataset="elsewhere/moved.jsonl") == 0
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MY_KEY"):
        monkeypatch.setenv(name, "sk-another-key-9876543210")
    assert generate(lab, model=model) == 0
    assert generate(lab, model={**model, "api_key_env": "MY_KEY", "headers": {"x-team": "blue"}}) == 0


def cases(name: str) -> list[dict[str, Any]]:
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("case", cases("cache_pairs.jsonl"), ids=lambda case: str(case["case"]))
def test_two_requests_share_an_answer_exactly_if_nothing_in_them_can_change_it(
    lab: Lab, case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.data([{"id": "hi", "question": "Say hi", "target": "hi"}])
    ports = {"9001": lab.api.v1, "9002": lab.api.v1.replace("127.0.0.1", "localhost")}

    def calls(side: dict[str, Any]) -> int:
        url = next(url for port, url in ports.items() if port in side["base_url"])
        monkeypatch.setenv("SIDE_KEY", str(side.get("api_key", "sk-one-key-000000")))
        known = ("provider", "base_url", "model", "messages", "api_key", "epoch")
        request = {key: value for key, value in side.items() if key not in known}
        model = {"model": f"{side['provider']}/{side['model']}", "base_url": url, "api_key_env": "SIDE_KEY"}
        prompt = {"messages": [{m["role"]: m["content"]} for m in side["messages"]]}
        return generate(lab, model=model, prompt=prompt, request=request or None, epochs=side.get("epoch", 1))

    assert calls(case["a"]) == 1
    assert calls(case["b"]) == (1 if case["expect"] == "different_key" else 0)


# ---- growing a run


def test_a_limit_and_then_all_hits_what_is_stored_and_grades_all(lab: Lab) -> None:  # H55
    assert lab.calls(lambda: lab.run(limit=2)) == 2
    whole = lab.run()
    assert lab.api.n_calls == 6
    assert (whole.progress.n_hits, whole.progress.n_requests) == (2, 4)
    assert lab.row(
        "select count(*) as n from graded where run_id = $r and outcome = 'scored'", r=whole.run_id
    ) == {"n": 6}


def test_epochs_are_answers_of_their_own_and_more_of_them_extend_the_run(lab: Lab) -> None:  # H53
    n_answers = 0

    def counting(call: Call) -> Reply:
        nonlocal n_answers
        n_answers += 1
        return Reply(body=chat(f"Answer: {n_answers}"))

    lab.api.answer = counting
    lab.data([{"id": "s1", "question": "Pick a number", "target": "1"}])
    parts: dict[str, Any] = {"request": {"temperature": 1}}
    first = lab.run(lab.spec(epochs=3, **parts))
    texts = "select epoch, response from graded order by epoch"
    three = lab.rows(texts)
    assert len({row["response"] for row in three}) == 3
    assert lab.calls(lambda: lab.run(lab.spec(epochs=3, **parts))) == 0
    assert lab.rows(texts) == three
    assert lab.calls(lambda: lab.run(lab.spec(epochs=5, **parts))) == 2
    five = lab.rows(texts)
    assert five[:3] == three
    assert len({row["response"] for row in five}) == 5
    assert lab.row("select count(distinct run_id) as n from trials") == {"n": 1}
    assert lab.row("select run_id, epochs, n_trials from runs") == {
        "run_id": first.run_id, "epochs": 5, "n_trials": 5,
    }  # fmt: skip


@pytest.mark.parametrize("provider", ["openai", "openai_compatible"])
def test_each_epoch_sends_a_seed_of_its_own(lab: Lab, provider: str) -> None:
    lab.data([{"id": "s1", "question": "Pick a number", "target": "1"}])
    generate(lab, model=lab.model(provider), epochs=3, request={"seed": 40})
    assert sorted(body["seed"] for body in lab.api.bodies) == [40, 41, 42]


# ---- failures


def test_what_failed_is_asked_again_and_nothing_else(lab: Lab) -> None:  # H57
    broken = True

    def boom(call: Call) -> Reply | None:
        is_hit = any(f"What is {n}+{n}?" in question_of(call) for n in (2, 5))
        return Reply(500, REPLIES["H57"]["replies"][0]["body"]) if broken and is_hit else None

    lab.api.answer = boom
    spec = lab.spec(run={"max_retries": 2})
    first = lab.run(spec)
    assert lab.api.n_calls == 4 + 2 * 3
    assert first.status == "complete"
    assert lab.rows(
        "select sample_id, status, error_type from trials where status <> 'answered' order by all"
    ) == [{"sample_id": sample_id, "status": "error", "error_type": "server"} for sample_id in ("s2", "s5")]
    assert lab.row("select count(*) as n from responses") == {"n": 4}
    assert lab.rows("select distinct outcome, score, counts_as from graded where status = 'error'") == [
        {"outcome": "provider_error", "score": None, "counts_as": "missing"}
    ]
    assert lab.row("select n, n_errors, mean from leaderboard") == {"n": 4, "n_errors": 2, "mean": 1.0}
    broken = False
    assert lab.calls(lambda: lab.run(spec)) == 2
    assert lab.row("select count(*) as n, sum(score) as total from graded") == {"n": 6, "total": 6}
    assert lab.calls(lambda: lab.run(spec)) == 0


def test_every_attempt_is_a_call_and_only_the_last_has_an_answer(lab: Lab) -> None:
    lab.data([{"id": "s1", "question": "What is 1+1? [[gold=2]]", "target": "2"}])
    lab.api.script(Reply(500, {"error": {"message": "boom"}}), Reply(429, {"error": {"message": "slow"}}))
    lab.run()
    query = (
        "select attempt, status, error_type, http_status, response_id is not null as has_answer from calls"
    )
    assert [tuple(row.values()) for row in lab.rows(f"{query} order by attempt")] == [
        (1, "error", "server", 500, False),
        (2, "error", "rate_limit", 429, False),
        (3, "ok", None, None, True),
    ]


def test_an_anthropic_server_that_is_overloaded_for_a_while_ends_well(lab: Lab) -> None:  # H65
    case = REPLIES["H65"]
    lab.data([{"id": "s1", "question": "What is 2+2?", "target": "4"}])
    lab.api.script(*(Reply(r["status"], r["body"], r["headers"]) for r in case["replies"]))
    run = lab.run(lab.spec(model=lab.model("anthropic"), extract=None))
    assert lab.api.n_calls == case["expect"]["calls"] == 7
    assert dict(run.progress.retries) == {"overloaded": 6}
    assert lab.row("select response, score from graded") == {"response": "4", "score": 1.0}


ONE = [{"id": "s1", "question": "What is 2+2?", "target": "4"}]


def answered_once(lab: Lab, provider: str, *names: str) -> dict[str, Any]:
    """Run one sample against the scripted replies of a case; give its graded row."""
    case = REPLIES[names[0]]
    lab.data(ONE)
    lab.api.script(*(Reply(r["status"], r["body"], r["headers"]) for r in case["replies"]))
    lab.run(lab.spec(model=lab.model(provider), extract=None, request=None))
    assert lab.api.n_calls == case["expect"]["calls"], "calls made"
    return lab.row("select * from graded")


CHAT = pytest.mark.parametrize("provider", ["openai"])
"""One provider stands for both that read chat completions: tests/providers has them all."""


@CHAT
def test_a_reasoning_model_that_spends_its_tokens_is_truncated_and_kept(
    lab: Lab, provider: str
) -> None:  # H63
    row = answered_once(lab, provider, "H63")
    shown = (
        "status",
        "outcome",
        "response",
        "stop_reason",
        "output_tokens",
        "reasoning_tokens",
        "counts_as",
        "score",
    )
    assert {name: row[name] for name in shown} == {
        "status": "answered", "outcome": "truncated", "response": "", "stop_reason": "length",
        "output_tokens": 64, "reasoning_tokens": 64, "counts_as": "worst", "score": 0.0,
    }  # fmt: skip
    assert lab.row("select n_truncated, n_unanswered, n_errors from leaderboard") == {
        "n_truncated": 1, "n_unanswered": 1, "n_errors": 0,
    }  # fmt: skip
    assert lab.calls(lambda: lab.run(lab.spec(model=lab.model(provider), extract=None, request=None))) == 0


@CHAT
def test_an_error_inside_http_200_is_tried_again_and_never_an_answer(lab: Lab, provider: str) -> None:  # H64
    row = answered_once(lab, provider, "H64")
    assert (row["response"], row["outcome"], row["score"]) == ("4", "scored", 1.0)
    assert [tuple(r.values()) for r in lab.rows("select status, error_type from calls order by attempt")] == [
        ("error", "rate_limit"),
        ("ok", None),
    ]


@CHAT
def test_a_parameter_that_the_model_refuses_is_named_and_not_tried_again(
    lab: Lab, provider: str
) -> None:  # H68
    row = answered_once(lab, provider, "H68")
    assert (row["status"], row["error_type"], row["outcome"]) == ("error", "bad_request", "provider_error")
    assert "max_tokens" in row["error_message"]
    assert row["score"] is None


@CHAT
@pytest.mark.parametrize(
    ("name", "status", "text"),
    [("H69a", "error", None), ("H69b", "answered", ""), ("H69c", "answered", "partial te")],
)
def test_what_a_filter_stops_is_counted_apart_and_not_asked_again(
    lab: Lab, provider: str, name: str, status: str, text: str | None
) -> None:
    row = answered_once(lab, provider, name)
    assert (row["status"], row["outcome"], row["response"]) == (status, "filtered", text)
    assert row["counts_as"] == "worst"
    assert lab.row("select n_unanswered, n_errors from leaderboard") == {"n_unanswered": 1, "n_errors": 0}
    assert lab.calls(lambda: lab.run(lab.spec(model=lab.model(provider), extract=None, request=None))) == 0


@CHAT
@pytest.mark.parametrize(("name", "input_tokens"), [("H72a", None), ("H72b", 12)])
def test_tokens_that_the_server_did_not_count_are_null_and_not_0(
    lab: Lab, provider: str, name: str, input_tokens: int | None
) -> None:
    row = answered_once(lab, provider, name)
    assert (row["response"], row["score"]) == ("4", 1.0)
    assert (row["input_tokens"], row["output_tokens"]) == (input_tokens, None)
    costs = lab.row("select paid_usd, n_unknown, n_without_usage from costs")
    assert (costs["paid_usd"], costs["n_unknown"]) == (None, 1)
    board = lab.row("select output_tokens, cost_usd from leaderboard")
    assert board == {"output_tokens": None, "cost_usd": None}


@EACH
def test_a_lone_surrogate_in_a_reply_is_stored_as_u_fffd_and_marked(lab: Lab, provider: str) -> None:  # H37
    def broken(call: Call) -> Reply:
        if provider == "anthropic":
            body = {
                "id": "m", "type": "message", "role": "assistant", "model": "m1", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "Answer: 2 \ud835"}],
                "usage": {"input_tokens": 10, "output_tokens": 3},
            }  # fmt: skip
            return Reply(body=json.dumps(body))
        return Reply(body=json.dumps(chat("Answer: 2 \ud835")))

    lab.api.answer = broken
    spec = lab.spec(model=lab.model(provider))
    assert lab.calls(lambda: lab.run(spec)) == 6
    assert lab.rows("select distinct text, is_text_repaired from responses") == [
        {"text": "Answer: 2 \ufffd", "is_text_repaired": True}
    ]
    assert lab.calls(lambda: lab.run(spec)) == 0


def test_a_dataset_with_lone_surrogates_is_asked_once(lab: Lab) -> None:
    lines = (
        '{"id":"a","question":"half a letter: \\ud835 end [[gold=1]]","target":"1"}\n'
        '{"id":"b","question":"whole: \\ud835\\udd38 [[gold=1]]","target":"1"}\n'
    )
    lab.data(lines)
    spec = lab.spec()
    assert lab.calls(lambda: lab.run(spec)) == 2
    assert lab.calls(lambda: lab.run(spec)) == 0
    sent = {question_of(call) for call in lab.api.calls}
    assert sent == {"half a letter: \ufffd end [[gold=1]]", "whole: \U0001d538 [[gold=1]]"}


def test_a_key_that_is_refused_ends_the_run_after_five_calls(lab: Lab) -> None:
    lab.data([{"id": str(n), "question": f"{n}?", "target": "1"} for n in range(40)])
    lab.api.answer = lambda call: Reply(
        401, {"error": {"message": f"bad key, request req_{call.number:012}"}}
    )
    run = lab.run(lab.spec(run={"concurrency": 1}))
    assert lab.api.n_calls == 5
    assert run.status == "aborted"
    assert run.reason is not None
    assert "bad key" in run.reason
    lab.api.answer = None
    again = lab.run(lab.spec(run={"concurrency": 1}))
    assert (again.run_id, again.status, lab.api.n_calls) == (run.run_id, "complete", 45)


def test_a_server_that_cannot_be_reached_is_said_after_one_call(lab: Lab) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        model = {"model": "openai_compatible/m1", "base_url": f"http://127.0.0.1:{port}/v1"}
        run = lab.run(lab.spec(model=model, run={"concurrency": 1}))
    assert run.status == "aborted"
    assert run.reason is not None
    assert "cannot be reached" in run.reason
    assert lab.row("select count(*) as n from calls") == {"n": 1}


@EACH
def test_no_key_and_no_header_value_is_found_in_any_file(lab: Lab, provider: str) -> None:
    secret = "tok-SECRET-0123456789"
    lab.api.script(Reply(500, {"error": {"message": f"sk-test-key-0123456789 and {secret} are wrong"}}))
    model = lab.model(provider, headers={"x-token": secret})
    run = lab.run(lab.spec(model=model))
    assert {call.headers["x-token"] for call in lab.api.calls} == {secret}
    for path in lab.warehouse.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            assert b"SECRET" not in raw, path
            assert b"sk-test-key" not in raw, path
    messages = lab.rows("select error_message from calls where status = 'error'")
    assert len(messages) == 1
    assert "SECRET" not in messages[0]["error_message"]
    assert run.status == "complete"


def test_invocations_are_sorted_into_records() -> None:
    made = invocation(limit=2, models=("m",), new=True)
    assert (made.selection.limit, made.narrowing.models, made.options.new) == (2, ("m",), True)
