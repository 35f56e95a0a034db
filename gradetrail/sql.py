"""The only place that opens DuckDB, loads `sql/` by name, and quotes identifiers.

Invariant: values reach SQL only as bound parameters; identifiers only through `quoted`. Queries are
files: a stem is an object's name, and an error names the file and the line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail.errors import Fault, QueryError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

LAYERS = ("macros", "base", "core", "views")
"""Loaded in this order at open; a file reads earlier layers, and of its own what `ordered` puts before it."""

SETTINGS = (
    "set global TimeZone = 'UTC'",
    "set global dynamic_or_filter_threshold = 5000",
    "set global python_enable_replacements = false",
    "set global preserve_insertion_order = true",
)


@cache
def sql_root() -> Path:
    """Find the SQL files: in the wheel beside the package, in a checkout beside `gradetrail/`."""
    package = Path(__file__).parent
    for root in (package / "_sql", package.parent / "sql"):
        if (root / "views").is_dir():
            return root
    raise QueryError(
        Fault("gradetrail's SQL files are missing", str(package), fix="install the package again")
    )


@cache
def text_of(name: str) -> str:
    """Read `layer/stem` such as `scoring/exact`."""
    try:
        return (sql_root() / f"{name}.sql").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise QueryError(Fault(f"no SQL file `{name}`", str(sql_root()))) from None


@cache
def names(layer: str) -> tuple[str, ...]:
    """List the objects of a layer, sorted."""
    return tuple(sorted(path.stem for path in (sql_root() / layer).glob("*.sql")))


def connect(*, threads: int | None = None, memory_limit: str | None = None) -> duckdb.DuckDBPyConnection:
    """Open an in-memory DuckDB with gradetrail's settings."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {"autoinstall_known_extensions": False}
    if threads is not None:
        config["threads"] = threads
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    con = duckdb.connect(":memory:", config=config)
    for setting in SETTINGS:
        con.execute(setting)
    if "temp_directory" not in config:
        con.execute("set global temp_directory = $path", {"path": os.path.join(_scratch(), "duckdb")})
    return con


def _scratch() -> str:
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"gradetrail-{os.getuid()}")


_COMMENT = re.compile(r"^comment on ", re.MULTILINE | re.IGNORECASE)
_LINE_COMMENT = re.compile(r"^--.*$", re.MULTILINE)


@cache
def ordered(layer: str) -> tuple[str, ...]:
    """List the objects of a layer so that each stands after those that it reads; otherwise sorted."""
    stems = names(layer)
    calls = re.compile(r"(?:\b(?:from|join)\s+({0})\b)|\b({0})\(".format("|".join(stems) or "(?!)"))
    needs = {}
    for stem in stems:
        body = _COMMENT.split(_LINE_COMMENT.sub("", text_of(f"{layer}/{stem}")), maxsplit=1)[0]
        needs[stem] = {found[0] or found[1] for found in calls.findall(body)} - {stem}
    try:
        return tuple(TopologicalSorter(needs).static_order()) if stems else ()
    except CycleError as error:
        raise QueryError(
            Fault(f"objects of sql/{layer} read each other: {' -> '.join(error.args[1])}")
        ) from None


def load(con: duckdb.DuckDBPyConnection, layer: str, *, with_comments: bool = False) -> None:
    """Create every object of a layer. Comments cost as much as the views, so they are optional."""
    for stem in ordered(layer):
        text = text_of(f"{layer}/{stem}")
        if not with_comments:
            text = _COMMENT.split(text, maxsplit=1)[0]
        run(con, text, where=f"sql/{layer}/{stem}.sql")


def run(
    con: duckdb.DuckDBPyConnection,
    text: str,
    params: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    where: str = "query",
) -> duckdb.DuckDBPyConnection:
    """Execute SQL; a fault names `where` and the line."""
    import duckdb

    try:
        return con.execute(text, params) if params is not None else con.execute(text)
    except duckdb.Error as error:
        line = re.search(r"LINE (\d+):", str(error))
        place = f"{where}:{line[1]}" if line else where
        raise QueryError(Fault(str(error).strip(), place)) from error


def run_file(
    con: duckdb.DuckDBPyConnection, name: str, params: Mapping[str, Any] | None = None
) -> duckdb.DuckDBPyConnection:
    """Execute the file `layer/stem`; only the parameters that it names are bound."""
    text = text_of(name)
    used = {key: value for key, value in (params or {}).items() if re.search(rf"\${key}\b", text)}
    return run(con, text, used or None, where=f"sql/{name}.sql")


def quoted(identifier: str) -> str:
    """Quote an identifier."""
    return '"' + identifier.replace('"', '""') + '"'


def define_list(con: duckdb.DuckDBPyConnection, name: str, values: Sequence[str]) -> None:
    """Make `name()` a constant list: a macro, since cursors do not see variables, and DDL binds nothing."""
    items = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
    con.execute(f"create or replace macro {quoted(name)}() as cast([{items}] as varchar[])")


def lock(con: duckdb.DuckDBPyConnection, files: Sequence[str]) -> None:
    """Let the connection read exactly these files from now on, and change no setting. Not undone."""
    con.execute("set global allowed_paths = $files", {"files": list(files)})
    con.execute("set global enable_external_access = false")
    con.execute("set global lock_configuration = true")


def one_select(con: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    """Parse SQL that must be one statement that only reads; QueryError for anything else."""
    import duckdb

    try:
        statements = con.extract_statements(text)
    except duckdb.Error as error:
        raise QueryError(Fault(str(error).strip(), "query")) from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        kinds = ", ".join(statement.type.name.lower() for statement in statements) or "none"
        raise QueryError(
            Fault(f"a query is one SELECT; this has: {kinds}", "query", fix="views are read-only")
        )
    return statements[0]


def arrow(result: duckdb.DuckDBPyConnection) -> pa.Table:
    """Give the rows of an executed query as an Arrow table."""
    table = result.to_arrow_table()
    if table is None:
        raise QueryError(Fault("the query has no result"))
    return table


def select_from(view: str, equal: Iterable[str] = (), limit: int | None = None) -> str:
    """Give the query of a view's rows, with a bound parameter for each column in `equal`."""
    conditions = " and ".join(f"{quoted(column)} = ${column}" for column in equal)
    where = f" where {conditions}" if conditions else ""
    most = f" limit {int(limit)}" if limit is not None else ""
    return f"from {quoted(view)}{where}{most}"
