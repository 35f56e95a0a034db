"""Prints boards, forecasts and comparisons: chooses columns of views that fit a screen, no arithmetic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.cli.cells import escaped, plain
from gradetrail.cli.output import (
    Format,
    formatted,
    say,
    show_rows,
    tell_damage,
    write,
    write_parquet,
)
from gradetrail.store.places import place_name
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    from datetime import datetime

    from gradetrail.generation.forecast import Range
    from gradetrail.pipeline import Forecast, Run

HEAD = ("task", "scorer", "metric")
QUIET = (
    "prompt",
    "unanswered",
    "truncated",
    "errors",
    "cost_usd",
    "output_tokens",
    "p50_ms",
    "reason",
    "win_rate",
)
"""Columns that are left out of a board where they say nothing."""


def print_board(
    root: Path,
    tasks: Sequence[str] | None,
    form: Format,
    output: Path | None = None,
    *,
    as_of: datetime | None = None,
) -> None:
    """Print the leaderboard of some tasks, or of all (None): a block for each scorer and metric."""
    params = {"tasks": None if tasks is None else list(tasks)}
    with Warehouse(root, as_of=as_of) as warehouse:
        if form is Format.parquet:
            write_parquet(warehouse.arrow(sql.text_of("commands/boards"), params), output)
        elif form not in (Format.table, Format.markdown):
            show_rows(*warehouse.rows(sql.text_of("commands/boards"), params), form, output)
        else:
            print_blocks(warehouse, tasks, form, output)
        tell_damage(warehouse)


def print_blocks(
    warehouse: Warehouse,
    tasks: Sequence[str] | None,
    form: Format,
    output: Path | None = None,
    *,
    run_id: str | None = None,
    among: Mapping[str, Sequence[str]] | None = None,
    limit: int | None = None,
) -> None:
    """Print the rows of some tasks, of one run or of all, block by block, in the order of the view.

    `among` has the values that columns may have; all, if a column is absent.
    """
    params = {"tasks": None if tasks is None else list(tasks), "run_id": run_id}
    names, rows = warehouse.rows(sql.text_of("commands/leaderboard"), params)
    if not rows:
        of = ", ".join(filter(None, [run_id, *(tasks or ())]))
        say(f"no grades{f' of {of}' if of else ''} in {place_name(warehouse.root)}")
    places = {names.index(name): values for name, values in (among or {}).items()}
    rows = [row for row in rows if all(row[place] in values for place, values in places.items())]
    blocks = [
        f"{_title(head)}\n{_block(names, list(group), form, output)}"
        for head, group in groupby(rows[:limit], key=lambda row: row[:3])
    ]
    write("\n".join(blocks), output)


def _title(head: Sequence[Any]) -> str:
    task, scorer, metric = (escaped(str(part)) for part in head)
    return f"{task}: {scorer}" + (f" ({metric})" if metric != "score" else "")


def _block(names: Sequence[str], rows: Sequence[Sequence[Any]], form: Format, output: Path | None) -> str:
    told = [
        n for n, name in enumerate(names) if name not in HEAD and (name not in QUIET or _says(name, n, rows))
    ]
    shown = [[row[n] for n in told] for row in rows]
    return formatted([names[n] for n in told], shown, form, output)


def _says(name: str, place: int, rows: Sequence[Sequence[Any]]) -> bool:
    values = {row[place] for row in rows}
    if name == "p50_ms":
        return any(value is not None and value > 1 for value in values)
    return bool(values - {None, 0}) and not (name == "prompt" and len(values) == 1)


def forecast_rows(forecasts: Sequence[Forecast]) -> tuple[list[str], list[list[Any]]]:
    """Give one row for each task and model: what a run would do now, and what it would use."""
    names = [
        "task",
        "model",
        "trials",
        "hits",
        "requests",
        "input_tokens",
        "output_tokens",
        "cost_usd",
        "basis",
        "run",
    ]
    rows = [
        [
            item.plan.spec.name,
            one.model,
            one.n_trials,
            one.n_hits,
            one.n_requests,
            _span(one.input_tokens, ",.0f"),
            _span(one.output_tokens, ",.0f"),
            _span(one.cost_usd, ".4f") if one.n_requests else "0",
            one.basis if one.n_requests else None,
            item.todo.run_id or "new",
        ]
        for item in forecasts
        for one in item.estimates
    ]
    return names, rows


def _span(bounds: Range | None, form: str) -> str:
    if bounds is None:
        return "unknown"
    high = "?" if bounds.high is None else format(bounds.high, form)
    low = format(bounds.low, form)
    return low if low == high else f"{low}..{high}"


def rendered_prompts(forecast: Forecast, count: int) -> str:
    """Give the first prompts as the models will see them."""
    from gradetrail.generation.conversation import Scripts

    scripts = Scripts(forecast.plan)
    parts = []
    for row in forecast.plan.trials.slice(0, count).to_pylist():
        turn_after, answers = scripts.turns(row), list[str]()
        while not (turn := turn_after(answers)).is_last:
            answers.append(f"(answer to turn {turn.number})")
        messages = "\n".join(f"[{message['role']}] {message['content']}" for message in turn.request.messages)
        place = f"{row['model']} / {row['prompt']} / sample {row['sample_id']} / epoch {row['epoch']}"
        parts.append(f"--- {escaped(place)}\n{_lines(messages)}\n---")
    return "\n".join(parts)


def _lines(text: str) -> str:
    return "\n".join(escaped(line) for line in text.split("\n"))


def changes(warehouse: Warehouse, query: str, params: dict[str, Any]) -> str:
    """Say how many trials changed in each way, and why: `strict: 3 fixed (scorer), 5,273 same`."""
    text = f"with change_row as ({query})\n{sql.text_of('commands/changes')}"
    return told_changes(warehouse.rows(text, params)[1]) or "nothing to compare"


def told_changes(rows: Iterable[tuple[str, str, str | None, int]]) -> str:
    """Give a line for each scorer; rows are scorer, change, cause and number, those of a scorer together."""
    lines = []
    for scorer, group in groupby(rows, key=lambda row: row[0]):
        parts = [f"{n:,} {change}{f' ({cause})' if cause else ''}" for _, change, cause, n in group]
        lines.append(f"{scorer}: {', '.join(parts)}")
    return "\n".join(lines)


DIFF_COLUMNS = (
    "scorer", "a_model", "b_model", "a_prompt", "b_prompt", "sample_id", "epoch", "change", "cause",
    "b_target", "a_extracted", "b_extracted", "a_score", "b_score", "a_outcome", "b_outcome",
)  # fmt: skip
"""Columns of a diff that fit a screen; a pair that is equal all through is shown once or not at all."""


def diff_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """Choose the columns of a diff that say something."""
    place = {name: n for n, name in enumerate(names)}

    def values(name: str) -> list[Any]:
        return [row[place[name]] for row in rows]

    kept = []
    for name in DIFF_COLUMNS:
        if name in ("a_prompt", "b_prompt", "epoch") and len(set(values(name))) <= 1:
            continue
        if name.startswith("b_") and f"a_{name[2:]}" in kept and values(name) == values(f"a_{name[2:]}"):
            continue
        kept.append(name)
    shown = [name if f"b_{name[2:]}" in kept or not name.startswith("a_") else name[2:] for name in kept]
    return [name.replace("b_target", "target") for name in shown], [
        [row[place[n]] for n in kept] for row in rows
    ]


SCREEN = {
    "runs": "run_id status mean n_trials n_answered n_failed n_pending n_hits paid_usd elapsed_s tags",
    "wrong": "run_id? model prompt sample_id epoch? scorer metric? outcome target extracted "
    "question response",
    "audit": "run_id? reason model prompt sample_id epoch? scorer metric? outcome target extracted "
    "disagrees_with question response",
    "errors": "run_id? model prompt sample_id epoch stage scorer? metric? error_type message",
    "truncations": "run_id? model prompt sample_id epoch scorer metric? outcome question response",
    "graded": "run_id? model prompt sample_id epoch scorer metric? score outcome target extracted response",
    "costs": "run_id model prompt role n_calls n_failed n_hits paid_usd saved_usd n_unknown unpriced_models",
    "run_scores": "run_id scorer metric model prompt n mean stderr ci_low ci_high n_unanswered n_errors",
    "pairwise": "task? scorer metric? a_model a_prompt? b_model b_prompt? n_shared difference ci_low ci_high "
    "n_better n_worse p_holm verdict",
    "category_scores": "run_id scorer metric model prompt category n n_pass mean ci_low ci_high n_unanswered",
    "calibration": "run_id? task model prompt scorer metric? n mean_confidence accuracy ece "
    "ece_mass brier auroc",
    "history": "task model prompt scorer metric? run_id mean change n_shared difference p verdict reason",
    "power": "task? scorer metric? a_model a_prompt? b_model b_prompt? n_shared difference samples_needed "
    "epochs_needed samples_usd verdict",
    "variance": "run_id scorer metric? model prompt n_samples n icc stderr_once stderr_now "
    "stderr_doubled reason",
    "flaky": "run_id scorer metric? model prompt sample_id n n_pass mean answers target",
    "sample_stats": "task dataset_id? scorer metric? sample_id n_entrants difficulty discrimination "
    "common_wrong_answer suspect",
    "judge_agreement": "run_id a_scorer b_scorer metric n agreement kappa score_kappa_weighted reason",
    "position_bias": "run_id scorer metric? model prompt letter n share_gold share_answers "
    "accuracy recall_spread",
}
"""Columns of wide views that a table for people shows; every other format has them all. One with `?` is
shown where it tells rows apart: where it has more than one value."""
PLAIN: dict[str, set[Any]] = {"metric": {"score"}, "epoch": {1}}
"""Values of such columns that go without saying; any one value of the others does."""


def screen_columns(
    view: str, names: Sequence[str], rows: Sequence[Sequence[Any]], *, has_runs: bool = False
) -> tuple[list[str], list[list[Any]]]:
    """Choose the columns of a view that fit a screen; those of a view that is not wide stay.

    Of several runs, each row says which is its own, also where all that are shown are of one.
    """
    listed = [name for name in SCREEN.get(view, "").split() if name.rstrip("?") in names]
    wanted = [
        name.rstrip("?")
        for name in listed
        if not name.endswith("?") or (has_runs and name == "run_id?") or _tells(name[:-1], names, rows)
    ] or list(names)
    places = [names.index(name) for name in wanted]
    return wanted, [[row[place] for place in places] for row in rows]


def _tells(name: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> bool:
    """Say whether a column tells rows apart; those of the two sides of a pair do so together."""
    base = re.sub("^[ab]_", "", name)
    places = [n for n, other in enumerate(names) if other in (base, f"a_{base}", f"b_{base}")]
    values = {row[place] for row in rows for place in places}
    return len(values) > 1 or (base in PLAIN and not values <= PLAIN[base])


def task_report(root: Path, done: Run) -> dict[str, Any]:
    """Give leaderboard, pairs, calibration, perplexity and summary of a run's task as JSON values."""
    with Warehouse(root) as warehouse:

        def rows(view: str, **equal: str) -> list[dict[str, Any]]:
            names, found = warehouse.rows(sql.select_from(view, equal), equal)
            return [dict(zip(names, map(plain, row), strict=True)) for row in found]

        board = [row for row in rows("leaderboard", task=done.task) if row["is_primary"]]
        return {
            "leaderboard": board,
            "pairwise": rows("pairwise", task=done.task),
            "calibration": {row["model"]: row for row in rows("calibration", run_id=done.run_id)},
            "perplexity": {
                row["model"]: row["perplexity"] for row in rows("output_perplexity", run_id=done.run_id)
            },
            "summary": {
                "tasks": max((row["n_samples"] for row in board), default=0),
                "models": len(board),
                "task_runs": sum(row["n_trials"] for row in board),
                "wall_seconds": round(done.progress.elapsed_s, 3),
            },
        }
