"""Rows of several pieces become one: per key the last piece wins, in key order.

Invariant: readers and writers fold with this one function. Memory holds the keys of all rows but only
PASS_ROWS of the rows that win, so a million trials of a long run stay well under a gigabyte.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gradetrail.store.schema import FACT_ROW_GROUP

if TYPE_CHECKING:
    import pyarrow as pa

Piece = Callable[[Sequence[str] | None], Iterator["pa.Table"]]
"""Yields rows batch by batch, with the columns named or with all; gives the same rows every time."""

PASS_ROWS = FACT_ROW_GROUP
"""Rows that are in memory at a time; more are folded in several passes over the pieces."""
MOST_PIECES = 1_000
"""Pieces of rows in order that are put one after the other; more are sorted row by row."""
_CODE_LIMIT = 2**62


def piece_of(rows: pa.Table) -> Piece:
    """Make a piece of a table in memory."""

    def batches(columns: Sequence[str] | None) -> Iterator[pa.Table]:
        yield rows if columns is None else rows.select(list(columns))

    return batches


def order_of(rows: pa.Table, keys: Sequence[str]) -> pa.Array[Any]:
    """Give the numbers of rows in the order of keys."""
    import pyarrow.compute as pc

    return pc.sort_indices(_codes(rows.select(list(keys))))


def merged_runs(rows: pa.Table, keys: Sequence[str]) -> pa.Table | None:
    """Give rows in the order of keys without moving each, where they consist of a few runs that are in order.

    None where that cannot be told from a look at neighbours, or where more than MOST_PIECES would be moved.
    """
    import pyarrow as pa

    breaks = _breaks(rows, keys)
    if not breaks:
        return None if breaks is None else rows
    pieces = _merged(rows.select(list(keys)), [-1, *breaks, rows.num_rows - 1])
    if pieces is None:
        return None
    merged = pa.concat_tables([rows.slice(begin, end - begin) for begin, end in pieces])
    return merged if _breaks(merged, keys) == [] else None


def runs_of(rows: pa.Table, keys: Sequence[str]) -> list[pa.Table] | None:
    """Cut rows into runs in the order of keys; None where a look at neighbours cannot tell, or finds many."""
    breaks = _breaks(rows, keys)
    if breaks is None:
        return None
    ends = [-1, *breaks, rows.num_rows - 1]
    return [rows.slice(before + 1, last - before) for before, last in pairwise(ends)]


def _merged(keys: pa.Table, ends: Sequence[int]) -> list[tuple[int, int]] | None:
    """Cut runs, which end after the rows `ends`, into pieces (begin, end) that follow each other in order."""

    def key_at(row: int) -> list[tuple[bool, Any]]:
        values: Any = (column[row].as_py() for column in keys.columns)
        return [(value is None, value) for value in values]

    waiting = [(key_at(before + 1), before + 1, last + 1) for before, last in pairwise(ends)]
    heapify(waiting)
    pieces: list[tuple[int, int]] = []
    while waiting and len(pieces) <= MOST_PIECES:
        _, begin, end = heappop(waiting)
        cut = end if not waiting else bisect_right(range(end), waiting[0][0], begin, end, key=key_at)
        cut = max(cut, begin + 1)
        pieces.append((begin, cut))
        if cut < end:
            heappush(waiting, (key_at(cut), cut, end))
    return None if waiting else pieces


def _breaks(rows: pa.Table, keys: Sequence[str]) -> list[int] | None:
    """List the rows that come after the next one by keys; None where one is NULL in some rows alone."""
    import pyarrow.compute as pc

    n_pairs = rows.num_rows - 1
    is_tied: Any = None
    is_wrong: Any = None
    for name in keys:
        column = _ranked(rows.column(name))
        if n_pairs < 1 or column.null_count == rows.num_rows:
            continue
        if column.null_count:
            return None
        before, after = column.slice(0, n_pairs), column.slice(1)
        is_same: Any = pc.equal(before, after)
        is_later: Any = pc.greater(before, after)
        if is_tied is not None:
            is_later, is_same = pc.and_(is_tied, is_later), pc.and_(is_tied, is_same)
        is_wrong = is_later if is_wrong is None else pc.or_(is_wrong, is_later)
        is_tied = is_same
    if is_wrong is not None and pc.sum(is_wrong).as_py() > MOST_PIECES:
        return None
    found: list[int] = [] if is_wrong is None else pc.indices_nonzero(is_wrong).to_pylist()
    return found


def _ranked(column: Any) -> Any:
    """Give numbers in the order of a dictionary's values in place of them; other columns as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(column.type, pa.DictionaryType):
        return column
    if not column.num_chunks or any(chunk.dictionary.null_count for chunk in column.chunks):
        return column.cast(column.type.value_type)
    column = column.unify_dictionaries()
    ranks = pc.rank(column.chunk(0).dictionary, tiebreaker="dense")
    return pa.chunked_array([ranks.take(chunk.indices) for chunk in column.chunks], ranks.type)


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

    keys = [[_plain(batch) for batch in piece(key)] for piece in pieces]
    sizes = [sum(batch.num_rows for batch in batches) for batches in keys]
    if not sum(sizes):
        return
    codes = _codes(pa.concat_tables(batch for batches in keys for batch in batches))
    del keys
    wins = _last_of_each(codes)
    winners = codes.filter(wins)
    ordered = winners.take(pc.sort_indices(winners))
    for start in range(0, len(ordered), PASS_ROWS):
        is_here: Any = pc.and_(wins, pc.greater_equal(codes, ordered[start]))
        if start + PASS_ROWS < len(ordered):
            is_here = pc.and_(is_here, pc.less(codes, ordered[start + PASS_ROWS]))
        rows = _chosen(pieces, sizes, is_here)
        order = pc.sort_indices(codes.filter(is_here)) if is_sorted else None
        for at in range(0, rows.num_rows, FACT_ROW_GROUP):
            if order is None:
                yield rows.slice(at, FACT_ROW_GROUP)
            else:
                yield rows.take(order.slice(at, FACT_ROW_GROUP))
        del rows  # before the next pass reads its own


def _chosen(pieces: Sequence[Piece], sizes: Sequence[int], mask: Any) -> pa.Table:
    """Read the rows under the mask; a piece of which none is wanted is not opened."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kept, at = [], 0
    for piece, size in zip(pieces, sizes, strict=True):
        if pc.any(mask.slice(at, size)).as_py():
            begin = at
            for batch in piece(None):
                kept.append(batch.filter(mask.slice(begin, batch.num_rows)))
                begin += batch.num_rows
        at += size
    if any(part.schema != kept[0].schema for part in kept):
        kept = [_plain(part) for part in kept]
    return pa.concat_tables(kept).unify_dictionaries()


def match(rows: pa.Table, others: pa.Table, key: Sequence[str]) -> pa.Array[Any]:
    """Find for each row the number of the first other row with its key; null where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = _codes(pa.concat_tables([rows.select(list(key)), others.select(list(key))]))
    return pc.index_in(codes.slice(0, rows.num_rows), value_set=codes.slice(rows.num_rows))


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
    for name in keys.column_names:
        column = _plain(keys.select([name])).column(0)
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
