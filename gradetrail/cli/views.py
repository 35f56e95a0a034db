"""`show --help-views` and `--sql`: what every view says, from the files and the catalog that make them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.cli.cells import Row, cells_of
from gradetrail.cli.fitting import LEAST_HEADER, columns_of, fitted
from gradetrail.cli.output import Format, say, screen_width, show_rows, write
from gradetrail.cli.query import files_of_users

if TYPE_CHECKING:
    import duckdb

LAYERS = ("views", "base")
"""Layers that are meant for users."""
HEADER_LINES = 4
"""What an object says, its grain, its units, its source."""
_CREATES = re.compile(
    r"((?:\s|--[^\n]*\n)*)create\s+(?:or\s+replace\s+)?(?:view|table)\s+(?:\"[^\"]+\"|\w+)\s+as\s+",
    re.IGNORECASE,
)
"""The beginning of a file, with the comments before what it creates."""


def print_views(root: Path, name: str | None, form: Format, output: Path | None) -> None:
    """Print all views and tables, the user's included, or the columns of one; needs no warehouse."""
    names, rows = view_rows(root, name)
    if form is Format.table:
        write(prose_table(names, rows, screen_width(output)), output)
    else:
        show_rows(names, rows, form, output)


def prose_table(names: Sequence[str], rows: Sequence[Row], width: int | None) -> str:
    """Give a table whose cells are sentences, whole: within a width, they go on in the next line."""
    cells = cells_of(names, rows)
    widths = fitted(columns_of(names, rows, cells, None, LEAST_HEADER), width)

    def lines(row: Sequence[str]) -> Iterator[str]:
        wrapped = [wrap(row[n], size) for n, size in widths.items()]
        for line in zip_longest(*wrapped, fillvalue=""):
            sized = zip(line, widths.values(), strict=True)
            yield "  ".join(text.ljust(size) for text, size in sized).rstrip() + "\n"

    table = [names, ["─" * widths.get(n, 0) for n in range(len(names))], *cells]
    return "".join(line for row in table for line in lines(row))


def view_rows(root: Path, name: str | None) -> tuple[list[str], list[list[Any]]]:
    """Give column names and rows of what `print_views` prints."""
    if name is None:
        return ["view", "says", "one_row_per", "arguments"], list(_all(root))
    return ["column", "type", "says"], _columns(root, name)


def query_behind(root: Path, view: str) -> str:
    """Give the SELECT of a view with its head comment, a macro (it needs arguments) whole; SelectionError."""
    text = _file_of(root, view).partition("\ncomment on ")[0].rstrip()
    return _CREATES.sub(r"\1", text, count=1) if _CREATES.match(text) else text


def _file_of(root: Path, view: str) -> str:
    from gradetrail.errors import Fault, SelectionError, did_you_mean

    # a view and the macro that it calls may have one name
    for layer in sorted(sql.LAYERS, key=lambda layer: layer != "views"):
        if view in sql.names(layer):
            return sql.text_of(f"{layer}/{view}")
    for own in files_of_users(root):
        if own.name == view:
            return own.path.read_text(encoding="utf-8")
    if view == "sample":
        return sql.text_of("commands/sample")
    known = [name for layer in sql.LAYERS for name in sql.names(layer)]
    raise SelectionError(Fault(f"no view `{view}`", "show", fix=did_you_mean(view, known)))


def _all(root: Path) -> Iterator[list[Any]]:
    """Yield name, meaning, grain, and arguments (None if it takes none)."""
    arguments = _arguments(_catalog())
    for layer in LAYERS:
        for stem in sql.names(layer):
            meaning, grain = (line.removeprefix("--").strip() for line in _head(f"{layer}/{stem}"))
            one = re.split(r"[;.](?: |$)", grain.removeprefix("One row per "))[0]
            takes = ", ".join(arguments[stem]) if sql.is_macro(f"{layer}/{stem}") else None
            yield [stem, meaning, one, takes]
    for own in files_of_users(root):
        yield [own.name, own.summary or None, None, None]


def _head(name: str, count: int = 2) -> list[str]:
    return sql.text_of(name).splitlines()[:count]


def _columns(root: Path, name: str) -> list[list[Any]]:
    from gradetrail.errors import Fault, SelectionError, did_you_mean
    from gradetrail.store.places import is_warehouse
    from gradetrail.warehouse.locked import LockedWarehouse

    known = {stem: f"{layer}/{stem}" for layer in LAYERS for stem in sql.names(layer)}
    if name in known:
        say("\n".join(line.removeprefix("--").strip() for line in _head(known[name], HEADER_LINES)))
    if name in known and not sql.is_macro(known[name]):
        return [
            list(row) for row in sql.run_file(_catalog(), "commands/view_columns", {"name": name}).fetchall()
        ]
    if name in known:
        con = _catalog()
        nulls = ", ".join("null" for _ in _arguments(con)[name])
        described = con.execute(f"describe from {name}({nulls})").fetchall()
        notes = sql.column_notes(known[name])
        return [[column, kind, notes.get(column)] for column, kind, *_ in described]
    if is_warehouse(root):
        with LockedWarehouse(root) as opened:
            opened.check_view(name)
            return [list(row) for row in opened.file_rows("commands/view_columns", {"name": name})[1]]
    raise SelectionError(Fault(f"no view `{name}`", "--help-views", fix=did_you_mean(name, known)))


def _arguments(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    return dict(sql.run_file(con, "commands/macro_arguments").fetchall())


def _catalog() -> duckdb.DuckDBPyConnection:
    """Make every object over an empty warehouse, with comments."""
    from gradetrail.store import Live
    from gradetrail.store.schema import TABLES
    from gradetrail.warehouse.catalog import open_catalog

    empty = Live({name: [] for name in TABLES}, {}, [], [], [], [], set())
    return open_catalog(empty, with_comments=True)
