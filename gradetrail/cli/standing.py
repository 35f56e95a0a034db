"""Says where a run stands among the runs of its task, where that may not be what its user takes it for.

Invariant: it speaks only of a run that is not its task's newest, or that its task's board does not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.cli.output import say
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    from gradetrail.pipeline import Run


def tell_newer(root: Path, runs: Sequence[Run]) -> None:
    """Name the newest run of a task where another one was gone on with: `latest` is not this run."""
    with Warehouse(root) as warehouse:
        newest = {manifest["task"]: manifest["run_id"] for manifest in warehouse.manifests()}
    for done in runs:
        if not done.is_new and newest[done.task] != done.run_id:
            say(f"note: {done.task}@latest is {newest[done.task]}; this run is {done.run_id}")


def tell_shown(root: Path, runs: Sequence[Run]) -> None:
    """Name the runs that a task's board shows, where this run is not among them."""
    with Warehouse(root) as warehouse:
        manifests = warehouse.manifests()
        for done in runs:
            of_task = {m["run_id"]: m for m in manifests if m["task"] == done.task}
            # the newest run with as many samples as any is on the board, which need not be asked
            if done.run_id == max(of_task.values(), key=_size)["run_id"]:
                continue
            query = sql.text_of("commands/shown_runs")
            shown = [run_id for (run_id,) in warehouse.rows(query, {"task": done.task})[1]]
            if shown and done.run_id not in shown:
                runs_shown = ", ".join(_named(of_task[run_id]) for run_id in shown)
                say(f"note: the board shows run {runs_shown}; this run is {_named(of_task[done.run_id])}")


def _size(manifest: dict[str, Any]) -> tuple[int, str, str]:
    return int(manifest["n_trials"]), str(manifest["started_at"]), str(manifest["run_id"])


def _named(manifest: dict[str, Any]) -> str:
    return f"{manifest['run_id']} (n = {manifest['n_samples']:,})"
