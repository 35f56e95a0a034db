"""Runs the user's SQL over the dataset: `query` makes new rows, `where` keeps some.

Invariant: the connection is in memory, without access to files and with its configuration locked,
and takes one SELECT or one condition. Columns get their types from JSON types over all rows, never
from the look of a string, and no type is chosen that would change a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.dataset.columns import text_chunks
from gradetrail.dataset.findings import Findings
from gradetrail.dataset.rows import json_text, parse_row
from gradetrail.errors import DatasetError, Fault, QueryError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from gradetrail.dataset.columns import TextColumn

TABLE = "dataset"
CONDITION = (
    "one SQL condition on a row, such as `level >= 3 and topic = 'algebra'`, with text in single quotes"
)
EXACT_IN_DOUBLE = 2**53
STRING, INTEGER, LONG, HUGE, FLOAT, BOOLEAN, NESTED = (1 << bit for bit in range(7))


@dataclass(frozen=True, slots=True)
class UserSql:
    """SQL that the user wrote, and where."""

    text: str
    where: str
    field: str


def typed_table(content: TextColumn) -> pa.Table:
    """Give JSON rows as columns: VARCHAR, BIGINT, DOUBLE or BOOLEAN where all values fit, else JSON.

    A key that a row lacks is NULL there, as is null. Columns stand in the order of first appearance.
    """
    import pyarrow as pa

    kinds: dict[str, int] = {}
    for texts in text_chunks(content):
        for text in texts:
            for name, value in parse_row(text).items():
                kinds[name] = kinds.get(name, 0) | _kind(value)
    schema = pa.schema([(name, _arrow_type(kind)) for name, kind in kinds.items()])
    found = [_typed_batch(texts, schema) for texts in text_chunks(content)]
    return pa.Table.from_batches(found, schema=schema)


def _kind(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return STRING
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        if abs(value) <= EXACT_IN_DOUBLE:
            return INTEGER
        return LONG if -(2**63) <= value < 2**63 else HUGE
    return FLOAT if isinstance(value, float) else NESTED


def _arrow_type(kind: int) -> pa.DataType:
    import pyarrow as pa

    if kind in (0, STRING):
        return pa.string()
    if kind == BOOLEAN:
        return pa.bool_()
    if not kind & ~(INTEGER | LONG):
        return pa.int64()
    if not kind & ~(INTEGER | FLOAT):
        return pa.float64()
    return pa.json_(pa.string())


def _typed_batch(texts: list[str], schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    rows = [parse_row(text) for text in texts]
    columns = []
    for field in schema:
        values = [row.get(field.name) for row in rows]
        if isinstance(field.type, pa.JsonType):
            values = [None if value is None else json_text(value) for value in values]
        columns.append(pa.array(values, type=field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@contextmanager
def _connection(table: pa.Table, findings: Findings) -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    if not table.column_names:
        raise DatasetError("the dataset has no columns that SQL could see")
    # one thread: order and sums of a query come out the same each time, and so do sample ids
    con = sql.connect(threads=1)
    try:
        try:
            con.register(TABLE, table)
        except duckdb.Error as error:
            raise DatasetError(Fault(f"SQL cannot see this dataset: {error}")) from None
        for setting in ("arrow_lossless_conversion = true", "enable_external_access = false"):
            con.execute(f"set {setting}")
        con.execute("set lock_configuration = true")
        for name, called in zip(table.column_names, con.table(TABLE).columns, strict=True):
            if name != called:
                findings.warn(f"the column `{name}` is called `{called}` in SQL")
        yield con
    finally:
        con.close()


def query_rows(table: pa.Table, query: UserSql, findings: Findings) -> pa.Table:
    """Run one SELECT over `dataset`; its rows take the place of the dataset's."""
    import duckdb

    with _connection(table, findings) as con:
        try:
            found: pa.Table = con.sql(sql.one_select(con, query.text)).to_arrow_table()
        except QueryError as error:
            raise _error(query, error.faults[0].message, con) from None
        except duckdb.Error as error:
            raise _error(query, str(error), con) from None
        return found


def kept_rows(table: pa.Table, conditions: list[UserSql], findings: Findings) -> list[list[bool]]:
    """Give for each condition which rows it keeps, in dataset order; NULL keeps none."""
    import duckdb

    kept: list[list[bool]] = []
    with _connection(table, findings) as con:
        for condition in conditions:
            try:
                rows = con.table(TABLE)
                rows.filter(condition.text)  # refuses whatever is not a condition on one row
                flag = duckdb.SQLExpression(condition.text).cast("BOOLEAN").alias("keep")
                flags = rows.select(flag).to_arrow_table()["keep"].to_pylist()
            except duckdb.Error as error:
                raise _error(condition, str(error), con) from None
            kept.append([value is True for value in flags])
    return kept


def _error(given: UserSql, message: str, con: duckdb.DuckDBPyConnection) -> DatasetError:
    columns = con.table(TABLE).columns
    more = f" and {len(columns) - 30} more" if len(columns) > 30 else ""
    fix = f"columns: {', '.join(columns[:30])}{more}"
    if message.strip().startswith("Parser Error"):
        form = "one SELECT over `dataset`" if given.field == "dataset.query" else CONDITION
        fix = f"write {form}; {fix}"
    return DatasetError(Fault(f"{message.strip()}\n    in: {given.text}", given.where, given.field, fix))
