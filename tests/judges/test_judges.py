"""A judge from start to end, on a server that counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.judges.bench import BINARY, Bench
from tests.judges.test_replies import CASES
from tests.pipeline.lab import SIX, chat
from tests.servers import Call, Reply

PRICES = """
- {provider: openai_compatible, model: m1, input_usd_per_mtok: 1, output_usd_per_mtok: 2}
- {provider: openai_compatible, model: judge, input_usd_per_mtok: 10, output_usd_per_mtok: 50}
"""


def test_the_server_counts_the_calls_of_the_plan_and_none_the_second_time(bench: Bench) -> None:
    spec = bench.spec()
    done = bench.lab.run(spec)
    assert (done.status, bench.lab.api.n_calls, bench.n_judged) == ("complete", 12, 6)
    assert bench.scores() == {f"s{n}": 1.0 for n in range(1, 7)}
    assert bench.calls(lambda: bench.score(spec)) == 0
    assert bench.calls(lambda: bench.lab.run(spec)) == 0
    assert bench.lab.api.n_calls == 12
    grade = bench.grade("s1")
    assert (grade["outcome"], grade["detail"], grade["extracted"]) == ("scored", "it is", "1")
    assert (grade["confidence"], grade["confidence_source"]) == (0.9, "judge")
    assert len(grade["judge_response_ids"]) == 1


def test_every_call_is_a_row_of_its_own_kind_and_priced_apart(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.lab.folder.joinpath("prices.yaml").write_text(PRICES)
    monkeypatch.setenv("GRADETRAIL_PRICES", "prices.yaml")
    done = bench.run(bench.judge(votes=3))
    kinds = bench.lab.rows(
        "select role, purpose, model, count(*) as n, count(distinct request_key) as n_keys"
        " from calls group by all"
    )
    assert {(k["role"], k["purpose"], k["model"], k["n"], k["n_keys"]) for k in kinds} == {
        ("subject", "answer", "m1", 6, 6),
        ("judge", "vote", "judge", 18, 18),
    }
    costs = {row["role"]: row for row in bench.lab.rows("select * from costs")}
    # 18 calls of 100 tokens at $10 and 20 at $50 a million
    assert float(costs["judge"]["paid_usd"]) == pytest.approx(18 * (100 * 10 + 20 * 50) / 1e6)
    assert (costs["judge"]["n_calls"], costs["judge"]["model"]) == (18, bench.lab.model()["model"])
    run = bench.lab.row("select * from runs")
    assert run["judge_usd"] == costs["judge"]["paid_usd"]
    assert run["paid_usd"] == costs["judge"]["paid_usd"] + costs["subject"]["paid_usd"]
    board = bench.lab.row("select cost_usd, output_tokens from leaderboard")
    assert board["cost_usd"] == costs["subject"]["paid_usd"]
    assert (run["status"], run["n_trials"], done.graded[0].n_rows) == ("complete", 6, 6)


def test_a_changed_rubric_asks_again_and_a_changed_threshold_does_not(bench: Bench) -> None:
    bench.run()
    assert bench.calls(lambda: bench.score(bench.spec(bench.judge(pass_threshold=1.0)))) == 0
    bench.file({**BINARY, "prompt": BINARY["prompt"] + " Be strict."})
    assert bench.calls(lambda: bench.score(bench.spec())) == 6
    assert bench.calls(lambda: bench.score(bench.spec())) == 0
    bench.file(BINARY)
    assert bench.calls(lambda: bench.score(bench.spec())) == 0
    versions = bench.lab.rows("select distinct scorer_version, scorer_id from grades")
    assert len(versions) == 3


def test_a_prompt_that_depends_on_the_sample_asks_again_only_where_it_differs(bench: Bench) -> None:
    bench.run()
    text = BINARY["prompt"] + "{% if id == 's3' %} Look twice.{% endif %}"
    bench.file({**BINARY, "prompt": text})
    assert bench.calls(lambda: bench.score(bench.spec())) == 1


def test_more_votes_ask_only_for_the_votes_that_are_missing(bench: Bench) -> None:
    bench.run(bench.judge(votes=2))
    assert bench.n_judged == 12
    assert bench.calls(lambda: bench.score(bench.spec(bench.judge(votes=3)))) == 6
    assert bench.calls(lambda: bench.score(bench.spec(bench.judge(votes=1)))) == 0


def test_equal_answers_to_equal_questions_are_judged_once(bench: Bench) -> None:
    bench.lab.data([{"id": f"s{n}", "question": "What is 1+1? [[gold=2]]", "target": "2"} for n in range(5)])
    done = bench.run()
    assert (bench.n_judged, done.graded[0].counts) == (1, {"scored": 5})


def test_a_reply_that_cannot_be_read_is_nudged_once(bench: Bench) -> None:
    bench.replies({"What is 2+2?": ["hm", {"score": 1, "reason": "now I see"}]})
    bench.run()
    assert (bench.n_judged, bench.grade("s2")["raw_score"]) == (7, 1.0)
    asked = [call.body["messages"][-1]["content"] for call in bench.judged if "2+2" in str(call.body)]
    assert asked[1].startswith(asked[0])
    assert "JSON object only" in asked[1]
    grade = bench.grade("s2")
    assert (grade["detail"], len(grade["judge_response_ids"])) == ("now I see", 2)
    purposes = bench.lab.rows("select purpose, count(*) as n from calls where role = 'judge' group by all")
    assert {row["purpose"]: row["n"] for row in purposes} == {"vote": 6, "nudge": 1}


def test_unreadable_replies_end_as_judge_error_and_leave_the_mean_alone(bench: Bench) -> None:
    bench.replies({"What is 2+2?": ["hm", "hm again"], "What is 3+3?": [{"score": 0, "reason": "no"}]})
    done = bench.run()
    assert done.graded[0].counts == {"scored": 5, "judge_error": 1}
    grade = bench.grade("s2")
    assert (grade["outcome"], grade["raw_score"], grade["counts_as"]) == ("judge_error", None, "missing")
    assert grade["detail"] == "vote 1: not a JSON object: hm again"
    assert len(grade["judge_response_ids"]) == 2
    board = bench.lab.row("select mean, n, n_errors from leaderboard")
    assert (board["mean"], board["n_errors"]) == (0.8, 1)
    assert bench.calls(lambda: bench.score(bench.spec())) == 0


def test_a_score_that_is_said_twice_is_nudged_and_then_a_judge_error(bench: Bench) -> None:
    twice = '{"reason": "ok", "score": 0, "score": 1}'
    bench.replies({"2+2": [twice, {"score": 1, "reason": "yes"}], "3+3": [twice, twice]})
    done = bench.run()
    assert done.graded[0].counts == {"scored": 5, "judge_error": 1}
    assert (bench.n_judged, bench.grade("s2")["raw_score"]) == (8, 1.0)
    assert bench.grade("s3")["detail"] == f"vote 1: `score` stands twice: {twice}"


def test_one_reply_that_was_cut_off_fails_alone(bench: Bench) -> None:
    case = next(c for c in CASES if c["case"] == "H30")
    first, cut, last = case["judge_replies"]
    bench.file({**BINARY, "kind": "score_0_1"})
    bench.lab.data(SIX[:3])
    whole = Reply(body=chat(cut, stop="length"))
    bench.replies({"1+1": [first], "2+2": [whole, whole], "3+3": [last]})
    bench.run()
    assert list(bench.scores().values()) == case["expect"]["scores"]
    assert bench.grade("s2")["detail"].startswith("vote 1: cut off, not a JSON object: {")
    board = bench.lab.row("select mean, n_errors from leaderboard")
    assert (board["mean"], board["n_errors"]) == (
        case["expect"]["mean_scored"],
        case["expect"]["judge_errors"],
    )


def said(reply: int | str) -> Any:
    return reply if isinstance(reply, str) else {"score": reply, "reason": f"vote {reply}"}


@pytest.mark.parametrize(
    ("replies", "score", "n_calls"),
    [
        ([[1], [0], [1]], 2 / 3, 3),
        ([[1], ["hm", "hm"], [0]], None, 4),
        ([["hm", 1]], 1.0, 2),
        ([["hm", "hm"]], None, 2),
        ([[0]], 0.0, 1),
    ],
)
def test_every_vote_is_asked_and_nudged_by_itself_and_paid(
    bench: Bench, replies: list[list[Any]], score: float | None, n_calls: int
) -> None:
    bench.lab.data(SIX[:1])
    bench.usage = (10, 5)
    bench.run(bench.votes([list(map(said, vote)) for vote in replies]))
    assert bench.grade("s1")["raw_score"] == score
    used = bench.lab.row(
        "select count(*) as n, sum(input_tokens) as i, sum(output_tokens) as o"
        " from calls where role = 'judge'"
    )
    assert (used["n"], used["i"], used["o"]) == (n_calls, 10 * n_calls, 5 * n_calls)
    assert len(bench.grade("s1")["judge_response_ids"]) == n_calls


@pytest.mark.parametrize(
    ("options", "replies", "score"),
    [
        ({"aggregate": "majority"}, [[1], [0], [1]], 1.0),
        ({"aggregate": "majority"}, [[1], [0]], 0.5),
        ({"min_votes": 2}, [["hm", "hm"], [1], [0]], 0.5),
        ({"min_votes": 1}, [["hm", "hm"], ["hm", "hm"], [1]], 1.0),
        ({"min_votes": 2}, [["hm", "hm"], ["hm", "hm"], [1]], None),
    ],
)
def test_votes_come_to_a_mean_or_a_majority_of_those_that_can_be_read(
    bench: Bench, options: dict[str, Any], replies: list[list[Any]], score: float | None
) -> None:
    bench.lab.data(SIX[:1])
    bench.run(bench.votes([list(map(said, vote)) for vote in replies], **options))
    assert bench.grade("s1")["raw_score"] == score
    assert bench.n_judged == sum(map(len, replies))


def test_votes_of_one_answer_are_asked_side_by_side_under_the_gate(bench: Bench) -> None:
    bench.lab.data(SIX[:1])
    bench.says = lambda call: Reply(body=chat(json.dumps({"score": 1, "reason": "so"})), delay_s=0.1)
    bench.run(bench.judge(votes=12), run={"concurrency": 4})
    assert (bench.n_judged, bench.lab.api.max_in_flight) == (12, 4)


def test_reasons_and_low_confidence_are_kept(bench: Bench) -> None:
    bench.says = lambda call: {"score": 1, "reason": "I guess", "confidence": 0.3}
    bench.run(bench.judge(votes=2))
    grade = bench.grade("s1")
    assert grade["detail"] == "low confidence 0.3; I guess; I guess"
    assert (grade["confidence"], grade["confidence_source"]) == (0.3, "judge")
    # how sure a judge is of its verdict says nothing of how sure the model is of its answer
    assert bench.lab.rows("select * from calibration") == []


def test_a_stated_confidence_of_the_answer_goes_before_the_judges(bench: Bench) -> None:
    bench.run(confidence={"regex": r"Answer: (\d+)", "scale": 100})
    grade = bench.grade("s3")
    assert (grade["confidence"], grade["confidence_source"]) == (0.06, "text")


# ---- what the judge sees


def test_the_judge_sees_the_answer_without_its_reasoning_unless_it_asks(bench: Bench) -> None:
    def answer(call: Call) -> Reply | None:
        if call.body["model"] == "judge":
            return Reply(body=chat('{"score": 1, "reason": ""}'))
        return Reply(body=chat("<think>secret</think>The answer is 2"))

    bench.lab.api.answer = answer
    bench.lab.data(SIX[:1])
    bench.run()
    assert "Answer: The answer is 2\n" in str(bench.judged[0].body["messages"][0]["content"])
    assert "secret" not in str(bench.judged[0].body)
    bench.file({**BINARY, "prompt": "{{ response }} {{ reasoning }}"})
    bench.score(bench.spec())
    assert "secret" in str(bench.judged[1].body)


def test_an_answer_is_never_a_template(bench: Bench) -> None:
    hostile = "{{ target }} {% raw %} {# [[gold=2]]"
    bench.lab.data([{"id": "a", "question": hostile, "target": "2"}])
    bench.lab.api.answer = lambda call: (
        Reply(body=chat('{"score": 1, "reason": "{{ id }}"}'))
        if call.body["model"] == "judge"
        else Reply(body=chat(hostile))
    )
    bench.run()
    asked = str(bench.judged[0].body["messages"][0]["content"])
    assert asked == f"Question: {hostile}\nRight: 2\nAnswer: {hostile}\nJSON, please."
    assert bench.grade("a")["detail"] == "{{ id }}"


def test_the_request_block_is_for_the_models_under_test_alone(bench: Bench) -> None:
    model = bench.lab.model(name="judge", temperature=0, max_tokens=77)
    bench.run(bench.judge(model=model), request={"max_tokens": 5, "stop": ["x"]})
    assert set(bench.judged[0].body) == {"model", "messages", "temperature", "max_tokens"}
    assert bench.judged[0].body["max_tokens"] == 77


def test_an_answer_that_is_empty_is_not_put_to_the_judge(bench: Bench) -> None:
    bench.lab.data(SIX[:2])
    bench.answers["1+1"] = ""
    bench.run()
    assert bench.n_judged == 1
    assert bench.grade("s1")["outcome"] == "empty"
    assert bench.grade("s1")["score"] == 0.0


def test_a_sample_without_a_target_is_not_judged_by_a_judge_that_shows_it(bench: Bench) -> None:
    bench.lab.data([{**SIX[0], "target": None}, SIX[1]])
    bench.run()
    assert (bench.n_judged, bench.grade("s1")["outcome"]) == (1, "no_target")
    bench.file({"kind": "binary", "version": 1, "prompt": "{{ response }}?"})
    bench.says = lambda call: {"score": 1, "reason": ""}
    assert bench.calls(lambda: bench.score(bench.spec())) == 2


def test_the_default_prompt_shows_what_was_asked_and_how_to_reply(bench: Bench) -> None:
    bench.file({"kind": "binary", "version": 1, "criteria": "Only the number counts.", "strict": True})
    bench.says = lambda call: {"score": 1, "reason": ""}
    bench.lab.data(SIX[:1])
    bench.run()
    asked = str(bench.judged[0].body["messages"][0]["content"])
    for part in ("What is 1+1?", "<reference>\n2\n", "Only the number counts.", "Be strict", '"score": 1 if'):
        assert part in asked
