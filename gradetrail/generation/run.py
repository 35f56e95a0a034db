"""The life of a run: which run a plan belongs to, what is outstanding, and how it ends.

Invariant: nothing is written before everything is valid; the plan is on disk before the first call;
a run is pinned to the exact answers that it used; its manifest says `running` until all is sealed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail.errors import StoreError
from gradetrail.generation.conversation import scripted
from gradetrail.generation.drive import breaking_off, drive
from gradetrail.generation.engine import Ending, Engine, Shared
from gradetrail.generation.log import RunLog, secrets_of
from gradetrail.generation.manifest import model_records, new_manifest, spec_identity
from gradetrail.generation.outstanding import (
    Options,
    Outstanding,
    check_models,
    outstanding,
)
from gradetrail.generation.plan import PLAN_VERSION, Plan
from gradetrail.generation.progress import Progress
from gradetrail.generation.states import states_of
from gradetrail.generation.trials import PLANNED, rows_of
from gradetrail.store import Store
from gradetrail.store.schema import arrow_schema
from gradetrail.store.writer import RunWriter

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Generated:
    """How a generation ended."""

    run_id: str
    is_new: bool
    status: str
    """`complete`, `incomplete`, `aborted` or `interrupted`."""
    reason: str | None
    progress: Progress
    differences: tuple[str, ...]


def generate(
    root: Path,
    plan: Plan,
    *,
    scorers: Mapping[str, str],
    options: Options,
    shared: Shared,
    progress: Progress,
    todo: Outstanding | None = None,
) -> Generated:
    """Make the calls that a plan still owes, into the run that it belongs to.

    `scorers` maps scorer names to scorer_ids, for the manifest; `todo` is what is owed, if that was
    looked up just now. Raises before the first write if anything is wrong; failures of calls are rows.
    """
    now = datetime.now(UTC)
    if todo is None:
        todo = outstanding(root, plan, options, now)
    check_models(plan, todo)
    if todo.is_nothing:
        return _settled(root, plan, todo, options, progress)
    store = Store(root)
    spec_id = spec_identity(plan.spec, plan, scorers)
    with contextlib.ExitStack() as stack:
        with store.planning(plan.plan_id):
            todo, writer = _begun(store, plan, todo, spec_id, options, now)
            if writer is None:
                return _settled(root, plan, todo, options, progress)
            stack.enter_context(writer)
            check_models(plan, todo)
            run_id = writer.run_id
            old = None if todo.run_id is None else store.manifest(run_id)
            manifest = _manifest(run_id, plan, old, scorers, spec_id, options, now)
            store.publish_samples(plan.samples.dataset_id, plan.samples.batches(everything=True))
            # first of all, so that whatever is left of a run that dies here can be gone on with
            store.write_manifest(run_id, manifest)
            if todo.is_planned:
                _append_known(writer, todo)
                writer.flush()
            else:
                _release()
                store.start_plan(run_id, _planned(todo, run_id))
        stack.enter_context(breaking_off(run_id))
        _count(progress, plan, todo)
        log = RunLog(store.home, run_id, secrets_of(plan.spec))
        try:
            engine = Engine(
                run_id, plan.spec.run, shared, writer, progress, log, shares_turns=bool(scripted(plan))
            )
            ending = drive(engine, plan, todo) if todo.n_requests else Ending()
        finally:
            log.close()
        _release()
        writer.finish()
        manifest["status"] = ending.status
        if ending.status == "complete" or not progress.errors:
            # a ceiling that the last answer reaches, or a Ctrl-C after it, stopped nothing
            manifest["status"] = _status_of(root, run_id, manifest)
        reason = None if manifest["status"] == "complete" else ending.reason
        manifest["aborted_reason"] = reason
        ended_at = datetime.now(UTC)
        manifest["ended_at"] = ended_at.isoformat()
        manifest["elapsed_s"] = round(manifest["elapsed_s"] + (ended_at - now).total_seconds(), 3)
        store.write_manifest(run_id, manifest)
    return Generated(run_id, todo.run_id is None, manifest["status"], reason, progress, todo.differences)


def _release() -> None:
    """Give back what Arrow keeps for later, before what takes much memory itself."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def _count(progress: Progress, plan: Plan, todo: Outstanding) -> None:
    progress.n_trials += plan.trials.num_rows
    progress.n_hits += plan.trials.num_rows - todo.asked.num_rows
    progress.n_requests += todo.n_requests


def _begun(
    store: Store, plan: Plan, todo: Outstanding, spec_id: str, options: Options, now: datetime
) -> tuple[Outstanding, RunWriter | None]:
    """Lock the run that a plan belongs to, and look again if anything was added since the last look.

    To be called while other processes are held up in `planning`, so that none starts another run of
    the plan. What another process has answered meanwhile is not asked again; if nothing is left to
    ask, there is no writer.
    """
    while True:
        if store.moment() != todo.moment:
            todo = outstanding(store.root, plan, options, now)
        run_id = todo.run_id or store.new_run_id(plan.spec.name, now)
        header = {"run_id": run_id, "plan_id": plan.plan_id, "plan_version": PLAN_VERSION, "spec_id": spec_id}
        writer = store.writer(run_id, header=header)
        try:
            found = todo if store.moment() == todo.moment else outstanding(store.root, plan, options, now)
        except BaseException:
            writer.close()
            raise
        if found.run_id == todo.run_id and not found.is_nothing:
            return found, writer
        writer.close()
        if found.is_nothing:
            return found, None
        todo = found


def _settled(root: Path, plan: Plan, todo: Outstanding, options: Options, progress: Progress) -> Generated:
    """Say how the run ended that owes nothing; its manifest may not know, if its process was killed."""
    _count(progress, plan, todo)
    run_id, manifest = str(todo.run_id), dict(todo.manifest or {})
    if manifest["status"] != "complete":
        manifest["status"] = _status_of(root, run_id, manifest)
        # where another process is at work it will say so itself, and here may be nothing to be written
        with contextlib.suppress(StoreError):
            if manifest["status"] == "complete":
                _complete(Store(root), run_id)
    if not set(options.tags) <= set(manifest.get("tags", [])):
        _tag(Store(root), run_id, options.tags)
    reason = None if manifest["status"] == "complete" else manifest.get("aborted_reason")
    return Generated(run_id, False, manifest["status"], reason, progress, ())


def _complete(store: Store, run_id: str) -> None:
    with store.writer(run_id) as writer:
        writer.finish()
        manifest = store.manifest(run_id)
        if manifest["status"] != "complete":
            ended = {"status": "complete", "aborted_reason": None, "ended_at": datetime.now(UTC).isoformat()}
            store.write_manifest(run_id, manifest | ended)


def _tag(store: Store, run_id: str, tags: Sequence[str]) -> None:
    with store.writer(run_id):
        manifest = store.manifest(run_id)
        store.write_manifest(run_id, manifest | {"tags": _joined(manifest.get("tags", []), tags)})


def _joined(old: Iterable[str], new: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*old, *new]))


def _manifest(
    run_id: str,
    plan: Plan,
    old: Mapping[str, Any] | None,
    scorers: Mapping[str, str],
    spec_id: str,
    options: Options,
    now: datetime,
) -> dict[str, Any]:
    fresh = new_manifest(
        run_id,
        plan,
        scorers=scorers,
        spec_id=spec_id,
        started_at=now,
        tags=options.tags,
        refresh=options.refresh,
    )
    if old is None:
        return fresh
    models = {record["model"]: record for record in [*old["models"], *model_records(plan.entrants)]}
    kept = {key: old[key] for key in ("started_at", "elapsed_s", "refresh", "seed")}
    prompts = {**old["prompts"], **fresh["prompts"]}
    extended = {
        "models": [models[name] for name in _joined(_displayed(plan), models) if name in models],
        "prompts": {name: prompts[name] for name in _joined(plan.spec.prompts, prompts) if name in prompts},
        "tags": _joined(old.get("tags", []), options.tags),
        "epochs": max(old["epochs"], fresh["epochs"]),
        "n_trials": max(old["n_trials"], fresh["n_trials"]),
    }
    return {**fresh, **kept, **extended}


def _displayed(plan: Plan) -> list[str]:
    return [model.display for model in plan.spec.models]


def _status_of(root: Path, run_id: str, manifest: Mapping[str, Any]) -> str:
    """Say how far a run is: complete when none of its trials is pending or skipped."""
    if states_of(root, run_id).n_owed == 0:
        return "complete"
    return str(manifest["status"]) if manifest["status"] in ("aborted", "interrupted") else "incomplete"


def _planned(todo: Outstanding, run_id: str) -> pa.Table:
    """Give all trials of a new run as rows of the stored table."""
    import pyarrow as pa

    kinds = [_pending(todo.asked, run_id), _answered(todo.hits, run_id)]
    return pa.concat_tables([rows for rows in kinds if rows.num_rows], promote_options="default")


def _pending(trials: pa.Table, run_id: str) -> pa.Table:
    """Give trials that wait for a call as rows of the stored table; columns that are NULL are left out."""
    return _rows(trials.select(list(PLANNED)), run_id=run_id, status="pending", is_hit=False)


def _answered(hits: pa.Table, run_id: str) -> pa.Table:
    """Give trials that a stored answer serves as rows of the stored table."""
    known = set(hits.column_names) & set(arrow_schema("trials").names)
    columns = [name for name in hits.column_names if name in known]
    return _rows(hits.select(columns), run_id=run_id, status="answered", is_hit=True)


def _rows(trials: pa.Table, **same: str | bool) -> pa.Table:
    """Append columns that are the same in all rows, text as dictionaries of one value."""
    import pyarrow as pa

    for name, value in same.items():
        column: Any = pa.repeat(pa.scalar(value), trials.num_rows)
        if isinstance(value, str):
            first = pa.repeat(pa.scalar(0, pa.int8()), trials.num_rows)
            column = pa.DictionaryArray.from_arrays(first, pa.array([value], pa.string()))
        trials = trials.append_column(name, column)
    return trials


def _append_known(writer: RunWriter, todo: Outstanding) -> None:
    """Record the trials that were added, and those that a stored answer serves now."""
    import pyarrow.compute as pc

    added = _pending(todo.asked.filter(pc.field("is_added")), writer.run_id)
    for rows in (added, _answered(todo.hits, writer.run_id)):
        for trial in rows_of(rows, rows.column_names):
            writer.append(response=None, calls=(), trials=[{k: v for k, v in trial.items() if v is not None}])
