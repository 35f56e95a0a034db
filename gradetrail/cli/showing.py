"""`show` and `leaderboard`: commands that print a view, or draw it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradetrail.cli.options import FormatOption, MemoryOption, OutputOption, TimeoutOption, WarehouseOption
from gradetrail.cli.output import Format, say, show_rows, tell_damage, terminal_width, write
from gradetrail.cli.query import (
    AsOfOption,
    LimitOption,
    files_of_users,
    names_in,
    open_runs,
    parse_moment,
    print_query,
    tell_ignored,
    warehouse_folder,
)

if TYPE_CHECKING:
    from datetime import datetime

    from gradetrail.warehouse import Warehouse
    from gradetrail.warehouse.locked import LockedWarehouse

ViewArgument = Annotated[
    str | None,
    typer.Argument(
        help="A view, yours included; `--help-views` lists them. `sample ID` shows all of one sample."
        " [default: leaderboard]"
    ),
]
RunArgument = Annotated[
    str | None,
    typer.Argument(
        help="Run: id, prefix, 6 hex digits, latest, latest~1, task@latest, task@TAG, a bundle's path."
        " Of `sample`, its id or the beginning of it."
    ),
]
SampleRunArgument = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="Of `sample ID`, only this run.", show_default=False)
]
SqlOption = Annotated[bool, typer.Option("--sql", help="Print the query behind the view instead.")]
TaskOption = Annotated[str | None, typer.Option("--task", help="Only this task.")]
ModelOption = Annotated[
    list[str] | None, typer.Option("--model", help="Only this model; M,M2 or repeated for several.")
]
ScorerOption = Annotated[
    list[str] | None, typer.Option("--scorer", help="Only this scorer; S,S2 or repeated for several.")
]
FLAGS = {"run_id": "the run", "task": "--task", "model": "--model", "scorer": "--scorer"}
"""What narrows a view, by the column that it narrows."""
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
    run_of_sample: SampleRunArgument = None,
    warehouse: WarehouseOption = None,
    task: TaskOption = None,
    model: ModelOption = None,
    scorer: ScorerOption = None,
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
    root = warehouse_folder(warehouse)
    if help_views:
        from gradetrail.cli.views import print_views

        print_views(root, view, form, output)
        return
    view, moment = view or "leaderboard", parse_moment(as_of)
    users = files_of_users(root)
    is_sample = view == "sample" and all(own.name != view for own in users)
    if run_of_sample is not None and not is_sample:
        _refuse_second(view, run_of_sample)
    tell_ignored(users, view)
    among = {
        name: found for name, given in (("model", model), ("scorer", scorer)) if (found := _listed(given))
    }
    if plot is not None:
        _check_chart(among)
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
    if among:
        _check_names(root, run_of_sample if is_sample else run, task, moment, among)
    if is_sample:
        from gradetrail.cli.sample import print_sample

        with open_runs(root, run_of_sample, as_of=moment) as opened:
            narrowed = among if run_of_sample is None else {**among, "run_id": [opened.run_id(run_of_sample)]}
            print_sample(opened, run, task, narrowed, limit, form, output)
            tell_damage(opened)
    elif view == "leaderboard":
        _show_boards(root, run, task, among, moment, limit, form, output)
    else:
        conditions = {"run_id": run, "task": task, **among}
        with _reader(root, view, run, moment, timeout, memory) as reader:
            _show_view(reader, view, conditions, limit, form, output)


def _show_boards(
    root: Path,
    run: str | None,
    task: str | None,
    among: Mapping[str, list[str]],
    moment: datetime | None,
    limit: int | None,
    form: Format,
    output: Path | None,
) -> None:
    from gradetrail.cli.board import print_blocks
    from gradetrail.cli.board_of_run import open_board

    with open_board(root, run, moment) as (boards, run_id):
        if form not in (Format.table, Format.markdown):
            _show_view(boards, "leaderboard", {"run_id": run_id, "task": task, **among}, limit, form, output)
            return
        tasks = None if task is None else [task]
        print_blocks(boards, tasks, form, output, run_id=run_id, among=among, limit=limit)
        tell_damage(boards)


def _reader(
    root: Path,
    view: str,
    run: str | None,
    moment: datetime | None,
    timeout: float | None,
    memory: str | None,
) -> Warehouse | LockedWarehouse:
    """Open the warehouse for a view: behind a wall, if it is one of the user's."""
    from gradetrail.cli.locked import limits_from, open_locked
    from gradetrail.warehouse.user_objects import is_ours

    if is_ours(view):
        return open_runs(root, run, as_of=moment)
    return open_locked(root, run, limits=limits_from(timeout, memory), as_of=moment)


def _show_view(
    opened: Warehouse | LockedWarehouse,
    view: str,
    wanted: Mapping[str, Any],
    limit: int | None,
    form: Format,
    output: Path | None,
) -> None:
    from gradetrail import sql as sql_files
    from gradetrail.cli.board import screen_columns

    opened.check_view(view)
    conditions = {name: value for name, value in wanted.items() if value is not None}
    if "run_id" in conditions:
        conditions["run_id"] = opened.run_id(conditions["run_id"])
    _check_columns(opened, view, conditions)
    among = [name for name, value in conditions.items() if isinstance(value, list)]
    equal = [name for name in conditions if name not in among]
    query = sql_files.select_from(view, equal, limit, sql_files.key_of_unsorted(view), among)
    if form in (Format.table, Format.markdown):
        has_runs = _has_runs(opened, wanted["run_id"], wanted["task"])
        names, rows = opened.rows(query, conditions)
        show_rows(*screen_columns(view, names, rows, has_runs=has_runs), form, output)
        if not rows and limit != 0:
            _tell_why_empty(opened, view, {name: conditions[name] for name in equal})
        tell_damage(opened)
    else:
        print_query(opened, query, conditions, form, output)


def _tell_why_empty(opened: Warehouse | LockedWarehouse, view: str, conditions: Mapping[str, str]) -> None:
    from gradetrail.cli.absence import why_empty
    from gradetrail.warehouse import Warehouse

    reason = why_empty(opened, view, conditions) if isinstance(opened, Warehouse) else None
    if reason is not None:
        say(f"{view} is empty: {reason}")


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
    show(
        "leaderboard", warehouse=warehouse, task=task, as_of=as_of, print_sql=print_sql, form=form,
        output=output, plot=plot,
    )  # fmt: skip


def _draw(
    root: Path, view: str, run: str | None, task: str | None, as_of: datetime | None, target: Path
) -> None:
    from gradetrail.report import charts, drawn, pictures

    drawn.check_view(view)
    pictures.check_target(target)
    pictures.check_extra()
    with _charted(root, view, run, as_of) as (opened, run_id):
        charts.plot(opened, view, task=task, run=run_id).save(target)
        tell_damage(opened)
    say(f"wrote {target}")


def _draw_text(
    root: Path, view: str, run: str | None, task: str | None, as_of: datetime | None, _: Path
) -> None:
    from gradetrail.report.text_charts import WIDTH, text_chart

    with _charted(root, view, run, as_of) as (opened, run_id):
        write(text_chart(opened, view, task=task, run=run_id, width=terminal_width() or WIDTH), None)
        tell_damage(opened)


@contextmanager
def _charted(
    root: Path, view: str, run: str | None, as_of: datetime | None
) -> Iterator[tuple[Warehouse, str | None]]:
    """Open the warehouse from which a chart is drawn, and give the run's id."""
    if view == "leaderboard":
        from gradetrail.cli.board_of_run import open_board

        with open_board(root, run, as_of) as found:
            yield found
        return
    with open_runs(root, run, as_of=as_of) as opened:
        yield opened, None if run is None else opened.run_id(run)


def _listed(given: Iterable[str] | None) -> list[str]:
    return [part for text in given or () for part in names_in(text)]


def _check_task(root: Path, task: str) -> None:
    from gradetrail.errors import Fault, SelectionError, did_you_mean

    with open_runs(root) as opened:
        known = {str(manifest["task"]) for manifest in opened.manifests()}
    if task not in known:
        fix = did_you_mean(task, known) if known else "make a run with `gradetrail run`"
        raise SelectionError(Fault(f"no run of task `{task}`", "--task", fix=fix))


def _refuse_second(view: str, word: str) -> None:
    from gradetrail.errors import Fault, SelectionError

    raise SelectionError(
        Fault(f"view `{view}` takes one run; `{word}` is too much", "show", fix="leave it out")
    )


def _check_names(
    root: Path, run: str | None, task: str | None, as_of: datetime | None, among: Mapping[str, list[str]]
) -> None:
    """Refuse models and scorers that no run has which is asked about."""
    from gradetrail.errors import Fault, SelectionError, did_you_mean

    with open_runs(root, run, as_of=as_of) as opened:
        run_id = None if run is None else opened.run_id(run)
        runs = [
            one
            for one in opened.manifests()
            if task in (None, one["task"]) and run_id in (None, one["run_id"])
        ]
        tasks = {one["task"] for one in runs}
        known = {
            "model": {str(model["model"]) for one in runs for model in one.get("models") or ()},
            "scorer": {
                name for one in opened.live.tasks if one["task"] in tasks for name in one.get("scorers", {})
            },
        }
    of = f" of `{run or task}`" if run or task else ""
    faults = [
        Fault(f"no {column}{of} is named `{name}`", FLAGS[column], fix=did_you_mean(name, known[column]))
        for column, names in among.items()
        for name in names
        if name not in known[column]
    ]
    if faults:
        raise SelectionError(*faults)


def _check_chart(among: Iterable[str]) -> None:
    from gradetrail.errors import Fault, SelectionError

    faults = [
        Fault("a chart has every model and scorer", "--plot", fix=f"leave {FLAGS[name]} out")
        for name in among
    ]
    if faults:
        raise SelectionError(*faults)


def _check_columns(opened: Warehouse | LockedWarehouse, view: str, wanted: Iterable[str]) -> None:
    from gradetrail import sql as sql_files
    from gradetrail.errors import Fault, SelectionError

    missing = [name for name in wanted if name not in opened.rows(sql_files.select_from(view, limit=0))[0]]
    faults = [
        Fault(f"view `{view}` has no column `{name}`", "show", fix=f"leave {FLAGS[name]} out")
        for name in missing
    ]
    if faults:
        raise SelectionError(*faults)
