"""Turns Parquet, Arrow, DataFrames and Python mappings into rows of JSON text.

Invariant: a value keeps its meaning. What JSON has no type for becomes text (ISO
times, decimals); what has no faithful form (binary, intervals) is refused by column name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedReader, BytesIO
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gradetrail.dataset.findings import Findings, Part
from gradetrail.dataset.rows import RawJson, json_text

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 8192


@runtime_checkable
class SupportsArrowStream(Protocol):
    """A DataFrame of any library that speaks Arrow's C stream interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Give the stream."""


HUGE_INTEGERS = ("hugeint", "uhugeint")
"""DuckDB's 128-bit integers, by the names that they have in Arrow."""
PANDAS_INDEX = "__index_level_"
"""Columns that pandas adds for its row labels."""


def batches(stream: BufferedReader, ending: str) -> Iterator[pa.RecordBatch]:
    """Read a Parquet or Arrow file batch by batch. Raises OSError on a damaged one."""
    import pyarrow as pa

    try:
        for batch in _unchecked_batches(stream, ending):
            # a damaged offset would end the process, not raise, when it is followed
            batch.validate(full=True)
            yield batch
    except (pa.ArrowException, MemoryError) as error:  # a damaged length asks for any amount of memory
        raise OSError(str(error) or "it asks for more memory than there is") from error


def _unchecked_batches(stream: BufferedReader, ending: str) -> Iterator[pa.RecordBatch]:
    if ending == ".parquet":
        import pyarrow.parquet as pq

        yield from pq.ParquetFile(_seekable(stream), page_checksum_verification=True).iter_batches(
            batch_size=BATCH
        )
        return
    import pyarrow as pa

    if stream.peek(6).startswith(b"ARROW1"):
        reader = pa.ipc.open_file(_seekable(stream))
        yield from (reader.get_batch(index) for index in range(reader.num_record_batches))
    else:
        yield from pa.ipc.open_stream(stream)


def read_table(stream: BufferedReader, ending: str) -> pa.Table:
    """Read a Parquet or Arrow file whole."""
    import pyarrow as pa

    found = list(batches(stream, ending))
    return pa.Table.from_batches(found) if found else pa.table({})


def _seekable(stream: BufferedReader) -> BufferedReader | BytesIO:
    return stream if stream.seekable() else BytesIO(stream.read())


def frame_table(frame: SupportsArrowStream) -> pa.Table:
    """Read a DataFrame through the Arrow stream interface, without pandas' row labels."""
    import pyarrow as pa

    table = pa.RecordBatchReader.from_stream(frame).read_all()
    kept = [index for index, name in enumerate(table.column_names) if not name.startswith(PANDAS_INDEX)]
    return table.select(kept)


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Stack tables by column name; a column absent from one is null there.

    Raises ValueError where two tables disagree on a column's type.
    """
    import pyarrow as pa

    return pa.concat_tables(tables, promote_options="permissive")


def table_rows(found: Iterable[pa.RecordBatch], part: Part, findings: Findings) -> Iterator[tuple[int, str]]:
    """Yield (row number, JSON text); faults name column or row."""
    number = 0
    for batch in found:
        names = batch.schema.names
        if number == 0 and not _is_sound(batch.schema, part, findings):
            return
        columns = []
        for name, column in zip(names, batch.columns, strict=True):
            values = _values(column, name, part, findings)
            if values is None:
                return
            columns.append(values)
        for row in zip(*columns, strict=True):
            number += 1
            try:
                yield number, json_text(dict(zip(names, row, strict=True)))
            except TypeError as error:
                findings.fault(str(error), where=part.place(number))


def _is_sound(schema: pa.Schema, part: Part, findings: Findings) -> bool:
    sound = True
    for name in sorted({name for name in schema.names if schema.names.count(name) > 1}):
        sound = False
        findings.fault(f"two columns are called `{name}`", "rename one of them", part.name, name)
    for field in schema:
        kind = _without_json_form(field.type)
        if kind is not None:
            sound = False
            fix = f"leave `{field.name}` out with `dataset: {{query: ...}}`"
            findings.fault(f"{kind} has no JSON form", fix, part.name, field.name)
    return sound


def _without_json_form(kind: pa.DataType) -> str | None:
    """Name the type, or the type inside it, that cannot be said in JSON; None if all can."""
    import pyarrow as pa
    import pyarrow.types as pt

    if isinstance(kind, pa.OpaqueType):
        return None if kind.type_name in HUGE_INTEGERS else kind.type_name
    if isinstance(kind, pa.JsonType | pa.UuidType | pa.Bool8Type):
        return None
    known = (
        pt.is_boolean, pt.is_integer, pt.is_floating, pt.is_decimal, pt.is_string, pt.is_large_string,
        pt.is_string_view, pt.is_null, pt.is_date, pt.is_time, pt.is_timestamp,
    )  # fmt: skip
    if any(test(kind) for test in known):
        return None
    if pt.is_dictionary(kind):
        return _without_json_form(kind.value_type)
    if pt.is_struct(kind) or pt.is_map(kind) or _is_list(kind):
        inner = (kind.field(index).type for index in range(kind.num_fields))
        return next((found for found in map(_without_json_form, inner) if found), None)
    return str(kind)


def _is_list(kind: pa.DataType) -> bool:
    import pyarrow.types as pt

    return pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind)


def _values(column: pa.Array[Any], name: str, part: Part, findings: Findings) -> list[Any] | None:
    """Give a column as Python values; None if one of them cannot be had."""
    import pyarrow as pa

    kind = column.type
    try:
        # float32 takes the way over text: 0.1 stays 0.1 instead of 0.10000000149011612
        for leaf in (_narrow, _wide):
            wanted = _mapped(kind, leaf)
            if column.type != wanted:
                column = column.cast(wanted)
        values: list[Any] = column.to_pylist(maps_as_pydicts="strict")
    except (pa.ArrowException, ValueError, KeyError, OverflowError) as error:
        findings.fault(f"{kind}: {str(error).splitlines()[0]}", "cast it in `query`", part.name, name)
        return None
    return [_turned(value, kind) for value in values] if _holds_duckdb_types(kind) else values


def _narrow(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_float32(kind):
        return pa.string()
    # Python's times end at microseconds; the cast refuses to lose anything
    if pt.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.time64("us") if pt.is_time64(kind) else kind


def _wide(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as pt

    return pa.float64() if pt.is_floating(kind) else _narrow(kind)


def _mapped(kind: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Apply `leaf` to the scalar types inside a type; a type that stays the same comes back itself."""
    import pyarrow as pa
    import pyarrow.types as pt

    if isinstance(kind, pa.BaseExtensionType):
        return kind
    if pt.is_struct(kind):
        changed: pa.DataType = pa.struct([field.with_type(_mapped(field.type, leaf)) for field in kind])
    elif pt.is_map(kind):
        changed = pa.map_(_mapped(kind.key_type, leaf), _mapped(kind.item_type, leaf))
    elif _is_list(kind):
        values = kind.field(0).type
        inner = _mapped(values, leaf)
        return kind if inner == values else pa.large_list(inner)
    else:
        return leaf(kind)
    return kind if changed == kind else changed


def _holds_duckdb_types(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if isinstance(kind, pa.JsonType | pa.OpaqueType):
        return True
    return any(_holds_duckdb_types(kind.field(index).type) for index in range(kind.num_fields))


def _turned(value: Any, kind: pa.DataType) -> Any:
    """Turn DuckDB's JSON and HUGEINT, at any depth, into JSON text and integers."""
    import pyarrow as pa
    import pyarrow.types as pt

    if value is None:
        return None
    if isinstance(kind, pa.JsonType):
        return RawJson(value)
    if isinstance(kind, pa.OpaqueType):
        return int.from_bytes(value, "little", signed=kind.type_name == "hugeint")
    if pt.is_struct(kind):
        return {field.name: _turned(value[field.name], field.type) for field in kind}
    if pt.is_map(kind):
        return {key: _turned(item, kind.item_type) for key, item in value.items()}
    if _is_list(kind):
        return [_turned(item, kind.field(0).type) for item in value]
    return value


def mapping_rows(rows: Iterable[Any], part: Part, findings: Findings) -> Iterator[tuple[int, str]]:
    """Yield (row number, JSON text) of rows that are given as Python mappings."""
    for number, row in enumerate(rows, 1):
        try:
            yield number, json_text(row)
        except TypeError as error:
            findings.fault(str(error), where=part.place(number))
        except RecursionError:
            findings.fault("nested too deep", where=part.place(number))
