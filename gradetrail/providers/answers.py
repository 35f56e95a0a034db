"""Files of recorded answers: read once, looked up by sample, model, prompt and epoch.

Invariant: at most one row answers a lookup. A row that leaves model, prompt or epoch out answers
for all of them, and a row that states them comes first; two rows of equal standing are refused.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import IO, Any

from gradetrail.errors import Fault, SpecError
from gradetrail.providers.response import STOP_REASONS, repaired
from gradetrail.request import SAFE_INTEGER

TEXT = ("text", "stop_reason", "raw_stop_reason", "served_model", "reasoning")
INTEGER = (
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
    "token_count",
)  # fmt: skip
NUMBER = ("confidence", "token_nll", "latency_ms", "ttft_ms")
FIELDS = (*TEXT, *INTEGER, *NUMBER, "tool_calls")
"""What a row may hold of a response."""
OPTIONAL_KEYS = ("model", "prompt", "epoch")
KEYS = ("sample_id", *OPTIONAL_KEYS)
CHUNK_ROWS = 20_000


class Answers:
    """Recorded answers on disk, with an index of 24 bytes a row in memory; all are added, then indexed."""

    def __init__(self) -> None:
        # not at the top: it brings all that reads datasets along, which few commands need
        from gradetrail.dataset.contents import Contents

        self._texts = Contents()
        self._hashes, self._rows = array("Q"), array("Q")
        self._stated: set[str] = set()

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a checked row."""
        self._hashes.append(_hash(_key(row)))
        self._stated.update(name for name in OPTIONAL_KEYS if row.get(name) is not None)
        kept = {name: value for name, value in row.items() if value is not None}
        import orjson

        self._texts.append(orjson.dumps(kept).decode())

    def index(self, file: str) -> None:
        """Prepare for lookups; SpecError for two rows that answer the same."""
        import pyarrow as pa
        import pyarrow.compute as pc

        hashes = pa.UInt64Array.from_buffers(
            pa.uint64(), len(self._hashes), [None, pa.py_buffer(self._hashes.tobytes())]
        )
        order = pc.sort_indices(hashes)
        self._rows, self._hashes = (_unsigned(values) for values in (order, hashes.take(order)))
        for place in range(1, len(self._rows)):
            if self._hashes[place - 1] == self._hashes[place]:
                first, second = sorted(self._rows[place - 1 : place + 1])
                key = _key(self._row(first))
                if key == _key(self._row(second)):
                    said = f"two answers for sample `{key[0]}`: rows {first + 1} and {second + 1}"
                    fix = "keep one, or tell them apart by `model`, `prompt` or `epoch`"
                    raise SpecError(Fault(said, file, fix=fix))

    def _row(self, number: int) -> dict[str, Any]:
        import orjson

        row: dict[str, Any] = orjson.loads(self._texts[number])
        return row

    def find(self, sample_id: str, model: str, prompt: str, epoch: int) -> dict[str, Any] | None:
        """Give the fields of the answer; None where none is recorded."""
        asked = {"model": model, "prompt": prompt, "epoch": epoch}
        choices = [(asked[name], None) if name in self._stated else (None,) for name in OPTIONAL_KEYS]
        for rest in product(*choices):
            key = (sample_id, *rest)
            wanted = _hash(key)
            place = bisect_left(self._hashes, wanted)
            while place < len(self._hashes) and self._hashes[place] == wanted:
                row = self._row(self._rows[place])
                if _key(row) == key:
                    return {name: value for name, value in row.items() if name not in KEYS}
                place += 1
        return None


def _unsigned(values: Any) -> array[int]:
    """Copy an Arrow column of 64-bit numbers."""
    size = 8 * len(values)
    return array("Q", bytes(values.buffers()[1])[8 * values.offset : 8 * values.offset + size])


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in KEYS)


def _hash(key: Sequence[Any]) -> int:
    return int.from_bytes(
        blake2b(repr(tuple(key)).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )


@lru_cache(maxsize=4)
def load_answers(path: Path, digest: str, shown: str) -> Answers:
    """Read a file of answers once for all the models that replay it.

    `digest` is the file's sha256, so that an edited file is read again; `shown` is its name in
    messages. SpecError names each faulty row, up to 20.
    """
    del digest
    faults: list[Fault] = []
    answers = Answers()
    for row in _checked(_rows_of(path, shown), shown, faults):
        answers.add(row)
    if faults:
        raise SpecError(*faults)
    answers.index(shown)
    return answers


def _checked(rows: Iterable[tuple[str, Any]], shown: str, faults: list[Fault]) -> Iterator[dict[str, Any]]:
    """Yield each row in the schema's types; what is wrong with one is added to `faults`."""
    number = 0
    for number, (where, row) in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            faults.append(Fault("not an object", where))
        elif number == 1 and "sample_id" not in row:
            known = ", ".join(map(str, row))
            raise SpecError(Fault("answers need a `sample_id`", where, fix=f"the first row has: {known}"))
        else:
            try:
                yield checked_row(row)
            except ValueError as error:
                faults.append(Fault(str(error), where))
        if len(faults) >= 20:
            return
    if number == 0:
        faults.append(Fault("no answers in the file", shown))


def checked_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Bring one row into the types of a response; ValueError names the field."""
    sample_id = row.get("sample_id")
    if sample_id is None or isinstance(sample_id, list | dict) or sample_id == "":
        raise ValueError("`sample_id` is missing")
    made: dict[str, Any] = {"sample_id": repaired(as_text(sample_id))[0]}
    for name in ("model", "prompt"):
        value = row.get(name)
        made[name] = repaired(as_text(value))[0] if value not in (None, "") else None
    made["epoch"] = integer_or_none(row.get("epoch"), "epoch")
    made.update(response_fields(row))
    return made


def response_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Check the response fields of a row and bring them into their types; ValueError names the field."""
    made: dict[str, Any] = {}
    if "text" not in row:
        raise ValueError("`text` is missing")
    is_repaired = False
    for name in TEXT:
        value = row.get(name)
        if value is None or (value == "" and name != "text"):
            continue
        made[name], broken = repaired(as_text(value))
        is_repaired = is_repaired or broken
    made.setdefault("text", "")
    if made.get("stop_reason") not in (None, *STOP_REASONS):
        made.setdefault("raw_stop_reason", made["stop_reason"])
        made["stop_reason"] = "other"
    for name in INTEGER:
        made[name] = integer_or_none(row.get(name), name)
    for name in NUMBER:
        made[name] = number_or_none(row.get(name), name)
    if made["confidence"] is not None and made["confidence"] > 1:
        raise ValueError(f"`confidence` {made['confidence']:g} is not in [0, 1]")
    calls = row.get("tool_calls")
    if calls:
        made["tool_calls"] = calls if isinstance(calls, str) else json.dumps(calls)
    return {**made, "is_text_repaired": is_repaired}


def as_text(value: Any) -> str:
    """Give a value as its text: strings as they are, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def integer_or_none(value: Any, name: str) -> int | None:
    """Give a whole number that is not negative; ValueError names the field."""
    number = number_or_none(value, name)
    if number is None:
        return None
    if number != int(number) or number > SAFE_INTEGER:
        raise ValueError(f"`{name}` {number:g} is not a whole number")
    return int(number)


def number_or_none(value: Any, name: str) -> float | None:
    """Give a finite number that is not negative; None and the empty cell of a CSV are None."""
    if value is None or value == "":
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"`{name}` {value!r} is not a number of 0 or more")
    return number


def _rows_of(path: Path, shown: str) -> Iterator[tuple[str, Any]]:
    """Yield (place, row) of a JSONL, JSON, CSV, TSV or Parquet file, also `.gz` and `.zst`."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in (".gz", ".zst") else ""
    kind = suffixes[-1] if suffixes else ""
    readers = {
        ".jsonl": _jsonl,
        ".ndjson": _jsonl,
        ".json": _json,
        ".csv": _csv,
        ".tsv": _csv,
        ".parquet": _parquet,
    }
    if kind not in readers:
        raise SpecError(
            Fault(f"unknown kind of file `{path.name}`", shown, fix=f"known: {', '.join(readers)}")
        )
    try:
        with _opened(path, packed) as file:
            yield from readers[kind](file, shown, kind)
    except OSError as error:
        raise SpecError(Fault(f"cannot read: {error.strerror or error}", shown)) from None
    except UnicodeDecodeError as error:
        raise SpecError(Fault(f"not UTF-8 at byte {error.start}", shown)) from None
    except EOFError:
        raise SpecError(Fault("the file ends in the middle", shown)) from None
    except (zlib.error, csv.Error) as error:
        raise SpecError(Fault(f"cannot read: {error}", shown)) from None


def _opened(path: Path, packed: str) -> IO[bytes]:
    if packed == ".gz":
        return io.BufferedReader(gzip.GzipFile(path, "rb"))
    if packed == ".zst":
        return io.BufferedReader(_ZstdFile(path))
    return path.open("rb")


class _ZstdFile(io.RawIOBase):
    """Reads a Zstandard file; one that is cut is an EOFError (the library's own reader just ends)."""

    def __init__(self, path: Path) -> None:
        import zstandard

        self._zstandard = zstandard
        self._file = path.open("rb")
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._started = False
        self._ready = b""

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with what comes next; 0 at the end."""
        while not self._ready:
            packed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._started = self._zstandard.ZstdDecompressor().decompressobj(), False
            packed = packed or self._file.read(1 << 16)
            if not packed:
                if self._started:
                    raise EOFError
                return 0
            self._started = True
            try:
                self._ready = self._frame.decompress(packed)
            except self._zstandard.ZstdError as error:
                raise OSError(str(error)) from None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def _jsonl(file: IO[bytes], shown: str, _: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(file, start=1):
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        if text:
            try:
                yield f"{shown}:{number}", json.loads(text)
            except ValueError as error:
                raise SpecError(Fault(f"not JSON: {error}", f"{shown}:{number}")) from None


def _json(file: IO[bytes], shown: str, _: str) -> Iterator[tuple[str, Any]]:
    try:
        rows = json.loads(file.read().decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise SpecError(Fault(f"not JSON: {error.msg}", f"{shown}:{error.lineno}")) from None
    if not isinstance(rows, list):
        raise SpecError(Fault("not a list of answers", shown))
    yield from ((f"{shown} row {number}", row) for number, row in enumerate(rows, start=1))


def _csv(file: IO[bytes], shown: str, kind: str) -> Iterator[tuple[str, Any]]:
    csv.field_size_limit(2**31 - 1)
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    try:
        reader = csv.DictReader(text, delimiter="\t" if kind == ".tsv" else ",")
        for number, row in enumerate(reader, start=1):
            yield f"{shown} row {number}", row
    finally:
        # the file is closed by who opened it
        text.detach()


def _parquet(file: IO[bytes], shown: str, _: str) -> Iterator[tuple[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        parquet = pq.ParquetFile(file)
        wanted = {"sample_id", *OPTIONAL_KEYS, *FIELDS}
        columns = [name for name in parquet.schema_arrow.names if name in wanted]
        number = 0
        for batch in parquet.iter_batches(batch_size=CHUNK_ROWS, columns=columns):
            for row in batch.to_pylist():
                number += 1
                yield f"{shown} row {number}", row
    except pa.ArrowException as error:
        raise SpecError(Fault(f"not a Parquet file: {error}", shown)) from None
