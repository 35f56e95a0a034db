"""Runs one SELECT on a cursor: checked, bound, and stopped by Ctrl-C.

Invariant: nothing but a single statement that reads is executed, in a transaction that only reads; a
value that the query names and nobody gave is refused before it runs.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gradetrail import sql
from gradetrail.errors import Fault, InterruptError, QueryError, SelectionError, did_you_mean

if TYPE_CHECKING:
    import duckdb
    import duckdb.sqltypes as duckdb_types
    import polars as pl
    import pyarrow as pa

Params = Mapping[str, Any] | Sequence[Any] | None
Row = tuple[Any, ...]
Fetched = TypeVar("Fetched")
Fetch = Callable[["duckdb.DuckDBPyConnection", str, Params], Fetched]

ROWS_AT_ONCE = 10_000
"""Rows that become Python values in one go, during which nothing else of Python runs."""
PATIENCE_S = 0.7
"""How long a query that was stopped may take to end; one that is inside a single call may not look."""

FOREIGN = frozenset(
    {"interval", "union", "uhugeint", "variant", "geometry", "bit", "bignum", "time with time zone"}
)
"""Types that Arrow, Polars or Parquet refuse, or take for other values."""
SPANS = frozenset({"interval"})
HUGE = "hugeint"
"""What `sum` gives of integers, which frames have as a decimal."""
NESTED = frozenset({"list", "array", "struct", "map"})

FILE_REFUSED = "Permission Error: Cannot access "
"""How DuckDB refuses a file or folder that queries may not read."""
ALLOW_FILES = (
    "name the file or its folder: `--allow-files PATH`; in Python `Warehouse(..., own_files=[PATH])`"
)
UNKNOWN_TABLE = re.compile(
    r"(?P<refusal>Catalog Error: Table with name (?P<name>\S+) does not exist!)(?:\nDid you mean .*)?"
)
"""What DuckDB says of a table that is none; its own suggestions are names of system tables."""


@dataclass(slots=True)
class Spelled:
    """A result that is held whole, whose time spans are text."""

    description: list[tuple[Any, ...]]
    rows: list[Row]

    def fetchmany(self, size: int) -> list[Row]:
        """Give the next rows, none at the end."""
        piece, self.rows = self.rows[:size], self.rows[size:]
        return piece


def executed(
    cursor: duckdb.DuckDBPyConnection, text: str, params: Params, most: int | None = None
) -> duckdb.DuckDBPyConnection | Spelled:
    """Run a query; time spans come as the text that DuckDB gives, since those of Python have no months."""
    result = cursor.execute(text, params)
    if not any(_is_foreign(kind, SPANS) for _, kind, *_ in result.description or ()):
        return result
    cursor.abort()
    relation = _as_text(cursor.sql(text, params=params), SPANS)
    names = [(name,) for name in relation.columns]
    return Spelled(names, (relation if most is None else relation.limit(most)).fetchall())


def fetch_rows(
    cursor: duckdb.DuckDBPyConnection, text: str, params: Params, most: int | None = None
) -> tuple[list[str], list[Row]]:
    """Give column names and rows of plain Python values; at most so many of them."""
    result = executed(cursor, text, params, most)
    names = [str(column[0]) for column in result.description or ()]
    rows: list[Row] = []
    while most is None or len(rows) < most:
        piece = result.fetchmany(ROWS_AT_ONCE if most is None else min(ROWS_AT_ONCE, most - len(rows)))
        if not piece:
            break
        rows += piece
    return names, rows


def portable(cursor: duckdb.DuckDBPyConnection, text: str, params: Params) -> duckdb.DuckDBPyRelation:
    """Give a result for Arrow; columns whose types Arrow, Polars or Parquet would not hold become text.

    The text is what DuckDB's cast to varchar says; a list or struct of such values is text as a whole.
    """
    return _as_text(cursor.sql(text, params=params), FOREIGN)


def _as_text(relation: duckdb.DuckDBPyRelation, kinds: frozenset[str]) -> duckdb.DuckDBPyRelation:
    """Give a relation with the columns that are of such types, or hold values of them, as text."""
    import duckdb

    foreign = [_is_foreign(kind, kinds) for kind in relation.types]
    if not any(foreign):
        return relation
    # by place, since names may repeat
    columns = [duckdb.SQLExpression(f"#{place}") for place in range(1, len(foreign) + 1)]
    return relation.project(
        *(
            (column.cast("varchar") if is_foreign else column).alias(name)
            for column, is_foreign, name in zip(columns, foreign, relation.columns, strict=True)
        )
    )


def _is_foreign(kind: duckdb_types.DuckDBPyType | int | list[str], kinds: frozenset[str]) -> bool:
    if isinstance(kind, int | list):
        # the size of an array, or the values of an enum
        return False
    if kind.id in kinds:
        return True
    children = [child for _, child in kind.children] if kind.id in NESTED else []
    # Parquet has no map without a type of its keys
    is_untyped_map = kinds is FOREIGN and kind.id == "map" and str(children[0]) == '"NULL"'
    return is_untyped_map or any(_is_foreign(child, kinds) for child in children)


def fetch_polars(cursor: duckdb.DuckDBPyConnection, text: str, params: Params) -> pl.DataFrame:
    """Give a Polars frame."""
    relation = portable(cursor, text, params)
    frame: pl.DataFrame = relation.pl()
    whole = [name for name, kind in zip(frame.columns, relation.types, strict=True) if kind.id == HUGE]
    return frame.with_columns(_whole_numbers(frame[name]) for name in whole) if whole else frame


def _whole_numbers(column: pl.Series) -> pl.Series:
    """Give what `sum` makes of integers as integers, where these are large enough; else as it is."""
    import polars as pl

    numbers = column.cast(pl.Int64, strict=False)
    return numbers if numbers.null_count() == column.null_count() else column


def fetch_arrow(cursor: duckdb.DuckDBPyConnection, text: str, params: Params) -> pa.Table:
    """Give an Arrow table."""
    table: pa.Table = portable(cursor, text, params).to_arrow_table()
    return table


def select(cursor: duckdb.DuckDBPyConnection, text: str, params: Params, fetch: Fetch[Fetched]) -> Fetched:
    """Run one SELECT. QueryError if it is none or a value is missing; duckdb.Error if DuckDB refuses it."""
    statement = sql.one_select(cursor, text)
    bound = _bound(statement.named_parameters, params)
    # ends with the cursor, which is the query's own
    cursor.execute("begin transaction read only")
    return _interruptibly(cursor, lambda: fetch(cursor, text, bound))


def _bound(names: Iterable[str], params: Params) -> Params:
    """Bind what the query names; a value that is missing is refused, one too many is not."""
    if params is None or not isinstance(params, Mapping):
        return params or None
    wanted = set(names)
    missing = sorted(wanted - params.keys())
    if missing:
        given = ", ".join(sorted(params)) or "none"
        raise QueryError(Fault(f"no value for ${missing[0]}", "query", fix=f"given: {given}"))
    return {name: params[name] for name in wanted} or None


def _interruptibly(cursor: duckdb.DuckDBPyConnection, work: Callable[[], Fetched]) -> Fetched:
    """Do work in a thread while the main one waits, so that Ctrl-C stops the query at once."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    results: list[Fetched] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)  # raised again in the thread that waits
        finally:
            done.set()

    threading.Thread(target=run, name="gradetrail-query", daemon=True).start()
    try:
        done.wait()
    except KeyboardInterrupt:
        cursor.interrupt()
        done.wait(PATIENCE_S)
        raise InterruptError(Fault("the query was stopped")) from None
    if errors:
        raise errors[0]
    return results[0]


def existing(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Give files and folders of the user's as absolute paths; SelectionError for one that is not there."""
    found = [Path(path).absolute() for path in paths]
    faults = [Fault(f"no file or folder {path}", "--allow-files") for path in found if not path.exists()]
    if faults:
        raise SelectionError(*faults)
    return found


def refused(error: duckdb.Error | QueryError, views: Callable[[], Iterable[str]]) -> QueryError:
    """Give what DuckDB refused as an error of ours; an unknown table gets the views that there are."""
    if isinstance(error, QueryError):
        return error
    message = str(error).strip()
    if message.startswith(FILE_REFUSED):
        return QueryError(Fault(message, "query", fix=ALLOW_FILES))
    unknown = UNKNOWN_TABLE.match(message)
    if unknown is None:
        return QueryError(Fault(message, "query"))
    message = unknown["refusal"] + message[unknown.end() :]
    return QueryError(Fault(message, "query", fix=did_you_mean(unknown["name"], views())))
