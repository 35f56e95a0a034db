"""Does an operation again and again, each time struck one step on disk later; a process of its own.

    python -m tests.faults.steps FOLDER OPERATION FAULT EVERY

FAULT is `kill`, or the error that every step meets from then on (`ENOSPC`, `EROFS`). Each time another
process reads what is there, and a third does the operation again. Prints one JSON line for each step.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401 - imported before the forks
import pyarrow.json
import pyarrow.parquet  # noqa: F401

from gradetrail.errors import GradetrailError, SelectionError
from gradetrail.providers import mock  # noqa: F401
from gradetrail.store import Store
from tests.faults.injection import KILL, Steps, forked
from tests.faults.operations import OPERATIONS, Operation, copied
from tests.pipeline.processes import truth
from tests.store.rows import rows_of

KEYS = {
    "trials": ("run_id, model, prompt, sample_id, epoch", "status, response_id"),
    "responses": ("run_id, response_id", "text"),
    "calls": ("call_id", "response_id"),
    "scores": ("run_id, scorer_id, metric, model, prompt, sample_id, epoch", "outcome, score"),
    "samples": ("dataset_id, sample_id", "content"),
}
"""Of each table: what names a row, and what it says."""
STRUCK = 3
"""Exit status of an operation that ended with an error which the product tells."""

State = dict[str, list[tuple[str, str]]]


def state_of(root: Path) -> State:
    """Read every row as (name, what it says), by table, and the manifests; fails if anything is damaged."""
    live = Store(root, create=False).live()
    assert live.damaged == [], [str(fault) for fault in live.damaged]
    found: State = {"runs": [(str(m["run_id"]), str(m["status"])) for m in live.manifests]}
    for table, (name, says) in KEYS.items():
        width = len(name.split(", "))
        rows = rows_of(live, table, f"{name}, {says}")
        found[table] = [(repr(row[:width]), repr(row[width:])) for row in rows]
    return found


def compared(seen: State, before: State, after: State, promised: set[str]) -> dict[str, int]:
    """Count rows that are lost, doubled, or say what they never said."""
    lost = doubled = wrong = 0
    for table, rows in seen.items():
        names = Counter(name for name, _ in rows)
        doubled += sum(n - 1 for n in names.values())
        was, will_be = dict(before[table]), dict(after[table])
        lost += len((was.keys() & will_be.keys()) - names.keys())
        known = set(before[table]) | set(after[table])
        wrong += sum((name in was or name in will_be) and (name, says) not in known for name, says in rows)
    answers = {"/".join(ast.literal_eval(name)) for name, _ in seen["responses"]}
    return {"lost": lost + len(promised - answers), "doubled": doubled, "wrong": wrong}


def promised_in(folder: Path) -> set[str]:
    """Give the answers that were promised to be kept."""
    path = folder / "promised"
    return set(path.read_text().split()) if path.exists() else set()


class Trials:
    """One operation under one fault, step by step."""

    def __init__(self, folder: Path, operation: Operation, fault: int) -> None:
        self.operation, self.fault = operation, fault
        self.template, self.work, self.said = folder / "template", folder / "work", folder / "said"
        self.template.mkdir()
        self._in_child(lambda: operation.prepare(self.template))
        self.before = self._read(self.template)
        copied(self.template, self.work)
        self._in_child(lambda: operation.act(self.work))
        self.after = self._read(self.work)
        self.end = self._end()

    def _in_child(self, act: Any) -> Any:
        """Run in a child that must end well; give what it returned, through JSON."""
        assert forked(lambda: self.said.write_text(json.dumps(act(), default=str))) == 0
        return json.loads(self.said.read_text())

    def _read(self, folder: Path) -> State:
        read = self._in_child(lambda: state_of(folder / "warehouse"))
        return {table: [(name, says) for name, says in rows] for table, rows in read.items()}

    def _end(self) -> Any:
        root = self.work / "warehouse"
        if not self.operation.healthy:
            return self._in_child(lambda: {t: sorted(rows) for t, rows in state_of(root).items()})
        return self._in_child(lambda: truth(root))

    def _struck(self, step: int) -> None:
        Steps(self.work, step, self.fault).install()
        try:
            self.operation.act(self.work)
        except GradetrailError:
            os._exit(STRUCK)

    def _again(self) -> None:
        with contextlib.suppress(SelectionError):  # a run that is gone already
            self.operation.act(self.work)

    def at(self, step: int) -> dict[str, Any]:
        """Strike at one step, read, do it again, and compare."""
        copied(self.template, self.work)
        code = forked(lambda: self._struck(step))
        facts: dict[str, Any] = {"step": step, "code": code}
        try:
            facts |= compared(self._read(self.work), self.before, self.after, promised_in(self.work))
            facts["is_known_end"] = code in ((-signal.SIGKILL, 0) if self.fault == KILL else (STRUCK, 0))
            self._in_child(self._again)
            facts["is_completed"] = self._end() == self.end
        except AssertionError as error:
            facts["failed"] = repr(error)
        return facts


def main() -> None:
    """Strike at each step until the operation gets through."""
    folder, name, kind, every = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    fault = KILL if kind == "kill" else int(getattr(errno, kind))
    trials = Trials(folder, OPERATIONS[name], fault)
    step = 1
    while True:
        facts = trials.at(step)
        print(json.dumps(facts), flush=True)
        if facts["code"] == 0:
            return
        step += every


if __name__ == "__main__":
    main()
