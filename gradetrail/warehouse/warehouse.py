"""A warehouse opened for reading: one connection, every view, and queries that Ctrl-C can stop.

Invariant: a Warehouse shows one moment; what is written later needs a new one. A damaged file never
stops a query: it is named, left out, and the result is marked partial. Bundles are read beside it as
if their runs were in it, and nothing of them is kept.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import Fault, QueryError, SelectionError, did_you_mean
from gradetrail.prices import Price, models_in, price_file, prices_of
from gradetrail.store import Live, Store
from gradetrail.store.layout import ScoreFile
from gradetrail.store.places import is_warehouse
from gradetrail.warehouse.catalog import Catalog
from gradetrail.warehouse.damage import may_be_damage, named_files
from gradetrail.warehouse.gate import GATE, Limits
from gradetrail.warehouse.query import (
    Fetch,
    Fetched,
    Params,
    existing,
    fetch_arrow,
    fetch_polars,
    fetch_rows,
    portable,
    refused,
    select,
)
from gradetrail.warehouse.selection import by_age, select_run
from gradetrail.warehouse.sides import CHANGES, COMPARISON, DIFF, Dimensions, sides
from gradetrail.warehouse.user_objects import SHOWN, creatable, is_ours, user_objects

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow as pa


class Warehouse:
    """A warehouse at one moment; StoreError if the folder is none.

    Opening looks at file names and manifests, unless `live` is what another saw; the connection is made at
    the first query. Each of `bundles` is a path, which then names the run that it holds; with bundles the
    folder may be missing. `as_of` leaves runs out that began later. `own_files` are files and folders beside
    it that queries may read too, by path.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        bundles: Sequence[str | os.PathLike[str]] = (),
        as_of: datetime | None = None,
        with_comments: bool = False,
        room: sql.Room = sql.Room(),
        threads: int | None = None,
        own_files: Sequence[str | os.PathLike[str]] = (),
        live: Live | None = None,
    ) -> None:
        self.root = Path(path)
        self._own_files = existing(own_files)
        self._room, self._threads = room, threads
        self._as_of = as_of.astimezone(UTC) if as_of is not None else None
        self._named: dict[str, str] = {}
        self._bundled = self._unpacked(bundles)
        self._store = Store(self.root, create=False)
        self._live = self._look(live)
        self._stems: tuple[Live, dict[str, list[str]]] = (self._live, {})
        self._with_comments, self._lock = with_comments, threading.RLock()
        self._catalog: Catalog | None = None
        self._suspects: list[Fault] = []

    def _unpacked(self, paths: Sequence[str | os.PathLike[str]]) -> list[Live]:
        """Unpack bundles for as long as this object lives."""
        if not paths:
            return []
        from gradetrail.warehouse.bundles import opened

        scratch = tempfile.mkdtemp(prefix="gradetrail-")
        weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)
        lives: list[Live] = []
        for number, path in enumerate(dict.fromkeys(str(path) for path in paths)):
            bundle, live = opened(Path(path), Path(scratch) / str(number))
            self._named[path] = bundle.run_id
            if not lives and not is_warehouse(self.root):
                self.root = bundle.root
            lives.append(live)
        return lives

    def _look(self, own: Live | None = None) -> Live:
        own = own or self._store.live()
        self._own_manifests = own.manifests
        if not self._bundled:
            return own
        from gradetrail.warehouse.bundles import joined

        return joined(own, self._bundled)

    @property
    def _own(self) -> Sequence[Mapping[str, Any]]:
        """What selectors choose from: runs of bundles are named by their paths alone."""
        until = "" if self._as_of is None else f"{self._as_of:%Y%m%dT%H%M%SZ}~"
        return [m for m in self._own_manifests if m["run_id"] < until] if until else self._own_manifests

    def __repr__(self) -> str:
        return f"Warehouse({str(self.root)!r})"

    def __enter__(self) -> Warehouse:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; cursors that were handed out end with it."""
        with self._lock:
            if self._catalog is not None:
                self._catalog.close()
                self._catalog = None

    @property
    def home(self) -> Path:
        """A local folder with what the user added: `sql/`, `prices.yaml`."""
        return self._store.home

    @property
    def live(self) -> Live:
        """What is read: files, rows not in files, manifests."""
        return self._live

    @property
    def damaged(self) -> tuple[Fault, ...]:
        """Files and lines that had to be left out so far."""
        return (*self._live.damaged, *self._suspects)

    @property
    def is_partial(self) -> bool:
        """Whether something was left out, so that results are not the whole truth."""
        return bool(self.damaged)

    @property
    def user_faults(self) -> dict[str, Fault]:
        """Files in `<warehouse>/sql` that were refused, by name."""
        catalog = self._opened()
        catalog.provide_all()
        return catalog.user_faults

    def connection(self, *names: str) -> duckdb.DuckDBPyConnection:
        """Give a cursor of its own, safe in another thread; it reads the live files and no others.

        With names of views and macros, or of layers of `sql/`, only those (and what they read) are
        sure to be there, which is faster than all of them.
        """
        wanted = [stem for name in names for stem in (sql.names(name) if name in sql.LAYERS else (name,))]
        return self._steadily(lambda: self._provided(" ".join(wanted)))

    def rows(
        self, text: str, params: Params = None, *, most: int | None = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run one SELECT; give column names and rows (at most so many), without polars or pyarrow."""
        return self.fetch(text, params, partial(fetch_rows, most=most))

    def sql(self, text: str, params: Params = None) -> pl.DataFrame:
        """Run one SELECT over all views; values are bound as `$name`."""
        return self.fetch(text, params, fetch_polars)

    def arrow(self, text: str, params: Params = None) -> pa.Table:
        """Run one SELECT; give an Arrow table."""
        return self.fetch(text, params, fetch_arrow)

    def fetch(self, text: str, params: Params, fetch: Fetch[Fetched]) -> Fetched:
        """Run one SELECT; give what `fetch` makes of it, which is called anew where a file was left out."""
        return self._steadily(lambda: select(self._provided(text), text, params, fetch))

    def write_parquet(self, text: str, params: Params, target: Path) -> None:
        """Run one SELECT and write its rows to a Parquet file, a batch at a time."""
        from gradetrail.store.export import write_parquet

        def fetch(cursor: duckdb.DuckDBPyConnection, query: str, bound: Params) -> None:
            write_parquet(portable(cursor, query, bound).to_arrow_reader(), target)

        try:
            self.fetch(text, params, fetch)
        except OSError as error:
            raise SelectionError(Fault(f"cannot write {target}: {error.strerror}", "--output")) from None

    def write_tables(self, folder: str | os.PathLike[str]) -> dict[str, list[str]]:
        """Write the stored tables below a new folder as plain Parquet; give the files of each, all live."""
        from gradetrail.warehouse.tables import write_tables

        return self._steadily(lambda: write_tables(self._live, Path(folder), as_of=self._as_of))

    def table(self, view: str) -> pl.DataFrame:
        """Give all rows of a view, the user's included; SelectionError for an unknown one."""
        self.check_view(view)
        return self.sql(sql.select_from(view))

    def graded(
        self, runs: str | Sequence[str] | None = None, columns: Sequence[str] | None = None
    ) -> pl.LazyFrame:
        """Give the view `graded` as a LazyFrame: of some runs (selectors; None is all), some columns."""
        named = [runs] if isinstance(runs, str) else runs
        params = {} if named is None else {"runs": [self.run_id(run) for run in named]}
        chosen = ", ".join(sql.quoted(column) for column in columns) if columns is not None else "*"
        text = f"select {chosen} from graded"  # noqa: S608 - quoted names
        if params:
            text += " where run_id in $runs"
        return self.sql(text, params).lazy()

    def leaderboard(self, task: str | None = None) -> pl.DataFrame:
        """Give the view `leaderboard`, of all tasks or of one."""
        wanted = {} if task is None else {"task": task}
        return self.sql(sql.select_from("leaderboard", wanted), wanted)

    def diff(
        self,
        a: str | None = None,
        b: str | None = None,
        *,
        models: Sequence[str] = (),
        prompts: Sequence[str] = (),
        scorers: Sequence[str] = (),
    ) -> pl.DataFrame:
        """Compare two runs, models, prompts or scorer versions trial by trial; rows of the macro `diff`."""
        return self.sql(DIFF, self._sides(a, b, Dimensions(models, prompts, scorers)))

    def comparison(
        self,
        a: str | None = None,
        b: str | None = None,
        *,
        models: Sequence[str] = (),
        prompts: Sequence[str] = (),
        scorers: Sequence[str] = (),
    ) -> pl.DataFrame:
        """Compare them as wholes: counts, difference and test; rows of the macro `comparison`."""
        return self.sql(COMPARISON, self._sides(a, b, Dimensions(models, prompts, scorers)))

    def diff_query(
        self,
        a: str | None = None,
        b: str | None = None,
        *,
        models: Sequence[str] = (),
        prompts: Sequence[str] = (),
        scorers: Sequence[str] = (),
        include_same: bool = False,
    ) -> tuple[str, dict[str, str | int | None]]:
        """Give the query of a comparison and its parameters; see `sides` for what may be left out."""
        return DIFF if include_same else CHANGES, self._sides(a, b, Dimensions(models, prompts, scorers))

    def gate_query(self, base: str, new: str, limits: Limits) -> tuple[str, dict[str, Any]]:
        """Give the query of a verdict and its parameters; rows of the macro `gate`."""
        found = self._sides(base, new, Dimensions())
        tasks = {m["run_id"]: m["task"] for m in self._live.manifests}
        a_task, b_task = tasks[str(found["a_run"])], tasks[str(found["b_run"])]
        if a_task != b_task:
            reason = f"`{base}` is a run of task `{a_task}`, `{new}` of `{b_task}`"
            raise SelectionError(Fault(reason, fix="name two runs of one task"))
        return GATE, found | limits.params()

    def gate(self, base: str, new: str, limits: Limits | None = None) -> pl.DataFrame:
        """Judge whether a run is worse than another; rows of the macro `gate`, each with the verdict."""
        return self.sql(*self.gate_query(base, new, limits or Limits()))

    def _sides(self, a: str | None, b: str | None, dimensions: Dimensions) -> dict[str, str | int | None]:
        a, b = (None if run is None else self.run_id(run) for run in (a, b))
        return sides(self._live.manifests, self._live.tasks, a, b, dimensions, self._live.is_graded)

    def run_id(self, selector: str, task: str | None = None) -> str:
        """Resolve a RUN selector; SelectionError lists the candidates. See `selection.select_run`."""
        if selector in self._named:
            return self._named[selector]
        return str(select_run(self._own, selector, task)["run_id"])

    def manifests(self) -> list[dict[str, Any]]:
        """List the manifests, from the oldest run to the newest."""
        return [dict(manifest) for manifest in by_age(self._live.manifests)]

    def task_definition(self, task: str) -> dict[str, Any] | None:
        """Give the newest record of a task's grading; None for an unknown task."""
        records = [record for record in self._live.tasks if record["task"] == task]
        return max(records, key=lambda record: int(record["n"]), default=None)

    def stems(self, table: str) -> list[str]:
        """List the live files of a table, without folder and suffix, also those that are packed."""
        if self._stems[0] is not self._live:
            self._stems = (self._live, {})
        if table not in self._stems[1]:
            self._stems[1][table] = self._live.stems(table)
        return self._stems[1][table]

    def scores_metadata(self, run_id: str, scorer_id: str) -> dict[str, str] | None:
        """Give the key-value metadata of the live scores of (run, scorer); None if it is not graded."""
        held = (run_id, scorer_id[:12])
        file = self._live.score_files.get(held)
        if file is None:
            number = self._live.numbers["scores"].get(held)
            stem = None if number is None else ScoreFile(*held, number).stem
            return None if stem is None else self._store.notes(self._live.record, stem)
        text = "select decode(key), decode(value) from parquet_kv_metadata($file)"
        return dict(self.rows(text, {"file": file})[1])

    def views(self) -> dict[str, str]:
        """List views, tables, and the user's views and macros by name, with what each says."""
        shown = [(layer, stem) for layer in SHOWN for stem in sql.names(layer) if is_ours(stem)]
        ours = {stem: sql.summary_of(f"{layer}/{stem}") for layer, stem in shown}
        own = user_objects(self.home)
        refused = self.user_faults if own else {}
        return ours | {user.name: user.summary for user in own if user.name not in refused}

    def check_view(self, name: str) -> None:
        """Refuse a name that is no view (SelectionError) or a file that was refused (QueryError)."""
        if is_ours(name):
            return
        if any(user.name == name for user in user_objects(self.home)):
            self._provided(name)
            if name in self._opened().user_faults:
                raise QueryError(self._opened().user_faults[name])
            return
        views = self.views()
        if name not in views:
            if name in sql.names("views"):
                own = "`gradetrail gate A B`" if name == "gate" else "`gradetrail diff A B`"
                own = f"{own} or `gradetrail gate A B`" if name == "comparison" else own
                fix = f'{own}, or call it with whole run ids: gradetrail sql "from {name}(...)"'
                raise SelectionError(Fault(f"view `{name}` takes arguments", fix=fix))
            raise SelectionError(Fault(f"no view `{name}`", fix=did_you_mean(name, views)))

    def _opened(self) -> Catalog:
        with self._lock:
            if self._catalog is None:
                self._catalog = Catalog(
                    self._live,
                    self._prices,
                    users=creatable(self.home),
                    as_of=self._as_of,
                    with_comments=self._with_comments,
                    threads=self._threads,
                    room=self._room,
                    own_files=self._own_files,
                )
            return self._catalog

    def _prices(self, asked: set[tuple[str, str]]) -> list[Price]:
        return prices_of(asked | models_in((), self._live.scorers), price_file(self.home))

    def _provided(self, text: str) -> duckdb.DuckDBPyConnection:
        """Give a cursor on which everything is there that `text` names; everything, if it is empty."""
        catalog = self._opened()
        catalog.provide(text) if text else catalog.provide_all()
        return catalog.cursor()

    def _steadily(self, work: Callable[[], Fetched]) -> Fetched:
        """Do work; if a file turns out to be damaged or gone, do it once more without that file."""
        import duckdb

        try:
            return work()
        except (duckdb.Error, QueryError) as error:
            if not self._set_aside(error):
                raise refused(error, self.views) from error
        try:
            return work()
        except duckdb.Error as error:
            raise refused(error, self.views) from error

    def _set_aside(self, error: duckdb.Error | QueryError) -> bool:
        """Find what is damaged or gone, leave it out and open again; False if nothing is the matter."""
        cause = error.__cause__ if isinstance(error, QueryError) else error
        if cause is None:
            return False
        own = self._store.own(self._live.all_files())
        if gone := [file for file in own if not Path(file).exists()]:
            self._store.suspect(gone)
        else:
            if not may_be_damage(cause):
                return False
            suspicious = named_files(str(cause), own) or own
            found = self._store.suspect(own) or self._store.suspect(suspicious, is_thorough=True)
            if not found:
                return False
            self._suspects += found
        self.close()
        self._live = self._look()
        self._suspects = [fault for fault in self._suspects if fault not in self._live.damaged]
        return True
