"""Writes query results as Parquet, for other programs; nothing here is read back as part of a warehouse."""

from __future__ import annotations

import io
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def parquet_bytes(table: pa.Table) -> bytes:
    """Encode a table as one Parquet file, zstd-compressed."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def write_parquet(batches: pa.RecordBatchReader, target: Path) -> None:
    """Write batches as they come to one Parquet file, which appears whole; OSError if it cannot be."""
    import pyarrow.parquet as pq

    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with pq.ParquetWriter(temporary, batches.schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
