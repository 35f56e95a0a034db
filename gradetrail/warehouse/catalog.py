"""Turns what is live in a warehouse into a DuckDB connection on which every view works.

Invariant: the connection reads the live files and nothing else, changes no setting, and gives the
same answers whether rows stand in files or are still loose. Values enter as bound parameters; file
lists are constant macros, because cursors do not share variables. Views are made when a query first
names them, since making all of them takes longer than most queries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson

from gradetrail import sql
from gradetrail.store.manifests import Manifests, text_of
from gradetrail.store.schema import TABLES, duckdb_schema
from gradetrail.warehouse.user_objects import UserObject, create_all, named_in

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    import duckdb
    import pyarrow as pa

    from gradetrail.errors import Fault
    from gradetrail.prices import Price
    from gradetrail.store import Live

STORED = frozenset(f"base/{table}" for table in TABLES)
"""Base views over Parquet; the others are small tables."""

MASKED = ("trials", "scores")
"""Tables of which a newer file takes the place of what is packed of a run."""

PRICES = "base/prices"

PricesOf = Callable[[set[tuple[str, str]]], "Iterable[Price]"]
"""Looks up the prices of models, each (provider, name)."""

BOARDS = frozenset({"macros/is_by_then", "base/manifests", "base/run_models"})
"""What tells which runs a leaderboard may show; it reads nothing else, so it can come first."""


class Catalog:
    """A locked in-memory database over `live`; raises duckdb.IOException if a live file has vanished."""

    def __init__(
        self,
        live: Live,
        prices: Iterable[Price] | PricesOf = (),
        *,
        users: Iterable[UserObject] = (),
        as_of: datetime | None = None,
        with_comments: bool = False,
        threads: int | None = None,
        room: sql.Room = sql.Room(),
        own_files: Sequence[Path] = (),
    ) -> None:
        self._con = sql.connect(threads=threads, room=room)
        self._with_comments = with_comments
        self._users = {own.name: own for own in users}
        self.user_faults: dict[str, Fault] = {}
        """Those of the user's files that were refused, by name, among the ones that were asked for."""
        self._made: set[str] = set()
        self._prices = prices
        self._lock = threading.Lock()
        files = _define_files(self._con, live)
        sql.define_list(self._con, "running_run_ids", sorted(live.running))
        # an id that no run has which began by then: ids begin with their second, in UTC
        sql.define_text(self._con, "as_of_run", None if as_of is None else f"{as_of:%Y%m%dT%H%M%SZ}~")
        _hold_manifests(self._con, live.manifests)
        _fill(self._con, "tasks", map(_json, live.tasks))
        _fill(self._con, "scorers", map(_json, live.scorers))
        for table in TABLES:
            _hold_loose(self._con, table, live.loose.get(table))
        _hold_masks(self._con, live)
        self._has_boards = False
        folders = [str(path) for path in own_files if path.is_dir()]
        sql.lock(self._con, [*files, *(str(path) for path in own_files if path.is_file())], folders)

    def close(self) -> None:
        """Close the database; cursors end with it."""
        import duckdb

        # one that was stopped inside a single call still runs, and ends with the process
        with suppress(duckdb.Error):
            self._con.close()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Give a connection of its own to the same objects."""
        return self._con.cursor()

    def provide(self, text: str) -> None:
        """Make every object that a query names, with all that these read."""
        with self._lock:
            users = named_in(text, self._users.values())
            wanted = set(sql.mentioned(" ".join([text, *(own.text for own in users)])))
            if not wanted <= self._made:
                self._make(wanted)
            self._create(users)

    def provide_all(self) -> None:
        """Make every object, the user's included."""
        with self._lock:
            self._make(sql.everything())
            self._create([*self._users.values()])

    def _create(self, users: Sequence[UserObject]) -> None:
        """Create objects of the user's, once."""
        self.user_faults |= create_all(users, lambda own: own.create(self._con))
        for own in users:
            del self._users[own.name]

    def _make(self, names: Iterable[str]) -> None:
        """Create what is missing, in one transaction: to bind a Parquet view is slow, an empty one fast."""
        needed = sql.in_order(names)
        if not self._has_boards and any(name.startswith(("core/", "views/", PRICES)) for name in needed):
            needed = sql.in_order([*needed, *BOARDS])
        missing = [name for name in needed if name not in self._made and name not in STORED]
        missing.sort(key=lambda name: name not in BOARDS)
        stored = [name for name in needed if name in STORED]
        self._con.execute("begin")
        try:
            for name in stored if missing else ():
                self._stand_in(name)
            for name in missing:
                if name == PRICES:
                    self._fill_prices()
                if not self._has_boards and name.startswith(("core/", "views/")):
                    self._define_boards()
                sql.create(self._con, name, with_comments=self._with_comments)
            for name in stored:
                sql.create(self._con, name, with_comments=self._with_comments)
        except Exception:
            self._con.execute("rollback")
            raise
        self._con.execute("commit")
        self._made |= set(needed)

    def _fill_prices(self) -> None:
        """Make `stored_prices`, of the models that runs asked."""
        if callable(self._prices):
            asked = sql.run_file(self._con, "warehouse/asked_models").fetchall()
            prices = self._prices({(str(provider), str(name)) for provider, name in asked})
        else:
            prices = self._prices
        _fill(self._con, "prices", (_json(price.record()) for price in prices))

    def _stand_in(self, name: str) -> None:
        """Make a stored table a view with the same columns that reads no file."""
        table = name.removeprefix("base/")
        loose = sql.quoted(f"loose_{table}")
        self._con.execute(f"create or replace view {sql.quoted(table)} as from {loose}")

    def _define_boards(self) -> None:
        """Decide from manifests alone which runs a leaderboard may show; make constant lists of them."""
        con = self._con
        sql.run_file(con, "warehouse/board_candidates")
        found = sql.run_file(con, "warehouse/board_runs").fetchall()
        sql.define_list(con, "board_run_ids", [run_id for run_id, _, _ in found])
        sql.define_list(
            con, "reference_run_ids", [run_id for run_id, is_reference, _ in found if is_reference]
        )
        sql.define_list(con, "unsure_run_ids", [run_id for run_id, _, is_sure in found if not is_sure])
        self._has_boards = True


def open_catalog(
    live: Live, prices: Iterable[Price] = (), *, with_comments: bool = False
) -> duckdb.DuckDBPyConnection:
    """Open a locked connection with every view over `live`."""
    catalog = Catalog(live, prices, with_comments=with_comments)
    catalog.provide_all()
    return catalog.cursor()


def _define_files(con: duckdb.DuckDBPyConnection, live: Live) -> list[str]:
    """Define `response_files()`, `response_columns()` and their like; give all files that may be read."""
    empty = str(sql.sql_root() / "base" / "empty.parquet")
    for table in TABLES:
        name = table.removesuffix("s")
        sql.define_list(con, f"{name}_files", live.files.get(table) or [empty])
        con.execute(f"create or replace macro {name}_columns() as {duckdb_schema(table)}")
    return [empty, *live.all_files()]


def _hold_masks(con: duckdb.DuckDBPyConnection, live: Live) -> None:
    """Fill `masks`: rows of packs that do not count, by file, run, and the scorer_id's first digits.

    `partly_trials` and `partly_scores` are what counts of those packs; empty tables where there are none.
    """
    con.execute("create table masks (stored_table varchar, file varchar, run_id varchar, scorer12 varchar)")
    rows = [
        (table, file, key, scorer12)
        for table in MASKED
        for file, held in live.partly.get(table, {}).items()
        for key, scorer12 in sorted(held)
    ]
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        con.execute("insert into masks select unnest($1), unnest($2), unnest($3), unnest($4)", columns)
    for table in MASKED:
        if live.partly.get(table):
            sql.define_list(con, f"partly_{table.removesuffix('s')}_files", list(live.partly[table]))
            sql.run_file(con, f"warehouse/partly_{table}")
        else:
            # each relation over Parquet costs more than a millisecond wherever it is named
            con.execute(f"create table partly_{table} ({_columns(table)})")


def _hold_manifests(con: duckdb.DuckDBPyConnection, manifests: Sequence[Mapping[str, Any]]) -> None:
    """Make `stored_manifests`; a pack of them is read when a query asks."""
    if not isinstance(manifests, Manifests):
        _fill(con, "manifests", map(text_of, manifests))
        return
    sql.define_list(con, "manifest_files", [manifests.pack])
    ids, bodies = [str(m["run_id"]) for m in manifests.loose], [text_of(m) for m in manifests.loose]
    con.execute("create table loose_manifests (run_id varchar, body varchar)")
    con.execute("insert into loose_manifests select unnest($1), unnest($2)", [ids, bodies])
    sql.run_file(con, "warehouse/stored_manifests")


def _fill(con: duckdb.DuckDBPyConnection, name: str, bodies: Iterable[str]) -> None:
    """Make `stored_<name>`: one JSON text a row, which `sql/base` turns into typed columns."""
    table = sql.quoted(f"stored_{name}")
    con.execute(f"create table {table} as select unnest($bodies::varchar[]) as body", {"bodies": [*bodies]})


def _json(record: Mapping[str, Any]) -> str:
    return orjson.dumps(record).decode()


def _hold_loose(con: duckdb.DuckDBPyConnection, table: str, rows: pa.Table | None) -> None:
    """Copy loose rows into a table of DuckDB's own: cursors do not see registered Arrow tables."""
    name = sql.quoted(f"loose_{table}")
    con.execute(f"create table {name} ({_columns(table)})")
    if rows is not None and rows.num_rows:
        con.register("loose_rows", rows)
        con.execute(f"insert into {name} by name from loose_rows")
        con.unregister("loose_rows")


def _columns(table: str) -> str:
    """List names and types of a stored table's columns, for a table of DuckDB's own."""
    return ", ".join(f"{sql.quoted(column.name)} {column.type}" for column in TABLES[table])
