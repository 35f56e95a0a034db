"""`sql`: one query, or a shell on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradetrail.cli.options import FormatOption, MemoryOption, OutputOption, TimeoutOption, WarehouseOption
from gradetrail.cli.output import Format, check_output
from gradetrail.cli.query import AsOfOption, parse_moment, print_query, tell_ignored, warehouse_folder

if TYPE_CHECKING:
    from gradetrail.warehouse.locked import LockedWarehouse


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
    tell_ignored(warehouse_folder(warehouse), str(query))
    with reopen(timeout) as opened:
        print_query(opened, str(query), params_in(opened), form, output)


def _named_values(items: list[str] | None, flag: str) -> dict[str, str]:
    from gradetrail.errors import Fault, SelectionError

    values = {}
    for item in items or ():
        name, found, value = item.partition("=")
        if not found:
            raise SelectionError(Fault(f"`{item}` is not NAME=VALUE", flag))
        values[name] = value
    return values
