"""What money a command may spend, and what `plan` said before: counted by the server, to the cent."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from zlib import crc32

import pytest

from tests.cli.command import Done, gradetrail
from tests.pipeline.lab import Lab, chat, question_of
from tests.servers import Call, Reply

PRICES = """\
- {provider: openai_compatible, model: m1, input_usd_per_mtok: 1000, output_usd_per_mtok: 4000}
- {provider: openai_compatible, model: m2, input_usd_per_mtok: 10, output_usd_per_mtok: 40}
"""
USD_PER_TOKEN = {"m1": (Decimal("0.001"), Decimal("0.004")), "m2": (Decimal("0.00001"), Decimal("0.00004"))}
MOST_USD = Decimal("0.056")
"""A call of m1 with 20 tokens in and 9 out."""
CONCURRENCY = 4


class Till:
    """Answers every question with usage that differs from question to question, and adds the bill up."""

    def __init__(self) -> None:
        self.usd = Decimal(0)
        self.asked: list[str] = []

    def __call__(self, call: Call) -> Reply | None:
        question, model = question_of(call), call.body["model"]
        draw = crc32(question.encode())
        tokens = (10 + draw % 11, 3 + draw % 7)
        per_in, per_out = USD_PER_TOKEN[model]
        self.usd += tokens[0] * per_in + tokens[1] * per_out
        self.asked.append(question)
        return Reply(body=chat("Answer: 4", usage=tokens), delay_s=0.005)


@pytest.fixture
def till(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Till:
    """The server's till; prices of the user for its two models; a hundred questions."""
    (lab.folder / "prices.yaml").write_text(PRICES)
    monkeypatch.setenv("GRADETRAIL_PRICES", str(lab.folder / "prices.yaml"))
    lab.data([{"id": f"s{n}", "question": f"What is {n}+{n}, and why?", "target": "4"} for n in range(100)])
    counted = Till()
    lab.api.answer = counted
    return counted


def spec(lab: Lab, name: str = "sums", model: str = "m1", **parts: Any) -> None:
    """Write NAME.yaml; each name asks other questions."""
    parts.setdefault("run", {"concurrency": CONCURRENCY})
    prompt = parts.pop("prompt", f"{name}: {{{{ question }}}}")
    lab.write(f"{name}.yaml", name=name, model=lab.model(name=model), prompt=prompt, **parts)


def bounds(done: Done) -> tuple[Decimal, Decimal]:
    """Give the range of costs that `plan --format json` prints, over all its rows."""
    assert done.code == 0, done.err
    spans = [row["cost_usd"].split("..") for row in json.loads(done.raw)]
    return sum(Decimal(span[0]) for span in spans), sum(Decimal(span[-1]) for span in spans)


def paid(lab: Lab) -> Decimal:
    return Decimal(lab.row("select sum(paid_usd) as usd from costs")["usd"])


def test_a_run_stops_at_its_ceiling_keeps_what_it_got_and_says_how_to_go_on(lab: Lab, till: Till) -> None:
    spec(lab)
    stopped = gradetrail("run", "sums.yaml", "--max-cost", "1")
    run_id = lab.row("select run_id from runs")["run_id"]
    assert stopped.code == 3
    assert f"aborted: max_cost_usd of $1.0 is reached (${till.usd:f} spent by this command)" in stopped.err
    again = f"gradetrail run {run_id} --warehouse warehouse --max-cost "
    assert f"a ceiling counts for each command anew; go on with a higher one: {again}" in stopped.err
    assert "sums: numeric" in stopped.out, "what was answered is graded and shown"
    assert 1 <= till.usd < 1 + CONCURRENCY * MOST_USD
    assert paid(lab) == till.usd
    run = lab.row("select status, n_answered, n_failed, n_pending from runs")
    n_asked = len(till.asked)
    assert run == {"status": "aborted", "n_answered": n_asked, "n_failed": 0, "n_pending": 100 - n_asked}
    assert lab.row("select count(*) as n from scores where outcome = 'scored'")["n"] == n_asked

    named = stopped.err.split("--max-cost ")[1].split()[0]
    forecast = till.usd / n_asked * 100
    assert forecast <= Decimal(named) <= max(Decimal(2), forecast * Decimal("1.1"))
    ended = gradetrail("run", run_id, "--max-cost", named)
    assert ended.code == 0, ended.err
    assert len(till.asked) == len(set(till.asked)) == 100
    assert paid(lab) == till.usd
    assert lab.row("select status, n_answered from runs") == {"status": "complete", "n_answered": 100}


def test_what_was_spent_is_told_with_all_calls_that_were_in_flight(lab: Lab, till: Till) -> None:
    spec(lab, run={"concurrency": 64})
    stopped = gradetrail("run", "sums.yaml", "--max-cost", "0.04")
    assert stopped.code == 3
    assert len(till.asked) > 1
    reached = f"max_cost_usd of $0.04 is reached (${till.usd:f} spent by this command)"
    assert reached in stopped.err
    assert lab.row("select aborted_reason from runs")["aborted_reason"] == reached


def test_prices_in_a_new_folder_are_no_obstacle_to_the_warehouse(
    lab: Lab, till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRADETRAIL_PRICES")
    lab.warehouse.mkdir()
    (lab.warehouse / "prices.yaml").write_text(PRICES)
    spec(lab)
    done = gradetrail("run", "sums.yaml", "--max-cost", "100")
    assert done.code == 0, done.err
    assert paid(lab) == till.usd > 0


def test_a_ceiling_that_the_last_answer_reaches_stops_nothing(lab: Lab, till: Till) -> None:
    spec(lab)
    assert gradetrail("run", "sums.yaml", "--limit", "10").code == 0
    before = till.usd
    spec(lab, run={"concurrency": CONCURRENCY, "max_cost_usd": 0.001})
    lab.data([{"id": f"s{n}", "question": f"What is {n}+{n}, and why?", "target": "4"} for n in range(11)])
    done = gradetrail("run", "sums.yaml")
    assert done.code == 0, done.err
    assert till.usd - before > Decimal("0.001")
    assert [row["status"] for row in lab.rows("select status from runs")] == ["complete", "complete"]
    again = gradetrail("run", "sums.yaml")
    assert again.code == 0, again.err
    assert len(till.asked) == 11


def test_specs_of_one_command_share_one_ceiling_which_is_the_lowest_that_is_stated(
    lab: Lab, till: Till
) -> None:
    spec(lab, "first", "m2", run={"concurrency": CONCURRENCY, "max_cost_usd": 1})
    spec(lab, "second", run={"concurrency": CONCURRENCY, "max_cost_usd": 50})
    spec(lab, "third", "m2")
    done = gradetrail("run", "first.yaml", "second.yaml", "third.yaml")
    assert done.code == 3
    assert 1 <= till.usd < 1 + CONCURRENCY * MOST_USD
    assert done.err.count("aborted: max_cost_usd of $1.0 is reached ($1.") == 2
    states = {row["task"]: row["status"] for row in lab.rows("select task, status from runs")}
    assert states == {"first": "complete", "second": "aborted", "third": "aborted"}
    assert not any(question.startswith("third") for question in till.asked)
    assert paid(lab) == till.usd

    ended = gradetrail("run", "first.yaml", "second.yaml", "third.yaml", "--max-cost", "50")
    assert ended.code == 0, ended.err
    assert len(till.asked) == len(set(till.asked)) == 300


def test_a_ceiling_of_one_spec_needs_a_price_for_every_model_of_the_command(lab: Lab, till: Till) -> None:
    spec(lab, "first", run={"max_cost_usd": 1})
    spec(lab, "second", "m3")
    done = gradetrail("run", "first.yaml", "second.yaml")
    assert (done.code, till.asked, lab.warehouse.exists()) == (2, [], False)
    assert "first.yaml:" in done.err
    assert "run.max_cost_usd: max_cost_usd cannot hold: no price for openai_compatible/m3" in done.err


def test_a_ceiling_stops_where_a_server_does_not_say_what_was_used(lab: Lab, till: Till) -> None:
    lab.api.answer = lambda _: Reply(body=chat("Answer: 4", usage=None), delay_s=0.005)
    spec(lab)
    done = gradetrail("run", "sums.yaml", "--max-cost", "1")
    assert done.code == 3
    assert (
        "max_cost_usd of $1.0 cannot hold: openai_compatible/m1 answers without saying how many" in done.err
    )
    assert 1 <= lab.api.n_calls <= CONCURRENCY
    run_id = lab.row("select run_id from runs")["run_id"]
    again = f"gradetrail run {run_id} --warehouse warehouse\n"
    assert f"drop the ceiling (--max-cost, run.max_cost_usd), and go on with: {again}" in done.err
    assert gradetrail("run", "sums.yaml").code == 0, "without a ceiling it goes on"
    assert lab.api.n_calls == 100


def test_a_model_that_owes_nothing_needs_no_price(
    lab: Lab, till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec(lab)
    assert gradetrail("run", "sums.yaml").code == 0
    monkeypatch.delenv("GRADETRAIL_PRICES")
    assert gradetrail("run", "sums.yaml", "--max-cost", "1").code == 0
    assert gradetrail("run", "sums.yaml", "--max-cost", "1", "--new").code == 0
    assert len(till.asked) == 100


def test_the_cost_that_plan_says_without_history_holds_what_the_run_costs(lab: Lab, till: Till) -> None:
    spec(lab)
    low, high = bounds(gradetrail("plan", "sums.yaml", "--format", "json"))
    assert gradetrail("run", "sums.yaml").code == 0
    assert 0 < low <= till.usd <= high
    assert bounds(gradetrail("plan", "sums.yaml", "--format", "json")) == (0, 0)


def test_the_cost_that_plan_says_from_history_holds_what_the_rest_costs_and_is_narrower(
    lab: Lab, till: Till
) -> None:
    spec(lab)
    unknown = bounds(gradetrail("plan", "sums.yaml", "--format", "json"))
    assert gradetrail("run", "sums.yaml", "--limit", "30").code == 0
    spent = till.usd
    plan = gradetrail("plan", "sums.yaml", "--format", "json")
    (row,) = json.loads(plan.raw)
    assert (row["hits"], row["requests"], row["basis"]) == (30, 70, "history of 30 calls")
    low, high = bounds(plan)
    assert gradetrail("run", "sums.yaml").code == 0
    assert 0 < low <= till.usd - spent <= high
    assert high - low < (unknown[1] - unknown[0]) / 2


def test_the_cost_of_conversations_holds_all_their_turns(lab: Lab, till: Till) -> None:
    turns = ["{{ question }}", "Are you sure of the answer to {{ question }}", "Really?"]
    spec(lab, prompt=None, prompts={"script": {"turns": turns}})
    low, high = bounds(gradetrail("plan", "sums.yaml", "--format", "json"))
    assert gradetrail("run", "sums.yaml", "--limit", "40").code == 0
    spent = till.usd
    later = bounds(gradetrail("plan", "sums.yaml", "--format", "json"))
    assert gradetrail("run", "sums.yaml").code == 0
    assert len(till.asked) == 300
    assert low <= till.usd <= high
    assert later[0] <= till.usd - spent <= later[1]


def test_tokens_that_fill_a_cache_are_in_the_range_at_their_own_price(lab: Lab, till: Till) -> None:
    with (lab.folder / "prices.yaml").open("a") as prices:
        prices.write(
            "- {provider: anthropic, model: big, input_usd_per_mtok: 1000, cache_write_usd_per_mtok: 1250,"
            " cache_read_usd_per_mtok: 100, output_usd_per_mtok: 4000}\n"
        )
    usage = {"input_tokens": 10, "output_tokens": 1, "cache_creation_input_tokens": 1000}
    message = {
        "id": "x", "type": "message", "role": "assistant", "model": "big", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Answer: 4"}], "usage": usage,
    }  # fmt: skip
    lab.api.answer = lambda _: Reply(body=message)
    lab.write("sums.yaml", model=lab.model("anthropic", "big"))
    assert gradetrail("run", "sums.yaml", "--limit", "30").code == 0
    low, high = bounds(gradetrail("plan", "sums.yaml", "--format", "json"))
    assert low <= 70 * Decimal("1.264") <= high
