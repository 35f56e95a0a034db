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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail.dataset import Selection
from gradetrail.errors import Fault, GradetrailError, SelectionError, SpecError
from gradetrail.generation.gate import Gate
from gradetrail.generation.plan import Narrowing, Plan, make_plan
from gradetrail.generation.progress import Progress
from gradetrail.generation.run import Generated, Options, Outstanding, check_models, outstanding
from gradetrail.generation.run import generate as generate_plan
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

    selection: Selection = Selection()
    narrowing: Narrowing = Narrowing()
    options: Options = Options()
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
        raise RenderError(f"scorer `{definition.name}`: not a regular expression: {error} in {error.pattern!r}") from None
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

        return int(pc.sum(pc.equal(self.todo.trials.column("status"), "pending")).as_py() or 0)


def forecast(spec: SpecLike, *, warehouse: str | os.PathLike[str] | None = None, invocation: Invocation = Invocation()) -> Forecast:
    """Validate and plan without calling or writing: hits, misses, and what differs from the newest run."""
    plan, scorers = prepare(as_spec(spec), invocation)
    todo = outstanding(warehouse_root(warehouse), plan, invocation.options, datetime.now(UTC))
    check_models(plan, todo)
    return Forecast(plan, todo, tuple(scorers))


def generate_many(
    specs: Sequence[Spec], *, warehouse: str | os.PathLike[str] | None = None, invocation: Invocation = Invocation()
) -> list[Run]:
    """Make the calls that specs still owe, under one gate; all are validated before the first call."""
    root = warehouse_root(warehouse)
    prepared = [prepare(spec, invocation) for spec in specs]
    now = datetime.now(UTC)
    for plan, _ in prepared:
        check_models(plan, outstanding(root, plan, invocation.options, now))
    runs: list[Run] = []
    knobs = [spec.run for spec in specs]
    gate = Gate(max(knob.concurrency for knob in knobs), requests_per_minute=_lowest(knobs))
    for plan, scorers in prepared:
        progress = Progress(observe=invocation.observe)
        done = generate_plan(
            root, plan, scorers={d.name: d.scorer_id() for d in scorers},
            options=invocation.options, gate=gate, progress=progress,
        )  # fmt: skip
        runs.append(_run(root, plan, done))
        if done.status == "interrupted":
            break
    return runs


def _lowest(knobs: Sequence[Any]) -> float | None:
    rates = [knob.requests_per_minute for knob in knobs if knob.requests_per_minute is not None]
    return min(rates, default=None)


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
    with Warehouse(root) as opened:
        by_task: dict[str, list[str]] = {}
        for manifest in opened.manifests():
            by_task.setdefault(manifest["task"], []).append(manifest["run_id"])
        specs = {task: _recorded_spec(opened, runs[-1]) for task, runs in by_task.items()}
    return [g for task, runs in by_task.items() for g in _score_runs(root, specs[task], runs, force=force)]


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
    spec, run_ids = _to_score(root, target)
    scorers = checked_definitions(spec)
    flips: list[dict[str, Any]] = []
    n_trials = 0
    with Warehouse(root) as opened:
        for run_id in run_ids:
            grader = RunGrader(opened, spec, run_id)
            try:
                n_trials += grader.n_trials
                for definition in scorers:
                    flips += grader.flips(definition, grader.scores(definition))
            finally:
                grader.close()
    return Preview(len(run_ids), n_trials, tuple(flips))


def _to_score(root: Path, target: SpecLike) -> tuple[Spec, list[str]]:
    is_name = isinstance(target, str) and not Path(target).suffix in (".yaml", ".yml")
    with Warehouse(root) as opened:
        if is_name:
            run_id = opened.run_id(str(target))
            return _recorded_spec(opened, run_id), [run_id]
        spec = as_spec(target)
        runs = [manifest["run_id"] for manifest in opened.manifests() if manifest["task"] == spec.name]
    if not runs:
        raise SelectionError(
            Fault(f"no run of task `{spec.name}` in {root}", fix="make one with `gradetrail run`")
        )
    return spec, runs


def _recorded_spec(warehouse: Warehouse, run_id: str) -> Spec:
    """Rebuild the spec of a run from its manifest, with the newest grading of its task."""
    manifest = next((m for m in warehouse.manifests() if m["run_id"] == run_id), None)
    if manifest is None:
        raise SelectionError(Fault(f"no run `{run_id}`"))
    grading = warehouse.task_definition(manifest["task"]) or {}
    try:
        return spec_from({**manifest["spec"], **grading.get("grading", {})}, base=Path(manifest.get("base", ".")))
    except SpecError as error:
        raise GradetrailError(
            *(replace(fault, where=f"manifest of {run_id}") for fault in error.faults)
        ) from None
