"""What a run makes of servers that throttle, stall, lie and die: real HTTP on loopback, real runs."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from gradetrail import pipeline
from gradetrail.generation.work import Work
from gradetrail.pipeline import Invocation, Run
from gradetrail.testing import no_waiting
from tests.pipeline.lab import Lab, chat, lab_in, question_of
from tests.pipeline.processes import ROOT, environment
from tests.servers import Call, Reply
from tests.servers.api import Behaviour

SLOW_DOWN = {"error": {"message": "slow down", "type": "rate_limit_error"}}
MOCKS = [
    json.loads(line)
    for line in (ROOT / "tests" / "pipeline" / "api_mocks.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """A lab with six questions, in which waits are real."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-key-0123456789")
    with lab_in(tmp_path) as opened:
        yield opened


def questions(lab: Lab, n: int) -> None:
    """Write a dataset of n different questions."""
    lab.data([{"id": f"s{k}", "question": f"What is {k}+{k}?", "target": str(2 * k)} for k in range(n)])


def generate(lab: Lab, run: dict[str, Any] | None = None, **parts: Any) -> Run:
    """Make the calls of a spec."""
    return pipeline.generate(lab.spec(run=run or {}, **parts), warehouse=lab.warehouse)


def statuses(lab: Lab) -> dict[str, int]:
    """Count trials by status, or by what they failed of."""
    rows = lab.rows("select coalesce(error_type, status) as state, count(*) as n from trials group by all")
    return {row["state"]: row["n"] for row in rows}


def attempts(lab: Lab) -> dict[str, int]:
    """Count calls by what they failed of; `ok` for the others."""
    rows = lab.rows("select coalesce(error_type, status) as state, count(*) as n from calls group by all")
    return {row["state"]: row["n"] for row in rows}


class Arrivals:
    """When requests came in, by the server's clock, and what it replied to the first of them."""

    def __init__(self, *first: Reply) -> None:
        self.at: list[float] = []
        self._first = list(first)
        self._lock = threading.Lock()

    def __call__(self, call: Call) -> Reply | None:
        with self._lock:
            self.at.append(time.monotonic())
            return self._first.pop(0) if self._first else None


# ---- every recorded reply of a server that other tools stumbled over


@pytest.mark.parametrize("case", MOCKS, ids=lambda case: str(case["case"]))
def test_recorded_replies_end_in_the_right_state_after_the_right_number_of_calls(
    lab: Lab, case: dict[str, Any]
) -> None:
    expect, name = case["expect"], case["case"]
    questions(lab, 1)
    arrivals = Arrivals(*(Reply(r["status"], r["body"], r["headers"]) for r in case["replies"]))
    lab.api.answer = arrivals
    is_anthropic = case["replies"][-1]["body"].get("type") == "message"
    model = lab.model("anthropic" if is_anthropic else "openai_compatible")
    # waits are real only where the case is about waiting
    if "min_wait_s" in expect:
        generate(lab, model=model)
        assert arrivals.at[1] - arrivals.at[0] >= expect["min_wait_s"]
    else:
        with no_waiting():
            generate(lab, model=model, run={"max_retries": len(case["replies"]) - 1})
    assert len(arrivals.at) == expect.get("calls", len(case["replies"]))
    trial = lab.row("select status, error_type, stop_reason, output_tokens, input_tokens from trials")
    wanted = {
        "truncated": ("answered", None, "length"),
        "content_filter": ("error", "filtered", None) if name == "H69a" else ("answered", None, "filter"),
        "error": ("error", "server" if name == "H57" else "bad_request", None),
    }
    stop = "stop"
    state = wanted.get(expect.get("status", ""), ("answered", None, stop))
    assert (trial["status"], trial["error_type"], trial["stop_reason"]) == state
    if "text" in expect:
        assert lab.row("select text from responses") == {"text": expect["text"]}
    if state[0] == "error":
        assert lab.rows("select text from responses") == []
    for told, stored in (("tokens_in", "input_tokens"), ("tokens_out", "output_tokens")):
        if told in expect:
            assert trial[stored] == expect[told]


def test_a_reply_is_kept_whole_also_where_it_holds_numbers_that_no_column_could(lab: Lab) -> None:
    body = {**chat("4"), "id": 2**70, "created": 1e308}
    lab.api.answer = lambda _: Reply(body=body)
    assert generate(lab, request={"keep_raw": True}).status == "complete"
    assert {json.loads(row["raw"])["id"] for row in lab.rows("select raw from responses")} == {2**70}


# ---- retries and pauses that all share


def test_a_storm_in_which_20_of_64_are_admitted_ends_without_an_error(lab: Lab) -> None:
    questions(lab, 1000)
    lab.api.behaviour = Behaviour(0.02, max_in_flight=20, retry_after_s=0.02)
    run = generate(lab, {"concurrency": 64})
    assert run.status == "complete"
    assert statuses(lab) == {"answered": 1000}
    tried = attempts(lab)
    assert tried["ok"] == 1000
    assert tried["rate_limit"] > 0
    assert sum(tried.values()) == lab.api.n_calls
    assert lab.api.max_in_flight <= 20


def soon(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("header", "at_least"),
    [
        (lambda: {"retry-after": "0.6"}, 0.6),
        (lambda: {"retry-after-ms": "400"}, 0.4),
        # a date has whole seconds, so two seconds ahead is more than one
        (lambda: {"retry-after": soon(2)}, 0.9),
    ],
    ids=["seconds", "milliseconds", "date"],
)
@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_stated_wait_is_kept_by_every_request(
    lab: Lab, status: int, header: Callable[[], dict[str, str]], at_least: float
) -> None:
    arrivals = Arrivals()
    refused_at: list[float] = []

    def answer(call: Call) -> Reply | None:
        arrivals(call)
        if call.number == 2:
            refused_at.append(time.monotonic())
            return Reply(status, SLOW_DOWN, header())
        return Reply(delay_s=0.02)

    lab.api.answer = answer
    run = generate(lab, {"concurrency": 2})
    assert run.status == "complete"
    # one call may have been on its way when the server asked to wait
    later = [at for at in arrivals.at if at > refused_at[0] + 0.1]
    assert len(later) >= 4
    assert min(later) - refused_at[0] >= at_least


def test_waits_that_all_share_use_no_attempt_up(lab: Lab) -> None:
    lab.api.script(*[Reply(529, {"type": "error", "error": {"type": "overloaded_error"}})] * 8)
    with no_waiting():
        run = generate(lab, {"concurrency": 1, "max_retries": 0})
    assert run.status == "complete"
    assert attempts(lab) == {"overloaded": 8, "ok": 6}
    assert lab.rows("select attempt from calls order by attempt desc limit 1") == [{"attempt": 9}]


def test_limits_that_never_end_are_given_up_when_the_time_is_spent(lab: Lab) -> None:
    lab.api.answer = lambda _: Reply(429, SLOW_DOWN)
    with no_waiting():
        run = generate(lab, {"concurrency": 2, "retry_for_s": 30})
    assert run.status == "aborted"
    assert set(statuses(lab)) <= {"rate_limit", "pending"}
    assert lab.api.n_calls < 200


@pytest.mark.parametrize("fault", ["hang", "stall", "drip"])
def test_a_reply_that_never_ends_is_a_timeout_and_holds_nobody_up(lab: Lab, fault: Any) -> None:
    def answer(call: Call) -> Reply | None:
        return Reply(fault=fault) if "3+3" in question_of(call) else None

    lab.api.answer = answer
    with no_waiting():
        run = generate(lab, {"concurrency": 2, "timeout_s": 0.3, "max_retries": 2})
    assert run.status == "complete"
    assert statuses(lab) == {"answered": 5, "timeout": 1}
    assert attempts(lab) == {"ok": 5, "timeout": 3}


@pytest.mark.parametrize("fault", ["reset", "cut"])
def test_a_connection_that_breaks_is_made_again_also_if_it_is_the_first(lab: Lab, fault: Any) -> None:
    lab.api.script(Reply(fault=fault))
    with no_waiting():
        run = generate(lab, {"concurrency": 1, "max_retries": 0})
    assert run.status == "complete"
    assert attempts(lab) == {"connection": 1, "ok": 6}


@contextmanager
def server_process(port: int) -> Iterator[dict[str, Any]]:
    """Run the fake server as a process that can be killed; gives what it says when it is ready."""
    arguments = [sys.executable, "-m", "tests.servers", "--port", str(port), "--latency-ms", "10"]
    with subprocess.Popen(
        arguments, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.kill()


def test_a_server_that_dies_and_comes_back_in_time_costs_no_answer(lab: Lab) -> None:
    questions(lab, 300)
    with server_process(0) as ready:
        port = ready["port"]
        spec = lab.spec(
            model={"model": "openai_compatible/m1", "base_url": f"http://127.0.0.1:{port}/v1"},
            run={"concurrency": 8, "retry_for_s": 60},
        )
        seen, is_down = threading.Event(), threading.Event()

        def observe(progress: Any) -> None:
            if progress.n_done > 50:
                seen.set()
            if progress.retries["connection"] > 8:
                is_down.set()

        runs: list[Run] = []
        invocation = Invocation(observe=observe)
        worker = threading.Thread(
            target=lambda: runs.append(
                pipeline.generate(spec, warehouse=lab.warehouse, invocation=invocation)
            )
        )
        worker.start()
        assert seen.wait(60)
    assert is_down.wait(60)
    with server_process(port):
        worker.join()
    assert runs[0].status == "complete"
    assert statuses(lab) == {"answered": 300}
    tried = attempts(lab)
    assert tried["ok"] == 300
    assert tried["connection"] > 8


def test_a_server_that_stays_away_ends_the_run_and_keeps_what_it_answered(lab: Lab) -> None:
    questions(lab, 200)
    with server_process(0) as ready:
        port = ready["port"]
        url = f"http://127.0.0.1:{port}/v1"

        def observe(progress: Any) -> None:
            if progress.n_done > 40:
                os.kill(server.pid, signal.SIGKILL)

        arguments = [sys.executable, "-m", "tests.servers", "--port", "0", "--latency-ms", "10"]
        with subprocess.Popen(
            arguments, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            dying = f"http://127.0.0.1:{json.loads(server.stdout.readline())['port']}/v1"
            model = {"model": "openai_compatible/m1", "base_url": dying, "endpoint": "lab"}
            spec = lab.spec(model=model, run={"concurrency": 4, "retry_for_s": 2})
            with no_waiting():
                run = pipeline.generate(spec, warehouse=lab.warehouse, invocation=Invocation(observe=observe))
        assert run.status == "aborted"
        assert run.reason is not None
        assert "failed in a row" in run.reason
        n_answered = statuses(lab)["answered"]
        assert 40 < n_answered < 200
        # the same server under another address: `endpoint` names it
        again = generate(lab, {"concurrency": 4}, model={**model, "base_url": url})
    assert (again.run_id, again.status) == (run.run_id, "complete")
    assert attempts(lab)["ok"] == 200


# ---- when to stop


def dead_port() -> int:
    """Find a port that nobody listens on."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_a_host_that_refuses_ends_the_run_at_once_and_nobody_else_is_asked(lab: Lab) -> None:
    models = [
        {"model": "openai_compatible/away", "base_url": f"http://127.0.0.1:{dead_port()}/v1"},
        lab.model(name="here"),
    ]
    began = time.monotonic()
    run = generate(lab, {"concurrency": 1}, models=models)
    assert time.monotonic() - began < 20
    assert run.status == "aborted"
    assert run.reason is not None
    assert "openai_compatible/away cannot be reached" in run.reason
    assert lab.api.n_calls == 0
    assert statuses(lab) == {"connection": 1, "pending": 11}


def test_a_host_that_refuses_ends_the_run_also_where_another_answers(lab: Lab) -> None:
    models = [
        lab.model(name="here"),
        {"model": "openai_compatible/away", "base_url": f"http://127.0.0.1:{dead_port()}/v1"},
    ]
    run = generate(lab, {"concurrency": 1}, models=models)
    assert run.status == "aborted"
    assert lab.api.n_calls == 1
    assert statuses(lab) == {"answered": 1, "connection": 1, "pending": 10}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_five_equal_fatal_errors_without_a_success_end_the_run(lab: Lab, status: int) -> None:
    questions(lab, 100)
    lab.api.answer = lambda call: Reply(status, {"error": {"message": f"no (request id: {call.number:08x})"}})
    run = generate(lab, {"concurrency": 4})
    assert run.status == "aborted"
    assert run.reason is not None
    assert "5 requests failed in the same way" in run.reason
    assert 5 <= lab.api.n_calls <= 5 + 4


def test_a_model_that_always_fails_ends_the_run_also_where_another_answers(lab: Lab) -> None:
    questions(lab, 50)
    lab.api.answer = lambda call: (
        Reply(401, {"error": {"message": "bad key"}}) if call.body["model"] == "bad" else None
    )
    run = generate(lab, {"concurrency": 1}, models=[lab.model(name="good"), lab.model(name="bad")])
    assert run.status == "aborted"
    assert statuses(lab) == {"answered": 5, "auth": 5, "pending": 90}


def test_twenty_errors_in_a_row_end_the_run_after_any_success(lab: Lab) -> None:
    questions(lab, 100)
    lab.api.answer = lambda call: (
        None if call.number <= 3 else Reply(400, {"error": {"message": f"no {question_of(call)}"}})
    )
    run = generate(lab, {"concurrency": 1})
    assert run.status == "aborted"
    assert lab.api.n_calls == 23
    assert statuses(lab) == {"answered": 3, "bad_request": 20, "pending": 77}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "too long", "code": "context_length_exceeded"}, "over_context"),
        ({"message": "filtered", "code": "content_filter"}, "filtered"),
    ],
)
def test_prompts_that_can_never_be_answered_do_not_end_the_run_and_are_final(
    lab: Lab, error: dict[str, str], kind: str
) -> None:
    questions(lab, 40)
    lab.api.answer = lambda _: Reply(400, {"error": error})
    run = generate(lab, {"concurrency": 2})
    assert run.status == "complete"
    assert statuses(lab) == {kind: 40}
    assert lab.calls(lambda: generate(lab)) == 0


PRICES = """
- provider: openai_compatible
  model: m1
  valid_from: 2020-01-01
  input_usd_per_mtok: 1000
  output_usd_per_mtok: 2000
"""


def test_a_ceiling_is_passed_by_no_more_than_the_calls_in_flight(lab: Lab) -> None:
    questions(lab, 100)
    generate(lab, models=[{"model": "mock/rule_based"}])
    (lab.warehouse / "prices.yaml").write_text(PRICES)
    # 12 tokens in and 5 out: 0.022 dollars a call
    lab.api.answer = lambda _: Reply(body=chat("4"), delay_s=0.01)
    run = generate(lab, {"concurrency": 4, "max_cost_usd": 0.44})
    assert run.status == "aborted"
    assert run.reason is not None
    assert "max_cost_usd of $0.44 is reached" in run.reason
    assert 20 <= lab.api.n_calls <= 20 + 3
    n_calls = lab.api.n_calls
    assert generate(lab, {"concurrency": 4, "max_cost_usd": 10}).status == "complete"
    assert lab.api.n_calls == 100
    assert n_calls < 100


def test_a_request_that_waits_to_be_tried_again_is_not_when_the_ceiling_is_reached(lab: Lab) -> None:
    generate(lab, models=[{"model": "mock/rule_based"}])
    (lab.warehouse / "prices.yaml").write_text(PRICES)

    def answer(call: Call) -> Reply:
        # the first is refused and waits while the second reaches the ceiling
        return (
            Reply(500, {"error": {"message": "boom"}})
            if call.number == 1
            else Reply(body=chat("4"), delay_s=0.05)
        )

    lab.api.answer = answer
    run = generate(lab, {"concurrency": 2, "max_cost_usd": 0.02})
    assert run.status == "aborted"
    assert lab.api.n_calls <= 3
    assert statuses(lab).get("server") is None, "it would have been tried again, so it is no error"
    assert attempts(lab)["server"] == 1


# ---- the gate


def test_no_more_calls_are_in_flight_than_the_spec_says_and_as_many_as_it_says(lab: Lab) -> None:
    questions(lab, 200)
    lab.api.behaviour = Behaviour(0.01, 0.008)
    generate(lab, {"concurrency": 7}, models=[lab.model(name="m1"), lab.model(name="m2")])
    assert lab.api.max_in_flight == 7
    assert lab.api.connections <= 14


def test_requests_a_minute_space_the_calls(lab: Lab) -> None:
    questions(lab, 20)
    arrivals = Arrivals()
    lab.api.answer = arrivals
    generate(lab, {"concurrency": 20, "requests_per_minute": 1200})
    assert arrivals.at[-1] - arrivals.at[0] >= 19 * 0.05 - 0.03


def test_an_interrupt_does_not_wait_for_a_pause_to_end(lab: Lab) -> None:
    lab.api.answer = lambda _: Reply(429, SLOW_DOWN, {"retry-after": "500"})
    began = time.monotonic()
    interrupts: list[int] = []

    def observe(progress: Any) -> None:
        if progress.retries["rate_limit"] and not interrupts:
            interrupts.append(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    spec = lab.spec(run={"concurrency": 3})
    run = pipeline.generate(spec, warehouse=lab.warehouse, invocation=Invocation(observe=observe))
    assert run.status == "interrupted"
    assert time.monotonic() - began < 60
    assert statuses(lab) == {"pending": 6}
    assert attempts(lab) == {"rate_limit": lab.api.n_calls}
    lab.api.answer = None
    assert generate(lab).status == "complete"


# ---- memory, and what fails around the calls


def test_memory_holds_the_requests_in_flight_and_not_those_to_come(lab: Lab) -> None:
    questions(lab, 600)
    alive: list[int] = []

    def count() -> int:
        return sum(type(thing) is Work for thing in gc.get_objects())

    def answer(call: Call) -> Reply | None:
        if call.number % 150 == 0:
            alive.append(count() - left)
        return None

    gc.collect()
    left = count()

    lab.api.answer = answer
    generate(lab, {"concurrency": 8})
    assert len(alive) == 4
    assert max(alive) <= 8 + 1


def test_an_observer_that_fails_ends_the_run_and_every_answer_is_kept(lab: Lab) -> None:
    questions(lab, 400)
    lab.api.behaviour = Behaviour(0.005)

    def observe(progress: Any) -> None:
        if progress.n_done > 20:
            raise RuntimeError("no terminal")

    spec = lab.spec(run={"concurrency": 2})
    with pytest.raises(RuntimeError, match="no terminal"):
        pipeline.generate(spec, warehouse=lab.warehouse, invocation=Invocation(observe=observe))
    n_answered = statuses(lab)["answered"]
    assert 20 < n_answered < 400
    assert lab.api.n_calls - n_answered <= 2
    n_calls = lab.api.n_calls
    assert generate(lab, {"concurrency": 2}).status == "complete"
    assert lab.api.n_calls - n_calls == 400 - n_answered
