"""Turns what is live in a warehouse into a DuckDB connection on which every view works.

Invariant: after `open_catalog` the connection reads the live files and nothing else, changes no
setting, and holds every object of `sql/`; the same rows give the same answers whether they stand in
files or are still loose. Values enter as bound parameters; file lists are constant macros, because
cursors do not share variables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.store.schema import TABLES, duckdb_schema

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from gradetrail.store import Live
    from gradetrail.warehouse.user_objects import UserObject

RECORDS = ("manifests", "tasks", "scorers", "prices")
"""What is stored as JSON; `stored_<name>` holds one text a row."""


def open_catalog(
    live: Live,
    prices: Iterable[Mapping[str, Any]] = (),
    *,
    users: Iterable[UserObject] = (),
    with_comments: bool = False,
) -> duckdb.DuckDBPyConnection:
    """Open a locked connection with every view over `live`.

    `prices` are rows of the view `prices`. Raises QueryError if a file of `sql/` or of the user's is
    refused, and duckdb.IOException if a live file has vanished.
    """
    con = sql.connect()
    files = _define_files(con, live)
    records = {"manifests": live.manifests, "tasks": live.tasks, "scorers": live.scorers, "prices": prices}
    sql.define_list(con, "running_run_ids", sorted(live.running))
    for name in RECORDS:
        _fill(con, name, records[name])
    for table in TABLES:
        _hold_loose(con, table, live.loose[table] if table in live.loose else None)
    sql.load(con, "macros")
    sql.load(con, "base", with_comments=with_comments)
    _define_boards(con)
    sql.load(con, "core", with_comments=with_comments)
    sql.load(con, "views", with_comments=with_comments)
    sql.lock(con, files)
    for user in users:
        user.create(con)
    return con


def _define_files(con: duckdb.DuckDBPyConnection, live: Live) -> list[str]:
    """Define `response_files()`, `response_columns()` and their like; give all files that may be read."""
    empty = str(sql.sql_root() / "base" / "empty.parquet")
    for table in TABLES:
        name = table.removesuffix("s")
        sql.define_list(con, f"{name}_files", live.files.get(table) or [empty])
        con.execute(f"create or replace macro {name}_columns() as {duckdb_schema(table)}")
    return [empty, *(file for files in live.files.values() for file in files)]


def _fill(con: duckdb.DuckDBPyConnection, name: str, records: Iterable[Mapping[str, Any]]) -> None:
    bodies = [json.dumps(record, default=str) for record in records]
    con.execute(
        f"create table {sql.quoted(f'stored_{name}')} as select unnest($bodies::varchar[]) as body",
        {"bodies": bodies},
    )


def _hold_loose(con: duckdb.DuckDBPyConnection, table: str, rows: pa.Table | None) -> None:
    """Copy loose rows into a table of DuckDB's own: cursors do not see registered Arrow tables."""
    columns = ", ".join(f"{sql.quoted(column.name)} {column.type}" for column in TABLES[table])
    name = sql.quoted(f"loose_{table}")
    con.execute(f"create table {name} ({columns})")
    if rows is not None and rows.num_rows:
        con.register("loose_rows", rows)
        con.execute(f"insert into {name} by name from loose_rows")
        con.unregister("loose_rows")


def _define_boards(con: duckdb.DuckDBPyConnection) -> None:
    """Decide from manifests alone which runs a leaderboard may show, and make constant lists of them."""
    sql.run_file(con, "warehouse/board_candidates")
    found = sql.run_file(con, "warehouse/board_runs").fetchall()
    sql.define_list(con, "board_run_ids", [run_id for run_id, _, _ in found])
    sql.define_list(con, "reference_run_ids", [run_id for run_id, is_reference, _ in found if is_reference])
    sql.define_list(con, "unsure_run_ids", [run_id for run_id, _, is_sure in found if not is_sure])
