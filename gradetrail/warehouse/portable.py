"""A whole warehouse as one DuckDB database: tables hold the rows, views are the same views.

Invariant: the file needs nothing but DuckDB. What stands in Parquet or in manifests becomes tables;
macros and views are created from the same files of `sql/`, so that they say the same.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.errors import Fault, StoreError
from gradetrail.store.schema import FACT_ROW_GROUP
from gradetrail.warehouse.user_objects import create_all, user_objects

if TYPE_CHECKING:
    import duckdb

    from gradetrail.warehouse.warehouse import Warehouse

LISTS = ("running_run_ids", "board_run_ids", "reference_run_ids", "unsure_run_ids")
"""Constant lists that a warehouse decides on when it is opened."""
BOARDS = "board_candidates"
"""The table from which they follow, made by `warehouse/board_candidates`."""


def write_database(warehouse: Warehouse, target: Path) -> None:
    """Write every table, macro and view into a new database, which appears whole; StoreError."""
    import duckdb

    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with warehouse.connection() as source, sql.new_database(temporary) as copy:
            _fill(source, copy)
            create_all(copy, user_objects(warehouse.home))
        temporary.replace(target)
    except (OSError, duckdb.IOException) as error:
        raise StoreError(Fault(f"cannot be written: {error}", str(target))) from None
    finally:
        temporary.unlink(missing_ok=True)


def _fill(source: duckdb.DuckDBPyConnection, copy: duckdb.DuckDBPyConnection) -> None:
    sql.define_text(copy, "as_of_run", None)  # what is copied is as of that moment already
    for name in LISTS:
        (values,) = source.execute(f"select {name}()").fetchall()[0]
        sql.define_list(copy, name, values)
    _copy(source, copy, "", BOARDS)
    for name in sql.in_order(sql.everything()):
        layer, _, stem = name.partition("/")
        if sql.is_macro(name) or (layer != "base" and not sql.is_table(name)):
            sql.create(copy, name, with_comments=True)
        else:
            _copy(source, copy, name, stem)


def _copy(source: duckdb.DuckDBPyConnection, copy: duckdb.DuckDBPyConnection, name: str, table: str) -> None:
    """Copy the rows of a relation into a table of its name."""
    rows = source.sql(sql.select_from(table)).to_arrow_reader(FACT_ROW_GROUP)
    copy.register("copied_rows", rows)
    copy.execute(f"create table {sql.quoted(table)} as from copied_rows")
    copy.unregister("copied_rows")
    if name:
        sql.comment_table(copy, name)
