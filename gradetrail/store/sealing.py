"""From journal parts to Parquet: sealing one part, taking up what dead writers left, folding a run.

Invariant: a row is visible exactly once at every moment, also if the process is killed between two
steps. A part is published as `responses`, `calls`, `trials` in this order and its journal deleted
after that; a reader that lists journals first takes a part from its segment where there is one.
All of this happens under the run's lock. The number of a part that held rows is never used again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradetrail.errors import Fault, RunLockedError, StoreError
from gradetrail.store.folding import Piece, folded, piece_of
from gradetrail.store.interface import Storage
from gradetrail.store.journal import parse
from gradetrail.store.layout import JOURNAL, PARQUET, Part, parse_part, trial_sources
from gradetrail.store.packs import Record, packed_rows
from gradetrail.store.packs import latest as latest_record
from gradetrail.store.schema import JOURNALED, TRIAL_KEY
from gradetrail.store.segments import conformed, content_fault, footer_fault, publish, row_groups, writing

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Absorbed:
    """What a writer found of the run's earlier writers that did not get to seal it."""

    n_parts: int = 0
    n_torn: int = 0
    """Lines that were cut off in the middle of being written; they never counted."""
    faults: tuple[Fault, ...] = ()
    """Damaged lines; their journal part was moved to `quarantine/`."""
    n_taken: int = 0
    """Tables in which a file of the part's name was there already."""


def run_parts(storage: Storage, table: str, run_id: str) -> list[Part]:
    """List the segments of a run, or its journal parts where `table` is `journal`."""
    suffix = JOURNAL if table == "journal" else PARQUET
    parts = (parse_part(file, suffix) for file in storage.list(table) if file.startswith(f"{run_id}."))
    return sorted(part for part in parts if part is not None and part.run_id == run_id)


def next_number(storage: Storage, run_id: str) -> int:
    """Give a part number above every one that the run has used; 0 is the plan's."""
    used = [part.number for table in ("journal", *JOURNALED) for part in run_parts(storage, table, run_id)]
    # looked at last: what was packed is deleted only after the record says so
    return max([*used, latest_record(storage).next_part(run_id)]) + 1


def seal(storage: Storage, part: Part) -> Absorbed:
    """Publish a journal part that nobody writes to any more, and delete it. May be repeated."""
    place = storage.place(part.journal)
    try:
        journal = parse(storage.read(part.journal), place)
    except FileNotFoundError:
        raise StoreError(Fault("the journal part is gone before it was sealed", place)) from None
    n_taken = 0
    for table in JOURNALED:
        rows = journal.tables[table]
        if table == "trials":
            rows = latest(rows)
        if rows.num_rows and not publish(storage, table, part.stem, rows):
            n_taken += 1
    if journal.faults:
        storage.move(part.journal, "quarantine")
    else:
        storage.delete(part.journal)
    return Absorbed(1, int(journal.torn_bytes > 0), journal.faults, n_taken)


def latest(trials: pa.Table) -> pa.Table:
    """Keep the last row of each trial of one run, in key order."""
    import pyarrow as pa

    fitting = conformed("trials", trials, is_sorted=False)
    return pa.concat_tables([fitting.slice(0, 0), *folded([piece_of(fitting)], TRIAL_KEY)])


def absorb(storage: Storage, run_id: str) -> Absorbed:
    """Seal what dead writers of the run left; the caller holds the run's lock."""
    for table in JOURNALED:
        storage.delete_temporary(table, f"{run_id}.")
    found = Absorbed()
    for part in run_parts(storage, "journal", run_id):
        if storage.is_claimed(part.journal):
            raise RunLockedError(Fault("another process still writes this journal part", part.journal))
        sealed = seal(storage, part)
        found = Absorbed(
            found.n_parts + 1,
            found.n_torn + sealed.n_torn,
            found.faults + sealed.faults,
            found.n_taken + sealed.n_taken,
        )
    return found


def trial_piece(path: Path) -> Piece:
    """Make a piece of a trials file, to be read a row group at a time."""

    def batches(columns: Sequence[str] | None) -> Iterator[pa.Table]:
        # checksums are compared, or damage would be copied into a file whose checksums are right
        return row_groups(path, "trials", columns, encoded=True, verified=True)

    return batches


def packed_piece(storage: Storage, record: Record, run_id: str) -> Piece:
    """Make a piece of the trials that packs have of a run."""
    return lambda columns: packed_rows(storage, record, "trials", (run_id, ""), columns)


def fold(storage: Storage, run_id: str) -> bool:
    """Publish all trials of a run as one file, if they are in several; the caller holds the lock.

    A run with a damaged file is left as it is, so that the damage stays in sight.
    """
    import pyarrow as pa

    while True:
        parts, journal_parts = (run_parts(storage, table, run_id) for table in ("trials", "journal"))
        # looked at last: what was packed is deleted only after the record says so
        record = latest_record(storage)
        packed = record.number_of("trials", run_id)
        segments, journals = trial_sources(parts, journal_parts, packed)
        if journals:
            raise StoreError(Fault("a journal part is not sealed", journals[0].journal))
        names = [part.segment("trials") for part in segments]
        is_based = packed >= 0 and not any(part.is_fold for part in segments)
        if len(names) + is_based < 2 or any(footer_fault(storage, "trials", name) for name in names):
            return False
        whole = Part(run_id, segments[-1].number, is_fold=True)
        base = [packed_piece(storage, record, run_id)] if is_based else []
        pieces = [*base, *(trial_piece(storage.local(name)) for name in names)]
        try:
            if storage.create(whole.segment("trials"), writing("trials", folded(pieces, TRIAL_KEY))):
                return True
        except (StoreError, pa.ArrowException):
            packs = [pack.name for pack in record.holders("trials", (run_id, ""))] if is_based else []
            if latest_record(storage).number != record.number:
                continue  # what was read is packed, or packed anew, by now
            if any(content_fault(storage, "trials", name) for name in [*names, *packs]):
                return False
            raise
