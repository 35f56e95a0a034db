"""Bundles as part of a warehouse: one run written out, or read beside what a warehouse has itself.

Invariant: what the warehouse has itself counts, and a bundle adds what is missing. No row is there
twice, whatever two bundles share; a task that the warehouse knows keeps its present scorers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import StoreError
from gradetrail.store import Live, Store
from gradetrail.store.bundle import Bundle, pack, unpack
from gradetrail.store.layout import Part, ScoreFile, parse_part
from gradetrail.store.schema import FACT_ROW_GROUP, TABLES, arrow_schema
from gradetrail.store.segments import conformed, read, writing
from gradetrail.store.store import this_program
from gradetrail.warehouse.catalog import Catalog

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from gradetrail.warehouse.warehouse import Warehouse

Record = dict[str, Any]
PAID = {"responses": "response_id", "calls": "call_id"}
"""Tables whose rows belong to the run that paid, each with the key of a row in it."""


def write_bundle(warehouse: Warehouse, run_id: str, target: Path) -> None:
    """Write a run with all that it rests on as one file; equal runs give equal bytes."""
    with tempfile.TemporaryDirectory(prefix="gradetrail-") as scratch:
        folder = Path(scratch) / "bundle"
        store = Store(folder)
        manifest = next(m for m in warehouse.live.manifests if m["run_id"] == run_id)
        con = warehouse.connection("responses", "calls", "trials", "scores", "samples", "answers_of")

        def rows(name: str, **params: str) -> Iterator[pa.Table]:
            yield from _batches(con, f"warehouse/bundle_{name}", {"run_id": run_id, **params})

        folds = [stem for stem in warehouse.stems("trials") if parse_part(f"{stem}.parquet")]
        stem = next((s for s in folds if s.startswith(f"{run_id}.") and s.endswith("f")), f"{run_id}.0f")
        _write(store, "trials", stem, [_whole("trials", rows("trials"))])
        for (scorer_id,) in sql.run_file(con, "warehouse/graded_by", {"run_id": run_id}).fetchall():
            score = ScoreFile(run_id, scorer_id[:12], 1)
            notes = warehouse.scores_metadata(run_id, scorer_id) or {}
            notes = {key: notes[key] for key in ("trials", "scored_at") if key in notes}
            _write(
                store, "scores", score.stem, [_whole("scores", rows("scores", scorer_id=scorer_id))], notes
            )
        for (payer,) in sql.run_file(con, "warehouse/payers_of_run", {"run_id": run_id}).fetchall():
            for table in PAID:
                _write(store, table, Part(payer, 0).stem, rows(table, paid_by=payer))
        dataset_id = str(manifest["dataset_id"])
        _write(store, "samples", dataset_id, [_whole("samples", rows("samples", dataset_id=dataset_id))])
        tasks = [task for task in warehouse.live.tasks if task["task"] == manifest["task"]]
        used = {scorer_id for task in tasks for scorer_id in task.get("scorers", {}).values()}
        for scorer in warehouse.live.scorers:
            if scorer["scorer_id"] in used:
                store.publish_scorer(scorer["scorer_id"], scorer)
        for task in tasks:
            store.publish_task(task["task"], definition_of(task))
        store.write_manifest(run_id, manifest)
        pack(folder, target, run_id, this_program())


def definition_of(task: Record) -> Record:
    """Give the definition of a task as it is published."""
    return {key: value for key, value in task.items() if key not in ("task", "n")}


def _batches(con: duckdb.DuckDBPyConnection, name: str, params: dict[str, str]) -> Iterator[pa.Table]:
    import pyarrow as pa

    text = sql.text_of(name)
    used = {key: value for key, value in params.items() if f"${key}" in text}
    for batch in con.sql(text, params=used).to_arrow_reader(FACT_ROW_GROUP):
        yield pa.Table.from_batches([batch])


def _whole(table: str, batches: Iterable[pa.Table]) -> pa.Table:
    import pyarrow as pa

    schema = arrow_schema(table)
    return conformed(table, pa.concat_tables([schema.empty_table(), *(b.cast(schema) for b in batches)]))


def _write(
    store: Store, table: str, stem: str, batches: Iterable[pa.Table], notes: Record | None = None
) -> None:
    """Publish batches as one file, unless there are none."""
    fitting = (conformed(table, batch, is_sorted=False) for batch in batches)
    first = next(fitting, None)
    if first is None and table != "trials":
        return

    def every() -> Iterator[pa.Table]:
        if first is not None:
            yield first
        yield from fitting

    store.storage.create(f"{table}/{stem}.parquet", writing(table, every(), notes))


def opened(path: Path, folder: Path) -> tuple[Bundle, Live]:
    """Check a bundle, unpack it into `folder`, and look at it."""
    bundle = unpack(path, folder)
    live = Store(folder, create=False).live()
    if live.damaged:
        raise StoreError(*live.damaged)
    return bundle, live


def joined(own: Live, others: Sequence[Live]) -> Live:
    """Give what a warehouse has together with what bundles add to it."""
    for other in others:
        own = _joined(own, other)
    return own


def _joined(own: Live, other: Live) -> Live:
    import pyarrow as pa

    (manifest,) = other.manifests
    if any(m["run_id"] == manifest["run_id"] for m in own.manifests):
        return own
    files = {table: list(own.files.get(table, ())) for table in TABLES}
    loose = dict(own.loose)
    for table in ("trials", "scores"):
        files[table] += other.files[table]
    with Known(own) as known:
        for file in other.files["samples"]:
            if not known.has_samples(Path(file).stem):
                files["samples"].append(file)
        for table in PAID:
            for file in other.files[table]:
                rows = known.missing(table, Path(file))
                if rows is None:
                    files[table].append(file)
                elif rows.num_rows:
                    loose[table] = pa.concat_tables([*([loose[table]] if table in loose else ()), rows])
    scorers = {scorer["scorer_id"]: scorer for scorer in (*other.scorers, *own.scorers)}
    return replace(
        own,
        files=files,
        loose=loose,
        manifests=sorted([*own.manifests, manifest], key=lambda m: str(m["run_id"])),
        scorers=[scorers[scorer_id] for scorer_id in sorted(scorers)],
        tasks=_tasks(own.tasks, other.tasks),
    )


def _tasks(own: Sequence[Record], others: Sequence[Record]) -> list[Record]:
    """Put definitions that the warehouse does not know before its own, so that its own stay current."""
    unknown = unknown_tasks(own, others)
    first = {task["task"]: int(task["n"]) for task in reversed(own)}
    added = []
    for back, task in enumerate(reversed(unknown), start=1):
        number = first[task["task"]] - back if task["task"] in first else task["n"]
        added.append({**task, "n": number})
    return sorted([*own, *added], key=lambda task: (task["task"], task["n"]))


def unknown_tasks(own: Sequence[Record], others: Sequence[Record]) -> list[Record]:
    """List the definitions of tasks that name a scorer the warehouse has not under this name."""
    known = {(t["task"], *pair) for t in own for pair in t.get("scorers", {}).items()}
    return [
        task
        for task in others
        if any((task["task"], *pair) not in known for pair in task.get("scorers", {}).items())
    ]


class Known:
    """What a warehouse has already."""

    def __init__(self, live: Live) -> None:
        self._catalog = Catalog(live)
        self._catalog.provide("responses calls samples")
        self._con = self._catalog.cursor()

    def has_samples(self, dataset_id: str) -> bool:
        """Say whether a dataset is stored."""
        found = sql.run_file(self._con, "warehouse/known_samples", {"dataset_id": dataset_id})
        return bool(found.fetchall())

    def missing(self, table: str, file: Path) -> pa.Table | None:
        """Give the rows of a bundle's file that are not there; None if that is all of them."""
        import pyarrow.compute as pc

        part = parse_part(file.name)
        assert part is not None
        known = sql.arrow_file(self._con, f"warehouse/known_{table}", {"run_id": part.run_id})
        if known.num_rows == 0:
            return None
        rows = read(file, table)
        is_known: Any = pc.is_in(rows.column(PAID[table]), value_set=known.column(0).combine_chunks())
        return rows.filter(pc.invert(is_known))

    def __enter__(self) -> Known:
        return self

    def __exit__(self, *_: object) -> None:
        self._catalog.close()
