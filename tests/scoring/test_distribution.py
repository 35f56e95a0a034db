"""Grading on a real Ray cluster of two workers: every column of every grade is as without one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradetrail import pipeline
from gradetrail.dataset import Selection
from gradetrail.scoring.answers import PART_TRIALS, Share
from gradetrail.scoring.distribution import LEAST_TRIALS, shares_of
from gradetrail.warehouse import Warehouse
from tests.pipeline.processes import ROOT, started, until
from tests.scoring.whole import Desk

RAY = {"RAY_USAGE_STATS_ENABLED": "0"}
SCORE = """
import json, sys
from gradetrail import pipeline
from gradetrail.scoring import answers, distribution

distribution.LEAST_TRIALS, answers.PART_TRIALS = 10, 25
if len(sys.argv) > 2:
    foretold = pipeline.preview("spec.yaml", warehouse=sys.argv[1], executor="ray")
    print(json.dumps([foretold.flips, foretold.n_trials, foretold.n_unasked]))
graded = pipeline.score("spec.yaml", warehouse=sys.argv[1], executor="ray")
print(json.dumps([[item.run_id, item.scorer, item.n_rows, dict(item.counts)] for item in graded]))
"""
LENGTHS = """
def grade(frame):
    import polars as pl

    return pl.DataFrame({
        "score": frame["text"].str.len_chars() % 2 == 0,
        "detail": frame["question"] + ": " + frame["text"],
        "length": frame["text"].str.len_chars() / 100,
    })
"""
BLOCKED = """
def grade(frame):
    import fcntl, os

    open(f"HERE/worker-{os.getpid()}", "w").close()
    with open("HERE/gate") as gate:
        fcntl.flock(gate, fcntl.LOCK_SH)
    return [1.0] * len(frame)
"""
SCORERS: dict[str, Any] = {
    "found": {"type": "regex", "pattern": r"A: {{ answer }}\s*$"},
    "number": "numeric",
    "lengths": {"type": "python", "path": "lengths.py"},
    "query": {"type": "sql", "sql": "contains(text, answer)::double"},
    "both": {"type": "combine", "of": {"number": 2, "query": 1}},
    "program": {"type": "code_exec", "checks": "f() == {{ answer }}", "timeout_s": 6},
    "judged": {"type": "judge", "file": "correct.yaml", "model": "mock/judge"},
    "joined": {"type": "combine", "of": {"judged": 1, "found": 1}},
}


def answer(n: int, model: str) -> dict[str, Any]:
    texts = (
        f"```python\ndef f():\n    return {n}\n```\nso A: {n}",
        f"```python\ndef f():\n    raise ValueError({n})\n```\nA: {n + 1}",
        f"<think>hm</think> A: {n}\n",
        "I do not know.",
        "",
    )
    endless = "```python\nimport threading\ndef f():\n    threading.Event().wait()\n```"
    text = endless if (n, model) == (59, "m") else texts[(n + len(model)) % len(texts)]
    return {"sample_id": f"s{n}", "model": model, "text": text}


def answered(folder: Path, sizes: tuple[int, ...]) -> Desk:
    """Answer the samples in one run of each size, and grade none of them."""
    n_samples = max(sizes)
    answers = [answer(n, model) for model in ("m", "other") for n in range(n_samples)]
    samples = [{"id": f"s{n}", "question": f"What is {n}?", "answer": str(n)} for n in range(n_samples)]
    desk = Desk(folder, answers, samples)
    desk.write("lengths.py", LENGTHS)
    shutil.copy(ROOT / "specs" / "judges" / "correct.yaml", folder)
    spec = desk.spec({"first": "exact"})
    options = replace(pipeline.Invocation().options, new=True)
    for size in sizes:
        invocation = pipeline.Invocation(options=options, selection=Selection(limit=size))
        pipeline.generate(spec, warehouse=folder / "local", invocation=invocation)
    shutil.copytree(folder / "local", folder / "ray")
    return desk


def grades(root: Path) -> Counter[str]:
    """Give every column of every stored grade."""
    with Warehouse(root) as opened:
        assert not opened.is_partial
        names, rows = opened.rows("from scores")
    return Counter(json.dumps(dict(zip(names, row, strict=True)), sort_keys=True) for row in rows)


@pytest.mark.timeout(280)
def test_two_workers_give_the_grades_that_this_process_gives(tmp_path: Path) -> None:
    desk = answered(tmp_path, (60, 10, 8))
    spec = desk.spec(SCORERS, extract=[r"A:\s*(.+)"], run={"workers": 2})
    foretold = pipeline.preview(spec, warehouse=tmp_path / "local")
    local = pipeline.score(spec, warehouse=tmp_path / "local")
    done = subprocess.run(
        [sys.executable, "-c", SCORE, "ray", "preview first"],
        cwd=tmp_path, env={**os.environ, **RAY}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    said = [[item.run_id, item.scorer, item.n_rows, dict(item.counts)] for item in local]
    flips, *counts = json.loads(done.stdout.splitlines()[-2])
    assert flips == list(foretold.flips)
    assert counts == [foretold.n_trials, foretold.n_unasked] == [156, 126]
    assert json.loads(done.stdout.splitlines()[-1]) == said
    assert grades(tmp_path / "ray") == grades(tmp_path / "local")
    names = [sorted(os.listdir(tmp_path / root / "scores")) for root in ("ray", "local")]
    assert names[0] == names[1]
    assert len(names[0]) == 3 * len(SCORERS)
    assert any("timeout: " in row for row in grades(tmp_path / "ray"))
    again = pipeline.score(spec, warehouse=tmp_path / "ray")
    assert {item.n_rows for item in again} == {0}


@pytest.mark.timeout(280)
def test_a_worker_that_is_killed_costs_no_grade(tmp_path: Path) -> None:
    desk = answered(tmp_path, (12, 12, 12, 12))
    desk.write("blocked.py", BLOCKED.replace("HERE", str(tmp_path)))
    gate = tmp_path / "gate"
    gate.touch()
    scorers = {"number": "numeric", "blocked": {"type": "python", "path": "blocked.py"}}
    spec = desk.spec(scorers, extract="number", run={"workers": 2})
    pipeline.score(spec, warehouse=tmp_path / "local")
    own = set(tmp_path.glob("worker-*"))

    def workers() -> list[int]:
        return [int(path.name.removeprefix("worker-")) for path in set(tmp_path.glob("worker-*")) - own]

    import fcntl

    with gate.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        words = ("score", "spec.yaml", "--executor", "ray", "--warehouse", "ray", "--format", "json")
        with started(tmp_path, *words, **RAY) as driver:
            until(lambda: len(workers()) == 2, seconds=120)
            victim, _ = workers()
            os.kill(victim, signal.SIGKILL)
            until(lambda: len(workers()) == 3, seconds=120)
            fcntl.flock(held, fcntl.LOCK_UN)
            _, err = driver.communicate()
    assert driver.returncode == 0, err
    assert grades(tmp_path / "ray") == grades(tmp_path / "local")
    assert sum(grades(tmp_path / "ray").values()) == 4 * 12 * 2 * 2


@pytest.mark.parametrize(
    ("n_trials", "cores", "shares"),
    [
        ({"a": 5_000}, 1, {"a": [None]}),
        ({"a": 5_000}, 2, {"a": [Share(2, (0,)), Share(2, (1,))]}),
        ({"a": LEAST_TRIALS}, 64, {"a": [None]}),
        ({"a": 0}, 4, {"a": [None]}),
        ({"a": 5_000, "b": 5_000}, 2, {"a": [None], "b": [None]}),
        ({"a": 3_000, "b": 1_000}, 2, {"a": [Share(2, (0,)), Share(2, (1,))], "b": [None]}),
        ({"a": 3 * PART_TRIALS}, 2, {"a": [Share(3, (0, 2)), Share(3, (1,))]}),
        ({"a": 3 * PART_TRIALS}, 1, {"a": [None]}),
        ({}, 2, {}),
    ],
)
def test_runs_are_split_only_where_there_are_fewer_than_cores(
    n_trials: dict[str, int], cores: int, shares: dict[str, list[Share | None]]
) -> None:
    assert shares_of(n_trials, cores, lambda _, n: max(1, -(-n // PART_TRIALS))) == shares


def test_without_work_no_cluster_is_started(tmp_path: Path) -> None:
    desk = answered(tmp_path, (4,))
    spec = desk.spec({"number": "numeric"})
    pipeline.score(spec, warehouse=tmp_path / "ray")
    done = subprocess.run(
        [sys.executable, "-c", f"{SCORE}\nassert 'ray' not in sys.modules", "ray"],
        cwd=tmp_path, env={**os.environ, **RAY}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert [item[2] for item in json.loads(done.stdout.splitlines()[-1])] == [0]


def test_a_fault_in_a_worker_is_told_as_it_is_here(tmp_path: Path) -> None:
    desk = answered(tmp_path, (4,))
    desk.write("short.py", "def grade(frame):\n    return [1.0]\n")
    desk.spec({"short": {"type": "python", "path": "short.py"}}, run={"workers": 2})
    said = []
    for executor in ("local", "ray"):
        words = ("score", "spec.yaml", "--warehouse", executor, "--executor", executor)
        with started(tmp_path, *words, **RAY) as driver:
            _, err = driver.communicate()
        said.append((driver.returncode, [line for line in err.splitlines() if "gave 1 rows" in line]))
    assert said[0] == said[1]
    assert said[0][0] == 2
    assert said[0][1]
    assert not list((tmp_path / "ray").glob("scores/*"))
