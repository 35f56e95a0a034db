"""Runs a spec again and again, each time killed one step on disk later; a process of its own.

    python -m tests.pipeline.steps FOLDER FIRST EVERY

FOLDER holds spec.yaml. A step is a file that is opened, linked, renamed or removed in the warehouse,
or a folder that is made. Each time another process then runs the spec to its end and says what the
warehouse holds. Prints one JSON line for each: the step, and what the survivor said.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401 - imported before the forks
import pyarrow.json
import pyarrow.parquet  # noqa: F401

from gradetrail import pipeline
from gradetrail.providers import mock, python, replay  # noqa: F401
from tests.faults.injection import forked
from tests.pipeline.processes import truth

STEPS = ("open", "os.link", "os.rename", "os.remove", "os.mkdir")


def die_at(step: int, warehouse: Path) -> None:
    """Kill this process right before its n-th step in the warehouse; steps count from 1."""
    left = step

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in STEPS and str(arguments[0]).startswith(str(warehouse)):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def run(folder: Path, warehouse: Path) -> None:
    """Run the spec."""
    pipeline.run(folder / "spec.yaml", warehouse=warehouse)


def said_by_survivor(folder: Path, warehouse: Path) -> dict[str, Any]:
    """Run the spec to its end and say what there is then."""
    run(folder, warehouse)
    n_runs = len(list((warehouse / "runs").glob("*.json")))
    n_journals = len(list((warehouse / "journal").glob("*.jsonl")))
    return {"truth": truth(warehouse), "n_runs": n_runs, "n_journals": n_journals}


def main() -> None:
    folder, first, every = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    step = first
    while True:
        warehouse, calls = folder / f"warehouse-{step}", folder / "calls.txt"
        with contextlib.suppress(FileNotFoundError):
            calls.unlink()

        def killed() -> None:
            die_at(step, warehouse)  # noqa: B023 - called at once
            run(folder, warehouse)  # noqa: B023

        def survivor() -> None:
            said = said_by_survivor(folder, warehouse)  # noqa: B023
            print(json.dumps({"step": step, **said, "calls": calls.read_text().split()}))  # noqa: B023

        code = forked(killed)
        if forked(survivor) != 0:
            print(json.dumps({"step": step, "failed": True}), flush=True)
        if code != -signal.SIGKILL:
            return
        step += every


if __name__ == "__main__":
    main()
