"""`export` and `import`: a run in one file, tables for other programs, a database for SQL clients."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradetrail.cli.options import FormatOption, MemoryOption, OutputOption, TimeoutOption, WarehouseOption
from gradetrail.cli.output import Format, check_output, say, show_rows, tell_damage

if TYPE_CHECKING:
    from gradetrail.sql_child import Limits

WhatArgument = Annotated[
    str | None, typer.Argument(help="A view, or a run (its graded trials).", metavar="VIEW|RUN")
]


def export(
    what: WhatArgument = None,
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="Write the run with all it rests on to this one file.")
    ] = None,
    duckdb: Annotated[
        Path | None, typer.Option("--duckdb", help="Write everything as a DuckDB database with the views.")
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option(
            "--tables", help="Write the stored tables to this new folder, as Parquet that any engine reads."
        ),
    ] = None,
    warehouse: WarehouseOption = None,
    form: FormatOption = Format.parquet,
    output: OutputOption = None,
    timeout: TimeoutOption = None,
    memory: MemoryOption = None,
) -> None:
    """Write a view or a run for other programs, a run as one file, or everything as a database or tables."""
    from gradetrail.cli.locked import limits_from
    from gradetrail.errors import Fault, SelectionError

    named = {"--bundle": bundle, "--duckdb": duckdb, "--tables": tables}
    given = [flag for flag, path in named.items() if path is not None]
    if len(given) > 1:
        raise SelectionError(Fault(f"{' and '.join(given)} are two exports", fix="give one of them"))
    if given and output is not None:
        raise SelectionError(Fault("the file is named already", "--output", fix="leave --output out"))
    check_output(bundle or duckdb or output)
    if what is not None and (duckdb or tables) is not None:
        fix = "leave it out, or export a bundle of the run and then that: --warehouse"
        raise SelectionError(Fault(f"{given[0]} exports the whole warehouse", what, fix=fix))
    if what is None and (duckdb or tables) is None:
        fix = "name a view or a run: gradetrail export graded --output graded.parquet"
        raise SelectionError(Fault("nothing to export", fix=fix))
    if bundle is not None:
        _bundle(str(what), bundle, warehouse)
    elif duckdb is not None:
        _duckdb(duckdb, warehouse, limits_from(timeout, memory))
    elif tables is not None:
        _tables(tables, warehouse)
    else:
        _table(str(what), warehouse, form, output, limits_from(timeout, memory))


def _bundle(run: str, target: Path, warehouse: Path | None) -> None:
    from gradetrail.cli.query import open_runs, warehouse_folder
    from gradetrail.errors import UnusableError
    from gradetrail.warehouse.bundles import write_bundle

    with open_runs(warehouse_folder(warehouse), run) as opened:
        run_id = opened.run_id(run)
        write_bundle(opened, run_id, target)
        if opened.is_partial:
            target.unlink(missing_ok=True)
            raise UnusableError(*opened.damaged)
    say(f"{target}: {run_id}, {target.stat().st_size:,} bytes")


def _duckdb(target: Path, warehouse: Path | None, limits: Limits) -> None:
    from gradetrail.cli.query import open_runs, warehouse_folder
    from gradetrail.warehouse.portable import write_database

    with open_runs(warehouse_folder(warehouse)) as opened:
        for fault in write_database(opened, target, limits).values():
            say(f"warning: left out: {fault}")
        tell_damage(opened)
    say(f"{target}: {target.stat().st_size:,} bytes; open it with DuckDB 1.5 or newer")


def _tables(folder: Path, warehouse: Path | None) -> None:
    from gradetrail.cli.query import open_runs, warehouse_folder
    from gradetrail.store.places import place_name

    with open_runs(warehouse_folder(warehouse)) as opened:
        for table, files in opened.write_tables(folder).items():
            say(f"{place_name(folder / table)}: {len(files):,} {'file' if len(files) == 1 else 'files'}")
        tell_damage(opened)


def _table(what: str, warehouse: Path | None, form: Format, output: Path | None, limits: Limits) -> None:
    from gradetrail import sql
    from gradetrail.cli.query import open_runs, warehouse_folder
    from gradetrail.errors import Fault, SelectionError
    from gradetrail.warehouse.user_objects import is_ours, our_views, user_objects

    root = warehouse_folder(warehouse)
    with open_runs(root, what) as opened:
        params: dict[str, Any] = {}
        own = {user.name for user in user_objects(opened.home)}
        if what in own:
            _own_view(root, what, form, output, limits)
            return
        if is_ours(what):
            query = sql.select_from(what)
        else:
            try:
                params["run_id"] = opened.run_id(what)
            except SelectionError as error:
                known = ", ".join(sorted({*our_views(), *own}))
                fault = Fault(f"`{what}` is neither a view nor a run", fix=f"views: {known}")
                raise SelectionError(fault, *error.faults) from None
            query = sql.select_from("graded", ["run_id"])
        if form is Format.parquet and output is not None:
            opened.write_parquet(query, params, output)
        elif form is Format.parquet:
            from gradetrail.cli.output import write_parquet

            write_parquet(opened.arrow(query, params), output)
        else:
            show_rows(*opened.rows(query, params), form, output)
        tell_damage(opened)


def _own_view(root: Path, view: str, form: Format, output: Path | None, limits: Limits) -> None:
    """Export a view of the user's, which runs behind a wall."""
    from gradetrail import sql
    from gradetrail.cli.locked import open_locked
    from gradetrail.cli.streaming import print_query

    with open_locked(root, limits=limits) as opened:
        opened.check_view(view)
        print_query(opened, sql.select_from(view), {}, form, output)
        tell_damage(opened)


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Bundles that `export --bundle` wrote, or other warehouses.", metavar="FILE|DIR..."
        ),
    ],
    warehouse: WarehouseOption = None,
) -> None:
    """Bring runs of bundles or other warehouses into this one; a run that is there stays as it is."""
    from gradetrail.cli.query import warehouse_folder
    from gradetrail.store.places import is_address, place_name
    from gradetrail.warehouse.importing import import_bundle, import_warehouse

    root = warehouse_folder(warehouse)
    before = _names(root)
    for file in files:
        n_new = 0
        is_bundle = not file.is_dir() and not is_address(file)
        for done in [import_bundle(root, file)] if is_bundle else import_warehouse(root, file):
            if done.left_out:
                what = "it" if done.left_out == done.run_id else f"{done.left_out}, on which it rests,"
                say(f"{done.run_id}: left out, since {what} was removed here; a bundle brings it back")
                continue
            answers = "answer that was" if done.n_answers == 1 else "answers that were"
            word = f"{done.n_answers:,} {answers} not stored" if done.is_new else "was there already"
            say(f"{done.run_id}: {done.n_trials:,} {'trial' if done.n_trials == 1 else 'trials'}, {word}")
            n_new += done.is_new
        if not is_bundle:
            runs = "run that was" if n_new == 1 else "runs that were"
            say(f"{place_name(file)}: {n_new:,} {runs} not there")
    _tell_moved(before, _names(root))


def _names(root: Path) -> dict[str, str]:
    from gradetrail.store import Store
    from gradetrail.store.places import is_warehouse
    from gradetrail.warehouse.selection import names_by_run

    return names_by_run(Store(root, create=False).manifests()) if is_warehouse(root) else {}


def _tell_moved(before: dict[str, str], after: dict[str, str]) -> None:
    """Say which names of runs mean another run than they did."""
    moved: dict[str, list[str]] = {}
    for name, run_id in after.items():
        if before.get(name, run_id) != run_id:
            moved.setdefault(run_id, []).append(f"`{name}`")
    for run_id, names in moved.items():
        listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        say(f"{listed} now {'mean' if len(names) > 1 else 'means'} {run_id}")
