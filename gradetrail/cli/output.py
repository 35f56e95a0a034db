"""Prints rows: one function for every format, used by every command that shows a table.

Invariant: NULL is empty in tables and CSV, null in JSON; numbers keep their exact value outside the
`table` and `markdown` formats.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from gradetrail.cli.cells import Row, cells_of, escaped, escaped_lines, numeric_columns, plain
from gradetrail.cli.fitting import columns_of, fitted, shortened
from gradetrail.cli.manner import MANNER
from gradetrail.errors import Fault, SelectionError

if TYPE_CHECKING:
    import pyarrow as pa

    from gradetrail.warehouse import Warehouse
    from gradetrail.warehouse.locked import LockedWarehouse

MAX_CELL = 60
ALL_DIGITS = Context(prec=80)
"""Rounds no number that DuckDB has; Python alone would at 28 digits."""


class Format(StrEnum):
    """How a table is printed."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    markdown = "markdown"
    parquet = "parquet"


def show_rows(names: Sequence[str], rows: Sequence[Row], form: Format, output: Path | None = None) -> None:
    """Print rows to stdout, or write them to a file; Parquet here takes its types from the rows."""
    if form is not Format.parquet:
        write(formatted(names, rows, form, output), output)
        if form is Format.table and not rows:
            say("no rows")
        return
    import pyarrow as pa

    columns = [pa.array([row[n] for row in rows]) for n in range(len(names))]
    write_parquet(pa.table(columns, names=list(names)), output)


def formatted(names: Sequence[str], rows: Sequence[Row], form: Format, output: Path | None = None) -> str:
    """Give rows as text; a table fits the screen that it is for."""
    if form is Format.table:
        return table_text(names, rows, screen_width(output))
    return FORMATS[form](names, rows)


def write_parquet(table: pa.Table, output: Path | None) -> None:
    """Print a table as one Parquet file, or write it to a file; never to a terminal."""
    from gradetrail.store.export import parquet_bytes

    check_parquet(output)
    write(parquet_bytes(table), output)


def check_parquet(output: Path | None) -> None:
    """Refuse to print Parquet to a terminal; SelectionError."""
    if output is None and sys.stdout.isatty():
        fix = "redirect stdout or give --output FILE"
        raise SelectionError(Fault("Parquet is no text", "--format", fix=fix))


def check_output(output: Path | None) -> None:
    """Refuse a file that cannot be written, before any work is done for it; SelectionError."""
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        reason = "is a folder" if output.is_dir() else "its folder does not exist"
        raise SelectionError(Fault(f"cannot write {output}: {reason}", "--output"))


def tell_damage(warehouse: Warehouse | LockedWarehouse) -> None:
    """Name on stderr what had to be left out of a result."""
    for fault in warehouse.damaged:
        say(f"warning: left out, so the result is partial: {fault}")


def write(data: str | bytes, output: Path | None) -> bool:
    """Print text or bytes to stdout, or write them to a file; SelectionError if that cannot be.

    False says that nobody reads stdout any more.
    Files and pipes get text as it is; a terminal gets it with control characters escaped.
    """
    if output is None:
        try:
            if isinstance(data, bytes):
                sys.stdout.buffer.write(data)
            else:
                sys.stdout.write(escaped_lines(data) if sys.stdout.isatty() else data)
            sys.stdout.flush()
        except BrokenPipeError:
            # a reader such as `head` has seen enough, which is no error; nor is what Python flushes at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return False
        return True
    try:
        output.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    except OSError as error:
        raise SelectionError(Fault(f"cannot write {output}: {error.strerror}", "--output")) from None
    return True


def _records(names: Sequence[str], rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Give rows as what JSON can hold."""
    from gradetrail.store.export import distinct_names

    keys = distinct_names(names)
    return (dict(zip(keys, map(plain, row), strict=True)) for row in rows)


def _json(names: Sequence[str], rows: Sequence[Row]) -> str:
    return json.dumps(list(_records(names, rows)), ensure_ascii=False, indent=1) + "\n"


def _jsonl(names: Sequence[str], rows: Sequence[Row]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in _records(names, rows))


def _csv(names: Sequence[str], rows: Sequence[Row]) -> str:
    return csv_head(names) + csv_body(rows)


def csv_head(names: Sequence[str]) -> str:
    """Give the line of CSV that names the columns."""
    return csv_body([names])


def csv_body(rows: Sequence[Row]) -> str:
    """Give rows as lines of CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        writer.writerow("" if v is None else _cell(v) for v in row)
    return out.getvalue()


def _cell(value: Any) -> Any:
    """Give a value as a CSV cell: money with all its digits, lists and structs as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value.normalize(ALL_DIGITS):f}"
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    exact = plain(value)
    return json.dumps(exact, ensure_ascii=False) if isinstance(exact, list | dict) else exact


def _markdown(names: Sequence[str], rows: Sequence[Row]) -> str:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(re.sub(r"([\\|<*`])", r"\\\1", cell) for cell in cells) + " |\n"

    rule = "|" + "|".join(" ---: " if right else " --- " for right in numeric_columns(names, rows)) + "|\n"
    return line(map(escaped, names)) + rule + "".join(map(line, cells_of(names, rows)))


def table_text(names: Sequence[str], rows: Sequence[Row], width: int | None) -> str:
    """Give rows as a table whose lines have at most so many cells; None for as many as they need."""
    from rich.cells import cell_len

    names, cells = [escaped(name) for name in names], cells_of(names, rows)
    columns = columns_of(names, rows, cells, None if MANNER.is_wide else MAX_CELL)
    widths = fitted(columns, width)
    numeric = numeric_columns(names, rows)
    if len(widths) < len(names):
        say(f"{len(names) - len(widths)} more columns do not fit; `--wide` shows them all")

    def line(texts: Sequence[str]) -> str:
        return "  ".join(cell(texts[n], n) for n in widths).rstrip() + "\n"

    def cell(text: str, n: int) -> str:
        text = shortened(text, widths[n], columns[n].is_name)
        space = " " * (widths[n] - cell_len(text))
        return space + text if numeric[n] else text + space

    return "".join(
        [line(names), line(["─" * widths.get(n, 0) for n in range(len(names))]), *map(line, cells)]
    )


def screen_width(output: Path | None = None) -> int | None:
    """Give the cells that a line may have; None for as many as it needs: in a file, a pipe, with `--wide`."""
    return None if output is not None or MANNER.is_wide else terminal_width()


def terminal_width() -> int | None:
    """Give the terminal's width; None when stdout is no terminal."""
    return os.get_terminal_size().columns if sys.stdout.isatty() else None


FORMATS = {
    Format.json: _json,
    Format.jsonl: _jsonl,
    Format.csv: _csv,
    Format.markdown: _markdown,
}


def say(text: str, stream: TextIO | None = None) -> None:
    """Talk to the user on stderr; control characters are escaped, since faults quote what they found."""
    if not MANNER.lets_say(text):
        return
    stream = stream or sys.stderr
    try:
        print(escaped_lines(text), file=stream, flush=True)
    except OSError:
        # nobody listens any more; what is said must not end what is done
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
