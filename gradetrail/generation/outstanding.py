"""What a plan still asks of a warehouse: which run it belongs to, and which trials have no answer.

Invariant: this only reads. A run is continued only if the plan still has every sample of it, and every
trial that both have asks the same; a trial that a stored answer serves is not asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import Fault, ResumeError, SpecError
from gradetrail.generation.conversation import Known, known_turns, resolved
from gradetrail.generation.differences import plan_differences, trial_differences
from gradetrail.generation.plan import PLAN_VERSION, Plan
from gradetrail.providers import check_model
from gradetrail.store import Store
from gradetrail.store.schema import arrow_schema
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Options:
    """How this invocation generates."""

    new: bool = False
    """Make a new run even if one of the same plan is there."""
    refresh: bool = False
    """Ask everything again; stored answers stay."""
    max_age: timedelta | None = None
    """Oldest stored answer that counts."""
    tags: tuple[str, ...] = ()
    run_id: str | None = None
    """Run to go on with; ResumeError if the plan does not fit it. None: the newest that fits."""


@dataclass(frozen=True, slots=True)
class Outstanding:
    """What a plan asks of the warehouse now."""

    run_id: str | None
    """Run that the plan continues; None for a new one."""
    manifest: dict[str, Any] | None
    trials: pa.Table
    """Trials to add or to answer: columns of `trials` plus entrant, sample, is_added, is_first_of_key."""
    differences: tuple[str, ...]
    """Why the newest run of the plan cannot be continued; empty if it can or there is none."""
    turn_answers: Mapping[str, list[str]] = field(default_factory=dict)
    """Stored answers to the first turns of scripted conversations, by the trial's request_key."""
    is_planned: bool = False
    """Whether the run has its plan already; a process that died early may have left none."""
    moment: str = ""
    """The warehouse's `Store.moment` at which this was looked up; empty if there was no warehouse."""

    @property
    def is_nothing(self) -> bool:
        """Whether the run has an answer, or an error that stays, for every trial."""
        return self.manifest is not None and self.trials.num_rows == 0

    @property
    def n_hits(self) -> int:
        """Trials that a stored answer serves."""
        return with_status(self.trials, "answered").num_rows

    @property
    def n_requests(self) -> int:
        """Distinct requests to make."""
        import pyarrow.compute as pc

        first = self.trials.filter(pc.field("is_first_of_key") & (pc.field("status") == "pending"))
        return first.num_rows


def with_status(trials: pa.Table, status: str) -> pa.Table:
    """Give the trials of one status."""
    import pyarrow.compute as pc

    return trials.filter(pc.field("status") == status)


def outstanding(root: Path, plan: Plan, options: Options, now: datetime) -> Outstanding:
    """Compare a plan with the warehouse; reads only, and a warehouse need not exist yet."""
    if not (root / "gradetrail.json").exists():
        return _compare(sql.connect(), plan, None, None, options, now, empty=True)
    moment = Store(root, create=False).moment()
    with Warehouse(root) as warehouse:
        con = warehouse.connection("trials", "responses", "calls", "samples")
        newest = None if options.new or options.refresh else _run_of(warehouse, plan, options)
        found = _compare(con, plan, newest, _present(con, newest), options, now)
        if newest is None and not (options.new or options.refresh):
            last = _newest(_runs_of(warehouse, plan))
            lines = tuple(plan_differences(last, plan)) if last is not None else ()
            found = replace(found, differences=lines)
    return replace(found, moment=moment)


def _run_of(warehouse: Warehouse, plan: Plan, options: Options) -> dict[str, Any] | None:
    """Find the run to go on with: the one that was named, else the newest of this plan."""
    if options.run_id is not None:
        manifest = next(m for m in warehouse.manifests() if m["run_id"] == options.run_id)
        _refuse_other_plan(manifest, plan)
        return manifest
    return _newest(m for m in _runs_of(warehouse, plan) if m["plan_id"] == plan.plan_id)


def _runs_of(warehouse: Warehouse, plan: Plan) -> list[dict[str, Any]]:
    """List the runs of a plan's task that this version can go on with."""
    return [
        manifest
        for manifest in warehouse.manifests()
        if manifest.get("task") == plan.spec.name and manifest.get("plan_version") == PLAN_VERSION
    ]


def _newest(manifests: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    return max(manifests, key=lambda m: (m["started_at"], m["run_id"]), default=None)


def _refuse_other_plan(manifest: Mapping[str, Any], plan: Plan) -> None:
    run_id, version = manifest["run_id"], manifest.get("plan_version")
    if version != PLAN_VERSION:
        message = f"its plan has version {version}, this gradetrail reads {PLAN_VERSION}"
        raise ResumeError(Fault(message, run_id, fix="go on with the version that made it, or use --new"))
    if manifest.get("plan_id") != plan.plan_id:
        lines = list(plan_differences(manifest, plan)) or ["its plan was another"]
        raise ResumeError(*(Fault(line, run_id) for line in lines))


def _present(con: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any] | None) -> pa.Table:
    run_id = manifest["run_id"] if manifest else ""
    return sql.arrow_file(con, "generation/present_trials", {"run_id": run_id})


def _compare(
    con: duckdb.DuckDBPyConnection,
    plan: Plan,
    manifest: dict[str, Any] | None,
    present: pa.Table | None,
    options: Options,
    now: datetime,
    *,
    empty: bool = False,
) -> Outstanding:
    import pyarrow as pa

    if present is None:
        present = arrow_schema("trials").empty_table()
    not_before = now if options.refresh else now - options.max_age if options.max_age else None
    if manifest is not None and manifest.get("refresh"):
        not_before = datetime.fromisoformat(manifest["started_at"])
    known = Known() if empty else known_turns(con, plan, not_before)
    trials = resolved(plan.trials, known)
    con.register("planned", trials.append_column("ordinal", pa.array(range(trials.num_rows), pa.int64())))
    con.register("present", present)
    differences: tuple[str, ...] = ()
    if manifest is not None:
        differences = tuple(trial_differences(con, manifest, plan))
        if differences and options.run_id is not None:
            raise ResumeError(*(Fault(line, options.run_id) for line in differences))
        if differences:
            manifest = None
            con.unregister("present")
            con.register("present", present.slice(0, 0))
    if empty:
        stored = sql.arrow_file(con, "generation/no_stored_answers")
    else:
        stored = sql.arrow_file(con, "generation/stored_answers", {"not_before": not_before})
    con.register("stored", stored)
    run_id = manifest["run_id"] if manifest else ""
    trials = sql.arrow_file(con, "generation/planned_trials", {"run_id": run_id, "now": now})
    for name in ("planned", "present", "stored"):
        con.unregister(name)
    is_planned = manifest is not None and present.num_rows > 0
    turn_answers = {known.last_keys.get(script, script): texts for script, texts in known.answers.items()}
    return Outstanding(run_id or None, manifest, trials, differences, turn_answers, is_planned)


def pending_models(plan: Plan, todo: Outstanding) -> set[tuple[str, str]]:
    """Collect (provider, model) of the models that will be asked."""
    asked = set(with_status(todo.trials, "pending").column("entrant").unique().to_pylist())
    shapes = [plan.entrants[int(entrant)].shape for entrant in asked if entrant is not None]
    return {(shape.provider, shape.model) for shape in shapes}


def check_models(plan: Plan, todo: Outstanding) -> None:
    """Check keys and files of the models that will be asked; raise SpecError with all faults."""
    asked = set(with_status(todo.trials, "pending").column("model").unique().to_pylist())
    faults: list[Fault] = []
    for number, model in enumerate(plan.spec.models):
        if model.display in asked:
            faults += check_model(plan.spec, model, f"models.{number}")
    if faults:
        raise SpecError(*faults)
