"""Names the Arrow columns of text that this package passes around."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, cast

if TYPE_CHECKING:
    import pyarrow as pa

    TextColumn: TypeAlias = pa.ChunkedArray[Any]


def text_column(chunks: Iterable[list[str] | list[str | None]]) -> TextColumn:
    """Make a column of chunks; None is NULL."""
    import pyarrow as pa

    return pa.chunked_array([pa.array(chunk, type=pa.string()) for chunk in chunks], type=pa.string())


def text_chunks(column: TextColumn) -> Iterator[list[str]]:
    """Yield a column without NULL as lists, one chunk at a time."""
    for chunk in column.chunks:
        yield cast("list[str]", chunk.to_pylist())


def repeated_values(column: TextColumn) -> set[str]:
    """Give the values that stand in a column more than once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = column.value_counts()
    is_repeated = pc.greater(counts.field("counts"), pa.scalar(1, type=pa.int64()))
    return set(cast("list[str]", counts.field("values").filter(is_repeated).to_pylist()))
