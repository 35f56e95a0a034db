"""Names the Arrow columns of text that this package passes around."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

if TYPE_CHECKING:
    import pyarrow as pa

    TextColumn: TypeAlias = pa.ChunkedArray[Any]


def text_column(chunks: Iterable[list[str] | list[str | None]]) -> TextColumn:
    """Make a column of chunks; None is NULL."""
    import pyarrow as pa

    return pa.chunked_array([pa.array(chunk, type=pa.string()) for chunk in chunks], type=pa.string())


class Texts(Sequence[str]):
    """A column without NULL as a list, which is made when a value is first asked for."""

    def __init__(self, column: TextColumn) -> None:
        self._column = column
        self._values: list[str] = []

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, place: Any) -> Any:
        if not self._values:
            self._values = [text for texts in text_chunks(self._column) for text in texts]
        return self._values[place]


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
