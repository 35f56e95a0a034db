"""`sql`: one query, or a shell on a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradetrail.cli.options import FormatOption, MemoryOption, OutputOption, TimeoutOption, WarehouseOption
from gradetrail.cli.output import Format, check_output
from gradetrail.cli.query import (
    AsOfOption,
    files_of_users,
    parse_moment,
    print_query,
    tell_ignored,
    warehouse_folder,
)

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
    _check_unlike(params, runs)
    moment = parse_moment(as_of)

    def reopen(timeout_s: float | None, memory: str | None) -> LockedWarehouse:
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
        with Shell(Setup(reopen, params_in, form, timeout, memory, output)) as shell:
            shell.talk()
        return
    if query in (None, "-"):
        if sys.stdin.isatty():
            raise SelectionError(Fault("no query", "sql", fix='gradetrail sql "select * from runs"'))
        query = sys.stdin.read()
    _check_used(str(query), {**dict.fromkeys(params, "--param"), **dict.fromkeys(runs, "--run")})
    tell_ignored(files_of_users(warehouse_folder(warehouse)), str(query))
    with reopen(timeout, memory) as opened:
        print_query(opened, str(query), params_in(opened), form, output)


def _named_values(items: list[str] | None, flag: str) -> dict[str, str]:
    from gradetrail.errors import Fault, SelectionError

    values: dict[str, str] = {}
    for item in items or ():
        name, found, value = item.partition("=")
        if not found or not name.isidentifier():
            fix = f"such as {flag} a=..., for $a in the query"
            raise SelectionError(Fault(f"`{item}` is not NAME=VALUE", flag, fix=fix))
        if name in values:
            raise SelectionError(Fault(f"`{name}` is given twice", flag, fix="give each name once"))
        values[name] = value
    return values


def _check_unlike(params: Iterable[str], runs: Iterable[str]) -> None:
    """Refuse a name that has two values."""
    from gradetrail.errors import Fault, SelectionError

    for name in sorted(set(params) & set(runs)):
        raise SelectionError(Fault(f"`{name}` is given by --param too", "--run", fix="give each name once"))


def _check_used(query: str, flags: Mapping[str, str]) -> None:
    """Refuse a value that the query does not name: it would be left out in silence."""
    from gradetrail.errors import Fault, SelectionError

    faults = [
        Fault(f"the query has no ${name}", flag, fix=f"write ${name} where the value goes, or leave it out")
        for name, flag in flags.items()
        if re.search(rf"\${name}\b", query) is None
    ]
    if faults:
        raise SelectionError(*faults)
