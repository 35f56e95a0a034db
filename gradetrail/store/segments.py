"""Parquet files of one stored table: how rows are made to fit, written, checked and read back.

Invariant: every file has the field ids of `schema.py`, page checksums, and neither NaN nor infinity,
and is read by field id, so that a file of any version reads as the table of today.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gradetrail.errors import Fault, StoreError, did_you_mean
from gradetrail.store.digests import DIGEST, ZEROS, DigestingSink
from gradetrail.store.folding import in_order, merged_runs, order_of
from gradetrail.store.interface import Storage
from gradetrail.store.schema import (
    FACT_ROW_GROUP,
    REQUIRED,
    ROW_GROUP,
    SORT_KEYS,
    TABLES,
    arrow_schema,
    dictionary_columns,
    repeated_text,
)

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"PAR1"
THREADED_ROWS = 10_000
"""Rows of a row group from which it is read by several threads."""
DAMAGE_FIX = "`gradetrail check --repair` sets it aside; what it held is then asked or graded again"
MESSAGES_DICTIONARY_BYTES = 64_000_000
"""Prompts repeat over epochs and models; with the usual 1 MB the dictionary is given up early."""


def conformed(table: str, rows: pa.Table, *, is_sorted: bool = True) -> pa.Table:
    """Give `rows` the table's columns, types and order of rows; raise StoreError for what cannot fit.

    A column that is missing becomes NULL, unless it is required. NaN and infinity are refused.
    """
    import pyarrow as pa

    schema, given = arrow_schema(table), set(rows.column_names)
    faults = [
        Fault(f"no column `{name}`", table, fix=did_you_mean(name, schema.names))
        for name in sorted(given - set(schema.names))
    ]
    faults += [Fault("missing", table, name) for name in sorted(REQUIRED[table] - given)]
    if faults:
        raise StoreError(*faults)
    columns = []
    for field in schema:
        if field.name not in given:
            columns.append(pa.nulls(rows.num_rows, field.type))
            continue
        try:
            columns.append(rows.column(field.name).cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            faults.append(Fault(f"does not fit {field.type}: {error}", table, field.name))
            continue
        faults += unfit_values(table, field, columns[-1])
    if faults:
        raise StoreError(*faults)
    fitting = pa.table(columns, schema=schema)
    keys = SORT_KEYS.get(table)
    return in_order(fitting, keys) if keys and is_sorted else fitting


def unfit_values(table: str, field: pa.Field[Any], column: Any) -> Iterator[Fault]:
    """Find NULL in a required column, NaN and infinity; names the first row of each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if field.name in REQUIRED[table] and column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        yield Fault("is NULL", f"{table} row {row}", field.name)
    if pa.types.is_floating(field.type):
        row = pc.index(pc.fill_null(pc.is_finite(column), True), False).as_py()
        if row >= 0:
            fix = "store NULL where there is no value"
            yield Fault(
                f"{column[row].as_py()} is not a number to store", f"{table} row {row}", field.name, fix
            )


def writing(
    table: str, batches: Iterable[pa.Table], metadata: Mapping[str, Any] | None = None
) -> Callable[[BinaryIO], None]:
    """Prepare the writing of conformed rows as one Parquet file; each batch ends its row groups.

    `metadata` becomes Parquet key-value metadata: text as it is, anything else as JSON.
    """
    notes = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in (metadata or {}).items()
    }

    def write(sink: BinaryIO) -> None:
        import pyarrow.parquet as pq

        schema = arrow_schema(table)
        digesting: Any = DigestingSink(sink)
        with pq.ParquetWriter(
            digesting,
            schema.with_metadata(notes) if notes else schema,
            compression="zstd",
            compression_level=3,
            use_dictionary=dictionary_columns(table),  # type: ignore[arg-type]  # the stubs know bool only
            dictionary_pagesize_limit=MESSAGES_DICTIONARY_BYTES if table == "responses" else None,
            write_page_checksum=True,
        ) as writer:
            for batch in batches:
                writer.write_table(batch.cast(schema), row_group_size=ROW_GROUP.get(table, FACT_ROW_GROUP))
            writer.add_key_value_metadata({DIGEST: ZEROS})
        digesting.certify()

    return write


def publish(
    storage: Storage, table: str, stem: str, rows: pa.Table, metadata: Mapping[str, Any] | None = None
) -> bool:
    """Publish `<table>/<stem>.parquet`; False if it is there already."""
    fitting = (conformed(table, given) for given in (rows,))  # only if the name is free
    return storage.create(f"{table}/{stem}.parquet", writing(table, fitting, metadata))


def publish_batches(storage: Storage, table: str, stem: str, batches: Iterable[pa.Table]) -> bool:
    """Publish rows that come in the table's order, in parts; False if the name is taken.

    Memory holds one part, and the row group that is being written.
    """
    fitting = (conformed(table, rows, is_sorted=False) for rows in batches)
    return storage.create(f"{table}/{stem}.parquet", writing(table, fitting))


def ordered(table: str, rows: pa.Table) -> Iterator[pa.Table]:
    """Yield conformed rows in the table's order, a row group at a time; they may have dictionaries.

    Memory holds the order of all rows besides the rows themselves, unless they come in few runs in order.
    """
    if rows.num_rows <= FACT_ROW_GROUP:
        yield conformed(table, rows)
        return
    keys = [key for key in SORT_KEYS[table] if key in rows.column_names]
    merged = merged_runs(rows, keys)
    order = order_of(rows, keys) if merged is None else None
    for at in range(0, rows.num_rows, FACT_ROW_GROUP):
        if merged is not None:
            group = merged.slice(at, FACT_ROW_GROUP)
        else:
            assert order is not None
            group = rows.take(order.slice(at, FACT_ROW_GROUP))
        yield conformed(table, group, is_sorted=False)


def holds(path: Path, table: str, batches: Iterable[pa.Table]) -> bool:
    """Say whether a file holds just these rows, in row groups of the same size."""
    sides = ((rows for rows in side if rows.num_rows) for side in (row_groups(path, table), batches))
    return all(stored is not None and stored.equals(rows) for stored, rows in zip_longest(*sides))


def ends_fault(storage: Storage, name: str) -> Fault | None:
    """Look at size and both ends of a file, which catches what a crash or a full disk leaves.

    Raises FileNotFoundError if the file is gone.
    """
    size, head, tail = storage.ends(name, 4, 8)
    if size < 12 or head != MAGIC or tail[4:] != MAGIC:
        return _damage(storage, name, f"{size:,} bytes that do not begin and end as Parquet does")
    if int.from_bytes(tail[:4], "little") > size - 12:
        return _damage(storage, name, "its footer is longer than the file")
    return None


def footer_fault(storage: Storage, table: str, name: str) -> Fault | None:
    """Parse a file's footer and look for field ids, without which every column would read as NULL."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        fault = ends_fault(storage, name)
        if fault is None and not _ids(pq.read_schema(storage.local(name))).keys() & _wanted(table).keys():
            fault = _damage(storage, name, "no column has a field id")
    except FileNotFoundError:
        return None
    except (OSError, pa.ArrowException) as error:
        return _damage(storage, name, f"its footer cannot be read: {error}")
    return fault


def content_fault(storage: Storage, table: str, name: str) -> Fault | None:
    """Read a whole file and compare the checksum of every page."""
    import pyarrow as pa

    fault = footer_fault(storage, table, name)
    if fault is not None:
        return fault
    try:
        for _ in row_groups(storage.local(name), table, verified=True):
            pass
    except FileNotFoundError:
        return None
    except (OSError, pa.ArrowException) as error:
        return _damage(storage, name, f"its content cannot be read: {error}")
    return None


def _damage(storage: Storage, name: str, why: str) -> Fault:
    return Fault(f"damaged: {why}", storage.place(name), fix=DAMAGE_FIX)


def _ids(schema: pa.Schema) -> dict[int, str]:
    found = {}
    for field in schema:
        number = (field.metadata or {}).get(b"PARQUET:field_id")
        if number is not None:
            found[int(number)] = field.name
    return found


def _wanted(table: str) -> dict[int, str]:
    return {column.field_id: column.name for column in TABLES[table]}


def row_groups(
    path: Path,
    table: str,
    columns: Sequence[str] | None = None,
    *,
    verified: bool = False,
    encoded: bool = False,
    between: tuple[str, str, str] | None = None,
) -> Iterator[pa.Table]:
    """Read a file by field id, a row group at a time; a column that it does not have is NULL.

    `verified` compares page checksums. `encoded` keeps text that repeats as dictionaries, which take
    a fraction of the memory. `between` is a column with two values: a row group that has nothing
    between them is not read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    known = pq.read_metadata(path)
    repeated = sorted(set(repeated_text(table)) & set(known.schema.names)) if encoded else []
    with pq.ParquetFile(
        path, metadata=known, read_dictionary=repeated, page_checksum_verification=verified
    ) as file:
        there = _ids(file.schema_arrow)
        fields = [
            (column, there.get(column.field_id))
            for column in TABLES[table]
            if columns is None or column.name in columns
        ]
        names = [name for _, name in fields if name is not None]
        for number in range(file.num_row_groups):
            if between is not None and _is_apart(known.row_group(number), between):
                continue
            # to hand a few rows out to threads takes longer than to read them
            is_large = known.row_group(number).num_rows > THREADED_ROWS
            group = file.read_row_group(number, columns=names, use_threads=is_large)
            arrays = []
            for column, name in fields:
                kind = arrow_schema(table).field(column.name).type
                if encoded and column.name in repeated_text(table):
                    kind = pa.dictionary(pa.int32(), pa.string())
                arrays.append(
                    pa.nulls(group.num_rows, kind) if name is None else group.column(name).cast(kind)
                )
            yield pa.table(arrays, names=[column.name for column, _ in fields])


def _is_apart(group: Any, between: tuple[str, str, str]) -> bool:
    """Say whether a row group's statistics show that a column has nothing between two values."""
    name, low, high = between
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema == name:
            known = column.statistics
            return bool(known is not None and known.has_min_max and (known.max < low or known.min > high))
    return False


def read(path: Path, table: str, columns: Sequence[str] | None = None, *, encoded: bool = False) -> pa.Table:
    """Read a whole file by field id."""
    import pyarrow as pa

    groups = row_groups(path, table, columns, encoded=encoded)
    first = next(groups, None)
    if first is None:
        empty = arrow_schema(table).empty_table()
        return empty if columns is None else empty.select(list(columns))
    return pa.concat_tables(chain([first], groups))


def joined(tables: Iterable[pa.Table], table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Put tables of one kind, or some columns of them, one after the other; without any, no row."""
    import pyarrow as pa

    schema = arrow_schema(table)
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    return pa.concat_tables([schema.empty_table(), *(rows.cast(schema) for rows in tables)])
