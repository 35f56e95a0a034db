"""Brings runs into a warehouse: from a bundle, or all of another warehouse's.

Invariant: what is there stays as it is, and every answer that comes in was hashed again, so that none
can pass for the answer to another request. The manifest is written last.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import orjson

from gradetrail.errors import Fault, StoreError, UnusableError
from gradetrail.providers.response import Response, ToolCall
from gradetrail.request import REQUEST_TAG, canonical_json, hash_canonical
from gradetrail.store import Live, Store
from gradetrail.store.layout import Part, parse_part
from gradetrail.store.packs import latest
from gradetrail.store.places import place_name, storage_at
from gradetrail.store.sealing import next_number
from gradetrail.store.segments import row_groups
from gradetrail.warehouse.bundles import (
    PAID,
    Known,
    Record,
    definition_of,
    opened,
    unknown_tasks,
    write_bundle,
)
from gradetrail.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa


IDENTIFYING = (
    "run_id", "response_id", "request_key", "request", "messages", "text", "reasoning", "tool_calls",
    "stop_reason", "served_model",
)  # fmt: skip
"""Columns from which the ids of an answer follow, and the ids."""
CHECKED_AT_ONCE = 1_000
"""Answers that are Python objects at a time."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What an import did."""

    run_id: str
    task: str
    is_new: bool
    """False if the run was there already; then nothing was written."""
    n_trials: int
    n_answers: int
    """Answers that were not stored before."""
    left_out: str = ""
    """Run that was removed here, for which this one stays out; empty if it came in or is there."""


def import_bundle(root: Path, path: Path, without: Collection[str] = ()) -> Brought:
    """Bring a bundle's run into a warehouse; once there, it stays as it is.

    Every answer is hashed again first, so that none can pass for the answer to another request:
    StoreError names the first that does not fit. The manifest comes last, so that an import that was
    cut short is completed by the next. A run that has answers which runs in `without` paid for is left out.
    """
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory(prefix="gradetrail-") as scratch:
        bundle, live = opened(path, Path(scratch) / "bundle")
        (manifest,) = map(dict, live.manifests)
        (trials,) = live.files["trials"]
        payers = {part.run_id for file in live.files["responses"] if (part := parse_part(Path(file).name))}
        for payer in sorted(payers.intersection(without)):
            return Brought(bundle.run_id, str(manifest["task"]), False, 0, 0, left_out=payer)
        for file in live.files["responses"]:
            _check_answers(file, path)
        store = Store(root)
        n_trials, task = pq.read_metadata(trials).num_rows, str(manifest["task"])
        # two imports that share answers must not both find them missing
        with store.planning("import"):
            n_answers = _bring(store, live, manifest)
        return Brought(bundle.run_id, task, n_answers is not None, n_trials, n_answers or 0)


def import_warehouse(root: Path, other: Path) -> Iterator[Brought]:
    """Bring every run of another warehouse that is not there yet, the oldest first, as from bundles.

    Doing it again brings what has come since. What was removed here does not come back in this way: neither
    a removed run, nor one with answers that went with one. Raises UnusableError if the other is damaged.
    """
    if storage_at(other).place() == storage_at(root).place():
        raise StoreError(Fault("is this warehouse itself", place_name(other)))
    with Warehouse(other) as theirs, tempfile.TemporaryDirectory(prefix="gradetrail-") as scratch:
        if theirs.is_partial:
            raise UnusableError(*theirs.damaged)
        store = Store(root)
        removed = latest(store.storage).removed
        there = {manifest["run_id"] for manifest in store.manifests()}
        gone = {run_id for run_id, how in removed.items() if how.has_answers} - there
        for manifest in theirs.manifests():
            run_id = str(manifest["run_id"])
            if run_id in there:
                continue
            if run_id in removed:
                yield Brought(run_id, str(manifest["task"]), False, 0, 0, left_out=run_id)
                continue
            bundle = Path(scratch) / "run.bundle"
            write_bundle(theirs, run_id, bundle)
            yield import_bundle(root, bundle, gone)
            bundle.unlink()


def _bring(store: Store, live: Live, manifest: Record) -> int | None:
    """Write what is missing; give the number of new answers, None if the run is there already."""
    own = store.live()
    if any(m["run_id"] == manifest["run_id"] for m in own.manifests):
        return None
    with Known(own) as known:
        n_answers = _bring_paid(store, known, live)
        files = [file for file in live.files["samples"] if not known.has_samples(Path(file).stem)]
    for file in map(Path, [*files, *live.files["trials"], *live.files["scores"]]):
        store.storage.create(f"{file.parent.name}/{file.name}", _copying(file))
    for scorer in live.scorers:
        store.publish_scorer(scorer["scorer_id"], scorer)
    _bring_tasks(store, own.tasks, live.tasks)
    store.write_manifest(str(manifest["run_id"]), manifest)
    return n_answers


def _bring_paid(store: Store, known: Known, live: Live) -> int:
    """Publish responses and calls that are not there, each under the next number of the run that paid.

    A file of which nothing is known is copied as it is, so that memory holds only what two runs share.
    """
    import pyarrow.parquet as pq

    runs: dict[str, dict[str, pa.Table | Path]] = {}
    for table in PAID:
        for file in map(Path, live.files[table]):
            part, rows = parse_part(file.name), known.missing(table, file)
            if part is not None and (rows is None or rows.num_rows):
                runs.setdefault(part.run_id, {})[table] = file if rows is None else rows
    n_answers = 0
    for run_id, tables in runs.items():
        number = next_number(store.storage, run_id)
        for table, missing in tables.items():
            while not _publish(store, table, Part(run_id, number), missing):
                number += 1  # another process took the number
            if table == "responses":
                n_answers += (
                    pq.read_metadata(missing).num_rows if isinstance(missing, Path) else missing.num_rows
                )
    return n_answers


def _publish(store: Store, table: str, part: Part, rows: pa.Table | Path) -> bool:
    if isinstance(rows, Path):
        return store.storage.create(part.segment(table), _copying(rows))
    return store.publish(table, part.stem, rows)


def _bring_tasks(store: Store, own: Sequence[Record], others: Sequence[Record]) -> None:
    """Add definitions that are not known, and make current again what was."""
    for task in unknown_tasks(own, others):
        mine = [record for record in own if record["task"] == task["task"]]
        store.publish_task(task["task"], definition_of(task))
        if mine:
            store.publish_task(task["task"], definition_of(mine[-1]))


def _copying(file: Path) -> Callable[[BinaryIO], None]:
    def write(sink: BinaryIO) -> None:
        with file.open("rb") as source:
            shutil.copyfileobj(source, sink)

    return write


def _check_answers(file: str, path: Path) -> None:
    """Refuse answers whose ids do not follow from their content."""
    groups = row_groups(Path(file), "responses", IDENTIFYING)
    batches = (batch for group in groups for batch in group.to_batches(max_chunksize=CHECKED_AT_ONCE))
    for row in (row for batch in batches for row in batch.to_pylist()):
        if misfit(row):
            name = f"{row['run_id']}/{row['response_id']}"
            fault = Fault("its content is not what its id says", str(path), f"answer {name}")
            raise StoreError(fault)


def misfit(row: Record) -> bool:
    """Say whether the ids of an answer do not follow from its content; columns IDENTIFYING."""
    try:
        fields = {**orjson.loads(row["request"]), "messages": orjson.loads(row["messages"])}
        key = hash_canonical(REQUEST_TAG, canonical_json(fields))
        calls = [
            ToolCall(str(call["name"]), str(call["arguments"]))
            for call in orjson.loads(row["tool_calls"] or "[]")
        ]
        answer = Response(
            text=row["text"],
            reasoning=row["reasoning"],
            tool_calls=calls,
            stop_reason=row["stop_reason"],
            served_model=row["served_model"],
        )
        return bool(key != row["request_key"] or answer.response_id(key) != row["response_id"])
    except (ValueError, TypeError, KeyError):
        return True
