"""Scores on their way into the store, whatever their number.

Invariant: they come out in the order of their stored table, as often as asked. Memory holds a few row
groups of them; more are in a file without a name. Runs in order that only follow each other wrongly are put
right as they are read, other rows are sorted outside of memory.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Iterator
from io import BufferedRandom
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from gradetrail import sql
from gradetrail.store.folding import runs_of
from gradetrail.store.schema import FACT_ROW_GROUP, SORT_KEYS
from gradetrail.store.segments import conformed, ordered

if TYPE_CHECKING:
    import pyarrow as pa

KEYS = SORT_KEYS["scores"]
SORTING_ROOM = sql.Room("300MB")
"""What DuckDB may hold to sort; the rest of its work is on disk."""


class _Run(NamedTuple):
    """Rows in order, in the file."""

    first: list[tuple[bool, Any]]
    last: list[tuple[bool, Any]]
    """Keys of the first and the last row."""
    place: int
    """Where the rows begin in the file."""


class Spool:
    """Rows of the stored table `scores`, with all its keys; text that repeats may be dictionaries."""

    def __init__(self, pieces: Iterable[pa.Table] = ()) -> None:
        self.num_rows = 0
        self._held: list[pa.Table] = []
        """All rows, while they are few."""
        self._file: BufferedRandom | None = None
        self._runs: list[_Run] = []
        self._is_mixed = False
        """Whether a run may hold rows that are not in order."""
        self._sorted: Spool | None = None
        for rows in pieces:
            self.add(rows)

    def add(self, rows: pa.Table) -> None:
        """Add rows; all have the same columns and types, and none can be added once they were read."""
        self._held.append(rows)
        self.num_rows += rows.num_rows
        if self.num_rows > FACT_ROW_GROUP:
            for held in self._held:
                self._put_away(held)
            self._held = []

    def pieces(self) -> Iterator[pa.Table]:
        """Yield the rows in the order in which they were added; one reader at a time."""
        yield from self._held
        for run in self._runs:
            yield self._read(run)

    def batches(self) -> Iterator[pa.Table]:
        """Yield the rows conformed and in order, a row group at a time; one reader at a time."""
        if not self._runs:
            yield from ordered("scores", self.table())
            return
        runs = sorted(self._runs)
        if self._is_mixed or any(after.first < before.last for before, after in pairwise(runs)):
            yield from self._batches_of_sorted()
            return
        for group in _row_groups(self._read(run) for run in runs):
            yield conformed("scores", group, is_sorted=False)

    def table(self) -> pa.Table:
        """Give all rows, in memory."""
        import pyarrow as pa

        return pa.concat_tables(self.pieces())

    def close(self) -> None:
        """Let the rows go."""
        if self._file is not None:
            self._file.close()
        if self._sorted is not None:
            self._sorted.close()
        self._file, self._sorted, self._held, self._runs, self.num_rows = None, None, [], [], 0

    def _put_away(self, rows: pa.Table) -> None:
        import pyarrow.ipc as ipc

        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed when nobody has the rows any more
            weakref.finalize(self, self._file.close)
        runs = runs_of(rows, KEYS)
        self._is_mixed = self._is_mixed or runs is None
        for run in [rows] if runs is None else runs:
            if run.num_rows:
                self._runs.append(_Run(_key(run, 0), _key(run, run.num_rows - 1), self._file.tell()))
                with ipc.new_stream(self._file, run.schema) as writer:
                    writer.write_table(run.combine_chunks())

    def _read(self, run: _Run) -> pa.Table:
        import pyarrow.ipc as ipc

        assert self._file is not None
        self._file.seek(run.place)
        with ipc.open_stream(self._file) as reader:
            return reader.read_all()

    def _batches_of_sorted(self) -> Iterator[pa.Table]:
        if self._sorted is None:
            self._sorted = self._in_order()
        if self._sorted._is_mixed:
            # keys that are NULL in some rows alone
            yield from ordered("scores", self.table())
        else:
            yield from self._sorted.batches()

    def _in_order(self) -> Spool:
        """Give the rows as DuckDB sorts them, with no more memory than it is given."""
        import pyarrow as pa

        schema = next(self.pieces()).schema
        batches = (batch for rows in self.pieces() for batch in rows.to_batches())
        with sql.connect(room=SORTING_ROOM) as con:
            con.register("spooled", pa.RecordBatchReader.from_batches(schema, batches))
            rows = con.sql(sql.text_of("scoring/spooled_in_order")).to_arrow_reader(FACT_ROW_GROUP)
            return Spool(pa.Table.from_batches([batch]) for batch in rows)


def _key(rows: pa.Table, place: int) -> list[tuple[bool, Any]]:
    values: Any = (rows.column(name)[place].as_py() for name in KEYS)
    return [(value is None, value) for value in values]


def _row_groups(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Cut rows into tables of FACT_ROW_GROUP rows; the last may have fewer."""
    import pyarrow as pa

    held: list[pa.Table] = []
    n_held = 0
    for rows in pieces:
        held.append(rows)
        n_held += rows.num_rows
        while n_held >= FACT_ROW_GROUP:
            whole = pa.concat_tables(held)
            yield whole.slice(0, FACT_ROW_GROUP)
            held = [whole.slice(FACT_ROW_GROUP)]
            n_held -= FACT_ROW_GROUP
    if n_held:
        yield pa.concat_tables(held)
