"""What a plan still asks of a warehouse: which run it belongs to, and which trials have no answer.

Invariant: this only reads. A run is continued only if the plan still has every sample of it, and every
trial that both have asks the same; a trial that a stored answer serves is not asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import Fault, ResumeError, SpecError
from gradetrail.generation.conversation import known_turns, resolved
from gradetrail.generation.differences import plan_differences, trial_differences
from gradetrail.generation.plan import PLAN_VERSION, Entrant, Plan
from gradetrail.generation.trials import marked_first
from gradetrail.providers import check_model
from gradetrail.providers.endpoint import Unset
from gradetrail.store import Store
from gradetrail.store.places import is_warehouse
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

MEMORY_LIMIT = "300MB"
"""What DuckDB may hold while a plan is compared; the rest of its work is on disk."""


@dataclass(frozen=True, slots=True)
class Options:
    """How this invocation generates."""

    new: bool = False
    """Make a new run even if one of the same plan is there."""
    refresh: bool = False
    """Ask everything again; stored answers stay."""
    max_age: timedelta | None = None
    """Oldest stored answer that counts; a run that began earlier is not gone on with, unless it is named."""
    tags: tuple[str, ...] = ()
    run_id: str | None = None
    """Run to go on with; ResumeError if the plan does not fit it. None: the newest that fits."""


@dataclass(frozen=True, slots=True)
class Outstanding:
    """What a plan asks of the warehouse now."""

    run_id: str | None
    """Run that the plan continues; None for a new one."""
    manifest: dict[str, Any] | None
    asked: pa.Table
    """Trials to be answered by a call, in plan order: columns of `Plan.trials`, `is_added` (the run does
    not have it yet), `is_first_of_key` (its request is made for all that share its request_key)."""
    hits: pa.Table
    """Trials that a stored answer serves, in plan order: columns of `Plan.trials`, `is_added`, and those
    of `trials` that an answer fills."""
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
        return self.manifest is not None and self.asked.num_rows == self.hits.num_rows == 0

    @property
    def n_hits(self) -> int:
        """Trials that a stored answer serves."""
        return self.hits.num_rows

    @property
    def n_requests(self) -> int:
        """Distinct requests to make."""
        import pyarrow.compute as pc

        return int(pc.sum(self.asked.column("is_first_of_key")).as_py() or 0)

    @property
    def requests(self) -> pa.Table:
        """The trials whose requests are made: the first of each request_key."""
        import pyarrow.compute as pc

        if self.n_requests == self.asked.num_rows:
            return self.asked
        return self.asked.filter(pc.field("is_first_of_key"))


def outstanding(root: Path, plan: Plan, options: Options, now: datetime) -> Outstanding:
    """Compare a plan with the warehouse; reads only, and a warehouse need not exist yet."""
    if not is_warehouse(root):
        asked = _marked(plan.trials, None)
        return Outstanding(None, None, _with_first(asked), asked.slice(0, 0), ())
    moment = Store(root, create=False).moment()
    with Warehouse(root, room=sql.Room(MEMORY_LIMIT)) as warehouse:
        con = warehouse.connection("trials", "responses", "calls", "samples")
        newest = None if options.new or options.refresh else _run_of(warehouse, plan, options, now)
        found = _compare(con, plan, newest, options, now)
        if newest is None and not (options.new or options.refresh):
            last = _newest(_runs_of(warehouse, plan))
            lines = tuple(plan_differences(last, plan)) if last is not None else ()
            found = replace(found, differences=lines)
    return replace(found, moment=moment)


def _run_of(warehouse: Warehouse, plan: Plan, options: Options, now: datetime) -> dict[str, Any] | None:
    """Find the run to go on with: the one that was named, else the newest of this plan."""
    if options.run_id is not None:
        manifest = next(m for m in warehouse.manifests() if m["run_id"] == options.run_id)
        _refuse_other_plan(manifest, plan)
        return manifest
    found = _newest(m for m in _runs_of(warehouse, plan) if m["plan_id"] == plan.plan_id)
    if found is None or options.max_age is None:
        return found
    return found if datetime.fromisoformat(found["started_at"]) >= now - options.max_age else None


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


def _compare(
    con: duckdb.DuckDBPyConnection,
    plan: Plan,
    manifest: dict[str, Any] | None,
    options: Options,
    now: datetime,
) -> Outstanding:
    not_before = now if options.refresh else now - options.max_age if options.max_age is not None else None
    if manifest is not None and manifest.get("refresh"):
        not_before = datetime.fromisoformat(manifest["started_at"])
    differences: tuple[str, ...] = ()
    owed, is_planned = _marked(plan.trials, None), False
    if manifest is not None:
        with registered(con, _relations(plan)):
            differences = tuple(trial_differences(con, manifest, plan))
            if differences and options.run_id is not None:
                raise ResumeError(*(Fault(line, options.run_id) for line in differences))
            if differences:
                manifest = None
            else:
                owed, is_planned = _owed(con, manifest["run_id"], plan)
    known = known_turns(con, plan, owed, not_before)
    owed = resolved(owed, known)
    answers = _answers(con, owed, not_before)
    turn_answers = {known.last_keys.get(script, script): texts for script, texts in known.answers.items()}
    return Outstanding(
        manifest["run_id"] if manifest else None,
        manifest,
        _with_first(_without(owed, answers)),
        _answered(owed, answers, now),
        differences,
        turn_answers,
        is_planned,
    )


def _relations(plan: Plan) -> dict[str, pa.Table]:
    """Give the plan as `owed_plan` and `plan_differences` read it: keys in numbers, names beside them."""
    import pyarrow as pa

    def numbered(table: pa.Table, name: str) -> pa.Table:
        numbers: Any = pa.arange(0, table.num_rows)  # type: ignore[attr-defined]  # newer than the stubs
        return table.append_column(name, numbers)

    entrants = {
        name: pa.array([getattr(entrant, name) for entrant in plan.entrants], pa.string())
        for name in ("model_id", "prompt")
    }
    models = pa.array([entrant.model.display for entrant in plan.entrants], pa.string())
    return {
        "planned": numbered(plan.trials.select(["entrant", "sample", "epoch", "input_hash"]), "ordinal"),
        "planned_entrant": numbered(pa.table({"model": models, **entrants}), "entrant"),
        "planned_sample": numbered(plan.samples.chosen.select(["sample_id", "sample_hash"]), "sample"),
    }


@contextlib.contextmanager
def registered(con: duckdb.DuckDBPyConnection, relations: Mapping[str, pa.Table]) -> Iterator[None]:
    """Let queries see tables by name for a while."""
    for name, table in relations.items():
        con.register(name, table)
    try:
        yield
    finally:
        for name in relations:
            con.unregister(name)


def _owed(con: duckdb.DuckDBPyConnection, run_id: str, plan: Plan) -> tuple[pa.Table, bool]:
    """Give the trials that a run owes, with `is_added`, and whether the run has any trials."""
    rows = sql.run_file(con, "generation/owed_trials", {"run_id": run_id}).fetchall()
    if rows[0][1] == 0:
        return _marked(plan.trials, None), False
    owed = sql.arrow_file(con, "generation/owed_plan", {"run_id": run_id})
    trials, is_added = plan.trials, owed.column("is_added")
    if owed.num_rows < trials.num_rows:
        trials = trials.take(owed.column("ordinal"))
    return _marked(trials, is_added), True


def _marked(trials: pa.Table, is_added: Any) -> pa.Table:
    """Append `is_added`; None for a run that has no trial yet."""
    import pyarrow as pa

    if is_added is None:
        is_added = pa.repeat(pa.scalar(True), trials.num_rows)
    return trials.append_column("is_added", is_added)


def _with_first(trials: pa.Table) -> pa.Table:
    return trials.append_column("is_first_of_key", marked_first(trials.column("request_key")))


def _answers(con: duckdb.DuckDBPyConnection, owed: pa.Table, not_before: datetime | None) -> pa.Table:
    """Find stored answers: rows by `ordinal`, the number of a row of `owed`."""
    import pyarrow as pa

    numbers: Any = pa.arange(0, owed.num_rows)  # type: ignore[attr-defined]  # newer than the stubs
    keys = pa.table({"ordinal": numbers, "request_key": owed.column("request_key")})
    with registered(con, {"owed": keys}):
        return sql.arrow_file(con, "generation/stored_answers", {"not_before": not_before})


def _without(owed: pa.Table, answers: pa.Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    if answers.num_rows == 0:
        return owed
    numbers: Any = pa.arange(0, owed.num_rows)  # type: ignore[attr-defined]  # newer than the stubs
    return owed.filter(pc.invert(pc.is_in(numbers, value_set=answers.column("ordinal").combine_chunks())))


def _answered(owed: pa.Table, answers: pa.Table, now: datetime) -> pa.Table:
    import pyarrow as pa

    hits = owed if answers.num_rows == owed.num_rows else owed.take(answers.column("ordinal"))
    for name in answers.column_names:
        if name != "ordinal":
            hits = hits.append_column(name, answers.column(name))
    ended_at = pa.repeat(pa.scalar(now, pa.timestamp("us", tz="UTC")), hits.num_rows)
    return hits.append_column("ended_at", ended_at)


def pending_models(plan: Plan, todo: Outstanding) -> set[tuple[str, str]]:
    """Collect (provider, model) of the models that will be asked."""
    shapes = [entrant.shape for entrant in _asked(plan, todo)]
    return {(shape.provider, shape.model) for shape in shapes}


def check_models(plan: Plan, todo: Outstanding) -> None:
    """Check keys and files of the models that will be asked; raise SpecError with all faults."""
    faults = _model_faults(plan, todo)
    if faults:
        raise SpecError(*faults)


def unset_variables(plan: Plan, todo: Outstanding) -> tuple[Fault, ...]:
    """Check the models that will be asked as `check_models` does, but give what only their calls need."""
    faults = _model_faults(plan, todo)
    others = [fault for fault in faults if not isinstance(fault, Unset)]
    if others:
        raise SpecError(*others)
    return tuple(faults)


def _model_faults(plan: Plan, todo: Outstanding) -> list[Fault]:
    asked = {entrant.model.display for entrant in _asked(plan, todo)}
    return [
        fault
        for number, model in enumerate(plan.spec.models)
        if model.display in asked
        for fault in check_model(plan.spec, model, f"models.{number}")
    ]


def _asked(plan: Plan, todo: Outstanding) -> list[Entrant]:
    asked = todo.asked.column("entrant").unique().to_pylist()
    return [plan.entrants[int(entrant)] for entrant in asked if entrant is not None]
