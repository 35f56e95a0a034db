"""Judging that is put off, stopped, killed or repeated: nothing is paid twice, nothing is taken for 0."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest

from gradetrail import pipeline
from gradetrail.errors import SpecError
from tests.cli.command import gradetrail
from tests.judges.bench import BINARY, Bench, right
from tests.pipeline.lab import SIX, chat
from tests.servers import Call, Reply

PRICES = """
- {provider: openai_compatible, model: m1, input_usd_per_mtok: 1, output_usd_per_mtok: 2}
- {provider: openai_compatible, model: judge, input_usd_per_mtok: 10, output_usd_per_mtok: 50}
"""


@pytest.fixture
def priced(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench.lab.folder.joinpath("prices.yaml").write_text(PRICES)
    monkeypatch.setenv("GRADETRAIL_PRICES", str(bench.lab.folder / "prices.yaml"))
    return bench


# ---- offline and preview


def test_offline_grades_what_it_can_and_leaves_the_rest_to_a_later_score(bench: Bench) -> None:
    spec = bench.spec(scorers={"exact": {"type": "numeric"}, "judge": bench.judge()})
    pipeline.generate(spec, warehouse=bench.lab.warehouse)
    graded = {item.scorer: item.counts for item in bench.score(spec, offline=True)}
    assert graded == {"exact": {"scored": 6}, "judge": {"pending": 6}}
    assert bench.n_judged == 0
    graded = {item.scorer: item.counts for item in bench.score(spec)}
    assert graded == {"exact": {}, "judge": {"scored": 6}}
    assert bench.n_judged == 6


def test_offline_takes_stored_replies_and_adds_only_what_is_new(bench: Bench) -> None:
    bench.lab.data(SIX[:4])
    bench.run()
    bench.lab.data(SIX)
    pipeline.generate(bench.spec(), warehouse=bench.lab.warehouse)
    (item,) = bench.score(bench.spec(), offline=True)
    assert item.counts == {"scored": 4, "pending": 2}
    assert bench.calls(lambda: bench.score(bench.spec())) == 2


def test_generate_asks_no_judge(bench: Bench) -> None:
    pipeline.generate(bench.spec(), warehouse=bench.lab.warehouse)
    assert bench.n_judged == 0


def test_a_preview_of_a_changed_rubric_asks_and_writes_nothing(bench: Bench) -> None:
    bench.run()
    bench.file({**BINARY, "prompt": BINARY["prompt"] + " Be strict."})
    before = {path: path.read_bytes() for path in bench.lab.warehouse.rglob("*") if path.is_file()}
    preview = pipeline.preview(bench.spec(), warehouse=bench.lab.warehouse)
    assert (preview.n_unasked, bench.n_judged) == (6, 6)
    assert {(flip["new_outcome"], flip["change"]) for flip in preview.flips} == {("pending", "pending")}
    assert [(moved.old_rank, moved.new_rank, moved.is_pending) for moved in preview.ranks] == [
        ("1", None, True)
    ]
    assert {path: path.read_bytes() for path in bench.lab.warehouse.rglob("*") if path.is_file()} == before


# ---- failures


def test_a_judge_that_fails_is_a_judge_error_and_is_asked_again_later(bench: Bench) -> None:
    broken = Reply(404, {"error": {"message": "no such model"}})
    bench.replies({"2+2": [broken]})
    bench.run()
    grade = bench.grade("s2")
    assert (grade["outcome"], grade["raw_score"]) == ("judge_error", None)
    assert "not_found" in grade["detail"]
    assert bench.calls(lambda: bench.score(bench.spec())) == 1
    assert bench.grade("s2")["raw_score"] == 1.0
    failed = bench.lab.row("select n_failed, n_calls from costs where role = 'judge'")
    assert (failed["n_failed"], failed["n_calls"]) == (1, 7)


def test_one_failed_vote_of_several_is_no_end_where_fewer_will_do(bench: Bench) -> None:
    bench.lab.data(SIX[:1])
    bench.replies({"1+1": [Reply(404, {"error": {"message": "gone"}})]})
    bench.run(bench.judge(votes=3, min_votes=2))
    assert (bench.grade("s1")["raw_score"], bench.n_judged) == (1.0, 3)


def test_a_judge_that_can_never_answer_stops_after_a_few_calls(bench: Bench) -> None:
    bench.lab.data([{**SIX[0], "id": f"s{n}", "question": f"What is {n}+0?"} for n in range(40)])
    bench.says = lambda call: Reply(401, {"error": {"message": "bad key"}})
    done = bench.run(run={"concurrency": 2})
    assert done.status == "aborted"
    assert done.reason
    assert done.reason.startswith("judge `judge`: ")
    assert 5 <= bench.n_judged < 10
    outcomes = bench.lab.rows("select outcome, count(*) as n from graded group by all")
    assert {row["outcome"] for row in outcomes} == {"judge_error", "pending"}


def test_a_throttled_judge_is_waited_for(bench: Bench) -> None:
    bench.replies({"2+2": [Reply(429, {"error": {"message": "slow down"}}), Reply(503, {})]})
    bench.run()
    assert (bench.grade("s2")["raw_score"], bench.n_judged) == (1.0, 8)


# ---- money


def test_a_ceiling_covers_judges_and_what_is_left_is_pending(priced: Bench) -> None:
    # six answers cost 6 x about $0.00002, a judge's call $0.002
    spec = priced.spec(run={"max_cost_usd": 0.005, "concurrency": 1})
    done = priced.lab.run(spec)
    assert (done.status, priced.n_judged) == ("aborted", 3)
    assert "max_cost_usd" in str(done.reason)
    counts = priced.lab.rows("select outcome, count(*) as n from graded group by all")
    assert {row["outcome"]: row["n"] for row in counts} == {"scored": 3, "pending": 3}
    assert priced.lab.row("select status from runs")["status"] == "complete"
    again = priced.lab.run(priced.spec())
    assert (again.status, priced.n_judged) == ("complete", 6)


def test_the_ceiling_of_a_judge_says_what_the_whole_command_spent(priced: Bench) -> None:
    priced.spec(judge=priced.judge(votes=3), run={"concurrency": 2})
    done = gradetrail("run", "spec.yaml", "--max-cost", "0.005")
    assert done.code == 3
    paid = {row["role"]: row["paid_usd"] for row in priced.lab.rows("select role, paid_usd from costs")}
    assert paid["judge"] == Decimal("0.002") * priced.n_judged
    spent = (paid["judge"] + paid["subject"]).normalize()
    reached = f"max_cost_usd of $0.005 is reached (${spent:f} spent by this command)"
    assert f"judge `judge`: {reached}" in done.err
    assert f"{priced.n_judged}/18 requests" in done.err
    assert f"${priced.n_judged * 0.002:.4f}" in done.err
    run_id = priced.lab.row("select run_id from runs")["run_id"]
    again = f"gradetrail run {run_id} --warehouse warehouse --max-cost 0.0"
    assert f"go on with a higher one: {again}" in done.err
    replies = priced.n_judged
    scored = gradetrail("score", "spec.yaml", "--max-cost", "0.001")
    assert (scored.code, priced.n_judged > replies) == (3, True)
    assert "go on with a higher one: gradetrail score spec.yaml --max-cost 0." in scored.err


def test_sql_knows_the_prices_that_the_environment_names(priced: Bench) -> None:
    priced.run()
    asked = gradetrail("sql", "select paid_usd from costs where role = 'judge'", "--format", "csv")
    assert asked.out.split() == ["paid_usd", "0.012"]


def test_an_aborted_run_asks_no_judge(priced: Bench) -> None:
    def answer(call: Call) -> Reply:
        is_judge = call.body["model"] == "judge"
        said = json.dumps({"score": 1, "reason": ""}) if is_judge else "Answer: 4"
        return Reply(body=chat(said, usage=(100, 20) if is_judge else None))

    priced.lab.api.answer = answer
    priced.lab.data([{**SIX[0], "id": f"s{n}", "question": f"What is {n}+0?"} for n in range(12)])
    done = priced.run(run={"max_cost_usd": 1, "concurrency": 2})
    assert (done.status, priced.n_judged) == ("aborted", 0)
    assert "m1 answers without saying how many tokens" in str(done.reason)
    outcomes = priced.lab.rows("select distinct outcome from scores")
    assert {row["outcome"] for row in outcomes} == {"pending"}


def test_answers_of_unknown_cost_keep_judges_from_being_asked_even_where_all_came(priced: Bench) -> None:
    priced.lab.api.answer = lambda call: Reply(body=chat("Answer: 4", usage=None))
    done = priced.run(run={"max_cost_usd": 1, "concurrency": 64})
    assert (done.status, priced.n_judged) == ("aborted", 0)
    assert priced.lab.row("select status from runs")["status"] == "complete"
    assert str(done.reason).startswith(
        "judge `judge`: max_cost_usd of $1.0 cannot hold: openai_compatible/m1"
    )


def test_a_judge_without_a_price_is_refused_under_a_ceiling_before_any_call(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.lab.folder.joinpath("prices.yaml").write_text(PRICES.replace("model: judge", "model: other"))
    monkeypatch.setenv("GRADETRAIL_PRICES", str(bench.lab.folder / "prices.yaml"))
    with pytest.raises(SpecError, match="no price for openai_compatible/judge"):
        bench.run(run={"max_cost_usd": 1})
    assert bench.lab.api.n_calls == 0


# ---- without the files, and in other runs


def test_a_run_is_graded_from_the_warehouse_when_spec_and_judge_file_are_gone(bench: Bench) -> None:
    done = bench.run()
    for name in ("spec.yaml", "judge.yaml", "data.jsonl"):
        (bench.lab.folder / name).unlink()
    assert bench.calls(lambda: bench.score(done.run_id, force=True)) == 0
    assert set(bench.scores().values()) == {1.0}


def test_a_run_is_graded_by_the_tasks_present_judge_file_not_by_its_own(bench: Bench) -> None:
    done = bench.run()
    bench.file({**BINARY, "prompt": "Newer. " + BINARY["prompt"]})
    bench.score(bench.spec())
    (bench.lab.folder / "judge.yaml").unlink()
    assert bench.calls(lambda: bench.score(done.run_id, force=True)) == 0
    versions = bench.lab.rows("select distinct scorer_version from graded")
    assert [row["scorer_version"] for row in versions] == [2]


def test_a_new_run_with_the_same_answers_pays_its_judge_nothing(bench: Bench) -> None:
    bench.run()
    again = bench.lab.run(bench.spec(), new=True)
    assert (again.is_new, bench.lab.api.n_calls, bench.n_judged) == (True, 12, 6)
    costs = bench.lab.rows("select role from costs where run_id = $run", run=again.run_id)
    assert [row["role"] for row in costs] == ["subject"]
    grades = bench.lab.rows("select raw_score from graded where run_id = $run", run=again.run_id)
    assert {row["raw_score"] for row in grades} == {1.0}


def test_refreshed_answers_are_judged_anew_only_where_they_differ(bench: Bench) -> None:
    bench.run()
    bench.answers["2+2"] = "I now say 5"
    bench.lab.run(bench.spec(), refresh=True)
    assert bench.n_judged == 7


def test_a_panel_of_judges_is_a_combination(bench: Bench) -> None:
    bench.file({**BINARY, "prompt": "Kindly. " + BINARY["prompt"]}, "kind.yaml")
    bench.file({**BINARY, "prompt": "Harshly. " + BINARY["prompt"]}, "harsh.yaml")
    bench.replies({"Harshly. Question: What is 2+2?": [{"score": 0, "reason": "never"}]})
    scorers = {
        "panel": {"type": "combine", "of": ["kind", "harsh"]},
        "kind": bench.judge(file="kind.yaml"),
        "harsh": bench.judge(file="harsh.yaml"),
    }
    spec = bench.spec(scorers=scorers)
    bench.lab.run(spec)
    rows = bench.lab.rows("select sample_id, raw_score from graded where scorer = 'panel' order by 1")
    assert [row["raw_score"] for row in rows] == [1.0, 0.5, 1.0, 1.0, 1.0, 1.0]
    agreement = bench.lab.row(
        "select n, n_b_passes from judge_agreement where a_scorer = 'harsh' and b_scorer = 'kind'"
    )
    assert (agreement["n"], agreement["n_b_passes"]) == (6, 1)
    assert bench.calls(lambda: bench.score(spec)) == 0


def test_judges_of_one_run_that_ask_the_same_pay_once(bench: Bench) -> None:
    scorers = {"one": bench.judge(), "three": bench.judge(votes=3)}
    bench.run(scorers=scorers)
    assert bench.n_judged == 18


def test_epochs_are_judged_each_by_its_own_answer(bench: Bench) -> None:
    bench.lab.data(SIX[:2])
    bench.run(epochs=3)
    # the server answers every epoch alike, so their questions to the judge are equal
    assert bench.n_judged == 2
    assert bench.lab.row("select count(*) as n from graded where raw_score = 1")["n"] == 6


# ---- the command


def test_the_commands_say_what_judges_did_and_exit_by_it(bench: Bench) -> None:
    bench.lab.data(SIX[:4])
    bench.spec()
    first = gradetrail("run", "spec.yaml")
    assert first.code == 0, first.err
    assert "judge `judge` of" in first.err
    again = gradetrail("score", "spec.yaml")
    assert (again.code, bench.n_judged) == (0, 4)
    assert "judge `judge`" not in again.err
    bench.file({**BINARY, "prompt": BINARY["prompt"] + " Be strict."})
    preview = gradetrail("score", "spec.yaml", "--preview", "--format", "json")
    lines = preview.err.splitlines()
    assert lines[0].endswith("judges would be asked about 4 answers, which are pending here")
    assert "4 trials of 1 run, graded anew:\njudge: 4 pending\n" in preview.err
    assert "in sums, judge: 1 -> pending" in preview.err
    assert "broken" not in preview.err
    offline = gradetrail("score", "spec.yaml", "--offline")
    assert (offline.code, bench.n_judged) == (0, 4)
    assert "4 grades are pending; without --offline their judges are asked" in offline.err
    bench.says = lambda call: "hm"
    failed = gradetrail("score", "spec.yaml")
    assert failed.code == 3
    assert "4 of 4 grades by `judge` failed" in failed.err
    assert bench.n_judged == 12


def test_the_line_about_a_judge_counts_its_calls_and_its_own_dollars(priced: Bench) -> None:
    priced.lab.data(SIX[:4])
    priced.replies({"2+2": ["hm"]})
    priced.spec(priced.judge(votes=3))
    done = gradetrail("run", "spec.yaml")
    (line,) = (line for line in done.err.splitlines() if "judge `judge` of" in line)
    assert priced.n_judged == 13
    assert "13/13 requests, 0 hits, $0.0260" in line
    priced.spec(priced.judge(votes=4))
    done = gradetrail("score", "spec.yaml")
    (line,) = (line for line in done.err.splitlines() if "judge `judge` of" in line)
    assert "4/4 requests, 13 hits, $0.0080" in line


def test_the_line_about_a_judge_that_costs_nothing_says_no_dollars(priced: Bench) -> None:
    priced.spec(priced.judge(model="mock/judge"))
    done = gradetrail("run", "spec.yaml")
    assert done.code == 0, done.err
    (subject, line) = (line for line in done.err.splitlines() if "6/6 requests" in line)
    assert ("$" in subject, "$" in line) == (True, False)


def test_a_judge_under_test_is_warned_of_on_stderr(bench: Bench) -> None:
    bench.spec(bench.judge(model=bench.lab.model()))
    bench.lab.api.answer = lambda call: None
    done = gradetrail("plan", "spec.yaml")
    assert "it grades its own answers" in done.err


def test_killed_while_judging_nothing_that_was_replied_is_asked_again(bench: Bench) -> None:
    """Kill -9 in the middle: what is in the journal is kept."""
    bench.lab.data([{**SIX[0], "id": f"s{n}", "question": f"What is {n}+0? [[gold={n}]]"} for n in range(40)])
    spec = bench.spec(run={"concurrency": 2})
    pipeline.generate(spec, warehouse=bench.lab.warehouse)
    process: list[subprocess.Popen[bytes]] = []

    def says(call: Call) -> Any:
        if bench.n_judged == 12:
            os.kill(process[0].pid, signal.SIGKILL)
        return right(call)

    bench.says = says
    command = [sys.executable, "-m", "gradetrail", "score", "spec.yaml"]
    process.append(subprocess.Popen(command, cwd=bench.lab.folder))
    assert process[0].wait() == -signal.SIGKILL
    before = bench.n_judged
    bench.says = right
    (item,) = bench.score(spec)
    assert item.n_rows == 40
    assert 40 - before <= bench.n_judged - before <= 40 - before + 2
    assert bench.lab.row("select count(*) as n from graded where outcome = 'scored'")["n"] == 40


def test_ctrl_c_while_judging_keeps_every_reply_and_says_how_to_go_on(bench: Bench) -> None:
    bench.lab.data([{**SIX[0], "id": f"s{n}", "question": f"What is {n}+0? [[gold={n}]]"} for n in range(40)])
    spec = bench.spec(run={"concurrency": 2})
    process: list[subprocess.Popen[str]] = []

    def says(call: Call) -> Any:
        if bench.n_judged == 12:
            os.kill(process[0].pid, signal.SIGINT)
        return right(call)

    bench.says = says
    command = [sys.executable, "-m", "gradetrail", "run", "spec.yaml"]
    process.append(subprocess.Popen(command, cwd=bench.lab.folder, stderr=subprocess.PIPE, text=True))
    _, said = process[0].communicate()
    assert process[0].returncode == 130, said
    assert "go on with: gradetrail run" in said
    before = bench.n_judged
    assert 12 <= before < 40
    counts = bench.lab.rows("select outcome, count(*) as n from graded group by all")
    assert {row["outcome"]: row["n"] for row in counts} == {"scored": before, "pending": 40 - before}
    bench.says = right
    bench.lab.run(spec)
    assert bench.n_judged == 40
