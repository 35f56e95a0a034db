"""`run`, `generate` and `plan`: commands that make answers, or say what making them would take."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradetrail.cli.lean import leave_numpy_out
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
    from gradetrail.generation.budget import Halt
    from gradetrail.pipeline import Invocation, JudgeCalls, Run
    from gradetrail.spec import Spec

SpecsArgument = Annotated[
    list[str], typer.Argument(help="Spec files, or runs to go on with.", metavar="SPEC|RUN...")
]
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
    from gradetrail.cli.standing import tell_shown
    from gradetrail.errors import UnusableError, VerdictError

    share = parse_share(allow_errors)
    check_output(output)
    runs = _generate(
        specs,
        warehouse,
        _invocation(model, prompt, limit, sample, seed, cases, where, epochs, new, refresh, tag, max_age),
        knobs_of(max_cost, concurrency, executor, workers),
        fail_on or (),
        is_judging=True,
    )
    root = pipeline.warehouse_root(warehouse)
    runs = _grade(root, runs, allow_unsafe_code=unsafe_code)
    print_board(root, list(dict.fromkeys(done.task for _, done in runs)), form, output)
    tell_shown(root, [done for _, done in runs])
    rest = [*specs[len(runs) :], *kept_flags(model, prompt, epochs)]
    exit_for([done for _, done in runs], root, share, must_be_scored=True, rest=rest, max_cost=max_cost)
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
        knobs_of(max_cost, concurrency, executor, workers),
    )
    root = pipeline.warehouse_root(warehouse)
    rest = [*specs[len(runs) :], *kept_flags(model, prompt, epochs)]
    exit_for([done for _, done in runs], root, share, must_be_scored=False, rest=rest, max_cost=max_cost)


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


def knobs_of(
    max_cost: float | None,
    concurrency: int | None,
    executor: Executor | None = None,
    workers: int | None = None,
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
    *,
    is_judging: bool = False,
) -> list[tuple[Spec, Run]]:
    from dataclasses import replace

    from gradetrail import pipeline
    from gradetrail.cli.progress import ending, shown_progress
    from gradetrail.cli.standing import tell_newer

    root = pipeline.warehouse_root(warehouse)
    jobs = [pipeline.job_of(root, name, knobs) for name in names]
    leave_numpy_out(job.spec for job in jobs)
    pipeline.check_conditions(conditions, [job.spec for job in jobs])
    with shown_progress() as observe:
        told = replace(invocation, observe=observe, tell=say)
        runs = pipeline.generate_many(jobs, warehouse=root, invocation=told, is_judging=is_judging)
    for done in runs:
        word = "new run" if done.is_new else "run"
        say(f"{word} {done.run_id}: {done.status}, {ending(done.progress)}")
    tell_newer(root, runs)
    return [(job.spec, done) for job, done in zip(jobs, runs, strict=False)]


def _grade(
    root: Path, runs: Sequence[tuple[Spec, Run]], *, allow_unsafe_code: bool
) -> list[tuple[Spec, Run]]:
    """Grade runs, asking their judges; give them with the state in which that ended."""
    from gradetrail import pipeline
    from gradetrail.cli.progress import shown_progress

    with shown_progress() as observe:
        invocation = pipeline.Invocation(observe=observe, tell=say)
        calls = pipeline.judge_calls([spec for spec, _ in runs], [done for _, done in runs], invocation)
        for spec, done in runs:
            judges = pipeline.judges_of(done, calls)
            pipeline.score_runs(root, spec, [done.run_id], allow_unsafe_code=allow_unsafe_code, judges=judges)
    tell_verdicts(calls)
    return [(spec, pipeline.judged(done, calls)) for spec, done in runs]


def tell_verdicts(calls: JudgeCalls | None) -> None:
    """Say how the asking of judges went."""
    from gradetrail.cli.progress import ending

    for verdict in calls.verdicts if calls is not None else ():
        say(f"judge `{verdict.scorer}` of {verdict.run_id}: {verdict.status}, {ending(verdict.progress)}")


def kept_flags(models: Sequence[str] | None, prompts: Sequence[str] | None, epochs: int | None) -> list[str]:
    """Give the flags that a run does not remember, so that going on with it does no more than was asked."""
    flags = [("--model", name) for name in models or ()] + [("--prompt", name) for name in prompts or ()]
    flags += [("--epochs", str(epochs))] if epochs is not None else []
    return [part for flag in flags for part in flag]


def exit_for(
    runs: Sequence[Run],
    root: Path,
    allow_errors: float,
    *,
    must_be_scored: bool,
    rest: Sequence[str] = (),
    max_cost: float | None = None,
) -> None:
    """End with the exit code that the runs' states ask for; `rest` completes the command to go on with."""
    from gradetrail import pipeline
    from gradetrail.errors import Fault, InterruptError, UnusableError
    from gradetrail.generation.budget import together
    from gradetrail.store.places import place_name

    words = ["gradetrail", "run", *(done.run_id for done in runs), *rest, "--warehouse", place_name(root)]
    halts = [done.halt for done in runs if done.halt is not None]
    again = way_on(words, together(halts) if halts else None, max_cost)
    if any(done.status == "interrupted" for done in runs):
        raise InterruptError(Fault("interrupted; every answer received is kept", fix=again))
    faults = []
    for done in runs:
        if done.status == "aborted":
            fix = again if done.halt is not None else f"mend that, then {again}"
            faults.append(Fault(f"aborted: {done.reason}", done.run_id, fix=fix))
        elif done.status != "complete":
            faults.append(Fault("trials are still owed", done.run_id, fix=again))
    # what is missing of a run that ended early follows from that: one cause, one fault
    whole = [done.run_id for done in runs if done.status == "complete"]
    faults += pipeline.unusable(root, whole, allow_errors, must_be_scored=must_be_scored)
    if faults:
        raise UnusableError(*faults)


def way_on(words: Sequence[str], halt: Halt | None, max_cost: float | None) -> str:
    """Say how to go on with a command: under the ceiling that it had, or a higher one if that stopped it."""
    if halt is None:
        flags = [] if max_cost is None else ["--max-cost", f"{max_cost:g}"]
        return f"go on with: {shlex.join([*words, *flags])}"
    if halt.unpriced:
        return f"drop the ceiling (--max-cost, run.max_cost_usd), and go on with: {shlex.join(words)}"
    flags = ["--max-cost", f"{halt.next_usd.normalize():f}"]
    return f"a ceiling counts for each command anew; go on with a higher one: {shlex.join([*words, *flags])}"


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
        for fault in item.unset:
            say(f"warning: `run` will refuse this: {fault}")
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
