"""Writes query results as Parquet, for other programs; nothing here is read back as part of a warehouse."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def parquet_bytes(table: pa.Table) -> bytes:
    """Encode a table as one Parquet file, zstd-compressed."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()
