"""Journal parts: one JSON line for each request that ended, `{"response", "calls", "trials", "sha256"}`.

Invariant: a line that was written whole can be read back, and one that is not what was written is
never taken for what it says: it ends with the sha256 of what comes before. (Lines of the first
version have none, and are read as they are.) Rows are checked against the schema before
they become a line, since a value of the wrong type would cost the whole line when it is read. A torn
tail (bytes after the last newline) is the mark of a writer that was cut off, or that is still
writing; it never counted. A bad line before that is damage: it is named, and the others count.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from io import BytesIO
from typing import TYPE_CHECKING, Any

import orjson

from gradetrail.errors import Fault, StoreError, did_you_mean
from gradetrail.store.schema import JOURNALED, REQUIRED, TABLES, arrow_schema, journal_schema
from gradetrail.store.segments import unfit_values

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]

HEADER_MARK = b'{"header":'
_LINE_START = b'{"response":'
_DIGEST_MARK = b',"sha256":"'
_DIGEST_END = b'"}'
_DIGEST_BYTES = len(_DIGEST_MARK) + 64 + len(_DIGEST_END)
_OPTIONS = orjson.OPT_NAIVE_UTC
_CHANGED = "it is not what was written: its sha256 differs"
_NANO = Decimal("0.000000001")
_ACCEPTED: dict[str, tuple[type, ...]] = {
    "VARCHAR": (str,),
    "BIGINT": (int,),
    "INTEGER": (int,),
    "DOUBLE": (float, int),
    "BOOLEAN": (bool,),
    "TIMESTAMPTZ": (datetime,),
    "DECIMAL(18,9)": (Decimal, int),
}
_LIMITS: dict[str, tuple[float, float]] = {
    "BIGINT": (-(2**63), 2**63 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "DOUBLE": (-sys.float_info.max, sys.float_info.max),
}


class RowCheck:
    """Checks rows of one table before they are written; the types of a row are learnt once."""

    def __init__(self, table: str, run_id: str) -> None:
        self.table = table
        self.run_id = run_id
        self._types = {column.name: _ACCEPTED[column.type] for column in TABLES[table]}
        self._limits = {c.name: _LIMITS[c.type] for c in TABLES[table] if c.type in _LIMITS}
        self._amounts = [c.name for c in TABLES[table] if c.type.startswith("DECIMAL")]
        self._known: dict[tuple[object, ...], tuple[tuple[str, float, float], ...]] = {}

    def __call__(self, row: Row) -> Row:
        """Give the row as it is written: amounts of money are text, rounded to the billionth that is stored.

        Raises StoreError for an unknown or missing column, a wrong type, NaN, or another run's row.
        """
        shape = (*row, *map(type, row.values()))
        numbers = self._known.get(shape)
        if numbers is None:
            self._learn(row)
            present = (name for name in self._limits if row.get(name) is not None)
            numbers = self._known[shape] = tuple((name, *self._limits[name]) for name in present)
        if row["run_id"] != self.run_id:
            raise StoreError(
                Fault(f"row of run `{row['run_id']}` in the journal of `{self.run_id}`", self.table)
            )
        for name, low, high in numbers:
            # NaN compares false with everything, so it is refused with infinity
            if not low <= row[name] <= high:
                raise self._refusal(name, row[name])
        amounts = {n: self._amount(n, row[n]) for n in self._amounts if row.get(n) is not None}
        return {**row, **amounts} if amounts or type(row) is not dict else row

    def _amount(self, name: str, value: Decimal | int) -> str:
        try:
            amount = Decimal(value).quantize(_NANO)
        except InvalidOperation:
            raise self._refusal(name, value) from None
        if not amount.is_finite() or abs(amount) >= 10**9:
            raise self._refusal(name, value)
        return format(amount, "f")

    def _refusal(self, name: str, value: object) -> StoreError:
        fix = "store NULL where there is no value"
        return StoreError(Fault(f"{value} is not a number to store", self.table, name, fix))

    def _learn(self, row: Row) -> None:
        faults = [
            Fault(f"no column `{name}`", self.table, fix=did_you_mean(name, self._types))
            for name in row
            if name not in self._types
        ]
        for name, types in self._types.items():
            value = row.get(name)
            if value is None:
                if name in REQUIRED[self.table]:
                    faults.append(Fault("missing", self.table, name))
            elif not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                faults.append(Fault(f"{type(value).__name__} does not fit", self.table, name))
        if faults:
            raise StoreError(*faults)


class LineEncoder:
    """Turns the rows of one request into a line."""

    def __init__(self, run_id: str) -> None:
        self._checks = [RowCheck(table, run_id) for table in JOURNALED]

    def __call__(self, response: Row | None, calls: Sequence[Row], trials: Sequence[Row]) -> bytes:
        """Encode one line; lone surrogates, which no file can hold, become U+FFFD."""
        check_response, check_call, check_trial = self._checks
        line = {
            "response": None if response is None else check_response(response),
            "calls": [check_call(row) for row in calls],
            "trials": [check_trial(row) for row in trials],
        }
        try:
            return _certified(orjson.dumps(line, option=_OPTIONS))
        except orjson.JSONEncodeError:
            return _certified(orjson.dumps(_with_whole_text(line), option=_OPTIONS))


def encode_header(header: Row) -> bytes:
    """Encode the line that may begin a part."""
    return _certified(orjson.dumps({"header": dict(header)}, option=_OPTIONS))


def _certified(line: bytes) -> bytes:
    """Put a line's digest before its closing brace, and end it."""
    body = line[:-1]
    return b"".join((body, _DIGEST_MARK, hashlib.sha256(body).hexdigest().encode(), _DIGEST_END, b"\n"))


def _plain(line: bytes) -> bytes | None:
    """Give a line without its digest; None if the digest is that of something else."""
    body, end = line[:-_DIGEST_BYTES], line[-_DIGEST_BYTES:]
    if not (end.startswith(_DIGEST_MARK) and end.endswith(_DIGEST_END)):
        return line
    said = end[len(_DIGEST_MARK) : -len(_DIGEST_END)]
    return body + b"}" if hashlib.sha256(body).hexdigest().encode() == said else None


def _is_ended_wrong(tail: bytes) -> bool:
    """Say whether bytes after the last newline are a whole line whose own newline was damaged."""
    plain = _plain(tail[:-1])
    return plain is not None and plain != tail[:-1]


def _with_whole_text(line: dict[str, Any]) -> dict[str, Any]:
    from gradetrail.providers.response import repaired

    def whole(row: dict[str, Any]) -> dict[str, Any]:
        return {key: repaired(value)[0] if isinstance(value, str) else value for key, value in row.items()}

    response = line["response"]
    if response is not None:
        fixed = whole(response)
        response = {**fixed, "is_text_repaired": fixed != response or response.get("is_text_repaired")}
    return {"response": response, **{key: [whole(row) for row in line[key]] for key in ("calls", "trials")}}


@dataclass(frozen=True, slots=True)
class Journal:
    """What one journal part holds."""

    tables: dict[str, pa.Table]
    """Rows of `responses`, `calls` and `trials`, in the order of writing."""
    header: dict[str, Any] | None
    torn_bytes: int
    """Bytes after the last newline, which do not count."""
    faults: tuple[Fault, ...] = field(default=())
    """Damaged lines."""


def parse(data: bytes, place: str) -> Journal:
    """Read a journal part; `place` is named in faults. A live part may be read at any moment."""
    import pyarrow as pa

    end = data.rfind(b"\n") + 1
    lines = data[:end].split(b"\n")[:-1]
    header, first = None, 0
    faults: list[Fault] = []
    if lines and lines[0].startswith(HEADER_MARK):
        first = 1
        try:
            header = _header(lines[0])
        except ValueError as error:
            faults.append(_line_fault(place, 1, error))
    good: list[dict[str, pa.Table]] = []
    for tables, fault in _parsed(lines[first:], first + 1, place):
        good += [tables] if tables else []
        faults += [fault] if fault else []
    if _is_ended_wrong(data[end:]):
        faults.append(
            _line_fault(place, len(lines) + 1, ValueError("it ends with something else than a newline"))
        )
    joined = {
        table: pa.concat_tables([arrow_schema(table).empty_table(), *(tables[table] for tables in good)])
        for table in JOURNALED
    }
    return Journal(joined, header, len(data) - end, tuple(faults))


def _header(line: bytes) -> dict[str, Any]:
    plain = _plain(line)
    if plain is None:
        raise ValueError(_CHANGED)
    record = orjson.loads(plain)
    if list(record) != ["header"]:
        raise ValueError("it has another field than `header`")
    return dict(record["header"])


def _parsed(
    lines: list[bytes], number: int, place: str
) -> Iterator[tuple[dict[str, pa.Table] | None, Fault | None]]:
    """Parse lines at once; where that fails, halve them until the bad line stands alone."""
    import pyarrow as pa

    if not lines:
        return
    try:
        # pyarrow 26 ends the process on a line that is `null`, so it gets no line that is no object
        plain = [whole for line in lines if (whole := _plain(line)) is not None]
        if len(plain) < len(lines):
            raise pa.ArrowInvalid(_CHANGED)
        if not all(line.startswith(_LINE_START) and line.endswith(b"}") for line in plain):
            raise pa.ArrowInvalid("not a record of a journal")
        yield _tables(plain), None
    except pa.ArrowInvalid as error:
        if len(lines) == 1:
            yield None, _line_fault(place, number, error)
            return
        half = len(lines) // 2
        yield from _parsed(lines[:half], number, place)
        yield from _parsed(lines[half:], number + half, place)


def _tables(lines: list[bytes]) -> dict[str, pa.Table]:
    import pyarrow as pa
    import pyarrow.json

    # a block must hold the longest line; a part has about 8 MB, so one block serves
    data = b"\n".join([*lines, b""])
    rows = pa.json.read_json(
        BytesIO(data),
        pa.json.ReadOptions(block_size=len(data) + 1),
        pa.json.ParseOptions(explicit_schema=journal_schema(), unexpected_field_behavior="error"),
    )
    if rows.num_rows != len(lines) or rows.column("calls").null_count or rows.column("trials").null_count:
        raise pa.ArrowInvalid("not one record a line")
    tables = {table: _unnested(column, table) for table, column in zip(JOURNALED, rows.columns, strict=True)}
    for table, content in tables.items():
        for column in arrow_schema(table):
            for fault in unfit_values(table, column, content.column(column.name)):
                raise pa.ArrowInvalid(f"{fault.field} {fault.message}")
    return tables


def _line_fault(place: str, number: int, error: Exception) -> Fault:
    fix = "the line is lost and what it answered is asked again; the other lines count"
    return Fault(f"damaged line: {error}", f"{place}:{number}", fix=fix)


def _unnested(column: pa.ChunkedArray[Any], table: str) -> pa.Table:
    import pyarrow as pa

    batches = []
    for chunk in column.chunks:
        rows: Any = chunk.flatten() if isinstance(chunk, pa.ListArray) else chunk.drop_null()
        batches.append(pa.RecordBatch.from_struct_array(rows))
    return pa.Table.from_batches(batches).cast(arrow_schema(table))
