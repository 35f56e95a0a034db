"""Runs whose replies are streamed: the same answers, kept and counted as whole ones are."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradetrail import pipeline
from gradetrail.pipeline import Run
from gradetrail.testing import no_waiting
from tests.pipeline.lab import PROVIDERS, Lab, lab_in
from tests.servers import Call, Reply
from tests.servers.api import Behaviour
from tests.servers.replies import Manner, default_body
from tests.servers.streams import event, stream_of


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-test-key-0123456789")
    with no_waiting(), lab_in(tmp_path) as opened:
        yield opened


def generate(lab: Lab, provider: str, run: dict[str, Any] | None = None, **request: Any) -> Run:
    spec = lab.spec(model=lab.model(provider), request={"max_tokens": 64, **request}, run=run or {})
    return pipeline.generate(spec, warehouse=lab.warehouse)


EVERY = pytest.mark.parametrize("provider", PROVIDERS)


@EVERY
def test_a_streamed_run_keeps_the_same_answers_and_when_they_began(lab: Lab, provider: str) -> None:
    query = "select response_id, text, stop_reason, served_model from responses order by all"
    tokens = "select sample_id, input_tokens, output_tokens from trials order by all"
    generate(lab, provider)
    whole, counted = lab.rows(query), lab.rows(tokens)
    assert lab.rows("select 1 from calls where ttft_ms is not null") == []
    lab.warehouse_name = "streamed"
    lab.api.behaviour = Behaviour(latency_s=0.02, manner=Manner(1.0, 4))
    generate(lab, provider, stream=True)
    assert (lab.rows(query), lab.rows(tokens)) == (whole, counted)
    times = lab.row("""
        select count(*) as n, bool_and(trials.ttft_ms between 20 and calls.latency_ms) as fit
        from trials inner join calls using (response_id)
    """)
    assert times == {"n": 6, "fit": True}


@EVERY
def test_to_stream_asks_nothing_again_and_goes_on_with_the_same_run(lab: Lab, provider: str) -> None:
    first = generate(lab, provider)
    assert lab.calls(lambda: generate(lab, provider, stream=True)) == 0
    assert generate(lab, provider, stream=True).run_id == first.run_id


@EVERY
@pytest.mark.parametrize("fault", ["cut", "stall", "error", "no end"])
def test_half_a_stream_is_asked_again_and_never_an_answer(lab: Lab, provider: str, fault: str) -> None:
    broken: set[str] = set()

    def answer(call: Call) -> Reply | None:
        asked = str(call.body["messages"])
        if asked in broken:
            return None
        broken.add(asked)
        whole = default_body(call.path, call.body, Manner(1.0, 4))
        events = stream_of(call.path, whole)
        half = events[: len(events) // 2]
        if fault == "error":
            said = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
            return Reply(events=[*half, event(said, "error")])
        return Reply(events=half, fault=fault if fault in ("cut", "stall") else "")  # type: ignore[arg-type]

    lab.api.answer = answer
    run = generate(lab, provider, {"timeout_s": 1.5, "concurrency": 6}, stream=True)
    assert run.status == "complete"
    kinds = {"cut": "connection", "stall": "timeout", "error": "overloaded", "no end": "bad_reply"}
    failed = lab.rows("select distinct error_type from calls where status = 'error'")
    assert failed == [{"error_type": kinds[fault]}]
    answers = lab.rows("select text from responses")
    assert len(answers) == 6
    assert all("Answer: " in row["text"] for row in answers)


def test_a_stream_that_breaks_each_time_is_an_error_row_and_stores_nothing(lab: Lab) -> None:
    lab.api.answer = lambda call: Reply(
        events=stream_of(call.path, default_body(call.path, call.body, Manner(1.0, 4)))[:3]
    )
    generate(lab, "openai_compatible", {"max_retries": 1}, stream=True)
    assert lab.rows("select text from responses") == []
    assert lab.row(
        "select count(*) as n, any_value(error_type) as kind from trials where status = 'error'"
    ) == {
        "n": 6,
        "kind": "bad_reply",
    }
