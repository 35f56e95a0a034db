"""Scripted conversations: each turn is an ordinary request that holds the earlier answers, paid once."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradetrail import pipeline
from gradetrail.pipeline import Run
from gradetrail.testing import no_waiting
from tests.pipeline.lab import Lab, invocation, lab_in
from tests.pipeline.processes import command, quiet, started, stored_questions, until
from tests.servers import Call, Reply

TURNS = ["{{ question }}", "Are you sure?", "Then say it again: {{ question }}"]
SCRIPT = {"script": {"turns": TURNS}}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with no_waiting(), lab_in(tmp_path) as opened:
        yield opened


def generate(lab: Lab, prompts: dict[str, Any] = SCRIPT, **parts: Any) -> Run:
    """Make the calls of a spec with these prompts."""
    asked = parts.pop("asked", {})
    return pipeline.generate(
        lab.spec(prompt=None, prompts=prompts, **parts),
        warehouse=lab.warehouse,
        invocation=invocation(**asked),
    )


def messages(lab: Lab) -> list[list[dict[str, str]]]:
    """Give what the server was asked."""
    return [body["messages"] for body in lab.api.bodies]


def echo(call: Call) -> Reply:
    """Answer with the number of messages and the last of them, so that every answer differs."""
    asked = call.body["messages"]
    text = f"{len(asked)}: {asked[-1]['content']}"
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return Reply(body={"id": "x", "object": "chat.completion", "model": "m1", "choices": [choice]})


def test_each_turn_holds_the_answers_to_those_before_it(lab: Lab) -> None:
    lab.api.answer = echo
    assert generate(lab, run={"concurrency": 1}).status == "complete"
    assert lab.api.n_calls == 18
    question = "What is 1+1? [[gold=2]]"
    first = {"role": "user", "content": question}
    second = [
        first,
        {"role": "assistant", "content": f"1: {question}"},
        {"role": "user", "content": "Are you sure?"},
    ]
    third = [
        *second,
        {"role": "assistant", "content": "3: Are you sure?"},
        {"role": "user", "content": f"Then say it again: {question}"},
    ]
    assert messages(lab)[:3] == [[first], second, third]


def test_only_the_last_answer_answers_the_trial_and_each_call_says_its_turn(lab: Lab) -> None:
    lab.api.answer = echo
    generate(lab)
    assert lab.rows("select purpose, turn, count(*) as n from calls group by all order by turn") == [
        {"purpose": "turn", "turn": 1, "n": 6},
        {"purpose": "turn", "turn": 2, "n": 6},
        {"purpose": "answer", "turn": 3, "n": 6},
    ]
    texts = lab.rows(
        """
        select trials.sample_id, responses.text, trials.request_key = responses.request_key as is_own
        from trials
        inner join responses
            on trials.response_run_id = responses.run_id and trials.response_id = responses.response_id
        order by trials.sample_id
        """
    )
    assert texts == [
        {
            "sample_id": f"s{n}",
            "text": f"5: Then say it again: What is {n}+{n}? [[gold={2 * n}]]",
            "is_own": True,
        }
        for n in range(1, 7)
    ]


def test_a_second_run_asks_nothing_and_a_new_one_neither(lab: Lab) -> None:
    first = generate(lab)
    assert lab.calls(lambda: generate(lab)) == 0
    assert lab.calls(lambda: generate(lab, asked={"new": True})) == 0
    again = generate(lab, asked={"new": True})
    assert again.run_id != first.run_id
    assert again.status == "complete"
    assert lab.row("select count(distinct response_id) as n from trials") == {"n": 6}
    # each run sees the conversation of its own answers, whichever run paid for them
    assert lab.row("select count(*) as n from responses") == {"n": 18}


def test_asking_afresh_asks_every_turn(lab: Lab) -> None:
    generate(lab)
    assert lab.calls(lambda: generate(lab, asked={"refresh": True})) == 18


def test_turns_that_are_equal_are_paid_once_however_many_conversations_hold_them(lab: Lab) -> None:
    lab.api.answer = echo
    prompts = {
        "plain": "{{ question }}",
        "sure": {"turns": ["{{ question }}", "Are you sure?"]},
        "really": {"turns": ["{{ question }}", "Really?"]},
        "both": {"turns": ["{{ question }}", "Are you sure?", "Really?"]},
    }
    assert generate(lab, prompts).status == "complete"
    # a sample takes: the question, two second turns, one third turn
    assert lab.api.n_calls == 6 * 4
    assert max(Counter(json.dumps(asked) for asked in messages(lab)).values()) == 1
    assert lab.row("select count(*) as n from trials where status = 'answered'") == {"n": 24}
    assert lab.row(
        """
        select count(*) as n
        from trials
        inner join responses
            on trials.response_run_id = responses.run_id and trials.response_id = responses.response_id
        """
    ) == {"n": 24}


@pytest.mark.parametrize("order", [("plain", "sure"), ("sure", "plain")])
def test_a_question_and_a_first_turn_that_are_equal_are_paid_once_in_whichever_run(
    lab: Lab, order: tuple[str, str]
) -> None:
    prompts = {"plain": "{{ question }}", "sure": {"turns": ["{{ question }}", "Are you sure?"]}}
    for name in order:
        generate(lab, prompts, asked={"prompts": (name,)})
    assert lab.api.n_calls == 12
    assert lab.row("select count(*) as n from trials where status = 'answered'") == {"n": 12}


def test_samples_that_open_alike_share_the_opening(lab: Lab) -> None:
    lab.api.answer = echo
    generate(lab, {"script": {"turns": ["I will ask you something.", "{{ question }}"]}})
    assert lab.api.n_calls == 1 + 6
    assert lab.row("select count(distinct response_id) as n from trials") == {"n": 6}


def test_each_epoch_is_a_conversation_of_its_own(lab: Lab) -> None:
    generate(lab, epochs=2)
    assert lab.api.n_calls == 36


def test_a_system_message_and_examples_stand_before_the_first_turn(lab: Lab) -> None:
    lab.api.answer = echo
    lab.data([{"question": "How much is 5+5?", "target": "10"}], "dev.jsonl")
    generate(
        lab, request={"system": "Be brief."}, few_shot={"path": "dev.jsonl", "n": 1}, run={"concurrency": 1}
    )
    asked = messages(lab)[2]
    assert [message["role"] for message in asked] == [
        "system", "user", "assistant", "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert [message["content"] for message in asked[:4]] == [
        "Be brief.", "How much is 5+5?", "10", "What is 1+1? [[gold=2]]",
    ]  # fmt: skip


def test_a_turn_that_fails_is_an_error_of_every_conversation_that_needs_it(lab: Lab) -> None:
    def answer(call: Call) -> Reply:
        is_refused = len(call.body["messages"]) == 1 and "3+3" in call.body["messages"][0]["content"]
        return Reply(400, {"error": {"message": "no"}}) if is_refused else echo(call)

    lab.api.answer = answer
    prompts = {
        "sure": {"turns": ["{{ question }}", "Are you sure?"]},
        "really": {"turns": ["{{ question }}", "Really?"]},
    }
    run = generate(lab, prompts)
    assert run.status == "complete"
    assert (run.progress.n_done, run.progress.errors["bad_request"]) == (12, 2)
    assert lab.rows(
        "select prompt, sample_id, error_type from trials where status = 'error' order by prompt"
    ) == [
        {"prompt": "really", "sample_id": "s3", "error_type": "bad_request"},
        {"prompt": "sure", "sample_id": "s3", "error_type": "bad_request"},
    ]
    assert lab.row("select count(*) as n from calls where status = 'error'") == {"n": 1}
    lab.api.answer = echo
    assert lab.calls(lambda: generate(lab, prompts)) == 3


def test_kill_9_between_turns_asks_only_the_turns_that_are_missing(lab: Lab) -> None:
    def answer(call: Call) -> Reply:
        reply = echo(call)
        # third turns never come, so each conversation stands after its second
        return Reply(fault="hang") if len(call.body["messages"]) == 5 else reply

    lab.api.answer = answer
    lab.write(prompt=None, prompts=SCRIPT)
    with started(lab.folder, "generate", "spec.yaml") as process:
        until(lambda: lab.api.n_calls == 18)
        os.kill(process.pid, signal.SIGKILL)
    quiet(lab.api)
    assert sorted(stored_questions(lab.warehouse).values()) == [1] * 6 + [6]
    lab.api.reset()
    lab.api.answer = echo
    ended = command(lab.folder, "generate", "spec.yaml")
    assert ended.code == 0, ended.err
    assert [len(asked) for asked in messages(lab)] == [5] * 6
    assert lab.row("select count(*) as n from calls") == {"n": 18}
    assert lab.row("select status, n_answered, n_pending from runs") == {
        "status": "complete", "n_answered": 6, "n_pending": 0,
    }  # fmt: skip


def test_a_plan_counts_conversations_and_shows_every_turn(lab: Lab) -> None:
    lab.write(prompt=None, prompts=SCRIPT)
    shown = command(lab.folder, "plan", "spec.yaml", "--show", "1")
    assert shown.code == 0, shown.err
    question = "What is 1+1? [[gold=2]]"
    lines = [
        f"[user] {question}", "[assistant] (answer to turn 1)", "[user] Are you sure?",
        "[assistant] (answer to turn 2)", f"[user] Then say it again: {question}",
    ]  # fmt: skip
    assert "\n".join(lines) in shown.err
    assert lab.api.n_calls == 0
    assert lab.forecast(lab.spec(prompt=None, prompts=SCRIPT)).todo.n_requests == 6
    generate(lab)
    assert lab.forecast(lab.spec(prompt=None, prompts=SCRIPT)).todo.n_requests == 0
