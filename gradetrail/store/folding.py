"""Rows of several pieces become one: per key the last piece wins, in key order.

Invariant: readers and writers fold with this one function. Memory holds the keys of all rows but only
the rows that win, so a million trials of a long run stay well under a gigabyte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gradetrail.store.schema import FACT_ROW_GROUP

if TYPE_CHECKING:
    import pyarrow as pa

Piece = Callable[[Sequence[str] | None], Iterator["pa.Table"]]
"""Yields rows batch by batch, with the columns named or with all; gives the same rows every time."""

_CODE_LIMIT = 2**62


def piece_of(rows: pa.Table) -> Piece:
    """Make a piece of a table in memory."""

    def batches(columns: Sequence[str] | None) -> Iterator[pa.Table]:
        yield rows if columns is None else rows.select(list(columns))

    return batches


def in_order(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Sort rows by keys; those that are in order already are returned as they are."""
    import pyarrow.compute as pc

    if rows.num_rows < 2:
        return rows
    codes = _codes(rows.select(list(keys)))
    if pc.all(pc.less_equal(codes.slice(0, len(codes) - 1), codes.slice(1))).as_py():
        return rows
    return rows.take(pc.sort_indices(codes))


def folded(pieces: Sequence[Piece], key: Sequence[str], *, is_sorted: bool = True) -> Iterator[pa.Table]:
    """Yield the rows that win, in batches of at most FACT_ROW_GROUP; sorted by key if asked."""
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = [_plain(batch) for piece in pieces for batch in piece(key)]
    if not sum(rows.num_rows for rows in keys):
        return
    codes = _codes(pa.concat_tables(keys))
    wins = _last_of_each(codes)
    kept, at = [], 0
    for piece in pieces:
        for batch in piece(None):
            kept.append(batch.filter(wins.slice(at, batch.num_rows)))
            at += batch.num_rows
    rows = _contiguous(kept)
    order = pc.sort_indices(codes.filter(wins)) if is_sorted else None
    for start in range(0, rows.num_rows, FACT_ROW_GROUP):
        yield (
            rows.slice(start, FACT_ROW_GROUP)
            if order is None
            else rows.take(order.slice(start, FACT_ROW_GROUP))
        )


def match(rows: pa.Table, others: pa.Table, key: Sequence[str]) -> pa.Array[Any]:
    """Find for each row the number of the first other row with its key; null where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = _codes(pa.concat_tables([rows.select(list(key)), others.select(list(key))]))
    return pc.index_in(codes.slice(0, rows.num_rows), value_set=codes.slice(rows.num_rows))


def _contiguous(parts: list[pa.Table]) -> pa.Table:
    """Join tables column by column, so that only one column is ever there twice."""
    import pyarrow as pa

    if any(part.schema != parts[0].schema for part in parts):
        parts[:] = map(_plain, parts)
    table = pa.concat_tables(parts).unify_dictionaries()
    parts.clear()
    for number, field in enumerate(table.schema):
        table = table.set_column(number, field, table.column(number).combine_chunks())
    return table


def _plain(rows: pa.Table) -> pa.Table:
    """Write dictionaries out."""
    import pyarrow as pa

    for number, field in enumerate(rows.schema):
        if isinstance(field.type, pa.DictionaryType):
            rows = rows.set_column(number, field.name, rows.column(number).cast(field.type.value_type))
    return rows


def _last_of_each(codes: pa.Array[Any]) -> pa.Array[Any]:
    """Mark the last row of each code."""
    import pyarrow as pa
    import pyarrow.compute as pc

    order = pc.sort_indices(codes)  # stable, so equal codes keep the order of their rows
    ordered = codes.take(order)
    ends = pc.not_equal(ordered.slice(0, len(codes) - 1), ordered.slice(1))
    winners = order.filter(pa.concat_arrays([ends, pa.array([True])]))
    numbers: pa.Array[Any] = pa.arange(0, len(codes))  # type: ignore[attr-defined]  # newer than the stubs
    return pc.is_in(numbers, value_set=winners.cast(pa.int64()))


def _codes(keys: pa.Table) -> pa.Array[Any]:
    """Give each row a number: equal iff keys are equal, in the order of keys, NULL last."""
    import pyarrow as pa
    import pyarrow.compute as pc

    code: Any = None
    span = 1
    for column in _plain(keys).columns:
        values = pc.unique(column).drop_null()
        values = values.take(pc.sort_indices(values))
        rank: Any = pc.index_in(column, value_set=values)
        rank = pc.fill_null(rank.cast(pa.int64()), len(values))
        if span * (len(values) + 1) > _CODE_LIMIT:
            present = pc.unique(code)
            code = pc.index_in(code, value_set=present.take(pc.sort_indices(present))).cast(pa.int64())
            span = len(present)
        code = pc.add(pc.multiply(code, len(values) + 1), rank) if span > 1 else rank
        span *= len(values) + 1
    return code.combine_chunks() if isinstance(code, pa.ChunkedArray) else code
