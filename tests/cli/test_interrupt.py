"""Ctrl-C: calls in flight end, what was answered is kept, and the way to go on is printed."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab
from tests.servers import Call, Reply

WAIT_S = 30


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start the real command in the working folder."""
    with subprocess.Popen(
        [sys.executable, "-m", "gradetrail", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


class Held:
    """Answers the first `free` calls at once and the others as `held` says."""

    def __init__(self, lab: Lab, free: int, n_held: int, held: Reply) -> None:
        self._seen, self._free, self._n_held, self._held = 0, free, n_held, held
        self.all_wait = threading.Event()
        lab.api.answer = self.answer

    def answer(self, call: Call) -> Reply | None:
        self._seen += 1
        if self._seen == self._free + self._n_held:
            self.all_wait.set()
        return self._held if self._seen > self._free else None


SLOW, NEVER = Reply(delay_s=1.0), Reply(fault="hang")


def spec_with(lab: Lab, concurrency: int) -> None:
    lab.data([{"id": f"s{n}", "question": f"{n}? [[gold={n}]]", "target": str(n)} for n in range(20)])
    lab.write(run={"concurrency": concurrency})


def test_one_interrupt_lets_calls_in_flight_end_and_says_how_to_go_on(lab: Lab) -> None:
    lab.warehouse_name = "my warehouse"
    spec_with(lab, concurrency=4)
    lab.write("later.yaml", name="later")
    held = Held(lab, free=5, n_held=4, held=SLOW)
    with started("run", "spec.yaml", "later.yaml", "--epochs", "1", "--warehouse", "my warehouse") as process:
        assert held.all_wait.wait(WAIT_S)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    # what was in flight was answered and is kept; nothing was started after the interrupt
    assert lab.api.n_calls == 9
    assert lab.row("select count(*) as n from responses") == {"n": 9}
    assert not list(lab.warehouse.glob("journal/*.jsonl"))
    states = lab.row("select status, n_answered, n_pending, n_failed from runs")
    assert states == {"status": "interrupted", "n_answered": 9, "n_pending": 11, "n_failed": 0}
    command = err.partition("go on with: ")[2].splitlines()[0]
    run_id = lab.row("select run_id from runs")["run_id"]
    assert command == f"gradetrail run {run_id} later.yaml --epochs 1 --warehouse 'my warehouse'"
    lab.api.answer = None
    again = gradetrail(*shlex.split(command)[1:])
    assert again.code == 0, again.err
    assert lab.api.n_calls == 20
    assert lab.rows("select task, status, n_answered from runs order by task") == [
        {"task": "later", "status": "complete", "n_answered": 20},
        {"task": "sums", "status": "complete", "n_answered": 20},
    ]
    assert lab.rows("select n, mean from leaderboard") == [{"n": 20, "mean": 1.0}] * 2


def test_a_second_interrupt_cuts_the_calls_in_flight(lab: Lab) -> None:
    spec_with(lab, concurrency=4)
    held = Held(lab, free=5, n_held=4, held=NEVER)
    with started("run", "spec.yaml") as process:
        assert held.all_wait.wait(WAIT_S)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        for line in process.stderr:
            if "4 calls in flight may end first; Ctrl-C cuts them" in line:
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert lab.row("select count(*) as n from responses") == {"n": 5}
    assert lab.row("select status, n_answered, n_pending from runs") == {
        "status": "interrupted", "n_answered": 5, "n_pending": 15,
    }  # fmt: skip
    lab.api.answer = None
    before = lab.api.n_calls
    assert gradetrail("run", "spec.yaml").code == 0
    assert lab.api.n_calls - before == 15


def test_a_termination_is_an_interrupt(lab: Lab) -> None:
    spec_with(lab, concurrency=2)
    held = Held(lab, free=3, n_held=2, held=SLOW)
    with started("generate", "spec.yaml") as process:
        assert held.all_wait.wait(WAIT_S)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130, err
    assert lab.row("select n_answered from runs") == {"n_answered": 5}
