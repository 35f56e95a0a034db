"""The life of a run: which run a plan belongs to, what is outstanding, and how it ends.

Invariant: nothing is written before everything is valid; the plan is on disk before the first call;
a run is pinned to the exact answers that it used; its manifest says `running` until all is sealed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.generation.conversation import Scripts, scripted
from gradetrail.generation.engine import Ending, Engine, Shared
from gradetrail.generation.log import RunLog, secrets_of
from gradetrail.generation.manifest import model_records, new_manifest, spec_identity
from gradetrail.generation.outstanding import Options, Outstanding, check_models, outstanding, with_status
from gradetrail.generation.plan import PLAN_VERSION, PLANNED, Entrant, Plan
from gradetrail.generation.progress import Progress
from gradetrail.generation.work import Work
from gradetrail.providers import Provider, open_provider
from gradetrail.store import Store
from gradetrail.store.schema import arrow_schema
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

    from gradetrail.generation.ray_executor import RayPool


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
    progress.n_trials += plan.trials.num_rows
    progress.n_hits += plan.trials.num_rows - with_status(todo.trials, "pending").num_rows
    progress.n_requests += todo.n_requests
    if todo.manifest is not None and todo.trials.num_rows == 0:
        status = str(todo.manifest["status"])
        if status != "complete":
            status = _status_of(root, str(todo.run_id), todo.manifest)
        return Generated(str(todo.run_id), False, status, todo.manifest.get("aborted_reason"), progress, ())
    store = Store(root)
    run_id = todo.run_id or store.new_run_id(plan.spec.name, now)
    spec_id = spec_identity(plan.spec, plan, scorers)
    manifest = _manifest(run_id, plan, todo, scorers, spec_id, options, now)
    header = {"run_id": run_id, "plan_id": plan.plan_id, "plan_version": PLAN_VERSION, "spec_id": spec_id}
    with store.writer(run_id, header=header) as writer:
        store.publish_samples(plan.samples.dataset_id, plan.samples.everything)
        rows = _with_run(todo.trials, run_id)
        if todo.run_id is None:
            store.start_plan(run_id, rows)
        else:
            _append_known(writer, rows, todo.trials)
        store.write_manifest(run_id, manifest)
        log = RunLog(root, run_id, secrets_of(plan.spec))
        try:
            engine = Engine(
                run_id, plan.spec.run, shared, writer, progress, log, shares_turns=bool(scripted(plan))
            )
            ending = _drive(engine, plan, todo) if todo.n_requests else Ending()
        finally:
            log.close()
    manifest["status"], manifest["aborted_reason"] = ending.status, ending.reason
    if ending.status == "complete":
        manifest["status"] = _status_of(root, run_id, manifest)
    ended_at = datetime.now(UTC)
    manifest["ended_at"] = ended_at.isoformat()
    manifest["elapsed_s"] = round(manifest["elapsed_s"] + (ended_at - now).total_seconds(), 3)
    store.write_manifest(run_id, manifest)
    return Generated(
        run_id, todo.run_id is None, manifest["status"], ending.reason, progress, todo.differences
    )


def _manifest(
    run_id: str,
    plan: Plan,
    todo: Outstanding,
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
    old = todo.manifest
    if old is None:
        return fresh
    models = {record["model"]: record for record in [*old["models"], *model_records(plan.entrants)]}
    kept = {key: old[key] for key in ("started_at", "elapsed_s", "refresh", "seed")}
    tags = list(dict.fromkeys([*old.get("tags", []), *options.tags]))
    extended = {
        "models": list(models.values()),
        "prompts": {**old["prompts"], **fresh["prompts"]},
        "epochs": max(old["epochs"], fresh["epochs"]),
        "n_trials": max(old["n_trials"], fresh["n_trials"]),
    }
    return {**fresh, **kept, **extended, "tags": tags}


def _status_of(root: Path, run_id: str, manifest: Mapping[str, Any]) -> str:
    """Say how far a run is: complete when none of its trials is pending or skipped."""
    with Warehouse(root) as warehouse:
        con = warehouse.connection("trials")
        rows = sql.run_file(con, "generation/owed_trials", {"run_id": run_id}).fetchall()
    owed = int(rows[0][0])
    if owed == 0:
        return "complete"
    return str(manifest["status"]) if manifest["status"] in ("aborted", "interrupted") else "incomplete"


def _with_run(trials: pa.Table, run_id: str) -> pa.Table:
    import pyarrow as pa

    schema = arrow_schema("trials")
    table = trials.set_column(
        trials.schema.get_field_index("run_id"), "run_id", pa.array([run_id] * trials.num_rows, pa.string())
    )
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _append_known(writer: Any, rows: pa.Table, todo: pa.Table) -> None:
    """Record the trials that were added, and those that a stored answer serves now."""
    import pyarrow.compute as pc

    known = rows.append_column("is_added", todo.column("is_added")).filter(
        pc.field("is_added") | (pc.field("status") == "answered")
    )
    known = known.drop_columns(["is_added"])
    for batch in known.to_batches(max_chunksize=1000):
        for trial in batch.to_pylist():
            writer.append(response=None, calls=(), trials=[{k: v for k, v in trial.items() if v is not None}])


def _drive(engine: Engine, plan: Plan, todo: Outstanding) -> Ending:
    """Run the engine to its end, on a thread of its own where a loop is running already (notebooks)."""

    async def main() -> Ending:
        providers = Providers(plan, engine)
        try:
            return await engine.run(_work(plan, todo, providers))
        finally:
            await providers.close()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main())
    outcome: list[Ending | BaseException] = []

    def target() -> None:
        try:
            outcome.append(asyncio.run(main()))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=target, name="gradetrail-generate")
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


class Providers:
    """The providers of a generation, each opened when the first request of its model comes."""

    def __init__(self, plan: Plan, engine: Engine) -> None:
        self._plan, self._engine = plan, engine
        self._open: dict[str, Provider] = {}
        self._pool: RayPool | None = None

    def of(self, entrant: Entrant) -> Provider:
        """Give the provider of an entrant's model."""
        name = entrant.model.display
        if name not in self._open:
            self._open[name] = self._make(entrant)
        return self._open[name]

    def _make(self, entrant: Entrant) -> Provider:
        spec, knobs, concurrency = self._plan.spec, self._engine.knobs, self._engine.gate.ceiling
        if knobs.executor == "ray":
            from gradetrail.generation.ray_executor import RayPool, RayProvider

            if self._pool is None:
                self._pool = RayPool(spec, workers=knobs.workers, concurrency=concurrency)
            return RayProvider(self._pool, entrant.model.display)
        return open_provider(
            spec, entrant.model, entrant.shape, concurrency=concurrency, timeout_s=knobs.timeout_s
        )

    async def close(self) -> None:
        """Let all connections and workers go."""
        for provider in self._open.values():
            await provider.close()
        if self._pool is not None:
            await self._pool.close()


def _work(plan: Plan, todo: Outstanding, providers: Providers) -> Iterator[Work]:
    """Yield the requests to make in plan order, rendered as they are needed."""
    import pyarrow.compute as pc

    columns = [*PLANNED, "entrant", "sample", "is_first_of_key"]
    pending = with_status(todo.trials, "pending").select(columns)
    sharing: dict[str, list[dict[str, Any]]] = {}
    for row in pending.filter(~pc.field("is_first_of_key")).to_pylist():
        sharing.setdefault(row["request_key"], []).append(_planned(row))
    scripts = Scripts(plan)
    for batch in pending.filter(pc.field("is_first_of_key")).to_batches(max_chunksize=500):
        for row in batch.to_pylist():
            entrant = plan.entrants[row["entrant"]]
            yield Work(
                provider=providers.of(entrant),
                trials=[_planned(row), *sharing.get(row["request_key"], ())],
                canonical=scripts.canonical(row),
                turn=scripts.turns(row),
                answers=list(todo.turn_answers.get(row["request_key"], ())),
                keep_raw=bool(plan.spec.option(entrant.model, "keep_raw")),
                keep_logprobs=bool(entrant.shape.params.get("logprobs")),
            )


def _planned(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in PLANNED if row[name] is not None}
