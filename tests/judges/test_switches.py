"""A judge that grades some of the answers: as a case of a switch."""

from __future__ import annotations

from typing import Any

import pytest

from gradetrail import pipeline
from gradetrail.errors import SpecError
from tests.judges.bench import BINARY, Bench
from tests.pipeline.lab import SIX

RUBRIC = {"kind": "rubric", "version": 1, "levels": [0, 1], "criteria": {"tone": "Is it kind?"}}
KINDS = ("number", "number", "open", "open", "style", "none")


@pytest.fixture
def mixed(bench: Bench) -> Bench:
    """Two answers for a rule, two for a judge, one for another judge, one for nobody."""
    bench.file(RUBRIC, "style.yaml")
    bench.lab.data([{**row, "kind": kind} for row, kind in zip(SIX, KINDS, strict=True)])
    bench.answers = {"2+2": "Answer: 5", "4+4": "Answer: 9"}
    bench.replies({"5+5": [{"scores": {"tone": 1}, "reason": "kind"}]})
    return bench


def switch(bench: Bench, **judge: Any) -> dict[str, Any]:
    cases = {
        "number": "numeric",
        "open": bench.judge(**judge),
        "style": bench.judge(file="style.yaml"),
    }
    return {"mixed": {"type": "switch", "on": "{{ kind }}", "cases": cases}}


def test_each_judge_is_asked_about_its_own_case_alone(mixed: Bench) -> None:
    done = mixed.run(scorers=switch(mixed))
    assert mixed.n_judged == 3
    rows = mixed.lab.rows(
        "select sample_id, outcome, raw_score, detail, judge_response_ids is not null as is_judged"
        " from graded where metric = 'score' order by sample_id"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("s1", "scored", 1.0, None, False),
        ("s2", "scored", 0.0, None, False),
        ("s3", "scored", 1.0, "it is", True),
        ("s4", "scored", 0.0, "it is not", True),
        ("s5", "scored", 1.0, "kind", True),
        ("s6", "scorer_error", None, "no case for `none`", False),
    ]
    tones = mixed.lab.rows("select sample_id, raw_score from graded where metric = 'tone'")
    assert [tuple(row.values()) for row in tones if row["raw_score"] is not None] == [("s5", 1.0)]
    assert done.graded[0].counts == {"scored": 5, "scorer_error": 1}


def test_a_second_score_asks_nothing_and_a_changed_file_only_its_own_case(mixed: Bench) -> None:
    mixed.run(scorers=switch(mixed))
    spec = mixed.spec(scorers=switch(mixed))
    assert mixed.calls(lambda: mixed.score(spec)) == 0
    mixed.file({**BINARY, "prompt": BINARY["prompt"] + " Be strict."})
    assert mixed.calls(lambda: mixed.score(mixed.spec(scorers=switch(mixed)))) == 2
    assert mixed.calls(lambda: mixed.score(mixed.spec(scorers=switch(mixed, votes=3)))) == 4


def test_offline_leaves_the_judged_cases_pending_and_grades_the_others(mixed: Bench) -> None:
    spec = mixed.spec(scorers=switch(mixed))
    pipeline.generate(spec, warehouse=mixed.lab.warehouse)
    (graded,) = mixed.score(spec, offline=True)
    assert graded.counts == {"scored": 2, "pending": 3, "scorer_error": 1}
    assert mixed.n_judged == 0
    (graded,) = mixed.score(spec)
    assert (graded.counts, mixed.n_judged) == ({"scored": 5, "scorer_error": 1}, 3)


def test_the_plan_counts_the_calls_of_each_case(mixed: Bench) -> None:
    scorers = switch(mixed, votes=2)
    planned = {
        one.model.rpartition(".")[2].removesuffix("`)"): (one.n_trials, one.n_requests)
        for one in mixed.lab.forecast(mixed.spec(scorers=scorers)).estimates
        if "(judge" in one.model
    }
    assert planned == {"open": (2, 4), "style": (1, 1)}
    mixed.run(scorers=scorers)
    assert mixed.n_judged == 5


def test_a_case_may_be_a_preference_against_another_model(mixed: Bench) -> None:
    mixed.file({"kind": "preference", "version": 1}, "judge.yaml")
    mixed.models = {"m2": "Answer: 1"}
    mixed.says = lambda call: {"winner": "tie", "reason": "both"}
    lab = mixed.lab
    cases = {"number": "numeric", "style": "numeric", "open": mixed.judge(against="rival", swap=True)}
    scorers = {"mixed": {"type": "switch", "on": "{{ kind }}", "cases": cases}}
    models = [lab.model(), lab.model(name="m2", **{"as": "rival"})]
    mixed.run(scorers=scorers, model=None, models=models)
    assert mixed.n_judged == 4
    rows = lab.rows(
        "select model = 'rival' as is_rival, outcome, raw_score from graded where sample_id = 's3' order by 1"
    )
    assert [tuple(row.values()) for row in rows] == [(False, "scored", 0.5), (True, "skipped", None)]
    spec = mixed.spec(scorers=scorers, model=None, models=models)
    assert [graded.n_rows for graded in mixed.score(spec)] == [0]


def test_the_calls_of_a_case_are_priced(mixed: Bench) -> None:
    # a model of the price package, so that whose prices are needed must be known from the definition
    mixed.run(scorers=switch(mixed, model=mixed.lab.model("openai", "gpt-4o-mini")))
    costs = mixed.lab.rows("select cost_usd from call_costs where provider_model = 'gpt-4o-mini'")
    # its replies are no verdicts: two votes and two nudges
    assert [row["cost_usd"] > 0 for row in costs] == [True] * 4


def test_faults_of_a_case_are_told_with_its_place(mixed: Bench) -> None:
    cases = {"open": mixed.judge(file="lost.yaml"), "style": mixed.judge(swap=True)}
    with pytest.raises(SpecError) as raised:
        mixed.run(scorers={"mixed": {"type": "switch", "on": "{{ kind }}", "cases": cases}})
    assert {fault.field for fault in raised.value.faults} == {
        "scorers.mixed.cases.open.file", "scorers.mixed.cases.style.swap",
    }  # fmt: skip


def test_a_missing_key_of_a_case_is_told_before_any_call(mixed: Bench) -> None:
    model = mixed.lab.model("openai", "judge", api_key_env="NO_SUCH_KEY")
    with pytest.raises(SpecError, match="NO_SUCH_KEY"):
        mixed.run(scorers=switch(mixed, model=model))
    assert mixed.lab.api.n_calls == 0


def test_no_header_value_of_a_case_is_stored(mixed: Bench) -> None:
    secret = "hush-0123456789"
    mixed.run(scorers=switch(mixed, model=mixed.lab.model(name="judge", headers={"X-Team": secret})))
    assert "x-team" in mixed.judged[0].headers
    files = [path for path in mixed.lab.warehouse.rglob("*") if path.is_file()]
    assert files
    assert not any(secret.encode() in path.read_bytes() for path in files)


def test_a_run_is_graded_again_from_the_warehouse_alone(mixed: Bench) -> None:
    done = mixed.run(scorers=switch(mixed))
    (mixed.lab.folder / "judge.yaml").unlink()
    (mixed.lab.folder / "style.yaml").unlink()
    again = pipeline.score(done.run_id, warehouse=mixed.lab.warehouse, force=True)
    assert (again[0].counts, mixed.n_judged) == ({"scored": 5, "scorer_error": 1}, 3)
