"""Whether a warehouse is what it should be: every bit, every id, and what its tables say of each other.

Invariant: a healthy warehouse gives no finding; any single flipped bit in a file of it gives one. Ids
are computed again from what they cover, so that content which was changed on purpose is found too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.dataset.ids import dataset_id
from gradetrail.dataset.rows import SAMPLE_TAG
from gradetrail.errors import Fault, GradetrailError, QueryError
from gradetrail.request import canonical_json, content_id, hash_canonical
from gradetrail.store import Live, Store
from gradetrail.store.repair import damaged, only_copies
from gradetrail.store.segments import DAMAGE_FIX, row_groups
from gradetrail.warehouse.importing import CHECKED_AT_ONCE, IDENTIFYING, misfit
from gradetrail.warehouse.locked import LockedWarehouse
from gradetrail.warehouse.user_objects import user_objects
from gradetrail.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

SCORER_TAG = "gradetrail.scorer.v1"
SHOWN = 10
"""Rows of one check that are shown."""


@dataclass(frozen=True, slots=True)
class Health:
    """What a check found."""

    findings: tuple[Fault, ...]
    broken: tuple[str, ...]
    """Names of the files that a repair would move, each once."""
    n_files: int
    n_answers: int
    """Whose ids were computed again."""
    n_samples: int


def examine(root: Path) -> Health:
    """Check all of a warehouse; StoreError if it is none."""
    store = Store(root, create=False)
    found = list(damaged(store.storage))
    broken = {name for name, _ in found}
    findings = [fault for _, fault in found]
    live = store.live()
    known = {fault.where for fault in findings}
    findings += [fault for fault in live.damaged if fault.where not in known]
    sound = {
        table: [
            file
            for file in [*live.files[table], *live.partly.get(table, ())]
            if store.storage.name(file) not in broken
        ]
        for table in ("responses", "samples")
    }
    n_answers, misfits = _answers(sound["responses"], live)
    n_samples, wrong = _samples(sound["samples"])
    findings += [*misfits, *wrong, *_scorers(live), *_strays(live), *_unrecorded(store, live)]
    findings += [*_checks(root), *_own_views(root, store.home)]
    names = tuple(dict.fromkeys(name for name, _ in found))
    n_files = len(live.all_files()) + len(live.manifests) + len(live.scorers) + len(live.tasks)
    return Health(tuple(findings), names, n_files, n_answers, n_samples)


def _answers(files: list[str], live: Live) -> tuple[int, list[Fault]]:
    """Compute request_key and response_id again."""
    n_rows = 0
    faults: list[Fault] = []
    for file in files:
        for group in row_groups(Path(file), "responses", IDENTIFYING):
            n_rows += group.num_rows
            faults += _misfits(group, file)
    loose: pa.Table | None = live.loose.get("responses")
    if loose is not None:
        n_rows += loose.num_rows
        faults += _misfits(loose, "journal")
    return n_rows, faults


def _misfits(rows: pa.Table, place: str) -> Iterator[Fault]:
    for batch in rows.select(list(IDENTIFYING)).to_batches(max_chunksize=CHECKED_AT_ONCE):
        for row in batch.to_pylist():
            if misfit(row):
                name = f"answer {row['run_id']}/{row['response_id']}"
                yield Fault("its content is not what its id says", place, name, fix=DAMAGE_FIX)


def _samples(files: list[str]) -> tuple[int, list[Fault]]:
    """Compute sample_hash and dataset_id again."""
    import pyarrow as pa
    import pyarrow.compute as pc

    n_rows = 0
    faults: list[Fault] = []
    for file in files:
        ids: dict[str, list[pa.Table]] = {}
        for group in row_groups(Path(file), "samples"):
            n_rows += group.num_rows
            for batch in group.to_batches(max_chunksize=CHECKED_AT_ONCE):
                for row in batch.to_pylist():
                    content = canonical_json(json.loads(row["content"]))
                    if hash_canonical(SAMPLE_TAG, content) != row["sample_hash"]:
                        name = f"sample {row['sample_id']}"
                        faults.append(Fault("its content is not what its hash says", file, name))
            keys: Any = group.column("dataset_id").unique().to_pylist()
            for key in keys:
                mine = group.filter(pc.equal(group.column("dataset_id"), pa.scalar(key)))
                ids.setdefault(key, []).append(mine.select(["sample_id", "sample_hash"]))
        for key, parts in ids.items():
            rows = pa.concat_tables(parts)
            if dataset_id(rows.column("sample_id"), rows.column("sample_hash")) != key:
                faults.append(Fault("its samples are not what its id says", file, f"dataset {key}"))
    return n_rows, faults


def _scorers(live: Live) -> Iterator[Fault]:
    """Compute scorer_id again."""
    for record in live.scorers:
        if content_id(SCORER_TAG, record["definition"]) != record["scorer_id"]:
            yield Fault("its definition is not what its id says", f"scorers/{record['scorer_id']}.json")


def _strays(live: Live) -> Iterator[Fault]:
    """Find trials and grades of runs that have no manifest."""
    known = {manifest["run_id"] for manifest in live.manifests}
    for table in ("trials", "scores"):
        runs: set[Any] = {stem.rsplit(".", 1 if table == "trials" else 2)[0] for stem in live.stems(table)}
        if table in live.loose:
            runs |= set(live.loose[table].column("run_id").unique().to_pylist())
        for run_id in sorted(runs - known):
            fix = f"restore runs/{run_id}.json from a copy, or delete what is left: gradetrail rm {run_id}"
            yield Fault(f"{table} of a run that has no manifest", f"run {run_id}", fix=fix)


def _unrecorded(store: Store, live: Live) -> Iterator[Fault]:
    """Find packs whose record is gone, though nothing else holds their rows."""
    for name in only_copies(store.storage, live.record):
        fix = "restore the newest packs/*.json from a copy of the warehouse; until then the pack is kept"
        yield Fault("holds rows that count no more: no record names it", store.storage.place(name), fix=fix)


def _checks(root: Path) -> Iterator[Fault]:
    """Run `sql/checks`: each gives the rows that offend."""
    with Warehouse(root) as warehouse:
        for name in sql.names("checks"):
            try:
                columns, rows = warehouse.rows(sql.text_of(f"checks/{name}"))
            except GradetrailError as error:
                yield Fault(f"could not be checked: {error}", f"sql/checks/{name}.sql")
                continue
            said = sql.summary_of(f"checks/{name}")
            for row in rows[:SHOWN]:
                yield Fault(said, f"sql/checks/{name}.sql", _shown(columns, row))
            if len(rows) > SHOWN:
                yield Fault(f"{len(rows) - SHOWN:,} more", f"sql/checks/{name}.sql")


def _own_views(root: Path, home: Path) -> Iterator[Fault]:
    """Try the user's own views and macros, behind a wall: each that is refused is a fault."""
    own = user_objects(home)
    if not own:
        return
    with LockedWarehouse(root) as opened:
        for one in own:
            if one.is_ignored:
                yield one.ignored
                continue
            try:
                opened.check_view(one.name)
            except QueryError as error:
                yield from (replace(fault, where=str(one.path)) for fault in error.faults)


def _shown(columns: list[str], row: tuple[Any, ...]) -> str:
    return ", ".join(f"{column} {value}" for column, value in zip(columns, row, strict=True))
