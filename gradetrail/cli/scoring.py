"""`score`: grades stored answers, and says which stored grades would flip."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradetrail.cli.lean import leave_numpy_out
from gradetrail.cli.options import (
    AllowErrorsOption,
    ConcurrencyOption,
    ExecutorOption,
    FormatOption,
    MaxCostOption,
    OutputOption,
    UnsafeCodeOption,
    WarehouseOption,
)
from gradetrail.cli.output import Format, check_output, say, show_rows
from gradetrail.cli.running import knobs_of, parse_share, tell_verdicts, way_on

if TYPE_CHECKING:
    from gradetrail.pipeline import JudgeCalls, Preview
    from gradetrail.scoring.planner import Graded

EXAMPLES_SHOWN = 10
FLIP_COLUMNS = (
    "run_id", "scorer", "metric", "model", "prompt", "sample_id", "epoch", "target", "old_extracted",
    "new_extracted", "old_outcome", "new_outcome", "old_score", "new_score", "change", "cause",
)  # fmt: skip
"""Columns of a preview for programs, also where nothing flips."""


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
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no judge; what none was asked about stays pending.")
    ] = False,
    max_cost: MaxCostOption = None,
    concurrency: ConcurrencyOption = None,
    executor: ExecutorOption = None,
    allow_errors: AllowErrorsOption = "5%",
    unsafe_code: UnsafeCodeOption = False,
    form: FormatOption = Format.table,
    output: OutputOption = None,
) -> None:
    """Grade stored answers: all runs of a spec's task, or one run. Calls no model but judges, each once."""
    from gradetrail import pipeline
    from gradetrail.cli.board import print_board
    from gradetrail.cli.progress import shown_progress
    from gradetrail.errors import Fault, SelectionError, UnusableError

    share = parse_share(allow_errors)
    check_output(output)
    root = pipeline.warehouse_root(warehouse)
    if not targets and not every:
        raise SelectionError(Fault("nothing to score", fix="name a spec or a run, or give --all"))
    if preview:
        previewed = pipeline.preview_all if every else partial(pipeline.preview, *(targets or ()))
        place = None if executor is None else executor.value
        foretold = previewed(warehouse=root, allow_unsafe_code=unsafe_code, executor=place)
        _print_preview(foretold, form, output)
        return
    work = [
        *(pipeline.everything(root) if every else ()),
        *(pipeline.to_score(root, t) for t in targets or ()),
    ]
    knobs = knobs_of(max_cost, concurrency, executor)
    work = [(pipeline.turned(spec, knobs), runs) for spec, runs in work]
    leave_numpy_out(spec for spec, _ in work)
    graded: list[Graded] = []
    with shown_progress() as observe:
        calls = pipeline.JudgeCalls([spec for spec, _ in work], observe=observe, tell=say)
        for spec, runs in work:
            graded += pipeline.score_runs(
                root,
                spec,
                runs,
                force=force,
                allow_unsafe_code=unsafe_code,
                judges=None if offline else calls,
            )
    tell_verdicts(calls)
    say(graded_text(graded))
    n_pending = sum(item.counts.get("pending", 0) for item in graded)
    if offline and n_pending:
        say(f"{n_pending:,} grades are pending; without --offline their judges are asked")
    print_board(root, pipeline.tasks_of(root, [item.run_id for item in graded]), form, output)
    _exit_for_judging(calls, ["gradetrail", "score", *(targets or ["--all"])], max_cost)
    graded_runs = list(dict.fromkeys(run_id for _, runs in work for run_id in runs))
    unscored, faults = pipeline.grading_faults(root, graded_runs, share)
    # a run of old in which every call failed is no fault of the grading of others
    if not offline and len(unscored) == len(graded_runs):
        faults = [*unscored, *faults]
    if faults:
        raise UnusableError(*faults)


def graded_text(graded: Sequence[Graded]) -> str:
    """Say in words what was graded, and what did not need to be."""
    written = [item for item in graded if item.n_rows]
    fresh = [item for item in graded if not item.n_rows]
    n_fresh = len({(item.scorer, item.scorer_id) for item in fresh})
    up_to_date = f"{_scorers_of(fresh)} {'was' if n_fresh == 1 else 'were'} up to date" if fresh else ""
    if not written:
        return f"nothing to grade: {up_to_date}" if fresh else "nothing to grade"
    n_rows = sum(item.n_rows for item in written)
    answers = f"{n_rows:,} {'answer' if n_rows == 1 else 'answers'}"
    return "; ".join([f"graded {answers} by {_scorers_of(written)}", *([up_to_date] if fresh else [])])


def _scorers_of(graded: Sequence[Graded]) -> str:
    n_scorers = len({(item.scorer, item.scorer_id) for item in graded})
    n_runs = len({item.run_id for item in graded})
    scorers = "scorer" if n_scorers == 1 else "scorers"
    return f"{n_scorers:,} {scorers} of {n_runs:,} {'run' if n_runs == 1 else 'runs'}"


def _exit_for_judging(calls: JudgeCalls, words: Sequence[str], max_cost: float | None) -> None:
    """End with the exit code that the state of the judging asks for, if it is not complete."""
    from gradetrail.errors import Fault, InterruptError, UnusableError

    stopped = next((verdict for verdict in calls.verdicts if verdict.status != "complete"), None)
    if stopped is None:
        return
    if stopped.status == "interrupted":
        fix = way_on(words, None, max_cost)
        raise InterruptError(Fault("interrupted; every reply received is kept", stopped.run_id, fix=fix))
    halt = stopped.progress.halt
    again = way_on(words, halt, max_cost)
    fix = again if halt is not None else f"mend that, then {again}"
    raise UnusableError(
        Fault(f"judge `{stopped.scorer}`: aborted: {stopped.reason}", stopped.run_id, fix=fix)
    )


def _print_preview(preview: Preview, form: Format, output: Path | None) -> None:
    from gradetrail.cli.board import told_changes

    flips = preview.flips
    total = f"{preview.n_trials:,} trials of {preview.n_runs:,} {'run' if preview.n_runs == 1 else 'runs'}"
    if preview.n_unasked:
        n = preview.n_unasked
        say(f"judges would be asked about {n:,} {'answer' if n == 1 else 'answers'}, which are pending here")
    if flips:
        say(f"{total}, graded anew:\n{told_changes(preview.changes)}")
        n_same = sum(flip["change"] == "same" for flip in flips)
        if n_same:
            say(f"of the same, {n_same:,} would have another outcome or extraction")
    else:
        say(f"no grade would change ({total})")
    for task, old, new in preview.policies:
        say(f"unanswered trials of {task} would count by another policy: {old} -> {new}")
    for moved in preview.ranks:
        board = moved.scorer if moved.metric == "score" else f"{moved.scorer} ({moved.metric})"
        entrant = moved.model if moved.prompt == "default" else f"{moved.model} / {moved.prompt}"
        new_rank = "pending" if moved.is_pending else moved.new_rank or "no rank"
        say(f"rank of {entrant} in {moved.task}, {board}: {moved.old_rank or 'no rank'} -> {new_rank}")
    if form is Format.table and output is None and not flips:
        return
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
        columns = list(FLIP_COLUMNS)
    show_rows(columns, [[flip[name] for name in columns] for flip in shown], form, output)


def _examples(flips: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Choose up to ten flips, verdicts before mere extractions, all kinds of change among them."""
    order = {"fixed": 0, "broken": 0, "up": 1, "down": 1, "same": 3}

    def kind(flip: dict[str, Any]) -> tuple[int, str, bool]:
        is_other_outcome = flip["old_outcome"] != flip["new_outcome"]
        return order.get(flip["change"], 2), flip["change"], not is_other_outcome

    by_kind: dict[tuple[int, str, bool], list[dict[str, Any]]] = {}
    for flip in flips:
        by_kind.setdefault(kind(flip), []).append(flip)
    kinds = [by_kind[each] for each in sorted(by_kind)]
    chosen: list[dict[str, Any]] = []
    while len(chosen) < EXAMPLES_SHOWN and any(kinds):
        for rows in kinds:
            if rows and len(chosen) < EXAMPLES_SHOWN:
                chosen.append(rows.pop(0))
    return sorted(chosen, key=kind)
