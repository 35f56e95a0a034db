"""Validates specs, plans them, and makes the calls that they still owe.

Invariant: everything that can be wrong with what the user gave is said before the first call and the
first write.
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

from gradetrail.dataset import Selection
from gradetrail.errors import Fault, SelectionError, SpecError
from gradetrail.generation.budget import Budget
from gradetrail.generation.engine import Shared
from gradetrail.generation.forecast import Estimate, estimate, why
from gradetrail.generation.gate import Gate
from gradetrail.generation.outstanding import Options, Outstanding, check_models, outstanding, pending_models
from gradetrail.generation.plan import Narrowing, Plan, make_plan
from gradetrail.generation.progress import Progress
from gradetrail.generation.run import Generated
from gradetrail.generation.run import generate as generate_plan
from gradetrail.pipeline.recorded import Job, SpecLike, as_spec, warehouse_root
from gradetrail.prices import price_file, prices_of
from gradetrail.prompt import RenderError, render, target_texts
from gradetrail.scoring.grade import Definition, check, columns, definitions
from gradetrail.scoring.planner import Graded
from gradetrail.scoring.targets import TargetWatch
from gradetrail.spec import NAME, Spec
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Invocation:
    """What one call or command asks for, besides the spec."""

    selection: Selection = field(default_factory=Selection)
    narrowing: Narrowing = field(default_factory=Narrowing)
    options: Options = field(default_factory=Options)
    observe: Callable[[Progress], None] | None = None
    """Called about ten times a second while calls are made."""
    tell: Callable[[str], None] | None = None
    """Told, before the first call, what a user may want to stop for: warnings, what differs."""

    def of(self, job: Job) -> Invocation:
        """Give what holds for one job: a run that is named keeps its own selection."""
        options = replace(self.options, run_id=job.run_id) if job.run_id is not None else self.options
        return replace(self, selection=job.selection or self.selection, options=options)


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


def prepare(job: Job, invocation: Invocation) -> tuple[Plan, list[Definition]]:
    """Validate spec, data, templates and scorers, and plan every trial; nothing is written."""
    scorers = checked_definitions(job.spec)

    watches = [TargetWatch(definition) for definition in scorers]

    def check_sample(values: Mapping[str, Any]) -> None:
        for watch in watches:
            _check_scorer(watch, values)

    plan = make_plan(
        job.spec, invocation.selection, invocation.narrowing, frame=job.frame, check=check_sample
    )
    warnings = (*plan.warnings, *(text for watch in watches for text in watch.warnings()))
    return replace(plan, warnings=warnings), scorers


def _check_scorer(watch: TargetWatch, values: Mapping[str, Any]) -> None:
    """Render what a scorer needs of one sample; RenderError names the scorer."""
    definition = watch.definition
    try:
        if definition.target is not None:
            watch.look(target_texts(definition.target, values))
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
    estimates: tuple[Estimate, ...]
    """One for each model."""
    reasons: tuple[str, ...]
    """Why requests have no stored answer, where that was asked for."""


def forecast(
    job: Job,
    *,
    warehouse: str | os.PathLike[str] | None = None,
    invocation: Invocation = Invocation(),
    explain: int = 0,
) -> Forecast:
    """Validate and plan without calling or writing: hits, misses, tokens, cost.

    `explain` says of so many requests without an answer what the nearest stored request had otherwise.
    """
    root, own = warehouse_root(warehouse), invocation.of(job)
    plan, _ = prepare(job, own)
    todo = outstanding(root, plan, own.options, datetime.now(UTC))
    check_models(plan, todo)
    prices = prices_of(pending_models(plan, todo), price_file(root))
    estimates = estimate(root, plan, todo, prices)
    return Forecast(plan, todo, tuple(estimates), tuple(why(root, plan, todo, explain)) if explain else ())


def generate_many(
    jobs: Sequence[Job],
    *,
    warehouse: str | os.PathLike[str] | None = None,
    invocation: Invocation = Invocation(),
) -> list[Run]:
    """Make the calls that specs still owe, under one gate and one budget; all are validated first."""
    root = warehouse_root(warehouse)
    _check_tags(invocation.options.tags)
    now = datetime.now(UTC)
    prepared = []
    for job in jobs:
        own = invocation.of(job)
        plan, scorers = prepare(job, own)
        todo = outstanding(root, plan, own.options, now)
        check_models(plan, todo)
        prepared.append((own, plan, scorers, todo))
    asked = {pair for _, plan, _, todo in prepared for pair in pending_models(plan, todo)}
    specs = [job.spec for job in jobs]
    shared = Shared(_gate(specs), _budget(root, specs, asked))
    if invocation.tell is not None:
        for _, plan, _, todo in prepared:
            _tell(invocation.tell, plan, todo)
    runs: list[Run] = []
    for own, plan, scorers, todo in prepared:
        done = generate_plan(
            root,
            plan,
            scorers={d.name: d.scorer_id() for d in scorers},
            options=own.options,
            shared=shared,
            progress=Progress(observe=invocation.observe),
            # the answers of an earlier spec may serve a later one
            todo=todo if len(prepared) == 1 else None,
        )
        runs.append(_run(root, plan, done))
        if done.status == "interrupted":
            break
    return runs


def _tell(tell: Callable[[str], None], plan: Plan, todo: Outstanding) -> None:
    for warning in plan.warnings:
        tell(f"warning: {warning}")
    if todo.differences:
        lines = "\n".join(f"  {line}" for line in todo.differences)
        tell(
            "the plan differs from the newest run, so a new run is made; answers that fit are kept:\n" + lines
        )


def _check_tags(tags: Sequence[str]) -> None:
    fix = "letters, digits, `_`, `.`, `-`, no `..`, at most 100"
    faults = [Fault(f"`{tag}` is no tag", "--tag", fix=fix) for tag in tags if not NAME.match(tag)]
    if faults:
        raise SelectionError(*faults)


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
    spec: SpecLike,
    *,
    warehouse: str | os.PathLike[str] | None = None,
    frame: object | None = None,
    invocation: Invocation = Invocation(),
) -> Run:
    """Call the models for every trial of a spec that has no stored answer; grades nothing.

    `frame` is a DataFrame in place of the spec's dataset file. Raises SpecError, DatasetError or
    StoreError before the first call if anything is wrong.
    """
    return generate_many([Job(as_spec(spec), frame)], warehouse=warehouse, invocation=invocation)[0]
