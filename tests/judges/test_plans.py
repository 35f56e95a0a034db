"""`plan` counts the calls of judges beside those of the models under test."""

from __future__ import annotations

import pytest

from tests.judges.bench import BINARY, Bench
from tests.pipeline.lab import SIX, chat, question_of
from tests.servers import Call, Reply

PAIR = {"kind": "preference", "version": 1}


def planned(bench: Bench, **parts: object) -> int:
    """Give the calls that judges would get."""
    spec = bench.spec(**parts)  # type: ignore[arg-type]
    return sum(one.n_requests for one in bench.lab.forecast(spec).estimates if "(judge" in one.model)


def shares(bench: Bench, **parts: object) -> tuple[int, int, int]:
    """Give (trials, hits, requests) of the judge as planned."""
    (one,) = (
        one
        for one in bench.lab.forecast(bench.spec(**parts)).estimates  # type: ignore[arg-type]
        if "(judge" in one.model
    )
    return one.n_trials, one.n_hits, one.n_requests


def test_hits_of_a_judge_are_requests_that_stored_replies_serve(bench: Bench) -> None:
    assert shares(bench) == (6, 0, 6)
    bench.run()
    assert shares(bench) == (6, 6, 0)
    assert shares(bench, judge=bench.judge(votes=3)) == (6, 6, 12)
    bench.file({**BINARY, "prompt": BINARY["prompt"] + " Be strict."})
    assert shares(bench) == (6, 0, 6)


@pytest.mark.parametrize("votes", [1, 3])
def test_the_judge_gets_as_many_calls_as_the_plan_says_and_then_none(bench: Bench, votes: int) -> None:
    judge = bench.judge(votes=votes)
    assert planned(bench, judge=judge) == 6 * votes
    assert bench.lab.api.n_calls == 0
    bench.run(judge)
    assert bench.n_judged == 6 * votes
    assert planned(bench, judge=judge) == 0


def test_a_changed_rubric_and_more_votes_and_samples_are_planned(bench: Bench) -> None:
    bench.lab.data(SIX[:4])
    bench.run()
    assert planned(bench, judge=bench.judge(votes=3)) == 8
    bench.lab.data(SIX)
    assert planned(bench) == 2
    bench.file({**BINARY, "prompt": BINARY["prompt"] + " Be strict."})
    assert planned(bench) == 6
    assert bench.calls(bench.run) == 6


def test_a_preference_is_planned_for_all_but_its_opponent(bench: Bench) -> None:
    bench.file(PAIR)
    bench.says = lambda call: {"winner": "tie", "reason": ""}
    models = [bench.lab.model(), bench.lab.model(name="m2", **{"as": "rival"})]
    parts = {"judge": bench.judge(against="rival", swap=True), "model": None, "models": models}
    assert planned(bench, **parts) == 12
    bench.run(**parts)  # type: ignore[arg-type]
    assert bench.n_judged == 12
    assert shares(bench, **parts) == (6, 12, 0)
    bench.lab.data([*SIX, {**SIX[0], "id": "s7", "question": "What is 7+7? [[gold=14]]"}])
    assert shares(bench, **parts) == (7, 12, 2)


def test_a_preference_of_a_model_to_itself_is_no_question(bench: Bench) -> None:
    bench.file(PAIR)
    parts = {"judge": bench.judge(against="openai_compatible/m1")}
    bench.run(**parts)  # type: ignore[arg-type]
    assert bench.n_judged == 0
    assert shares(bench, **parts) == (0, 0, 0)


def test_the_cost_of_a_judge_is_bounded_by_what_it_has_used(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    price = "- {provider: openai_compatible, model: judge, input_usd_per_mtok: 10, output_usd_per_mtok: 50}"
    bench.lab.folder.joinpath("prices.yaml").write_text(price)
    monkeypatch.setenv("GRADETRAIL_PRICES", str(bench.lab.folder / "prices.yaml"))
    first = bench.lab.forecast(bench.spec()).estimates[-1]
    assert first.cost_usd is not None
    assert (first.cost_usd.low, first.cost_usd.high) == (0, None), "no max_tokens bounds an answer"
    bench.run()
    again = bench.lab.forecast(bench.spec(bench.judge(votes=2))).estimates[-1]
    assert again.basis == "at most, without nudges; history of 6 calls"
    assert again.cost_usd is not None
    assert again.cost_usd.high == pytest.approx(6 * (100 * 10 + 20 * 50) / 1e6)


@pytest.mark.parametrize(
    "template", ["{{ question }} {{ response }}", "{{ conversation }} {{ response }} {{ target }}"]
)
@pytest.mark.parametrize("votes", [1, 2])
def test_the_cost_of_a_judge_that_was_never_asked_is_bounded_by_text_and_max_tokens(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, template: str, votes: int
) -> None:
    price = "- {provider: openai_compatible, model: judge, input_usd_per_mtok: 10, output_usd_per_mtok: 50}"
    bench.lab.folder.joinpath("prices.yaml").write_text(price)
    monkeypatch.setenv("GRADETRAIL_PRICES", str(bench.lab.folder / "prices.yaml"))
    bench.file({**BINARY, "prompt": template})

    def as_long_as_allowed(call: Call) -> Reply:
        usage = (len(question_of(call).encode()) // 3, 40)
        return Reply(body=chat('{"score": 1, "reason": ""}', usage=usage))

    bench.says = as_long_as_allowed
    bench.answers = {"": "seventeen words " * 10}
    judge = bench.judge(votes=votes, model=bench.lab.model(name="judge", max_tokens=40))
    spec = bench.spec(judge, model=bench.lab.model(max_tokens=40))
    forecast = bench.lab.forecast(spec).estimates[-1]
    assert forecast.basis == "at most, without nudges; text and max_tokens"
    bench.lab.run(spec)
    (row,) = bench.lab.rows("select sum(cost_usd) as usd, count(*) as n from call_costs where role = 'judge'")
    assert row["n"] == 6 * votes
    assert forecast.cost_usd is not None
    assert forecast.cost_usd.high is not None
    assert row["usd"] <= forecast.cost_usd.high <= 40 * row["usd"]
