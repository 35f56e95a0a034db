"""Grades stored answers with the scorers of a spec or of a task; calls no model but judges.

Invariant: grades of older definitions stay.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gradetrail import sql
from gradetrail.errors import Fault, SelectionError
from gradetrail.pipeline.checking import checked_definitions
from gradetrail.pipeline.recorded import SpecLike, as_spec, is_run_name, recorded_spec, warehouse_root
from gradetrail.pipeline.result import Run
from gradetrail.pipeline.sharing import JudgeCalls
from gradetrail.pipeline.tidying import tidy
from gradetrail.scoring.distribution import grading
from gradetrail.scoring.planner import MEMORY_LIMIT, Graded, owed, publish_task, published
from gradetrail.spec import Spec
from gradetrail.store import Store
from gradetrail.store.places import place_name
from gradetrail.warehouse import Warehouse


def score(
    target: SpecLike | Run,
    *,
    warehouse: str | os.PathLike[str] | None = None,
    force: bool = False,
    allow_unsafe_code: bool = False,
    offline: bool = False,
    executor: str | None = None,
) -> list[Graded]:
    """Grade stored answers: of every run of a spec's task, or of one run (a Run, `latest`, run_id, prefix).

    A Run brings its warehouse along; a warehouse that is named wins.
    Calls no model but judges, for what they were never asked; `offline` leaves that `pending`. Grades of
    older definitions stay and can be queried in `grades`. Code that models wrote runs in a sandbox;
    `allow_unsafe_code` lets it run without one where none can be made, and `executor` says where: `local`,
    `ray`, or None as the spec's `run` block.
    """
    own = target.root if isinstance(target, Run) else None
    root = warehouse_root(own if warehouse is None else warehouse)
    spec, run_ids = to_score(root, target)
    judges = None if offline else JudgeCalls([spec])
    return score_runs(
        root,
        spec,
        run_ids,
        force=force,
        allow_unsafe_code=allow_unsafe_code,
        executor=executor,
        judges=judges,
    )


def score_all(
    *,
    warehouse: str | os.PathLike[str] | None = None,
    force: bool = False,
    allow_unsafe_code: bool = False,
    offline: bool = False,
    executor: str | None = None,
) -> list[Graded]:
    """Grade every run of every task by the task's present definitions."""
    root = warehouse_root(warehouse)
    work = everything(root)
    judges = None if offline else JudgeCalls([spec for spec, _ in work])
    return [
        graded
        for spec, runs in work
        for graded in score_runs(
            root,
            spec,
            runs,
            force=force,
            allow_unsafe_code=allow_unsafe_code,
            executor=executor,
            judges=judges,
        )
    ]


def everything(root: Path) -> list[tuple[Spec, list[str]]]:
    """List every task as (its present spec, its runs)."""
    with Warehouse(root) as opened:
        by_task: dict[str, list[str]] = {}
        for manifest in opened.manifests():
            by_task.setdefault(manifest["task"], []).append(manifest["run_id"])
        return [(recorded_spec(opened, runs[-1]), runs) for runs in by_task.values()]


def score_runs(
    root: Path,
    spec: Spec,
    run_ids: Sequence[str],
    *,
    force: bool = False,
    allow_unsafe_code: bool = False,
    executor: str | None = None,
    judges: JudgeCalls | None = None,
) -> list[Graded]:
    """Make a spec's scorers current and grade what these runs have not graded by them.

    `judges` are asked what they were never asked; without them that stays `pending`. Answers are graded
    where `executor` says; None is the spec's own. `force` grades again, and runs every program again.
    """
    scorers = checked_definitions(spec)
    if judges is not None and any(definition.judges() for definition in scorers):
        from gradetrail.pipeline.judging import ask_judges

        # first, so that a judge that cannot be asked changes nothing
        for run_id in run_ids:
            ask_judges(root, spec, run_id, scorers, judges, force=force)
    store = Store(root)
    publish_task(store, spec, scorers)
    graded: list[Graded] = []
    with Warehouse(root, room=sql.Room(MEMORY_LIMIT)) as warehouse:
        due = {run_id: owed(warehouse, run_id, scorers, force=force) for run_id in run_ids}
        with grading(
            warehouse, spec, due, executor=executor or spec.run.executor,
            copies_programs=not force, allow_unsafe=allow_unsafe_code,
        ) as source:  # fmt: skip
            for run_id in run_ids:
                graded += published(warehouse, store, run_id, scorers, source(run_id))
    tidy(root)
    return graded


def to_score(root: Path, target: SpecLike | Run) -> tuple[Spec, list[str]]:
    """Give the scorers that a spec or run names, and the runs to grade by them; SelectionError for none."""
    with Warehouse(root) as opened:
        if isinstance(target, Run) or is_run_name(target):
            run_id = opened.run_id(target.run_id if isinstance(target, Run) else str(target))
            return recorded_spec(opened, run_id), [run_id]
        spec = as_spec(target)
        runs = [manifest["run_id"] for manifest in opened.manifests() if manifest["task"] == spec.name]
    if not runs:
        message = f"no run of task `{spec.name}` in {place_name(root)}"
        raise SelectionError(Fault(message, fix="make one with `gradetrail run`"))
    return spec, runs


def tasks_of(root: Path, run_ids: Sequence[str]) -> list[str]:
    """Name the tasks of runs, each once."""
    with Warehouse(root) as opened:
        tasks = {manifest["run_id"]: manifest["task"] for manifest in opened.manifests()}
    return list(dict.fromkeys(tasks[run_id] for run_id in run_ids if run_id in tasks))
