"""Commands as processes of their own, and what must be equal in warehouses that hold the same truth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gradetrail.store import Store
from gradetrail.warehouse import Warehouse
from tests.servers import FakeApi
from tests.store.rows import rows_of

ROOT = Path(__file__).parents[2]
TIMED = (
    "run_id", "response_run_id", "call_id", "latency_ms", "ttft_ms", "started_at", "ended_at", "created_at",
)  # fmt: skip
"""Columns that differ between two runs which did the same."""


def environment(**more: str) -> dict[str, str]:
    """Give the environment of a command: this one's, and this checkout to import from."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


@contextmanager
def started(folder: Path, *arguments: object, **more: str) -> Iterator[subprocess.Popen[str]]:
    """Start `gradetrail ARGUMENTS` in a folder; it is dead at the end."""
    command = [sys.executable, "-m", "gradetrail", *map(str, arguments)]
    process = subprocess.Popen(
        command, cwd=folder, env=environment(**more), text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.kill()


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def command(folder: Path, *arguments: object, **more: str) -> Ended:
    """Run `gradetrail ARGUMENTS` in a folder to its end."""
    with started(folder, *arguments, **more) as process:
        out, err = process.communicate()
        return Ended(process.returncode, out, err)


FORKS = """
import json, os, sys
import aiohttp, duckdb, pyarrow, pyarrow.json, pyarrow.parquet
import gradetrail.cli.app, gradetrail.pipeline, gradetrail.providers.openai_compatible
from gradetrail.cli import main
prefix = sys.argv[1]
for line in sys.stdin:
    children = []
    for number, arguments in enumerate(json.loads(line)):
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for stream, kind in ((1, "out"), (2, "err")):
                os.dup2(os.open(f"{prefix}{number}.{kind}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            sys.argv = ["gradetrail", *arguments]
            code = 0
            try:
                main()
            except SystemExit as end:
                code = end.code or 0
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
        children.append(child)
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]), flush=True)
"""


class Forks:
    """Runs many commands at once, forked from a process that has everything imported."""

    def __init__(self, process: subprocess.Popen[str], prefix: Path) -> None:
        self._process, self._prefix = process, prefix

    def __call__(self, *commands: Sequence[object]) -> list[Ended]:
        """Start all commands at the same time and give how each ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([list(map(str, command)) for command in commands]) + "\n")
        self._process.stdin.flush()
        codes = json.loads(self._process.stdout.readline())
        return [Ended(code, self._said(n, "out"), self._said(n, "err")) for n, code in enumerate(codes)]

    def _said(self, number: int, kind: str) -> str:
        return Path(f"{self._prefix}{number}.{kind}").read_text()


@contextmanager
def forks(folder: Path, name: str, **more: str) -> Iterator[Forks]:
    """Start the process that commands are forked from, in a folder; `name` tells several apart."""
    prefix = folder / f"{name}-"
    with subprocess.Popen(
        [sys.executable, "-c", FORKS, str(prefix)], cwd=folder, env=environment(**more), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield Forks(process, prefix)
        finally:
            process.kill()


def until(is_true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something that another thread or process brings about."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.002)):
        if is_true():
            return
        pause.wait(0.002)
    raise AssertionError(f"it did not come true in {seconds:g} s")


def quiet(api: FakeApi) -> None:
    """Wait until the server has read everything that a process which is dead now has sent."""
    until(lambda: api.n_connected == 0)


def table(opened: Warehouse, name: str, leave_out: Sequence[str] = TIMED) -> Counter[str]:
    """Give the rows of a table or view as JSON, without some columns, and how often each is there."""
    names, rows = opened.rows(f"select * from {name}")
    kept = [number for number, column in enumerate(names) if column not in leave_out]
    return Counter(json.dumps({names[n]: row[n] for n in kept}, default=str, sort_keys=True) for row in rows)


def truth(root: Path) -> dict[str, Counter[str]]:
    """Give everything that must be equal however the answers came about, times apart."""
    board = (*TIMED, "latency_p50_ms", "latency_p95_ms", "oldest_answer_at")
    with Warehouse(root) as opened:
        assert opened.damaged == ()
        stored = {name: table(opened, name) for name in ("trials", "responses", "calls", "scores", "samples")}
        _, runs = opened.rows("select task, status, n_trials, n_answered, n_failed, n_pending from runs")
        return {
            **stored,
            "leaderboard": table(opened, "leaderboard", board),
            "runs": Counter(json.dumps(run) for run in runs),
        }


def stored_questions(root: Path) -> Counter[str]:
    """Give the question of each stored answer, and how often it is stored; fails if anything is damaged."""
    if not (root / "gradetrail.json").exists():
        return Counter()
    live = Store(root, create=False).live()
    assert live.damaged == []
    return Counter(json.loads(row[0])[-1]["content"] for row in rows_of(live, "responses", "messages"))
