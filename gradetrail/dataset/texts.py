r"""Cuts text files into rows: JSON Lines, JSON, CSV, TSV.

Invariant: lines end at \n only, so that U+2028, U+0085 and form feeds inside strings are text. A
row of JSON keeps its own text; every cell of CSV is text, exactly as written.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Generator, Iterator
from io import BufferedReader
from typing import Any

from gradetrail.dataset.findings import Findings, Part
from gradetrail.dataset.rows import json_text, kind_of, syntax_fault

Rows = Iterator[tuple[int, str]]
"""Number of the row's first line (or of the row), and its JSON text."""

_BOM = b"\xef\xbb\xbf"


def _lines(stream: BufferedReader, part: Part, findings: Findings) -> Iterator[tuple[int, str]]:
    """Yield numbered lines as text, with their line ends; those that are not UTF-8 become faults."""
    offset = 0
    for number, line in enumerate(stream, 1):
        start = len(_BOM) if number == 1 and line.startswith(_BOM) else 0
        try:
            yield number, line[start:].decode()
        except UnicodeDecodeError as error:
            _not_utf8(offset + start, error, part.place(number), findings)
        offset += len(line)


def _not_utf8(offset: int, error: UnicodeDecodeError, where: str, findings: Findings) -> None:
    byte = error.object[error.start]
    findings.fault(
        f"not UTF-8: byte 0x{byte:02x} at offset {offset + error.start:,} of the file",
        "save the file as UTF-8",
        where,
    )


def jsonl_rows(stream: BufferedReader, part: Part, findings: Findings) -> Rows:
    """Yield each line that is not blank."""
    is_first = True
    for number, line in _lines(stream, part, findings):
        text = line.strip(" \t\r\n")
        if not text:
            continue
        if is_first and text.startswith("["):
            fix = "name the file .json if it is one list, or write one object on each line"
            findings.fault("the first line begins a list", fix, part.place(number))
            return
        is_first = False
        yield number, text


def csv_rows(stream: BufferedReader, part: Part, findings: Findings) -> Rows:
    """Yield each record of an RFC 4180 file with a header, as an object of text."""
    return _delimited(stream, part, findings, ",")


def tsv_rows(stream: BufferedReader, part: Part, findings: Findings) -> Rows:
    """Yield each record of a tab-separated file with a header, as an object of text."""
    return _delimited(stream, part, findings, "\t")


def _delimited(stream: BufferedReader, part: Part, findings: Findings, delimiter: str) -> Rows:
    csv.field_size_limit(sys.maxsize)
    last = 0

    def lines() -> Iterator[str]:
        nonlocal last
        for number, line in _lines(stream, part, findings):
            last = number
            yield line

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        start = last + 1
        try:
            record = next(reader, None)
        except csv.Error as error:
            findings.fault(f"not valid CSV: {error}", _csv_fix(str(error)), part.place(start))
            return
        if record is None:
            return
        if not record:
            continue
        if header is None:
            header = record
            if not _is_header(header, part.place(start), findings):
                return
        elif len(record) != len(header):
            message = f"{len(record)} cells, but the header has {len(header)}"
            findings.fault(message, "quote cells that hold the delimiter or a newline", part.place(start))
        elif any("\0" in cell for cell in record):
            findings.fault("a NUL byte", "save the file as UTF-8 text", part.place(start))
        else:
            yield start, json_text(dict(zip(header, record, strict=True)))


def _csv_fix(reason: str) -> str:
    if "new-line" in reason:
        return "end lines with \\n or \\r\\n"
    return 'write a quote inside a quoted cell twice: "say ""yes"""'


def _is_header(header: list[str], where: str, findings: Findings) -> bool:
    repeated = sorted({name for name in header if name and header.count(name) > 1})
    for name in repeated:
        findings.fault(f"column `{name}` stands twice in the header", "rename one of them", where)
    empty = [index for index, name in enumerate(header, 1) if not name.strip()]
    if empty:
        numbers = ", ".join(map(str, empty))
        findings.fault(f"the header has no name for column {numbers}", "name every column", where)
    return not repeated and not empty


_outline = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=len)
"""Finds where values end; numbers are not converted."""
_SPACES = re.compile(r"[ \t\r\n]*")


def _skip(text: str, at: int) -> int:
    found = _SPACES.match(text, at)
    return found.end() if found else at


def json_rows(stream: BufferedReader, part: Part, findings: Findings) -> Rows:
    """Yield the elements of a list of objects, or of the one such list in an object."""
    data = stream.read()
    try:
        text = data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        start = len(_BOM) if data.startswith(_BOM) else 0
        _not_utf8(start, error, part.place(line), findings)
        return
    del data
    try:
        begin = _skip(text, 0)
        is_list = text[begin : begin + 1] == "["
        found = begin if is_list else _start_of_list(text, begin, part, findings)
        if found is not None:
            end = yield from _elements(text, found)
            if is_list and end != len(text):
                raise json.JSONDecodeError("Extra data", text, end)
    except json.JSONDecodeError as error:
        message, fix = syntax_fault(text, error.msg, error.pos)
        if error.msg == "Extra data":
            fix = "if each line is a row, name the file .jsonl"
        findings.fault(message, fix, part.place(error.lineno))
    except RecursionError:
        findings.fault("nested too deep", "keep the inner part as text", part.name)


def _start_of_list(text: str, begin: int, part: Part, findings: Findings) -> int | None:
    """Find the one list of objects in the object at `begin`; None if there is none, which is a fault."""
    value, end = _outline.raw_decode(text, begin)
    end = _skip(text, end)
    if end != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    place = part.place(1)
    if not isinstance(value, dict):
        findings.fault(f"the file holds {kind_of(value)}, not a list of objects", "", place)
        return None
    names = [name for name, item in value.items() if isinstance(item, list) and _has_object(item)]
    if len(names) == 1:
        findings.warn(f"{part.name}: the rows are the list `{names[0]}`")
        return _member(text, begin, names[0])
    if names:
        listing = ", ".join(f"`{name}`" for name in names)
        findings.fault(f"the file holds several lists of objects: {listing}", "keep one of them", place)
    else:
        findings.fault("the file holds one object, not a list of objects", "write [{...}, {...}]", place)
    return None


def _has_object(items: list[Any]) -> bool:
    return any(isinstance(item, dict) for item in items)


def _member(text: str, begin: int, name: str) -> int:
    """Find where the last value of a key begins, in an object that is known to be valid."""
    found, at = begin, begin + 1
    while True:
        key, end = _outline.raw_decode(text, _skip(text, at))
        start = _skip(text, _skip(text, end) + 1)
        if key == name:
            found = start
        _, end = _outline.raw_decode(text, start)
        end = _skip(text, end)
        if text[end] == "}":
            return found
        at = end + 1


def _elements(text: str, begin: int) -> Generator[tuple[int, str], None, int]:
    """Yield the elements of the list at `begin`, each with its first line; return where it ends."""
    line, counted = 1, 0
    at = _skip(text, begin + 1)
    while text[at : at + 1] != "]":
        _, end = _outline.raw_decode(text, at)
        line, counted = line + text.count("\n", counted, at), at
        yield line, text[at:end]
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
            if text[at : at + 1] == "]":
                raise json.JSONDecodeError("Illegal trailing comma", text, at)
        elif text[at : at + 1] != "]":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    return _skip(text, at + 1)
