"""A file certifies itself: it holds the sha256 of all its bytes, with zeros in the place of the digest.

Invariant: a file whose digest fits is what was written, to the bit. Page checksums leave out what
Parquet says of itself (footers, statistics, by which rows are skipped), and JSON has none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import orjson

DIGEST = "gradetrail.sha256"
"""Parquet key-value metadata, and the first key of a JSON file."""
ZEROS = "0" * 64
_MARK = DIGEST.encode()
_BLOCK = 1 << 20
_TAIL = 1 << 16
"""The digest stands in the footer's end or, in JSON, at the beginning."""


class DigestingSink:
    """Hashes what is written to a file, and finds the place of the digest."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._place = -1
        self._length = 0
        self._tail = b""
        self.closed = False

    def write(self, data: Any) -> int:
        """Write and hash."""
        block = bytes(memoryview(data))
        joined = self._tail + block
        found = joined.rfind(ZEROS.encode())
        if found >= 0 and _MARK in joined[max(0, found - 2 * len(_MARK)) : found]:
            self._place = self._length - len(self._tail) + found
        self._tail = joined[-256:]
        self._hash.update(block)
        self._length += len(block)
        self._file.write(block)
        return len(block)

    def tell(self) -> int:
        """Say how much was written."""
        return self._length

    def flush(self) -> None:
        """Leave flushing to the file's owner."""

    def close(self) -> None:
        """Leave the file open for its owner."""
        self.closed = True

    def writable(self) -> bool:
        """Say yes."""
        return True

    def readable(self) -> bool:
        """Say no."""
        return False

    def seekable(self) -> bool:
        """Say no."""
        return False

    def certify(self) -> None:
        """Put the digest into its place."""
        assert self._place >= 0, "no place for a digest"
        self._file.seek(self._place)
        self._file.write(self._hash.hexdigest().encode())
        self._file.seek(0, 2)


def certified(record: Mapping[str, Any], option: int = 0) -> bytes:
    """Encode a record as JSON that begins with its digest."""
    data = orjson.dumps({DIGEST: ZEROS, **record}, option=option | orjson.OPT_APPEND_NEWLINE)
    return data.replace(ZEROS.encode(), hashlib.sha256(data).hexdigest().encode(), 1)


def record_of(data: bytes) -> dict[str, Any]:
    """Read a JSON object without its digest; ValueError if it is none."""
    record = orjson.loads(data)
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    record.pop(DIGEST, None)
    return record


def format_of(record: Mapping[str, Any]) -> int:
    """Give the number of the format that a record states; ValueError if it states none."""
    version = record.get("format")
    if type(version) is not int or version < 1:
        raise ValueError(f"{version} is no format")
    return version


def digest_fault(path: Path) -> str | None:
    """Say what is wrong with a file that certifies itself; None if nothing."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        is_json = path.suffix == ".json"
        data = _read(file, 0 if is_json else max(0, size - _TAIL))
        if not is_json and _MARK not in data:
            data = _read(file, 0)
        place = size - len(data) + _place(data, is_json) if _place(data, is_json) >= 0 else -1
        if place < 0:
            return "it holds no digest of itself"
        file.seek(place)
        said = file.read(len(ZEROS))
        file.seek(0)
        digest = hashlib.sha256()
        at = 0
        while block := bytearray(file.read(_BLOCK)):
            low, high = max(place, at), min(place + len(ZEROS), at + len(block))
            if low < high:
                block[low - at : high - at] = b"0" * (high - low)
            digest.update(block)
            at += len(block)
    return None if digest.hexdigest().encode() == said else "it is not what was written: its sha256 differs"


def _read(file: BinaryIO, begin: int) -> bytes:
    file.seek(begin)
    return file.read()


def _place(data: bytes, is_json: bool) -> int:
    """Find the digest's place after the mark: the first in JSON, the last in Parquet."""
    mark = data.find(_MARK) if is_json else data.rfind(_MARK)
    if mark < 0:
        return -1
    start = mark + len(_MARK)
    for place in range(start, min(start + 16, len(data) - len(ZEROS) + 1)):
        if all(chr(c) in "0123456789abcdef" for c in data[place : place + len(ZEROS)]):
            return place
    return -1
