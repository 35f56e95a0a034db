"""Joins generation and scoring: the functions behind both the commands and the Python API.

Invariant: everything that can be wrong with what the user gave is said before the first call and the
first write; a result that cannot be used is never shown as one that can.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.dataset import Selection
from gradetrail.errors import Fault, GradetrailError, SelectionError, SpecError
from gradetrail.generation.budget import Budget
from gradetrail.generation.engine import Shared
from gradetrail.generation.gate import Gate
from gradetrail.generation.plan import Narrowing, Plan, make_plan
from gradetrail.generation.progress import Progress
from gradetrail.generation.run import (
    Generated,
    Options,
    Outstanding,
    check_models,
    outstanding,
    pending_models,
)
from gradetrail.generation.run import generate as generate_plan
from gradetrail.prices import price_file, prices_of
from gradetrail.prompt import RenderError, render, target_texts
from gradetrail.scoring.grade import Definition, check, columns, definitions
from gradetrail.scoring.planner import Graded, RunGrader, publish_task, score_run
from gradetrail.spec import Spec, load_spec, spec_from
from gradetrail.store import Store
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import polars as pl

SpecLike = Spec | str | os.PathLike[str] | Mapping[str, Any]


def warehouse_root(path: str | os.PathLike[str] | None = None) -> Path:
    """Give the warehouse's folder: as named, else $GRADETRAIL_WAREHOUSE, else ./warehouse."""
    return Path(path or os.environ.get("GRADETRAIL_WAREHOUSE") or "warehouse")


def as_spec(spec: SpecLike) -> Spec:
    """Load a spec file, or validate a mapping; a Spec stays as it is."""
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, Mapping):
        return spec_from(spec)
    return load_spec(spec)


@dataclass(frozen=True, slots=True)
class Invocation:
    """What one call or command asks for, besides the spec."""

    selection: Selection = field(default_factory=Selection)
    narrowing: Narrowing = field(default_factory=Narrowing)
    options: Options = field(default_factory=Options)
    frame: object | None = None
    """A DataFrame in place of the spec's dataset file."""
    observe: Callable[[Progress], None] | None = None
    """Called about ten times a second while calls are made."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run in a warehouse."""

    run_id: str
    task: str
    root: Path
    status: str
    """`complete`, `incomplete`, `aborted` or `interrupted`."""
    reason: str | None = None
    is_new: bool = True
    graded: tuple[Graded, ...] = ()
    progress: Progress = field(default_factory=Progress)
    differences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def board(self) -> pl.DataFrame:
        """Give the task's leaderboard; columns of the view `leaderboard`."""
        with Warehouse(self.root) as warehouse:
            return warehouse.leaderboard(self.task)

    def wrong(self) -> pl.DataFrame:
        """Give this run's wrong answers with question and target; columns of the view `wrong`."""
        with Warehouse(self.root) as warehouse:
            return warehouse.sql("select * from wrong where run_id = $run_id", {"run_id": self.run_id})

    def diff(self, other: Run | str) -> pl.DataFrame:
        """Compare with another run, sample by sample; columns of `diff`. `other` is the older."""
        with Warehouse(self.root) as warehouse:
            return warehouse.diff(other.run_id if isinstance(other, Run) else other, self.run_id)


def checked_definitions(spec: Spec) -> list[Definition]:
    """Give the spec's scorers; SpecError with every fault of their options."""
    found = definitions(spec)
    faults = [f for d in found for f in check(d, spec.where("scorers", d.name))]
    if faults:
        raise SpecError(*faults)
    return found


def prepare(spec: Spec, invocation: Invocation) -> tuple[Plan, list[Definition]]:
    """Validate spec, data, templates and scorers, and plan every trial; nothing is written."""
    scorers = checked_definitions(spec)

    def check_sample(values: Mapping[str, Any]) -> None:
        for definition in scorers:
            _check_scorer(definition, values)

    plan = make_plan(
        spec, invocation.selection, invocation.narrowing, frame=invocation.frame, check=check_sample
    )
    return plan, scorers


def _check_scorer(definition: Definition, values: Mapping[str, Any]) -> None:
    """Render what a scorer needs of one sample; RenderError names the scorer."""
    try:
        if definition.target is not None:
            target_texts(definition.target, values)
        for name, template in columns(definition).items():
            text = render(template, values)
            if name == "pattern":
                re.compile(text)
    except re.error as error:
        raise RenderError(
            f"scorer `{definition.name}`: not a regular expression: {error} in {error.pattern!r}"
        ) from None
    except RenderError as error:
        raise RenderError(f"scorer `{definition.name}`: {error}") from None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run of a spec would do now."""

    plan: Plan
    todo: Outstanding
    scorers: tuple[Definition, ...]

    @property
    def n_hits(self) -> int:
        """Trials already answered in the run, or served by stored answers."""
        return self.plan.trials.num_rows - self.n_pending

    @property
    def n_pending(self) -> int:
        """Trials without an answer."""
        import pyarrow.compute as pc

        return self.todo.trials.filter(pc.field("status") == "pending").num_rows


def forecast(
    spec: SpecLike, *, warehouse: str | os.PathLike[str] | None = None, invocation: Invocation = Invocation()
) -> Forecast:
    """Validate and plan without calling or writing: hits, misses, and what differs from the newest run."""
    plan, scorers = prepare(as_spec(spec), invocation)
    todo = outstanding(warehouse_root(warehouse), plan, invocation.options, datetime.now(UTC))
    check_models(plan, todo)
    return Forecast(plan, todo, tuple(scorers))


def generate_many(
    specs: Sequence[Spec],
    *,
    warehouse: str | os.PathLike[str] | None = None,
    invocation: Invocation = Invocation(),
) -> list[Run]:
    """Make the calls that specs still owe, under one gate; all are validated before the first call."""
    root = warehouse_root(warehouse)
    prepared = [prepare(spec, invocation) for spec in specs]
    now = datetime.now(UTC)
    asked: set[tuple[str, str]] = set()
    todo = None
    for plan, _ in prepared:
        todo = outstanding(root, plan, invocation.options, now)
        check_models(plan, todo)
        asked |= pending_models(plan, todo)
    shared = Shared(_gate(specs), _budget(root, specs, asked))
    runs: list[Run] = []
    for plan, scorers in prepared:
        progress = Progress(observe=invocation.observe)
        done = generate_plan(
            root,
            plan,
            scorers={d.name: d.scorer_id() for d in scorers},
            options=invocation.options,
            shared=shared,
            progress=progress,
            todo=todo if len(prepared) == 1 else None,
        )
        runs.append(_run(root, plan, done))
        if done.status == "interrupted":
            break
    return runs


def _gate(specs: Sequence[Spec]) -> Gate:
    """Make the one gate of a command: the widest concurrency, the lowest rates."""
    knobs = [spec.run for spec in specs]
    vendors = {model.provider for spec in specs for model in spec.models if model.base_url is None}
    return Gate(
        max(knob.concurrency for knob in knobs),
        slow_start=bool(vendors & {"openai", "anthropic"}),
        requests_per_minute=min(
            (k.requests_per_minute for k in knobs if k.requests_per_minute), default=None
        ),
        tokens_per_minute=min((k.tokens_per_minute for k in knobs if k.tokens_per_minute), default=None),
    )


def _budget(root: Path, specs: Sequence[Spec], asked: set[tuple[str, str]]) -> Budget:
    """Make the one budget of a command; SpecError if a ceiling is set and a model has no price."""
    ceilings = [spec.run.max_cost_usd for spec in specs if spec.run.max_cost_usd is not None]
    budget = Budget(prices_of(asked, price_file(root)), Decimal(str(min(ceilings))) if ceilings else None)
    budget.refuse_unpriced(asked, specs[0].where("run", "max_cost_usd"))
    return budget


def _run(root: Path, plan: Plan, done: Generated) -> Run:
    return Run(
        run_id=done.run_id, task=plan.spec.name, root=root, status=done.status, reason=done.reason,
        is_new=done.is_new, progress=done.progress, differences=done.differences, warnings=plan.warnings,
    )  # fmt: skip


def generate(
    spec: SpecLike, *, warehouse: str | os.PathLike[str] | None = None, invocation: Invocation = Invocation()
) -> Run:
    """Call the models for every trial of a spec that has no stored answer; grades nothing.

    Raises SpecError, DatasetError or StoreError before the first call if anything is wrong.
    """
    return generate_many([as_spec(spec)], warehouse=warehouse, invocation=invocation)[0]


def run(
    spec: SpecLike, *, warehouse: str | os.PathLike[str] | None = None, invocation: Invocation = Invocation()
) -> Run:
    """Generate what is missing, grade what is not graded, and give the run."""
    parsed = as_spec(spec)
    done = generate(parsed, warehouse=warehouse, invocation=invocation)
    return replace(done, graded=tuple(_score_runs(done.root, parsed, [done.run_id])))


def grade_run(root: Path, spec: Spec, run_id: str) -> list[Graded]:
    """Grade what one run has not graded by the spec's scorers."""
    return _score_runs(root, spec, [run_id])


def spec_or_run(root: Path, name: str) -> Spec:
    """Load a spec file, or rebuild the spec of a run that is named instead."""
    if _is_run_name(name):
        with Warehouse(root) as opened:
            return _recorded_spec(opened, opened.run_id(name), grading=False)
    return load_spec(name)


def _is_run_name(name: object) -> bool:
    return isinstance(name, str) and Path(name).suffix not in (".yaml", ".yml") and not Path(name).exists()


def tasks_of(root: Path, run_ids: Sequence[str]) -> list[str]:
    """Name the tasks of runs, each once."""
    with Warehouse(root) as opened:
        tasks = {manifest["run_id"]: manifest["task"] for manifest in opened.manifests()}
    return list(dict.fromkeys(tasks[run_id] for run_id in run_ids if run_id in tasks))


def unusable(root: Path, run_ids: Sequence[str], allow_errors: float, *, must_be_scored: bool) -> list[Fault]:
    """Say why results must not be used: too many errors, or nothing scored."""
    faults: list[Fault] = []
    with Warehouse(root) as opened:
        for run_id in run_ids:
            states = sql.run_file(opened.connection(), "generation/run_states", {"run_id": run_id}).fetchall()
            n_trials, n_errors, n_scored = (int(value) for value in states[0])
            if n_trials and n_errors / n_trials > allow_errors:
                share = f"{n_errors:,} of {n_trials:,} trials ended in an error ({n_errors / n_trials:.1%})"
                faults.append(
                    Fault(share, run_id, fix="see `gradetrail show errors`, or raise --allow-errors")
                )
            if must_be_scored and n_scored == 0:
                faults.append(Fault("nothing was scored", run_id, fix="see `gradetrail show graded`"))
    return faults


def score(
    target: SpecLike, *, warehouse: str | os.PathLike[str] | None = None, force: bool = False
) -> list[Graded]:
    """Grade stored answers: of every run of a spec's task, or of one run (`latest`, run_id, prefix).

    Calls no model. Grades of older definitions stay and can be queried in `grades`.
    """
    root = warehouse_root(warehouse)
    spec, run_ids = _to_score(root, target)
    return _score_runs(root, spec, run_ids, force=force)


def score_all(*, warehouse: str | os.PathLike[str] | None = None, force: bool = False) -> list[Graded]:
    """Grade every run of every task by the task's present definitions."""
    root = warehouse_root(warehouse)
    return [
        graded for spec, runs in _everything(root) for graded in _score_runs(root, spec, runs, force=force)
    ]


def _everything(root: Path) -> list[tuple[Spec, list[str]]]:
    """List every task as (its present spec, its runs)."""
    with Warehouse(root) as opened:
        by_task: dict[str, list[str]] = {}
        for manifest in opened.manifests():
            by_task.setdefault(manifest["task"], []).append(manifest["run_id"])
        return [(_recorded_spec(opened, runs[-1]), runs) for runs in by_task.values()]


def _score_runs(root: Path, spec: Spec, run_ids: Sequence[str], *, force: bool = False) -> list[Graded]:
    scorers = checked_definitions(spec)
    store = Store(root)
    publish_task(store, spec, scorers)
    graded: list[Graded] = []
    with Warehouse(root) as warehouse:
        for run_id in run_ids:
            graded += score_run(warehouse, store, spec, run_id, scorers, force=force)
    return graded


@dataclass(frozen=True, slots=True)
class Preview:
    """Which stored grades would flip."""

    n_runs: int
    n_trials: int
    flips: tuple[dict[str, Any], ...]
    """One for each trial x scorer x metric whose score, outcome or extraction would differ."""


def preview(target: SpecLike, *, warehouse: str | os.PathLike[str] | None = None) -> Preview:
    """Grade stored answers by a spec's definitions and compare with the stored grades; writes nothing."""
    root = warehouse_root(warehouse)
    return _preview(root, [_to_score(root, target)])


def preview_all(*, warehouse: str | os.PathLike[str] | None = None) -> Preview:
    """Compare every run of every task with its task's present definitions; writes nothing."""
    root = warehouse_root(warehouse)
    return _preview(root, _everything(root))


def _preview(root: Path, work: Sequence[tuple[Spec, Sequence[str]]]) -> Preview:
    flips: list[dict[str, Any]] = []
    n_trials = n_runs = 0
    with Warehouse(root) as opened:
        for spec, run_id in ((spec, run_id) for spec, run_ids in work for run_id in run_ids):
            scorers = checked_definitions(spec)
            n_runs += 1
            grader = RunGrader(opened, spec, run_id)
            try:
                n_trials += grader.n_trials
                for definition in scorers:
                    flips += grader.flips(definition, grader.scores(definition))
            finally:
                grader.close()
    return Preview(n_runs, n_trials, tuple(flips))


def _to_score(root: Path, target: SpecLike) -> tuple[Spec, list[str]]:
    with Warehouse(root) as opened:
        if _is_run_name(target):
            run_id = opened.run_id(str(target))
            return _recorded_spec(opened, run_id), [run_id]
        spec = as_spec(target)
        runs = [manifest["run_id"] for manifest in opened.manifests() if manifest["task"] == spec.name]
    if not runs:
        raise SelectionError(
            Fault(f"no run of task `{spec.name}` in {root}", fix="make one with `gradetrail run`")
        )
    return spec, runs


def _recorded_spec(warehouse: Warehouse, run_id: str, *, grading: bool = True) -> Spec:
    """Rebuild the spec of a run from its manifest; `grading` takes the task's present scorers."""
    manifest = next((m for m in warehouse.manifests() if m["run_id"] == run_id), None)
    if manifest is None:
        raise SelectionError(Fault(f"no run `{run_id}`"))
    task = (warehouse.task_definition(manifest["task"]) or {}) if grading else {}
    try:
        return spec_from(
            {**manifest["spec"], **task.get("grading", {})}, base=Path(manifest.get("base", "."))
        )
    except SpecError as error:
        raise GradetrailError(
            *(replace(fault, where=f"manifest of {run_id}") for fault in error.faults)
        ) from None
