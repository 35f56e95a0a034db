"""Which of two answers is better: against a model, a run or the target, in one order or both."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gradetrail import pipeline
from gradetrail.errors import SelectionError, SpecError
from gradetrail.scorer_spec import Judge, JudgeFile
from tests.judges.bench import Bench
from tests.pipeline.lab import SIX, question_of
from tests.servers import Call

PAIR = {
    "kind": "preference",
    "version": 1,
    "prompt": "{{ id }}\nA: {{ response_a }}\nB: {{ response_b }}\nEnd",
}


def prefers(text: str) -> Callable[[Call], Any]:
    """Prefer the answer that holds a text, wherever it stands; a tie if both or none do."""

    def says(call: Call) -> Any:
        _, a, b = question_of(call).replace("B: ", "\n").replace("A: ", "\n").split("\n\n", 2)
        verdict = {(True, False): "A", (False, True): "B"}.get((text in a, text in b), "tie")
        return {"winner": verdict, "reason": f"{verdict} it is"}

    return says


def always(winner: str) -> Callable[[Call], Any]:
    return lambda call: {"winner": winner, "reason": "so it seems"}


@pytest.fixture
def pair(bench: Bench) -> Bench:
    bench.file(PAIR)
    bench.lab.data(SIX[:3])
    return bench


def two_models(pair: Bench, **options: Any) -> Any:
    """Run two models, the second of which is the opponent."""
    lab = pair.lab
    models = [lab.model(), lab.model(name="m2", **{"as": "rival"})]
    return pair.run(pair.judge(against="rival", **options), model=None, models=models)


@pytest.mark.parametrize(("winner", "expected"), [("[mine]", 1.0), ("[theirs]", 0.0), ("[nobody]", 0.5)])
def test_the_better_answer_wins_in_both_orders(pair: Bench, winner: str, expected: float) -> None:
    pair.models = {"m1": "[mine] 1", "m2": "[theirs] 2"}
    pair.says = prefers(winner)
    two_models(pair, swap=True)
    assert pair.n_judged == 6
    rows = pair.lab.rows("select raw_score, is_pass, outcome, model from graded where model <> 'rival'")
    assert {row["raw_score"] for row in rows} == {expected}
    assert {row["is_pass"] for row in rows} == {expected == 1.0}, "only a win passes"
    orders = {str(call.body["messages"][0]["content"])[3:] for call in pair.judged}
    assert orders == {"A: [mine] 1\nB: [theirs] 2\nEnd", "A: [theirs] 2\nB: [mine] 1\nEnd"}


@pytest.mark.parametrize("winner", ["A", "B"])
def test_a_judge_that_goes_by_the_order_gives_ties_with_swap(pair: Bench, winner: str) -> None:
    pair.models = {"m1": "[mine] 1", "m2": "[theirs] 2"}
    pair.says = always(winner)
    two_models(pair, swap=True)
    grade = pair.lab.rows("select * from graded where model <> 'rival'")[0]
    assert (grade["raw_score"], len(grade["judge_response_ids"])) == (0.5, 2)
    assert grade["detail"].startswith("the orders disagree; so it seems")
    assert grade["extracted"] == f"{winner}, {winner}"


def test_without_swap_each_sample_has_an_order_of_its_own_that_stays(pair: Bench) -> None:
    pair.lab.data([{"id": f"s{n}", "question": f"{n}?", "target": "x"} for n in range(12)])
    pair.models = {"m1": "[mine] 1", "m2": "[theirs] 2"}
    pair.says = always("A")
    two_models(pair)
    assert pair.n_judged == 12
    scores = [
        row["raw_score"] for row in pair.lab.rows("select raw_score from graded where model <> 'rival'")
    ]
    assert set(scores) == {0.0, 1.0}
    assert pair.calls(lambda: two_models(pair)) == 0


def test_the_answer_compared_with_is_named_and_its_own_trials_are_skipped(pair: Bench) -> None:
    pair.models = {"m1": "[mine] 1", "m2": "[theirs] 2"}
    pair.says = prefers("[mine]")
    two_models(pair)
    theirs = pair.lab.rows(
        "select sample_id, response_id, outcome, detail, score from graded where model = 'rival'"
    )
    mine = pair.lab.rows("select sample_id, opponent_response_id from graded where model <> 'rival'")
    assert {row["outcome"] for row in theirs} == {"skipped"}
    assert {row["detail"] for row in theirs} == {"is the opponent itself"}
    assert {r["sample_id"]: r["opponent_response_id"] for r in mine} == {
        r["sample_id"]: r["response_id"] for r in theirs
    }


def test_the_target_can_be_the_opponent(pair: Bench) -> None:
    pair.models = {"m1": "[mine] 1"}
    pair.says = prefers("[mine]")
    pair.run(pair.judge(against="target", swap=True))
    grade = pair.grade("s2")
    assert (grade["raw_score"], grade["opponent_response_id"]) == (1.0, None)
    assert any("A: 4\nB: [mine] 1" in str(call.body["messages"][0]["content"]) for call in pair.judged)


def test_a_sample_without_a_target_has_nothing_to_be_compared_with(pair: Bench) -> None:
    pair.lab.data([{**SIX[0], "target": None}, SIX[1]])
    pair.says = always("A")
    pair.run(pair.judge(against="target"))
    assert (pair.n_judged, pair.grade("s1")["outcome"]) == (1, "no_target")


def test_another_run_can_be_the_opponent_and_a_newer_one_is_compared_anew(pair: Bench) -> None:
    pair.models = {"m1": "[old] 1"}
    base = pair.lab.spec(name="base")
    first = pipeline.generate(base, warehouse=pair.lab.warehouse)
    pair.models = {"m1": "[mine] 2"}
    spec = pair.spec(pair.judge(against="base@latest"), name="new", prompt="{{ question }} Now!")
    pair.says = prefers("[mine]")
    pair.lab.run(spec)
    assert set(pair.scores().values()) == {1.0}
    answers = pair.lab.rows("select response_id from trials where run_id = $run", run=first.run_id)
    named = pair.lab.rows("select opponent_response_id as id from graded where task = 'new'")
    assert {row["id"] for row in named} == {row["response_id"] for row in answers}
    assert pair.calls(lambda: pair.score(spec)) == 0
    pair.models = {"m1": "[mine] better"}
    pair.lab.run(base, refresh=True)
    assert pair.calls(lambda: pair.score(spec)) == 3
    assert set(pair.scores().values()) >= {0.5}


def test_a_sample_that_the_other_run_lacks_is_missing(pair: Bench) -> None:
    pipeline.generate(pair.lab.spec(name="base"), warehouse=pair.lab.warehouse)
    pair.lab.data(SIX[:4])
    pair.says = always("tie")
    pair.run(pair.judge(against="base@latest"), name="new")
    assert pair.grade("s4")["outcome"] == "no_target"
    assert pair.grade("s4")["detail"] == "no answer of the opponent"


@pytest.mark.parametrize(
    ("options", "file", "word"),
    [
        ({}, PAIR, "needs something to compare with"),
        ({"against": "nobody"}, PAIR, "no model `nobody` in the spec"),
        (
            {"against": "target"},
            {**PAIR, "kind": "binary", "prompt": "{{ response }}"},
            "only a preference takes",
        ),
        ({"against": "target"}, {**PAIR, "prompt": "{{ response }}"}, "'response' is undefined"),
    ],
)
def test_an_unfit_opponent_is_refused_before_any_call(
    pair: Bench, options: dict[str, Any], file: dict[str, Any], word: str
) -> None:
    pair.file(json.dumps(file))
    with pytest.raises(SpecError, match=word):
        pair.run(pair.judge(**options))
    assert pair.lab.api.n_calls == 0


def test_an_opponents_run_that_is_not_there_is_named(pair: Bench) -> None:
    with pytest.raises(SelectionError, match="nowhere"):
        pair.run(pair.judge(against="nowhere@latest"))
    assert pair.lab.api.n_calls == 0


def test_a_tie_passes_only_where_the_spec_says_so(pair: Bench) -> None:
    pair.models = {"m1": "[mine] 1"}
    pair.says = prefers("[nobody]")
    pair.run(pair.judge(against="target", swap=True))
    board = "select mean, n_pass, n from run_scores"
    assert pair.lab.rows(board) == [{"mean": 0.5, "n_pass": 0, "n": 3}]
    assert pair.lab.rows("select pass_threshold > 0.5 as is_above from scorers") == [{"is_above": True}]
    spec = pair.spec(pair.judge(against="target", swap=True, pass_threshold=0.5))
    assert pair.calls(lambda: pair.score(spec)) == 0, "the replies are kept"
    assert pair.lab.rows(board) == [{"mean": 0.5, "n_pass": 3, "n": 3}]


def test_one_vote_more_is_a_win_however_many_vote() -> None:
    most = Judge.model_fields["votes"].metadata
    n_votes = 2 * max(rule.le for rule in most if hasattr(rule, "le"))
    file = JudgeFile(kind="preference", version=1)
    assert 0.5 < file.threshold < 0.5 + 0.5 / n_votes
