"""The JSON text of all rows of a dataset, most of it on disk.

Invariant: memory holds eight bytes a row and one buffer, however large the rows are. The file has no
name, so it is gone with the process, and reading moves no cursor, so threads may share it.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gradetrail.errors import DatasetError, Fault

if TYPE_CHECKING:
    from gradetrail.dataset.columns import TextColumn

BUFFER_BYTES = 4_000_000
"""Text that waits in memory; a dataset that is smaller never touches the disk."""
CHUNK_BYTES = 4_000_000
CHUNK_ROWS = 8192


class Contents:
    """Texts by position; they are appended first, and read when all are there."""

    def __init__(self) -> None:
        self._ends = array("q", [0])
        self._buffer = bytearray()
        self._n_written = 0
        self._handle = -1

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, text: str) -> None:
        """Add the next text; DatasetError where the disk does not take it."""
        self._buffer += text.encode()
        self._ends.append(self._n_written + len(self._buffer))
        if len(self._buffer) > BUFFER_BYTES:
            self._write()

    def _write(self) -> None:
        try:
            if self._handle < 0:
                self._handle, path = tempfile.mkstemp(prefix="gradetrail-")
                weakref.finalize(self, os.close, self._handle)
                os.unlink(path)
            rest = memoryview(bytes(self._buffer))
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except OSError as error:
            fix = "make room there, or set TMPDIR"
            place = tempfile.gettempdir()
            raise DatasetError(Fault(f"no room for the rows: {error.strerror}", place, fix=fix)) from error
        self._n_written += len(self._buffer)
        self._buffer.clear()

    def _between(self, start: int, end: int) -> bytes:
        """Read a range of bytes."""
        read = b""
        if start < self._n_written:
            until = min(end, self._n_written)
            while start + len(read) < until:
                more = os.pread(self._handle, until - start - len(read), start + len(read))
                if not more:
                    raise DatasetError(Fault("the temporary file of the rows was cut", tempfile.gettempdir()))
                read += more
        at = start + len(read) - self._n_written
        return read + bytes(self._buffer[at : end - self._n_written]) if end > self._n_written else read

    def __getitem__(self, position: int) -> str:
        at = range(len(self))[position]
        return self._between(self._ends[at], self._ends[at + 1]).decode()

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[list[str]]:
        """Yield the texts, or those at ascending positions, as lists of some megabytes at most."""
        chosen = range(len(self)) if positions is None else positions
        at = 0
        while at < len(chosen):
            until, first = at + 1, self._ends[chosen[at]]
            while (
                until < len(chosen)
                and until - at < CHUNK_ROWS
                and self._ends[chosen[until] + 1] - first <= CHUNK_BYTES
            ):
                until += 1
            data = self._between(first, self._ends[chosen[until - 1] + 1])
            yield [
                data[self._ends[row] - first : self._ends[row + 1] - first].decode()
                for row in chosen[at:until]
            ]
            at = until

    def column(self) -> TextColumn:
        """Give all texts as one Arrow column, in memory."""
        from gradetrail.dataset.columns import text_column

        return text_column(self.chunks())
