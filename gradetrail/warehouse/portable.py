"""A whole warehouse as one DuckDB database: tables hold the rows, views are the same views.

Invariant: the file needs nothing but DuckDB. What stands in Parquet or in manifests becomes tables;
macros and views are created from the same files of `sql/`, so that they say the same. SQL of the user's
runs in a process of its own.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import Fault, LimitError, StoreError
from gradetrail.sql_child.limits import MB, Limits
from gradetrail.sql_child.process import ChildLostError, ChildProcess
from gradetrail.store.schema import FACT_ROW_GROUP
from gradetrail.warehouse.locked import fixes_of, limits_of
from gradetrail.warehouse.user_objects import UserObject, create_all, user_objects

if TYPE_CHECKING:
    import duckdb

    from gradetrail.warehouse.warehouse import Warehouse

MODULE = "gradetrail.warehouse.portable_worker"
GROWTH_MB = 64
"""What a database may grow by when the user's views and macros are created in it."""
LISTS = ("running_run_ids", "board_run_ids", "reference_run_ids", "unsure_run_ids")
"""Constant lists that a warehouse decides on when it is opened."""
BOARDS = "board_candidates"
"""The table from which they follow, made by `warehouse/board_candidates`."""


def write_database(warehouse: Warehouse, target: Path, limits: Limits | None = None) -> dict[str, Fault]:
    """Write every table, macro and view into a new database, which appears whole; StoreError.

    The user's views and macros are created behind a wall, within limits (LimitError names the file that meets
    one); those that are refused are left out, and given with their faults.
    """
    import duckdb

    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with warehouse.connection(*sql.LAYERS) as source, sql.database(temporary) as copy:
            _fill(source, copy)
        faults = _create_own(temporary, user_objects(warehouse.home), limits or limits_of())
        temporary.replace(target)
    except (OSError, duckdb.IOException) as error:
        raise StoreError(Fault(f"cannot be written: {error}", str(target))) from None
    finally:
        for file in (temporary, temporary.with_name(f"{temporary.name}.wal")):
            file.unlink(missing_ok=True)
    return faults


def _create_own(database: Path, own: Sequence[UserObject], limits: Limits) -> dict[str, Fault]:
    """Create the user's objects in a database, in a process of its own; give the faults of those refused."""
    if not own:
        return {}
    # what it may write is this file, and what it writes are a few texts
    limits = replace(limits, file_mb=database.stat().st_size // MB + GROWTH_MB)
    with ChildProcess(MODULE, limits, fixes_of(limits)) as child:

        def asked(question: dict[str, Any], where: Path) -> Fault | None:
            try:
                child.send(question, wall_s=limits.wall_s)
                reply, _ = child.receive()
            except ChildLostError as error:
                raise ChildLostError(*(replace(fault, where=str(where)) for fault in error.faults)) from error
            if "limit" in reply:
                raise LimitError(replace(child.met(str(reply["limit"])), where=str(where)))
            return Fault(*map(str, reply["fault"])) if "fault" in reply else None

        asked({"op": "open", "file": str(database), "limits": asdict(limits)}, database)
        faults = create_all(own, lambda one: asked({"op": "create", "path": str(one.path)}, one.path))
        asked({"op": "close"}, database)
        return faults


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
