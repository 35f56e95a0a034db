"""The Ray executor on a real cluster of two worker processes: the same rows, and workers may die."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.lab import Lab, lab_in, question_of
from tests.pipeline.processes import command, quiet, started, stored_questions, truth, until
from tests.servers import Call, Reply
from tests.servers.api import Behaviour

QUIETLY = {"RAY_USAGE_STATS_ENABLED": "0", "GRADETRAIL_NO_WAITING": "1"}
RAY = {"executor": "ray", "workers": 2, "concurrency": 8}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with lab_in(tmp_path) as opened:
        yield opened


def questions(lab: Lab, n: int) -> None:
    lab.data(
        [
            {"id": f"s{k}", "question": f"What is {k}+{k}? [[gold={2 * k}]]", "target": str(2 * k)}
            for k in range(n)
        ]
    )


def asked_questions(lab: Lab) -> Counter[str]:
    """Count how often the server was asked each question."""
    return Counter(question_of(call) for call in lab.api.calls)


def children(pid: int) -> Mapping[int, str]:
    """Give the command lines of all processes that descend from one, by process id."""
    found: dict[int, str] = {}
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, listing.read_text().split()):
            with contextlib.suppress(OSError):
                found[child] = Path(f"/proc/{child}/cmdline").read_text()
                found |= children(child)
    return found


def workers(driver: subprocess.Popen[str]) -> list[int]:
    """Give the process ids of the Ray workers that make calls."""
    return [pid for pid, line in children(driver.pid).items() if line.startswith("ray::Asker")]


SEEN: set[Any] = set()
"""What the server was asked before."""


def uneven(call: Call) -> Reply | None:
    """Refuse one question for good, and fail each third one at its first attempt."""
    question = question_of(call)
    number = int(question.removeprefix("What is ").partition("+")[0]) if question.startswith("What") else 0
    if number == 7:
        return Reply(400, {"error": {"message": "no", "code": "content_filter"}})
    asked = (json.dumps(call.body["messages"]), call.body["model"], call.body["seed"])
    is_first = asked not in SEEN
    SEEN.add(asked)
    if number % 3 == 1 and is_first:
        return Reply(500, {"error": {"message": "boom"}})
    return None


def test_two_workers_store_the_same_rows_as_this_process_alone(lab: Lab) -> None:
    questions(lab, 12)
    lab.api.answer = uneven
    prompts = {"plain": "{{ question }}", "script": {"turns": ["{{ question }}", "Are you sure?"]}}
    parts: dict[str, Any] = {
        "prompt": None, "prompts": prompts, "epochs": 2, "request": {"seed": 1, "logprobs": True},
        "models": [lab.model(name="m1"), lab.model(name="m2", temperature=0.5)],
    }  # fmt: skip
    counts = []
    for name, run in (("local", {"concurrency": 8}), ("ray", RAY)):
        SEEN.clear()
        lab.api.reset()
        lab.write(run=run, **parts)
        ended = command(lab.folder, "run", "spec.yaml", "--warehouse", name, **QUIETLY)
        assert ended.code == 0, ended.err
        counts.append(asked_questions(lab))
        assert lab.api.max_in_flight <= 8
    assert counts[0] == counts[1]
    assert truth(lab.folder / "ray") == truth(lab.folder / "local")


def test_a_worker_that_is_killed_costs_nothing_that_was_answered(lab: Lab) -> None:
    questions(lab, 200)
    lab.api.behaviour = Behaviour(0.05)
    lab.write(run=RAY)
    with started(lab.folder, "generate", "spec.yaml", **QUIETLY) as driver:
        until(lambda: lab.api.n_calls > 60)
        victim, survivor = workers(driver)
        # slow enough that both workers hold calls when one is killed, however busy the machine is
        lab.api.behaviour = Behaviour(2.0)
        until(lambda: lab.api.in_flight == RAY["concurrency"])
        stored = stored_questions(lab.warehouse)
        os.kill(victim, signal.SIGKILL)
        lab.api.behaviour = Behaviour(0.05)
        _, err = driver.communicate()
    assert survivor != victim
    assert driver.returncode == 0, err
    assert "complete, 200/200 requests" in err
    asked = asked_questions(lab)
    again = {question for question, n in asked.items() if n > 1}
    assert len(asked) == 200
    assert max(asked.values()) <= 2
    assert 0 < len(again) <= RAY["concurrency"]
    assert len(stored) > 20
    assert not again & stored.keys(), "what was answered was asked again"
    assert stored_questions(lab.warehouse) == dict.fromkeys(asked, 1)
    assert lab.row("select count(*) as n from trials where status = 'answered'") == {"n": 200}


def test_a_driver_that_is_killed_leaves_what_was_answered_to_the_next(lab: Lab) -> None:
    questions(lab, 200)
    lab.api.behaviour = Behaviour(0.05)
    lab.write(run=RAY)
    with started(lab.folder, "generate", "spec.yaml", **QUIETLY) as driver:
        until(lambda: lab.api.n_calls > 60)
        left = workers(driver)
        os.kill(driver.pid, signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left))
    quiet(lab.api)
    stored, first = stored_questions(lab.warehouse), asked_questions(lab)
    assert len(first - stored) <= RAY["concurrency"]
    lab.api.reset()
    lab.write(run={"concurrency": 8})
    ended = command(lab.folder, "run", "spec.yaml")
    assert ended.code == 0, ended.err
    assert not asked_questions(lab).keys() & stored.keys()
    assert set(stored_questions(lab.warehouse).values()) == {1}
    assert lab.row("select status, n_answered from runs") == {"status": "complete", "n_answered": 200}
