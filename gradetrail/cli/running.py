"""`run`, `generate`, `score` and `plan`: commands that make or grade answers."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradetrail.cli.options import (
    AllowErrorsOption,
    CasesOption,
    ConcurrencyOption,
    EpochsOption,
    Executor,
    ExecutorOption,
    FailOnOption,
    FormatOption,
    LimitOption,
    MaxAgeOption,
    MaxCostOption,
    ModelOption,
    NewOption,
    OutputOption,
    PromptOption,
    RefreshOption,
    SampleOption,
    SeedOption,
    TagOption,
    UnsafeCodeOption,
    WarehouseOption,
    WhereOption,
    WorkersOption,
)
from gradetrail.cli.output import Format, check_output, say, show_rows

if TYPE_CHECKING:
    from gradetrail.pipeline import Invocation, Preview, Run
    from gradetrail.spec import Spec

SpecsArgument = Annotated[
    list[str], typer.Argument(help="Spec files, or runs to go on with.", metavar="SPEC|RUN...")
]
EXAMPLES_SHOWN = 10
WHY_SHOWN = 5


def run(
    specs: SpecsArgument,
    warehouse: WarehouseOption = None,
    model: ModelOption = None,
    prompt: PromptOption = None,
    limit: LimitOption = None,
    sample: SampleOption = None,
    seed: SeedOption = None,
    cases: CasesOption = None,
    where: WhereOption = None,
    epochs: EpochsOption = None,
    new: NewOption = False,
    refresh: RefreshOption = False,
    tag: TagOption = None,
    max_cost: MaxCostOption = None,
    concurrency: ConcurrencyOption = None,
    executor: ExecutorOption = None,
    workers: WorkersOption = None,
    max_age: MaxAgeOption = None,
    allow_errors: AllowErrorsOption = "5%",
    fail_on: FailOnOption = None,
    unsafe_code: UnsafeCodeOption = False,
    form: FormatOption = Format.table,
    output: OutputOption = None,
) -> None:
    """Generate what is missing, grade what is new, print the leaderboard."""
    from gradetrail import pipeline
    from gradetrail.cli.board import print_board
    from gradetrail.errors import UnusableError, VerdictError

    share = parse_share(allow_errors)
    check_output(output)
    runs = _generate(
        specs,
        warehouse,
        _invocation(model, prompt, limit, sample, seed, cases, where, epochs, new, refresh, tag, max_age),
        _knobs(max_cost, concurrency, executor, workers),
        fail_on or (),
    )
    root = pipeline.warehouse_root(warehouse)
    for spec, done in runs:
        pipeline.score_runs(root, spec, [done.run_id], allow_unsafe_code=unsafe_code)
    print_board(root, list(dict.fromkeys(done.task for _, done in runs)), form, output)
    rest = [*specs[len(runs) :], *kept_flags(model, prompt, epochs, max_cost)]
    exit_for([done for _, done in runs], root, share, must_be_scored=True, rest=rest)
    verdict = pipeline.verdict(root, [done.run_id for _, done in runs], fail_on or ())
    if verdict.tripped:
        raise VerdictError(*verdict.tripped)
    if verdict.unknown:
        raise UnusableError(*verdict.unknown)


def generate(
    specs: SpecsArgument,
    warehouse: WarehouseOption = None,
    model: ModelOption = None,
    prompt: PromptOption = None,
    limit: LimitOption = None,
    sample: SampleOption = None,
    seed: SeedOption = None,
    cases: CasesOption = None,
    where: WhereOption = None,
    epochs: EpochsOption = None,
    new: NewOption = False,
    refresh: RefreshOption = False,
    tag: TagOption = None,
    max_cost: MaxCostOption = None,
    concurrency: ConcurrencyOption = None,
    executor: ExecutorOption = None,
    workers: WorkersOption = None,
    max_age: MaxAgeOption = None,
    allow_errors: AllowErrorsOption = "5%",
) -> None:
    """Call the models for every trial that has no stored answer."""
    from gradetrail import pipeline

    share = parse_share(allow_errors)
    runs = _generate(
        specs,
        warehouse,
        _invocation(model, prompt, limit, sample, seed, cases, where, epochs, new, refresh, tag, max_age),
        _knobs(max_cost, concurrency, executor, workers),
    )
    root = pipeline.warehouse_root(warehouse)
    rest = [*specs[len(runs) :], *kept_flags(model, prompt, epochs, max_cost)]
    exit_for([done for _, done in runs], root, share, must_be_scored=False, rest=rest)


def _invocation(
    model: list[str] | None,
    prompt: list[str] | None,
    limit: int | None,
    sample: int | None,
    seed: int | None,
    cases: str | None,
    where: str | None,
    epochs: int | None,
    new: bool,
    refresh: bool,
    tag: list[str] | None = None,
    max_age: str | None = None,
) -> Invocation:
    from gradetrail.dataset import Selection
    from gradetrail.generation.outstanding import Options
    from gradetrail.generation.plan import Narrowing
    from gradetrail.pipeline import Invocation

    ids = tuple(part.strip() for part in cases.split(",") if part.strip()) if cases else ()
    return Invocation(
        selection=Selection(limit=limit, sample=sample, seed=seed, cases=ids, where=where),
        narrowing=Narrowing(models=tuple(model or ()), prompts=tuple(prompt or ()), epochs=epochs),
        options=Options(new=new, refresh=refresh, tags=tuple(tag or ()), max_age=parse_age(max_age)),
    )


def _knobs(
    max_cost: float | None, concurrency: int | None, executor: Executor | None, workers: int | None
) -> dict[str, Any]:
    """Collect the run knobs that flags state; they win over the spec's."""
    stated = {
        "max_cost_usd": max_cost,
        "concurrency": concurrency,
        "executor": executor.value if executor is not None else None,
        "workers": workers,
    }
    return {name: value for name, value in stated.items() if value is not None}


def _generate(
    names: Sequence[str],
    warehouse: Path | None,
    invocation: Invocation,
    knobs: dict[str, Any],
    conditions: Sequence[str] = (),
) -> list[tuple[Spec, Run]]:
    from dataclasses import replace

    from gradetrail import pipeline
    from gradetrail.cli.progress import shown_progress, summary

    root = pipeline.warehouse_root(warehouse)
    jobs = [pipeline.job_of(root, name, knobs) for name in names]
    pipeline.check_conditions(conditions, [job.spec for job in jobs])
    with shown_progress() as observe:
        told = replace(invocation, observe=observe, tell=say)
        runs = pipeline.generate_many(jobs, warehouse=root, invocation=told)
    for done in runs:
        word = "new run" if done.is_new else "run"
        say(f"{word} {done.run_id}: {done.status}, {summary(done.progress)}")
    return [(job.spec, done) for job, done in zip(jobs, runs, strict=False)]


def kept_flags(
    models: Sequence[str] | None, prompts: Sequence[str] | None, epochs: int | None, max_cost: float | None
) -> list[str]:
    """Give the flags that a run does not remember, so that going on with it does no more than was asked."""
    flags = [("--model", name) for name in models or ()] + [("--prompt", name) for name in prompts or ()]
    flags += [("--epochs", str(epochs))] if epochs is not None else []
    flags += [("--max-cost", f"{max_cost:g}")] if max_cost is not None else []
    return [part for flag in flags for part in flag]


def exit_for(
    runs: Sequence[Run], root: Path, allow_errors: float, *, must_be_scored: bool, rest: Sequence[str] = ()
) -> None:
    """End with the exit code that the runs' states ask for; `rest` completes the command to go on with."""
    from gradetrail import pipeline
    from gradetrail.errors import Fault, InterruptError, UnusableError

    again = shlex.join(
        ["gradetrail", "run", *(done.run_id for done in runs), *rest, "--warehouse", str(root)]
    )
    if any(done.status == "interrupted" for done in runs):
        raise InterruptError(Fault("interrupted; every answer received is kept", fix=f"go on with: {again}"))
    faults = []
    for done in runs:
        if done.status == "aborted":
            faults.append(Fault(f"aborted: {done.reason}", done.run_id, fix=f"then go on with: {again}"))
        elif done.status != "complete":
            faults.append(Fault("trials are still owed", done.run_id, fix=f"go on with: {again}"))
    faults += pipeline.unusable(
        root, [done.run_id for done in runs], allow_errors, must_be_scored=must_be_scored
    )
    if faults:
        raise UnusableError(*faults)


def score(
    targets: Annotated[
        list[str] | None, typer.Argument(help="Spec files or runs.", metavar="SPEC|RUN...")
    ] = None,
    warehouse: WarehouseOption = None,
    every: Annotated[bool, typer.Option("--all", help="Every run of every task.")] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Say which grades would flip; write nothing.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Grade again what is graded already.")] = False,
    unsafe_code: UnsafeCodeOption = False,
    form: FormatOption = Format.table,
    output: OutputOption = None,
) -> None:
    """Grade stored answers, calling no model: all runs of a spec's task, or one run."""
    from gradetrail import pipeline
    from gradetrail.cli.board import print_board
    from gradetrail.errors import Fault, SelectionError

    root = pipeline.warehouse_root(warehouse)
    if not targets and not every:
        raise SelectionError(Fault("nothing to score", fix="name a spec or a run, or give --all"))
    if preview:
        previewed = pipeline.preview_all if every else partial(pipeline.preview, *(targets or ()))
        _print_preview(previewed(warehouse=root), form, output)
        return
    graded = []
    if every:
        graded += pipeline.score_all(warehouse=root, force=force, allow_unsafe_code=unsafe_code)
    for target in targets or ():
        graded += pipeline.score(target, warehouse=root, force=force, allow_unsafe_code=unsafe_code)
    written = sum(1 for item in graded if item.n_rows)
    n_rows = sum(item.n_rows for item in graded)
    say(f"graded {n_rows:,} answers in {written} run x scorer; {len(graded) - written} were up to date")
    print_board(root, pipeline.tasks_of(root, [item.run_id for item in graded]), form, output)


def _print_preview(preview: Preview, form: Format, output: Path | None) -> None:
    flips = preview.flips
    kinds = Counter((flip["scorer"], flip["change"]) for flip in flips)
    total = f"{preview.n_trials:,} trials of {preview.n_runs:,} {'run' if preview.n_runs == 1 else 'runs'}"
    if not flips:
        say(f"no grade would change ({total})")
    for (scorer, change), n in sorted(kinds.items()):
        say(f"{scorer}: {n:,} {change} ({total})")
    for moved in preview.ranks:
        board = moved.scorer if moved.metric == "score" else f"{moved.scorer} ({moved.metric})"
        entrant = moved.model if moved.prompt == "default" else f"{moved.model} / {moved.prompt}"
        ranks = f"{moved.old_rank or 'no rank'} -> {moved.new_rank or 'no rank'}"
        say(f"rank of {entrant} in {moved.task}, {board}: {ranks}")
    shown = flips if form is not Format.table else _examples(flips)
    if form is Format.table and flips:
        columns = [
            "change",
            "scorer",
            "model",
            "sample_id",
            *(["epoch"] if any(flip["epoch"] > 1 for flip in flips) else ()),
            "target",
            "old_extracted",
            "new_extracted",
            "old_outcome",
            "new_outcome",
        ]
        if len(shown) < len(flips):
            say(f"{len(shown)} of {len(flips):,} are shown; `--format csv` has them all")
    else:
        columns = list(flips[0]) if flips else ["change", "scorer", "model", "sample_id"]
    show_rows(columns, [[flip[name] for name in columns] for flip in shown], form, output)


def _examples(flips: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Choose up to ten flips, verdicts before mere extractions, all kinds of change among them."""
    order = {"fixed": 0, "broken": 0, "up": 1, "down": 1, "outcome": 2, "extraction": 3}
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for flip in sorted(flips, key=lambda flip: order[flip["change"]]):
        by_kind.setdefault(flip["change"], []).append(flip)
    chosen: list[dict[str, Any]] = []
    while len(chosen) < EXAMPLES_SHOWN and any(by_kind.values()):
        for rows in by_kind.values():
            if rows and len(chosen) < EXAMPLES_SHOWN:
                chosen.append(rows.pop(0))
    return sorted(chosen, key=lambda flip: order[flip["change"]])


def plan(
    specs: SpecsArgument,
    warehouse: WarehouseOption = None,
    model: ModelOption = None,
    prompt: PromptOption = None,
    limit: LimitOption = None,
    sample: SampleOption = None,
    seed: SeedOption = None,
    cases: CasesOption = None,
    where: WhereOption = None,
    epochs: EpochsOption = None,
    new: NewOption = False,
    refresh: RefreshOption = False,
    show: Annotated[int, typer.Option("--show", min=0, help="Print N rendered prompts.")] = 1,
    why: Annotated[bool, typer.Option("--why", help="Say why requests have no stored answer.")] = False,
    form: FormatOption = Format.table,
    output: OutputOption = None,
) -> None:
    """Validate everything and say what a run would do; calls and writes nothing."""
    from gradetrail import pipeline
    from gradetrail.cli.board import forecast_rows, rendered_prompts

    root = pipeline.warehouse_root(warehouse)
    invocation = _invocation(model, prompt, limit, sample, seed, cases, where, epochs, new, refresh)
    forecasts = [
        pipeline.forecast(
            pipeline.job_of(root, name),
            warehouse=root,
            invocation=invocation,
            explain=WHY_SHOWN if why else 0,
        )
        for name in specs
    ]
    for item in forecasts:
        for warning in item.plan.warnings:
            say(f"warning: {warning}")
        for line in item.todo.differences:
            say(f"differs from the newest run: {line}")
        for line in item.reasons:
            say(line)
        if show:
            say(rendered_prompts(item, show))
    names, rows = forecast_rows(forecasts)
    show_rows(names, rows, form, output)


def parse_age(text: str | None) -> timedelta | None:
    """Read `90m`, `12h` or `30d`; SelectionError for anything else."""
    from gradetrail.errors import Fault, SelectionError

    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if match is None:
        raise SelectionError(Fault(f"`{text}` is no age", "--max-age", fix="write 90m, 12h or 30d"))
    unit = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}[match[2]]
    return timedelta(**{unit: float(match[1])})


def parse_share(text: str) -> float:
    """Read `5%` or `0.05` as 0.05; SelectionError for anything else."""
    from gradetrail.errors import Fault, SelectionError

    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise SelectionError(Fault(f"`{text}` is no share", "--allow-errors", fix="write 5% or 0.05"))
    return share
