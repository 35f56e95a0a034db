"""Planned trials as an Arrow table: what differs between them, and names that all of them share.

Invariant: what an entrant or a sample says of a trial is in memory once, as a dictionary over their
indices, however many trials refer to it; only a few rows at a time are written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 20_000
PLANNED = (
    "task", "model", "model_id", "prompt", "sample_id", "sample_hash", "dataset_id", "category", "cluster",
    "epoch", "input_hash", "choice_order", "request_key",
)  # fmt: skip
"""Columns of a trial that the plan fixes. The request_key of a scripted conversation is that of its last
turn, which only the earlier answers fix: until then it is the identity of the whole script."""
OWN = ("entrant", "sample", "epoch", "input_hash", "choice_order", "request_key", "input_bytes")
"""Columns in which trials differ: indices of entrant and selected sample, bytes of the JSON asked."""
PREFIX = 16
"""Hex digits by which nearly all keys differ."""
OF_ENTRANT = ("model", "model_id", "prompt")
OF_SAMPLE = ("sample_id", "sample_hash", "category", "cluster")


def own_columns(rows: Iterator[tuple[Any, ...]]) -> pa.Table:
    """Collect rows of OWN."""
    import pyarrow as pa

    kinds: tuple[pa.DataType, ...] = (
        pa.int32(),
        pa.int32(),
        pa.int32(),
        pa.string(),
        pa.string(),
        pa.string(),
        pa.int64(),
    )
    schema = pa.schema(list(zip(OWN, kinds, strict=True)))
    batches = []
    while some := list(islice(rows, BATCH_ROWS)):
        columns = zip(zip(*some, strict=True), kinds, strict=True)
        batches.append(pa.record_batch([pa.array(values, kind) for values, kind in columns], schema=schema))
    return pa.Table.from_batches(batches, schema)


def named(own: pa.Table, entrants: pa.Table, samples: pa.Table, constant: dict[str, str]) -> pa.Table:
    """Put names to trials: PLANNED, then `entrant`, `sample`, `input_bytes`.

    `entrants` has OF_ENTRANT and `samples` OF_SAMPLE, a row for each index; `constant` is the same in all.
    """
    import pyarrow as pa

    def looked_up(places: Any, values: Any) -> Any:
        if isinstance(values, pa.ChunkedArray):
            # to combine one chunk would copy it
            values = values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
        chunks: Any = [pa.DictionaryArray.from_arrays(chunk, values) for chunk in places.chunks]
        kind: Any = pa.dictionary(places.type, pa.string())
        return pa.chunked_array(chunks, kind)

    entrant, sample = own.column("entrant"), own.column("sample")
    first: Any = [pa.repeat(pa.scalar(0, pa.int8()), len(chunk)) for chunk in entrant.chunks]
    columns: dict[str, Any] = {name: own.column(name) for name in OWN}
    for name, value in constant.items():
        columns[name] = looked_up(pa.chunked_array(first, pa.int8()), pa.array([value], pa.string()))
    for name in OF_ENTRANT:
        columns[name] = looked_up(entrant, entrants.column(name))
    for name in OF_SAMPLE:
        columns[name] = looked_up(sample, samples.column(name))
    return pa.table({name: columns[name] for name in (*PLANNED, "entrant", "sample", "input_bytes")})


def plain(trials: pa.Table) -> pa.Table:
    """Write out the dictionaries of some trials; all of them at once may take much memory."""
    import pyarrow as pa

    for number, field in enumerate(trials.schema):
        if isinstance(field.type, pa.DictionaryType):
            column = trials.column(number).cast(field.type.value_type)
            trials = trials.set_column(number, field.name, column)
    return trials


def rows_of(trials: pa.Table, columns: Sequence[str], size: int = 500) -> Iterator[dict[str, Any]]:
    """Yield trials as mappings, some at a time in memory."""
    chosen = trials.select(list(columns))
    for at in range(0, chosen.num_rows, size):
        yield from plain(chosen.slice(at, size)).to_pylist()


def marked_first(keys: Any) -> pa.Array[Any]:
    """Mark the first of equal request_keys."""
    import pyarrow as pa
    import pyarrow.compute as pc

    short = pc.utf8_slice_codeunits(keys, 0, PREFIX)
    if pc.count_distinct(short).as_py() == len(keys):
        return pa.repeat(pa.scalar(True), len(keys))
    # values are numbered as they first appear, so a first one has a number above all before it
    codes = pa.concat_arrays([chunk.indices for chunk in keys.dictionary_encode().chunks])
    highest: Any = pc.cumulative_max(codes)
    is_higher: Any = pc.greater(highest.slice(1), highest.slice(0, len(codes) - 1))
    return pa.concat_arrays([pa.array([True]), is_higher])
