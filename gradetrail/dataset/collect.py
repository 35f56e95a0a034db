"""Reads all rows of the sources: their text to disk, what names them into Arrow, batch by batch.

Invariant: one row is in Python at a time, besides the batch that is being built; a row that is at
fault is named and left out, and the load fails when all are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradetrail.dataset.contents import Contents
from gradetrail.dataset.findings import Findings, Part, Places
from gradetrail.dataset.ids import id_fault, id_text
from gradetrail.dataset.rows import RowReader
from gradetrail.dataset.source import Source

if TYPE_CHECKING:
    import pyarrow as pa

    from gradetrail.dataset.columns import TextColumn

BATCH_ROWS = 8192


@dataclass(frozen=True, slots=True)
class Collected:
    """All rows of a dataset, in order."""

    content: Contents
    hashes: TextColumn
    ids: TextColumn
    """Text of the id field; NULL in rows that lack it."""
    places: Places
    fields: set[str]
    """Every key that some row has."""


class _Column:
    """Text values that are moved to Arrow in batches."""

    def __init__(self) -> None:
        self.batch: list[str | None] = []
        self._done: list[pa.Array[Any]] = []

    def flush(self) -> None:
        import pyarrow as pa

        self._done.append(pa.array(self.batch, type=pa.string()))
        self.batch.clear()

    def column(self) -> TextColumn:
        import pyarrow as pa

        return pa.chunked_array(self._done, type=pa.string())


def collect(sources: Iterable[Source], findings: Findings, id_field: str | None) -> Collected:
    """Read every row; values of `id_field` that cannot be ids become faults. None reads no ids."""
    reader, places, fields = RowReader(findings), Places(), set[str]()
    contents = Contents()
    hashes, ids = columns = (_Column(), _Column())
    for source in sources:
        part = source.part()
        for number, text in source.rows(part, findings):
            found = reader.read(text, part, number)
            if found is None:
                continue
            row, content, digest = found
            fields.update(row)
            contents.append(content)
            hashes.batch.append(digest)
            ids.batch.append(_id(row, id_field, part, number, findings))
            places.add(part, number)
            if len(ids.batch) == BATCH_ROWS:
                for column in columns:
                    column.flush()
    for column in columns:
        column.flush()
    return Collected(contents, hashes.column(), ids.column(), places, fields)


def _id(row: dict[str, Any], name: str | None, part: Part, number: int, findings: Findings) -> str | None:
    if name is None or name not in row:
        return None
    value = row[name]
    fault = id_fault(value)
    if fault is None:
        return id_text(value)
    findings.fault(fault, "an id is text or a number, unique in the dataset", part.place(number), name)
    return None
