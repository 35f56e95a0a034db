"""What a dead writer of this machine left that not every reader saw: it is brought in, once.

Invariant: an answer that was paid for and is on this disk reaches the warehouse, also if another
machine took the run over meanwhile and went on, and is there once. Answers and calls are told by
their ids. A trial that has an answer by now keeps it. May be repeated: what is there is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail.store.folding import match
from gradetrail.store.interface import Storage
from gradetrail.store.journal import parse
from gradetrail.store.layout import Part
from gradetrail.store.packs import latest as latest_record
from gradetrail.store.packs import packed_rows
from gradetrail.store.reading import Look
from gradetrail.store.schema import JOURNALED, TRIAL_KEY
from gradetrail.store.sealing import latest, run_parts
from gradetrail.store.segments import publish, row_groups

if TYPE_CHECKING:
    import pyarrow as pa

IDS = {"responses": "response_id", "calls": "call_id"}


def stranded_runs(storage: Storage) -> dict[str, list[Path]]:
    """Give what is stranded by the run that it belongs to."""
    found: dict[str, list[Path]] = {}
    for path in storage.stranded():
        found.setdefault(path.name.rsplit(".", 3)[0], []).append(path)
    return found


def take_up(storage: Storage, run_id: str, number: int) -> int:
    """Publish what is stranded under part numbers from `number` on; give the next that is free.

    The caller holds the run's lock, and has sealed every journal part.
    """
    for path in storage.stranded(run_id):
        journal = parse(path.read_bytes(), str(path))
        for table in JOURNALED:
            rows = _unknown(storage, run_id, table, journal.tables[table])
            while rows.num_rows and not publish(storage, table, Part(run_id, number).stem, rows):
                number += 1
        number += 1
        if journal.faults:
            path.replace(path.with_suffix(".damaged"))
        else:
            path.unlink()
    return number


def _unknown(storage: Storage, run_id: str, table: str, rows: pa.Table) -> pa.Table:
    """Leave out what the warehouse has of the run."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if rows.num_rows == 0:
        return rows
    if table == "trials":
        return _unanswered(Look(storage).trials(run_id), latest(rows))
    known = [group.column(IDS[table]).cast(pa.string()) for group in _stored(storage, run_id, table)]
    ids = pa.chunked_array([chunk for column in known for chunk in column.chunks], pa.string())
    mask: Any = pc.invert(pc.is_in(rows.column(IDS[table]), value_set=ids.combine_chunks()))
    return rows.filter(mask)


def _stored(storage: Storage, run_id: str, table: str) -> Iterator[pa.Table]:
    # files first: what is packed meanwhile is in the record that is read then
    for part in run_parts(storage, table, run_id):
        yield from row_groups(storage.local(part.segment(table)), table, [IDS[table]])
    yield from packed_rows(storage, latest_record(storage), table, (run_id, ""), [IDS[table]])


def _unanswered(present: pa.Table, rows: pa.Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    status: Any = present.column("status").cast(pa.string()).take(match(rows, present, TRIAL_KEY))
    is_open: Any = pc.fill_null(pc.not_equal(status, pa.scalar("answered")), True)
    return rows.filter(is_open)
