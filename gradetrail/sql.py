"""The only place that opens DuckDB, loads `sql/` by name, and quotes identifiers.

Invariant: values reach SQL only as bound parameters; identifiers only through `quoted`. Queries are
files: a stem is an object's name, and an error names the file and the line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail.errors import Fault, QueryError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

LAYERS = ("macros", "base", "core", "views")
"""A file reads objects of earlier layers and of its own; `in_order` finds what must come first."""

READING_STEPS = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""What a named step of a query may be; others write."""
_BEGINS = re.compile(r"(?:\s|--[^\r\n]*\n)*(?:\(|(?:from|pivot|select|with)\b)", re.IGNORECASE)
_WRITES = re.compile(r"copy|insert|update|delete|merge|truncate", re.IGNORECASE)
"""Words without which no named step writes, wherever they stand in a text."""

SETTINGS = (
    "set global TimeZone = 'UTC'",
    "set global dynamic_or_filter_threshold = 5000",
    "set global python_enable_replacements = false",
    "set global preserve_insertion_order = true",
    "set global parquet_metadata_cache = true",
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


def summary_of(name: str) -> str:
    """Give the first header line of `layer/stem`: what the object says."""
    return text_of(name).partition("\n")[0].removeprefix("--").strip()


def column_notes(name: str) -> dict[str, str]:
    """Give what the columns of `layer/stem`, a macro with rows, are; DuckDB keeps comments of views alone."""
    stem = name.partition("/")[2]
    return dict(re.findall(rf"^-- {stem}\.(\w+): (.+)$", text_of(name), re.MULTILINE))


@cache
def names(layer: str) -> tuple[str, ...]:
    """List the objects of a layer, sorted."""
    return tuple(sorted(path.stem for path in (sql_root() / layer).glob("*.sql")))


@dataclass(frozen=True, slots=True)
class Room:
    """What a connection may use, in DuckDB's words such as `2GB`; None is what DuckDB takes by itself."""

    memory: str | None = None
    """Beyond it queries go on in the temporary folder, where they can."""
    disk: str | None = None
    """Most that the temporary folder may hold."""


def connect(*, threads: int | None = None, room: Room = Room()) -> duckdb.DuckDBPyConnection:
    """Open an in-memory DuckDB with gradetrail's settings."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {"autoinstall_known_extensions": False}
    if threads is not None:
        config["threads"] = threads
    if room.memory is not None:
        config["memory_limit"] = room.memory
    if room.disk is not None:
        config["max_temp_directory_size"] = room.disk
    con = duckdb.connect(":memory:", config=config)
    for setting in SETTINGS:
        con.execute(setting)
    if "temp_directory" not in config:
        con.execute("set global temp_directory = $path", {"path": os.path.join(_scratch(), "duckdb")})
    return con


def _scratch() -> str:
    import tempfile

    folder = os.path.join(tempfile.gettempdir(), f"gradetrail-{os.getuid()}")
    # DuckDB makes the last folder of a path only; without it a query that needs the disk fails
    with suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


_COMMENT = re.compile(r"^comment on ", re.MULTILINE)
_LINE_COMMENT = re.compile(r"^--.*$", re.MULTILINE)
_READ = re.compile(r"\b(?:from|join)\s+(\w+)(\()?|\b(\w+)\(")
_CATALOG = re.compile(
    r"\b(?:show|describe|information_schema|duckdb_\w+|pg_\w+|sqlite_master)\b", re.IGNORECASE
)


@cache
def _objects() -> tuple[dict[str, str], dict[str, str]]:
    """Map names of relations, and of functions (macros), to `layer/stem`."""
    relations: dict[str, str] = {}
    functions: dict[str, str] = {}
    for layer in LAYERS:
        for stem in names(layer):
            kind = functions if is_macro(f"{layer}/{stem}") else relations
            kind[stem] = f"{layer}/{stem}"
    return relations, functions


def is_macro(name: str) -> bool:
    """Say whether `layer/stem` creates a macro; otherwise it creates a view or a table."""
    return "\ncreate or replace macro " in text_of(name)


def is_table(name: str) -> bool:
    """Say whether `layer/stem` creates a table, whose rows are there once it is made."""
    return "\ncreate or replace table " in text_of(name)


@cache
def needs(name: str) -> frozenset[str]:
    """Name the objects that `layer/stem` reads itself, each as `layer/stem`."""
    relations, functions = _objects()
    body = _COMMENT.split(_LINE_COMMENT.sub("", text_of(name)), maxsplit=1)[0]
    found = set()
    for relation, is_call, function in _READ.findall(body):
        kind = functions if function or is_call else relations
        found.add(kind.get(function or relation, name))
    return frozenset(found - {name})


def in_order(wanted: Iterable[str]) -> tuple[str, ...]:
    """List objects with all that they read, each after what it reads; all as `layer/stem`."""
    graph: dict[str, frozenset[str]] = {}
    waiting = sorted(wanted)
    while waiting:
        name = waiting.pop()
        if name not in graph:
            graph[name] = needs(name)
            waiting += sorted(graph[name])
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise QueryError(Fault(f"SQL files read each other: {' -> '.join(error.args[1])}")) from None


def everything() -> list[str]:
    """List the objects of all layers, as `layer/stem`."""
    return [f"{layer}/{stem}" for layer in LAYERS for stem in names(layer)]


def mentioned(text: str) -> list[str]:
    """List the objects whose names stand in a query; all of them if it asks about the catalog."""
    if _CATALOG.search(text):
        return everything()
    words = set(re.findall(r"\w+", text.lower()))
    return [path for kind in _objects() for name, path in kind.items() if name in words]


def create(con: duckdb.DuckDBPyConnection, name: str, *, with_comments: bool = False) -> None:
    """Create the object `layer/stem`. Comments cost as much as the views, so they are optional."""
    text = text_of(name)
    if not with_comments:
        text = _COMMENT.split(text, maxsplit=1)[0]
    run(con, text, where=f"sql/{name}.sql")


def comment_table(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Give a table the comments of the object `layer/stem`, whether that is a view or a table."""
    _, *comments = _COMMENT.split(text_of(name))
    for comment in comments:
        text = f"comment on {comment}".replace("comment on view ", "comment on table ", 1)
        run(con, text, where=f"sql/{name}.sql")


FILE_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "storage_compatibility_version": "v1.2.0",
}
"""A new file has the format that DuckDB has read since this version; views were tried with its 1.5."""


@contextmanager
def database(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB file, which is made if it is not there; closed at the end."""
    import duckdb

    con = duckdb.connect(str(path), config=FILE_CONFIG)
    try:
        for setting in SETTINGS:
            con.execute(setting)
        yield con
    finally:
        con.close()


def run(
    con: duckdb.DuckDBPyConnection,
    text: str,
    params: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    where: str = "query",
) -> duckdb.DuckDBPyConnection:
    """Execute SQL; a fault names `where` and the line."""
    with _told(where):
        return con.execute(text, params) if params is not None else con.execute(text)


@contextmanager
def _told(where: str) -> Iterator[None]:
    """Turn DuckDB's errors into QueryError with file and line."""
    import duckdb

    try:
        yield
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


def define_text(con: duckdb.DuckDBPyConnection, name: str, value: str | None) -> None:
    """Make `name()` a constant text, or NULL."""
    text = "null" if value is None else "'" + value.replace("'", "''") + "'"
    con.execute(f"create or replace macro {quoted(name)}() as cast({text} as varchar)")


_takes_others = True


@contextmanager
def without_others() -> Iterator[None]:
    """Keep SQL of others out of this process, also views of theirs: to create one is to run parts of it."""
    global _takes_others  # noqa: PLW0603 - it holds for all threads
    before, _takes_others = _takes_others, False
    try:
        yield
    finally:
        _takes_others = before


def takes_others() -> bool:
    """Say whether SQL of others may be in this process."""
    return _takes_others


def lock(con: duckdb.DuckDBPyConnection, files: Sequence[str], folders: Sequence[str] = ()) -> None:
    """Let the connection read exactly these files from now on, and change no setting. Not undone.

    What is in `folders` can be read too; DuckDB would let a COPY write there, which `one_select` refuses.
    """
    con.execute("set global allowed_paths = $files", {"files": list(files)})
    if folders:
        con.execute("set global allowed_directories = $folders", {"folders": list(folders)})
    con.execute("set global enable_external_access = false")
    con.execute("set global lock_configuration = true")


def one_select(con: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    """Parse SQL that must be one statement that only reads; QueryError for anything else."""
    import duckdb

    try:
        statements = con.extract_statements(text)
    except duckdb.Error as error:
        raise QueryError(Fault(str(error).strip(), "query")) from error
    kinds = [_kind(statement) for statement in statements]
    if not kinds:
        fix = "write one SELECT, such as: select * from runs"
        raise QueryError(Fault("there is no statement", "query", fix=fix))
    if kinds == ["select"]:
        refusal, steps = run_file(con, "warehouse/named_steps", {"query": text}).fetchall()[0]
        if refusal is not None:
            raise QueryError(Fault(str(refusal), "query"))
        kinds = ["select", *(step.split("_")[0].lower() for step in steps if step not in READING_STEPS)]
    if kinds == ["multi"] and _BEGINS.match(text):
        # a pivot whose columns are looked up first, which is no tree that could be read here
        word = _WRITES.search(text)
        if word is None:
            return statements[0]
        reason = f"a query is one SELECT; beside `{word[0]}` a pivot must name its values"
        raise QueryError(Fault(reason, "query", fix="pivot ... on model in ('a', 'b') using ..."))
    if kinds != ["select"]:
        count = f" {len(statements)} statements" if len(statements) > 1 else ""
        reason = f"a query is one SELECT; this has{count}: {', '.join(dict.fromkeys(kinds))}"
        fix = "one statement at a time" if set(kinds) == {"select"} else "views are read-only"
        raise QueryError(Fault(reason, "query", fix=fix))
    return statements[0]


def _kind(statement: duckdb.Statement) -> str:
    try:
        return statement.type.name.lower()
    except ValueError:
        return "another kind"  # such as UPDATE EXTENSIONS, which DuckDB's Python package has no name for


def arrow_file(
    con: duckdb.DuckDBPyConnection, name: str, params: Mapping[str, Any] | None = None
) -> pa.Table:
    """Run the query of the file `layer/stem`; give its rows as an Arrow table."""
    text = text_of(name)
    used = {key: value for key, value in (params or {}).items() if re.search(rf"\${key}\b", text)}
    with _told(f"sql/{name}.sql"):
        table: pa.Table = con.sql(text, params=used or None).to_arrow_table()
    return table


def key_of_unsorted(view: str) -> list[str]:
    """List the columns that tell rows apart, for a view of ours that has no order; none for others."""
    if view not in names("views") or "\norder by" in text_of(f"views/{view}"):
        return []
    grain = re.search(r"^-- One row per \(([\w, ]+)\)", text_of(f"views/{view}"), re.MULTILINE)
    return grain[1].split(", ") if grain else []


def select_from(
    view: str,
    equal: Iterable[str] = (),
    limit: int | None = None,
    order: Iterable[str] = (),
    among: Iterable[str] = (),
) -> str:
    """Give the query of a view's rows, with a bound value for each column in `equal`, a list in `among`."""
    parts = [f"{quoted(column)} = ${column}" for column in equal]
    conditions = " and ".join([*parts, *(f"{quoted(column)} in ${column}" for column in among)])
    where = f" where {conditions}" if conditions else ""
    sorting = ", ".join(map(quoted, order))
    sorted_by = f" order by {sorting}" if sorting else ""
    most = f" limit {int(limit)}" if limit is not None else ""
    return f"from {quoted(view)}{where}{sorted_by}{most}"
