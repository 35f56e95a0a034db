"""Prints the rows of a query as they come, so that a result larger than memory can be written.

Invariant: a file appears whole or not at all. What went to stdout cannot be taken back: where the rows
start anew after that, the command says that what was printed is of no use.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gradetrail.cli.cells import Row
from gradetrail.cli.output import (
    FORMATS,
    Format,
    check_output,
    check_parquet,
    csv_body,
    csv_head,
    show_rows,
    write,
)
from gradetrail.errors import Fault, SelectionError, UnusableError

if TYPE_CHECKING:
    import pyarrow as pa

    from gradetrail.store.export import ParquetStream
    from gradetrail.warehouse.locked import LockedWarehouse

Params = Mapping[str, Any]


class _EnoughError(Exception):
    """The reader of stdout, such as `head`, has gone, which is no fault."""


def print_query(
    opened: LockedWarehouse, query: str, params: Params, form: Format, output: Path | None
) -> int:
    """Print what a query gives; say how many rows. A table needs all of them before the first is printed."""
    check_output(output)
    if form in (Format.table, Format.markdown):
        names, rows = opened.rows(query, params)
        show_rows(names, rows, form, output)
        return len(rows)
    printed = _Parquet(output) if form is Format.parquet else _Text(form, output)
    try:
        printed.ask(opened, query, params)
        printed.close()
    except _EnoughError:
        pass
    finally:
        printed.sink.drop()
    return printed.count


class _Sink:
    """Takes bytes: for stdout, or for a file that takes its place at the end."""

    def __init__(self, output: Path | None) -> None:
        self._output, self._size = output, 0
        self._temporary: Path | None = None
        self._file: BinaryIO | None = None
        self._is_dropped = False
        self.closed = False

    def tell(self) -> int:
        """Give the number of bytes so far."""
        return self._size

    def flush(self) -> None:
        """Do nothing: what is written is on its way."""

    def write(self, data: bytes | str) -> int:
        """Take bytes, or text; what comes after the end of it all, such as a footer, is for nobody."""
        encoded = data.encode() if isinstance(data, str) else bytes(data)
        self._size += len(encoded)
        if self._is_dropped:
            return len(encoded)
        if self._output is None:
            if not write(data if isinstance(data, str) else encoded, None):
                raise _EnoughError
            return len(encoded)
        with _told(self._output):
            self._opened().write(encoded)
        return len(encoded)

    def anew(self) -> _Sink:
        """Give another one in its place; UnusableError if somebody has read from this one."""
        if self._size and (self._output is None or self._is_special()):
            fix = "ask again with `--output FILE`, or set the file aside: gradetrail check --repair"
            raise UnusableError(
                Fault(
                    "a damaged file was found after rows had been printed: they are not to be used", fix=fix
                )
            )
        self.drop()
        return _Sink(self._output)

    def close(self) -> None:
        """Let the file take its place."""
        if self._output is None:
            return
        with _told(self._output):
            self._opened().close()
            if self._temporary is not None:
                self._temporary.replace(self._output)
                self._temporary = None

    def drop(self) -> None:
        """Leave nothing behind of a file that is not whole."""
        self._is_dropped = True
        if self._file is not None:
            self._file.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)
            self._temporary = None

    def _is_special(self) -> bool:
        return self._output is not None and self._output.exists() and not self._output.is_file()

    def _opened(self) -> BinaryIO:
        if self._file is None:
            assert self._output is not None
            if self._is_special():
                self._file = self._output.open("wb")
            else:
                self._temporary = self._output.with_name(f"{self._output.name}.{secrets.token_hex(4)}.tmp")
                self._file = self._temporary.open("wb")
        return self._file


@contextlib.contextmanager
def _told(output: Path | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SelectionError(Fault(f"cannot write {output}: {error.strerror}", "--output")) from None


class _Text:
    """Rows as CSV, JSON or lines of JSON; the pieces together are what the whole would be."""

    def __init__(self, form: Format, output: Path | None) -> None:
        self.sink = _Sink(output)
        self._form, self._names, self.count = form, [""], 0

    def ask(self, opened: LockedWarehouse, query: str, params: Params) -> None:
        """Print what comes."""
        opened.each(query, params, self._begin, self._take)

    def close(self) -> None:
        """Print what comes after the last row."""
        if not self.count:
            self._head()
        if self._form is Format.json:
            self.sink.write("\n]\n" if self.count else "]\n")
        self.sink.close()

    def _begin(self, names: list[str]) -> None:
        self.sink, self._names, self.count = self.sink.anew(), names, 0

    def _head(self) -> None:
        self.sink.write({Format.csv: csv_head(self._names), Format.json: "["}.get(self._form, ""))

    def _take(self, rows: Sequence[Row]) -> None:
        # only with the first rows: until then a damaged file may still be left out unseen
        if not self.count:
            self._head()
        if self._form is Format.csv:
            piece = csv_body(rows)
        elif self._form is Format.json:
            piece = (",\n" if self.count else "\n") + FORMATS[Format.json](self._names, rows)[2:-3]
        else:
            piece = FORMATS[Format.jsonl](self._names, rows)
        self.sink.write(piece)
        self.count += len(rows)


class _Parquet:
    """Rows as a Parquet file."""

    def __init__(self, output: Path | None) -> None:
        check_parquet(output)
        self.sink = _Sink(output)
        self._stream: ParquetStream | None = None
        self.count = 0

    def ask(self, opened: LockedWarehouse, query: str, params: Params) -> None:
        """Print what comes."""
        opened.each_batch(query, params, self._begin, self._take)

    def close(self) -> None:
        """Print what comes after the last row."""
        assert self._stream is not None
        self._stream.close()
        self.sink.close()

    def _begin(self, schema: pa.Schema) -> None:
        from gradetrail.store.export import ParquetStream

        self.sink, self.count = self.sink.anew(), 0
        self._stream = ParquetStream(self.sink, schema)

    def _take(self, batch: pa.RecordBatch) -> None:
        assert self._stream is not None
        self._stream.write(batch)
        self.count += batch.num_rows
