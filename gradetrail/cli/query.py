"""`show`, `leaderboard`, `diff` and `sql`: commands that read."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradetrail.cli.options import FormatOption, MemoryOption, OutputOption, TimeoutOption, WarehouseOption
from gradetrail.cli.output import (
    Format,
    check_output,
    say,
    show_rows,
    tell_damage,
    terminal_width,
    write,
    write_parquet,
)

if TYPE_CHECKING:
    from datetime import datetime

    from gradetrail.warehouse import Warehouse
    from gradetrail.warehouse.locked import LockedWarehouse

ViewArgument = Annotated[
    str | None,
    typer.Argument(help="A view, yours included; `--help-views` lists them. [default: leaderboard]"),
]
RunArgument = Annotated[
    str | None,
    typer.Argument(
        help="Run: id, prefix, 6 hex digits, latest, latest~1, task@latest, task@TAG, a bundle's path."
    ),
]
LimitOption = Annotated[int | None, typer.Option("--limit", min=0, help="Print at most N rows.")]
SqlOption = Annotated[bool, typer.Option("--sql", help="Print the query behind the view instead.")]
TaskOption = Annotated[str | None, typer.Option("--task", help="Only this task.")]
AsOfOption = Annotated[
    str | None,
    typer.Option(
        "--as-of", help="Only runs begun by then: 2026-11-30 (that day included), or a time in UTC."
    ),
]
PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Draw leaderboard, calibration, pairwise or history to this .svg, .png or .html instead;"
        " without a file, as text.",
    ),
]


def show(
    view: ViewArgument = None,
    run: RunArgument = None,
    warehouse: WarehouseOption = None,
    task: TaskOption = None,
    as_of: AsOfOption = None,
    limit: LimitOption = None,
    print_sql: SqlOption = False,
    help_views: Annotated[
        bool, typer.Option("--help-views", help="Say what every view says, or every column of VIEW.")
    ] = False,
    form: FormatOption = Format.table,
    output: OutputOption = None,
    plot: PlotOption = None,
    timeout: TimeoutOption = None,
    memory: MemoryOption = None,
) -> None:
    """Print a view: leaderboard, runs, graded, wrong, errors, costs, ... or one of yours."""
    from gradetrail import sql as sql_files
    from gradetrail.cli.board import print_blocks, screen_columns
    from gradetrail.cli.locked import limits_from, open_locked
    from gradetrail.warehouse.user_objects import is_ours

    root = warehouse_folder(warehouse)
    if help_views:
        from gradetrail.cli.views import print_views

        print_views(root, view, form, output)
        return
    view, moment = view or "leaderboard", parse_moment(as_of)
    _tell_ignored(root, view)
    if plot is not None:
        if task is not None:
            _check_task(root, task)
        (_draw_text if plot == Path("-") else _draw)(root, view, run, task, moment, plot)
        return
    if print_sql:
        from gradetrail.cli.views import query_behind

        write(f"{query_behind(root, view)}\n", None)
        return
    if task is not None:
        _check_task(root, task)
    if view == "leaderboard" and form in (Format.table, Format.markdown):
        with open_runs(root, run, as_of=moment) as boards:
            run_id = None if run is None else boards.run_id(run)
            tasks = None if task is None else [task]
            print_blocks(boards, tasks, form, output, run_id=run_id, limit=limit)
            tell_damage(boards)
        return
    if is_ours(view):
        reader: Warehouse | LockedWarehouse = open_runs(root, run, as_of=moment)
    else:
        reader = open_locked(root, run, limits=limits_from(timeout, memory), as_of=moment)
    with reader as opened:
        opened.check_view(view)
        conditions: dict[str, Any] = {}
        if run is not None:
            conditions["run_id"] = opened.run_id(run)
        if task is not None:
            conditions["task"] = task
        _check_columns(opened, view, conditions)
        query = sql_files.select_from(view, conditions, limit)
        if form in (Format.table, Format.markdown):
            has_runs = _has_runs(opened, run, task)
            show_rows(*screen_columns(view, *opened.rows(query, conditions), has_runs=has_runs), form, output)
            tell_damage(opened)
        else:
            _print(opened, query, conditions, form, output)


def _has_runs(opened: Warehouse | LockedWarehouse, run: str | None, task: str | None) -> bool:
    """Say whether rows may be of several runs."""
    from gradetrail.warehouse import Warehouse

    if run is not None or not isinstance(opened, Warehouse):
        return False
    return len([one for one in opened.manifests() if task in (None, one["task"])]) > 1


def leaderboard(
    warehouse: WarehouseOption = None,
    task: TaskOption = None,
    as_of: AsOfOption = None,
    print_sql: SqlOption = False,
    form: FormatOption = Format.table,
    output: OutputOption = None,
    plot: PlotOption = None,
) -> None:
    """Print the leaderboard of every task: the same as `show`."""
    show("leaderboard", None, warehouse, task, as_of, None, print_sql, False, form, output, plot)


def _draw(
    root: Path, view: str, run: str | None, task: str | None, as_of: datetime | None, target: Path
) -> None:
    from gradetrail.report import charts, drawn, pictures

    drawn.check_view(view)
    pictures.check_target(target)
    pictures.check_extra()
    with open_runs(root, run, as_of=as_of) as opened:
        charts.plot(opened, view, task=task, run=run).save(target)
        tell_damage(opened)
    say(f"wrote {target}")


def _draw_text(
    root: Path, view: str, run: str | None, task: str | None, as_of: datetime | None, _: Path
) -> None:
    from gradetrail.report.text_charts import WIDTH, text_chart

    with open_runs(root, run, as_of=as_of) as opened:
        write(text_chart(opened, view, task=task, run=run, width=terminal_width() or WIDTH), None)
        tell_damage(opened)


def diff(
    a: Annotated[str | None, typer.Argument(help="Older run.")] = None,
    b: Annotated[
        str | None, typer.Argument(help="Newer run; default: A's successor, or the same run.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="M, or M,M2 to compare two models.")] = None,
    prompt: Annotated[str | None, typer.Option("--prompt", help="P, or P,P2 to compare two prompts.")] = None,
    scorer: Annotated[
        str | None,
        typer.Option("--scorer", help="S, or S,S2; `strict~1` is the definition before the present one."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also print what is the same.")] = False,
    warehouse: WarehouseOption = None,
    limit: LimitOption = None,
    form: FormatOption = Format.table,
    output: OutputOption = None,
) -> None:
    """Compare two runs, models, prompts or scorer versions, sample by sample, with causes."""
    from gradetrail.cli.board import changes, diff_columns

    with open_runs(warehouse_folder(warehouse), a, b) as opened:
        query, params = opened.diff_query(
            a, b, models=_pair(model), prompts=_pair(prompt), scorers=_pair(scorer), include_same=True
        )
        if form is Format.table:
            say(changes(opened, query, params))
        if not every:
            query = f"from ({query}) where change <> 'same'"
        if limit is not None:
            query = f"from ({query}) limit {int(limit)}"
        if form in (Format.table, Format.markdown):
            names, rows = opened.rows(query, params)
            show_rows(*diff_columns(names, rows), form, output)
            tell_damage(opened)
        else:
            _print(opened, query, params, form, output)


def _pair(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else ()


def sql(
    query: Annotated[
        str | None,
        typer.Argument(help="One SELECT; from stdin if it is `-` or missing; on a terminal, a shell."),
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", help="NAME=VALUE for `$NAME` in the query.")
    ] = None,
    run: Annotated[
        list[str] | None,
        typer.Option("--run", help="NAME=RUN for `$NAME`: `--run a=latest~1` binds the run's whole id."),
    ] = None,
    allow_files: Annotated[
        list[Path] | None,
        typer.Option("--allow-files", help="File or folder of yours that queries may read; may be repeated."),
    ] = None,
    warehouse: WarehouseOption = None,
    as_of: AsOfOption = None,
    form: FormatOption = Format.table,
    output: OutputOption = None,
    timeout: TimeoutOption = None,
    memory: MemoryOption = None,
) -> None:
    """Ask anything of all history in SQL; `show --help-views` says what there is.

    A query only reads, runs in a process of its own, and ends where it meets a limit (exit code 3).
    """
    from gradetrail.cli.locked import limits_from, open_locked
    from gradetrail.errors import Fault, SelectionError

    params: dict[str, Any] = _named_values(param, "--param")
    runs = _named_values(run, "--run")
    moment = parse_moment(as_of)

    def reopen(timeout_s: float | None) -> LockedWarehouse:
        root, own_files, limits = (
            warehouse_folder(warehouse),
            allow_files or (),
            limits_from(timeout_s, memory),
        )
        return open_locked(root, *runs.values(), limits=limits, as_of=moment, own_files=own_files)

    def params_in(opened: LockedWarehouse) -> dict[str, Any]:
        return params | {name: opened.run_id(value) for name, value in runs.items()}

    if query is None and sys.stdin.isatty() and sys.stdout.isatty():
        from gradetrail.cli.shell import Setup, Shell

        check_output(output)
        with Shell(Setup(reopen, params_in, form, timeout, output)) as shell:
            shell.talk()
        return
    if query in (None, "-"):
        if sys.stdin.isatty():
            raise SelectionError(Fault("no query", "sql", fix='gradetrail sql "select * from runs"'))
        query = sys.stdin.read()
    _tell_ignored(warehouse_folder(warehouse), str(query))
    with reopen(timeout) as opened:
        _print(opened, str(query), params_in(opened), form, output)


def _named_values(items: list[str] | None, flag: str) -> dict[str, str]:
    from gradetrail.errors import Fault, SelectionError

    values = {}
    for item in items or ():
        name, found, value = item.partition("=")
        if not found:
            raise SelectionError(Fault(f"`{item}` is not NAME=VALUE", flag))
        values[name] = value
    return values


def warehouse_folder(warehouse: Path | None) -> Path:
    """Give the warehouse's folder: as named, else $GRADETRAIL_WAREHOUSE, else ./warehouse."""
    import os

    return Path(warehouse or os.environ.get("GRADETRAIL_WAREHOUSE") or "warehouse")


def _check_task(root: Path, task: str) -> None:
    from gradetrail.errors import Fault, SelectionError, did_you_mean

    with open_runs(root) as opened:
        known = {str(manifest["task"]) for manifest in opened.manifests()}
    if task not in known:
        fix = did_you_mean(task, known) if known else "make a run with `gradetrail run`"
        raise SelectionError(Fault(f"no run of task `{task}`", "--task", fix=fix))


def _check_columns(opened: Warehouse | LockedWarehouse, view: str, wanted: Iterable[str]) -> None:
    from gradetrail import sql as sql_files
    from gradetrail.errors import Fault, SelectionError

    flags = {"run_id": "the run", "task": "--task"}
    missing = [name for name in wanted if name not in opened.rows(sql_files.select_from(view, limit=0))[0]]
    faults = [
        Fault(f"view `{view}` has no column `{name}`", "show", fix=f"leave {flags[name]} out")
        for name in missing
    ]
    if faults:
        raise SelectionError(*faults)


def parse_moment(text: str | None) -> datetime | None:
    """Read a date, which means all of that day, or a time; UTC unless it says otherwise. SelectionError."""
    from datetime import UTC, datetime, timedelta

    from gradetrail.errors import Fault, SelectionError

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        fix = "write 2026-11-30 or 2026-11-30T08:30:00Z"
        raise SelectionError(Fault(f"`{text}` is neither a date nor a time", "--as-of", fix=fix)) from None
    if len(text.strip()) <= len("2026-11-30"):
        moment += timedelta(days=1, seconds=-1)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def open_runs(root: Path, *runs: str | None, as_of: datetime | None = None) -> Warehouse:
    """Open a warehouse, with the bundles that are among the names of runs."""
    from gradetrail.cli.locked import bundles_among
    from gradetrail.warehouse import Warehouse

    return Warehouse(root, bundles=bundles_among(runs), as_of=as_of)


def _tell_ignored(root: Path, text: str) -> None:
    """Name on stderr the files of the user's that a query names and that are not what it reads."""
    from gradetrail.warehouse.user_objects import ignored_in

    for fault in ignored_in(root, text):
        say(f"warning: {fault}")


def _print(
    opened: Warehouse | LockedWarehouse,
    query: str,
    params: dict[str, Any],
    form: Format,
    output: Path | None,
) -> None:
    from gradetrail.warehouse.locked import LockedWarehouse

    if isinstance(opened, LockedWarehouse):
        from gradetrail.cli.streaming import print_query

        print_query(opened, query, params, form, output)
    elif form is Format.parquet:
        write_parquet(opened.arrow(query, params), output)
    else:
        show_rows(*opened.rows(query, params), form, output)
    tell_damage(opened)
