"""Validates specs, plans them, and makes the calls that they still owe.

Invariant: everything that can be wrong with what the user gave is said before the first call and the
first write.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gradetrail.dataset import Selection
from gradetrail.errors import Fault, SelectionError, SpecError
from gradetrail.generation.engine import Shared
from gradetrail.generation.forecast import Estimate, estimate, why
from gradetrail.generation.outstanding import (
    Options,
    Outstanding,
    check_models,
    outstanding,
    pending_models,
    unset_variables,
)
from gradetrail.generation.plan import Narrowing, Plan, make_plan
from gradetrail.generation.progress import Progress
from gradetrail.generation.run import Generated
from gradetrail.generation.run import generate as generate_plan
from gradetrail.pipeline.checking import definitions_to_run
from gradetrail.pipeline.judge_forecast import judge_estimates
from gradetrail.pipeline.judging import check_judges, check_opponents
from gradetrail.pipeline.limits import known_prices, make_budget, make_gate
from gradetrail.pipeline.recorded import Job, SpecLike, as_spec, warehouse_root
from gradetrail.pipeline.result import Run
from gradetrail.pipeline.running_mean import running_mean
from gradetrail.pipeline.sharing import judge_models
from gradetrail.pipeline.tidying import tidy
from gradetrail.prompt import RenderError, render, target_texts
from gradetrail.scoring.fit import ColumnWatch
from gradetrail.scoring.grade import Definition, columns
from gradetrail.scoring.judge_check import judge_warnings
from gradetrail.scoring.judge_prompt import JudgePrompt
from gradetrail.scoring.label_watch import Asked, LabelWatch
from gradetrail.scoring.targets import TargetWatch
from gradetrail.spec import NAME
from gradetrail.store.places import is_warehouse


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


def prepare(job: Job, invocation: Invocation) -> tuple[Plan, list[Definition]]:
    """Validate spec, data, templates and scorers, and plan every trial; nothing is written."""
    scorers = definitions_to_run(job.spec, invocation.narrowing.models, has_frame=job.frame is not None)

    watches = [TargetWatch(definition) for definition in scorers]
    prompts = [[(judge, judge.judge_prompt()) for judge in definition.judges()] for definition in scorers]

    columns_watch, label_watches = ColumnWatch.over(scorers), LabelWatch.over(scorers)

    def check_sample(values: Mapping[str, Any]) -> None:
        columns_watch.look(values)
        for labels in label_watches:
            labels.look(values)
        for watch, asked in zip(watches, prompts, strict=True):
            _check_scorer(watch, asked, values)

    plan = make_plan(
        job.spec, invocation.selection, invocation.narrowing, frame=job.frame, check=check_sample
    )
    faults, told = columns_watch.faults(lambda name: job.spec.where("scorers", name)), list[str]()
    if label_watches:
        asked = _asked(plan)
        for labels in label_watches:
            faults += labels.faults(job.spec.where("scorers", labels.name), asked)
            told += labels.warnings(asked)
    if faults:
        raise SpecError(*faults)
    warnings = (*plan.warnings, *(text for watch in watches for text in watch.warnings()), *told)
    warnings += tuple(text for definition in scorers for text in judge_warnings(job.spec, definition))
    return replace(plan, warnings=warnings), scorers


def _asked(plan: Plan) -> Asked:
    samples = plan.samples
    return Asked(
        sample_ids=frozenset(map(str, samples.index.column("sample_id").to_pylist())),
        models=frozenset(model.display for model in plan.spec.models),
        prompts=frozenset(plan.spec.prompts),
        epochs=max(plan.epochs, plan.spec.epochs),
        is_part=samples.chosen.num_rows < samples.index.num_rows,
    )


def _check_scorer(
    watch: TargetWatch, prompts: Sequence[tuple[Definition, JudgePrompt]], values: Mapping[str, Any]
) -> None:
    """Render what a scorer needs of one sample; RenderError names the scorer."""
    definition = watch.definition
    try:
        targets = None
        if definition.target is not None:
            targets = target_texts(definition.target, values)
            watch.look(targets)
        elif definition.has_choices:
            targets = [str(values["answer_letter"])]
        texts = {name: render(template, values) for name, template in columns(definition).items()}
        if "pattern" in texts:
            _check_pattern(texts["pattern"])
        for judge, prompt in prompts:
            if judge.case in (None, texts.get("switch")) and (targets or not judge.needs_target):
                prompt.try_on(values, targets)
    except RenderError as error:
        raise RenderError(f"scorer `{definition.name}`: {error}") from None


def _check_pattern(text: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        way = "`{{ field | regex_escape }}` takes a field as it stands"
        raise RenderError(f"not a regular expression: {error} in `{text}`; {way}") from None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run of a spec would do now."""

    plan: Plan
    todo: Outstanding
    estimates: tuple[Estimate, ...]
    """One for each model, then one for each scorer that asks a judge."""
    reasons: tuple[str, ...]
    """Why requests have no stored answer, where that was asked for."""
    unset: tuple[Fault, ...]
    """Keys and other variables that the calls would need and that are not set."""


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
    plan, scorers = prepare(job, own)
    todo = outstanding(root, plan, own.options, datetime.now(UTC))
    unset = unset_variables(plan, todo)
    prices = known_prices(root, pending_models(plan, todo))
    estimates = [*estimate(root, plan, todo, prices), *judge_estimates(root, plan, todo.run_id, scorers)]
    reasons = tuple(why(root, plan, todo, explain)) if explain else ()
    return Forecast(plan, todo, tuple(estimates), reasons, unset)


def generate_many(
    jobs: Sequence[Job],
    *,
    warehouse: str | os.PathLike[str] | None = None,
    invocation: Invocation = Invocation(),
    is_judging: bool = False,
) -> list[Run]:
    """Make the calls that specs still owe, under one gate and one budget; all are validated first.

    `is_judging` says that the answers are graded afterwards: a ceiling must hold for judges too, and the
    mean so far is told where it is cheap to know.
    """
    root = warehouse_root(warehouse)
    _check_tags(invocation.options.tags)
    now = datetime.now(UTC)
    prepared = []
    for job in jobs:
        own = invocation.of(job)
        plan, scorers = prepare(job, own)
        todo = outstanding(root, plan, own.options, now)
        check_models(plan, todo)
        if is_judging:
            check_opponents(root, scorers)
            if todo.n_requests:
                check_judges(job.spec, scorers)
        prepared.append((own, plan, scorers, todo))
    asked = {pair for _, plan, _, todo in prepared for pair in pending_models(plan, todo)}
    specs = [job.spec for job in jobs]
    if is_judging and asked:
        asked |= {(model.provider, model.name) for spec in specs for model in judge_models(spec)}
    shared = Shared(make_gate(specs), make_budget(root, specs, asked))
    if invocation.tell is not None:
        for _, plan, _, todo in prepared:
            _tell(invocation.tell, plan, todo)
    runs: list[Run] = []
    for own, plan, scorers, todo in prepared:
        progress = Progress(observe=invocation.observe)
        with running_mean(progress, plan, scorers[0]) if is_judging else contextlib.nullcontext():
            done = generate_plan(
                root,
                plan,
                scorers={d.name: d.scorer_id() for d in scorers},
                options=own.options,
                shared=shared,
                progress=progress,
                # the answers of an earlier spec may serve a later one
                todo=todo if len(prepared) == 1 else None,
            )
        runs.append(_run(root, plan, done))
        if done.status == "interrupted":
            break
    if is_warehouse(root):
        tidy(root, invocation.tell)
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
    fix = "ASCII letters, digits, `_`, `.`, `-`, no `..`, at most 100"
    faults = [Fault(f"`{tag}` is no tag", "--tag", fix=fix) for tag in tags if not NAME.match(tag)]
    if faults:
        raise SelectionError(*faults)


def _run(root: Path, plan: Plan, done: Generated) -> Run:
    halt = done.progress.halt if done.status == "aborted" else None
    return Run(
        run_id=done.run_id, task=plan.spec.name, root=root, status=done.status, reason=done.reason, halt=halt,
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
    job = Job(as_spec(spec, has_frame=frame is not None), frame)
    return generate_many([job], warehouse=warehouse, invocation=invocation)[0]
