"""Writes query results as Parquet, for other programs; nothing here is read back as part of a warehouse.

Invariant: no column is lost, nor two written under one name.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_ROWS, GROUP_BYTES = 100_000, 64 << 20
"""A row group has so many rows, or fewer where they are large."""


def distinct_names(names: Sequence[str]) -> list[str]:
    """Add numbers to names that come again: a, a_1, a_2; as DuckDB does for frames, case set aside."""
    taken: set[str] = set()
    distinct = []
    for name in names:
        own, number = name, 0
        while own.lower() in taken:
            number += 1
            own = f"{name}_{number}"
        taken.add(own.lower())
        distinct.append(own)
    return distinct


def parquet_bytes(table: pa.Table) -> bytes:
    """Encode a table as one Parquet file, zstd-compressed."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table.rename_columns(distinct_names(table.column_names)), buffer, compression="zstd")
    return buffer.getvalue()


class ParquetStream:
    """A Parquet file that is written to `sink`, which takes bytes, group by group as batches come."""

    def __init__(self, sink: Any, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._names = distinct_names(schema.names)
        renamed = schema.empty_table().rename_columns(self._names).schema
        self._writer = pq.ParquetWriter(sink, renamed, compression="zstd")
        self._waiting: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch."""
        self._waiting.append(batch)
        rows = sum(waiting.num_rows for waiting in self._waiting)
        if rows >= GROUP_ROWS or sum(waiting.nbytes for waiting in self._waiting) >= GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Write what is left, and the footer."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting).rename_columns(self._names))
            self._waiting.clear()


def write_parquet(batches: pa.RecordBatchReader, target: Path) -> None:
    """Write batches as they come to one Parquet file, which appears whole; OSError if it cannot be."""
    import pyarrow.parquet as pq

    names = distinct_names(batches.schema.names)
    schema = batches.schema.empty_table().rename_columns(names).schema
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch.rename_columns(names))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
