"""Does an operation again and again, each time struck one step on disk later; a process of its own.

    python -m tests.faults.steps FOLDER OPERATION FAULT EVERY

FAULT is `kill`, the error that every step meets from then on (`ENOSPC`, `EROFS`), or `pause`. Each time
another process reads what is there, does the operation again, and reads again; in a pause it also packs
and reclaims as if there were no lock, and the first goes on then. Prints one JSON line for each step.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import importlib.util
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401 - imported before the forks
import pyarrow.json
import pyarrow.parquet  # noqa: F401

from gradetrail.errors import GradetrailError, SelectionError
from gradetrail.providers import mock  # noqa: F401
from gradetrail.store import Store
from gradetrail.store.packing import pack
from gradetrail.store.reclaiming import reclaim
from tests.faults.injection import KILL, PAUSE, Steps, forked
from tests.faults.operations import OPERATIONS, Operation, copied
from tests.store.rows import rows_of

if importlib.util.find_spec("pandas"):
    import pandas  # noqa: F401 - pyarrow imports it where it is there, which every child would do again

KEYS = {
    "trials": ("run_id, model, prompt, sample_id, epoch", "status, response_id"),
    "responses": ("run_id, response_id", "text"),
    "calls": ("call_id", "response_id"),
    "scores": ("run_id, scorer_id, metric, model, prompt, sample_id, epoch", "outcome, score"),
    "samples": ("dataset_id, sample_id", "content"),
}
"""Of each table: what names a row, and what it says."""
TOLD = 3
"""Exit status of an operation that ended with an error which the product tells."""

State = dict[str, list[tuple[str, str]]]


def state_of(root: Path, *, is_whole: bool = True) -> State:
    """Read every row as (name, what it says), by table, and the runs in the order of their start.

    `is_whole`: nothing is damaged.
    """
    live = Store(root, create=False).live()
    assert not is_whole or live.damaged == [], [str(fault) for fault in live.damaged]
    # two runs of one second have names in no order
    manifests = sorted(live.manifests, key=lambda manifest: str(manifest["started_at"]))
    found: State = {"runs": [(str(m["run_id"]), str(m["status"])) for m in manifests]}
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


def outcome_of(state: State) -> list[str]:
    """Give what a state says of its runs, in their order, whatever their names are."""
    runs = dict.fromkeys(name for name, _ in state["runs"])
    tables = {
        table: [f"{name} {says}" for name, says in rows] for table, rows in state.items() if table != "calls"
    }
    tables["calls"] = [says for _, says in state["calls"]]  # a call is named after its run
    lines = [f"{table} {row}" for table, rows in tables.items() for row in rows]
    for number, run_id in enumerate(runs):
        lines = [line.replace(run_id, f"run {number}") for line in lines]
    return sorted(lines)


class Trials:
    """One operation under one fault, step by step."""

    def __init__(self, folder: Path, operation: Operation, fault: int) -> None:
        self.operation, self.fault = operation, fault
        self.template, self.work, self._said = folder / "template", folder / "work", folder / "said"
        self.template.mkdir()
        self._in_child(lambda: operation.prepare(self.template))
        copied(self.template, self.work)
        self._in_child(lambda: operation.act(self.work))
        self.before, self.after = self._state(self.template), self._state(self.work)

    def _in_child(self, act: Callable[[], Any]) -> Any:
        """Run in a child that must end well; give what it returned, through JSON."""
        if forked(lambda: self._said.write_text(json.dumps(act(), default=str))) != 0:
            raise ChildProcessError
        return json.loads(self._said.read_text())

    def _state(self, folder: Path) -> State:
        is_whole = not self.operation.begins_damaged
        read = self._in_child(lambda: state_of(folder / "warehouse", is_whole=is_whole))
        return {table: [(name, says) for name, says in rows] for table, rows in read.items()}

    def _struck(self, step: int) -> None:
        Steps(self.work, step, self.fault).install()
        try:
            self.operation.act(self.work)
        except GradetrailError:
            os._exit(TOLD)

    def _survived(self) -> dict[str, Any]:
        """Look at what is there, do the operation again, and look again."""
        root = self.work / "warehouse"
        facts: dict[str, Any] = {}
        if (root / "gradetrail.json").exists():
            seen = state_of(root, is_whole=not self.operation.begins_damaged)
            facts = compared(seen, self.before, self.after, promised_in(self.work))
        with contextlib.suppress(SelectionError):  # a run that is gone already
            self.operation.act(self.work)
        end = state_of(root)
        last = compared(end, self.before, self.after, promised_in(self.work))
        is_completed = outcome_of(end) == outcome_of(self.after)
        return {**{name: facts.get(name, 0) + last[name] for name in last}, "is_completed": is_completed}

    def _overtaken(self) -> dict[str, Any]:
        """Pack, do the operation, and pack again, beside a process that is stopped; then look."""
        root = self.work / "warehouse"
        if not (root / "gradetrail.json").exists():
            return {}
        for act in (self._pack_without_lock, lambda: self.operation.act(self.work), self._pack_without_lock):
            with contextlib.suppress(GradetrailError):  # the one that is stopped has the run's lock
                act()
        seen = state_of(root, is_whole=not self.operation.begins_damaged)
        return compared(seen, self.before, self.after, promised_in(self.work))

    def _pack_without_lock(self) -> None:
        storage = Store(self.work / "warehouse").storage
        pack(storage, "no lock")
        reclaim(storage, "no lock", 0.0)

    def at(self, step: int) -> dict[str, Any]:
        """Strike at one step, and let another process go on."""
        copied(self.template, self.work)
        facts: dict[str, Any] = {"step": step, "is_last": True}
        seen: dict[str, int] = {}

        def overtake() -> None:
            facts["is_last"] = False
            seen.update(self._in_child(self._overtaken))

        try:
            facts["code"] = code = forked(lambda: self._struck(step), overtake)
            facts["is_known_end"] = code in ((-signal.SIGKILL, 0) if self.fault == KILL else (TOLD, 0))
            facts["is_last"] = code == 0 if self.fault != PAUSE else facts["is_last"]
            facts |= self._in_child(self._survived)
            return facts | {name: facts[name] + n for name, n in seen.items()}
        except ChildProcessError:
            return {"code": 1, "is_known_end": False} | facts | {"has_failed": True}


def main() -> None:
    """Strike at each step until the operation gets through."""
    folder, name, kind, every = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3], int(sys.argv[4])
    fault = {"kill": KILL, "pause": PAUSE}.get(kind) if kind.islower() else int(getattr(errno, kind))
    assert fault is not None, kind
    trials = Trials(folder, OPERATIONS[name], fault)
    step = 1
    while True:
        facts = trials.at(step)
        print(json.dumps(facts), flush=True)
        if facts["is_last"]:
            return
        step += every


if __name__ == "__main__":
    main()
