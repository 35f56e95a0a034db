"""Reads one row: JSON text becomes a Python dict, the text to keep, and what its hash covers.

Invariant: data is never retyped. Number text survives as it was written, integers keep all digits,
and whatever JSON cannot say (NaN, infinity, lone surrogates) is refused or repaired by name.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import orjson

from gradetrail.dataset.findings import Findings, Part
from gradetrail.request import canonical_json, hash_canonical

SAMPLE_TAG = "gradetrail.sample.v1"
MAX_DEPTH = 128
"""Lists and objects inside each other; well inside every recursion limit downstream."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_LITERALS = {None: "null", False: "false", True: "true"}
_quote = json.encoder.encode_basestring


class JsonFloat(float):
    """A float of the dataset; `str()` gives the JSON text as written, so 1.50 stays 1.50."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> JsonFloat:
        """Parse the text of a JSON number."""
        value = super().__new__(cls, text)
        value.text = text
        return value

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type[JsonFloat], tuple[str]]:
        return JsonFloat, (self.text,)


class RawJson(str):
    """Text that is JSON already: `json_text` copies it."""

    __slots__ = ()


_parse = json.JSONDecoder(parse_float=JsonFloat).raw_decode


def parse_row(content: str) -> dict[str, Any]:
    """Parse the JSON text of a stored row; floats are JsonFloat, integers keep all digits."""
    row: dict[str, Any] = _parse(content)[0]
    return row


def json_text(value: Any) -> str:
    """Encode as compact JSON, JsonFloat as written, dates, times, decimals and UUIDs as text.

    Raises TypeError on a type without a JSON form. A plain NaN or infinity comes out as Python
    spells it, which is not JSON: reading the text again refuses it by name.
    """
    if isinstance(value, str):
        return str(value) if isinstance(value, RawJson) else _quote(value)
    if value is None or isinstance(value, bool):
        return _LITERALS[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return value.text if isinstance(value, JsonFloat) else json.dumps(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_key_text(key)}:{json_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, datetime | date | time):
        return _quote(value.isoformat())
    if isinstance(value, Decimal) and value.is_finite():
        return _quote(format(value, "f"))
    if isinstance(value, UUID):
        return _quote(str(value))
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _key_text(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is not text")
    return _quote(key)


def field_text(value: Any) -> str | None:
    """Give a field's value as text without retyping it: its JSON text, strings without quotes."""
    if value is None or isinstance(value, str):
        return value
    return json_text(value)


class RowReader:
    """Reads rows one after another; what is wrong with a row goes to `findings`."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._is_repeated = False
        self._is_wide = False
        self._decode = self._decoder().raw_decode
        self._decode_long = self._decoder(parse_int=_integer).raw_decode

    def _decoder(self, **options: Any) -> json.JSONDecoder:
        return json.JSONDecoder(
            object_pairs_hook=self._object, parse_float=JsonFloat, parse_constant=JsonFloat, **options
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) != len(pairs):
            self._is_repeated = True
        keys = "".join(row)
        if not keys.isascii() and max(keys) >= "\ud800":
            self._is_wide = True
        return row

    def read(self, text: str, part: Part, number: int) -> tuple[dict[str, Any], str, str] | None:
        """Give the row, its JSON text and its sample_hash; None if a fault was found.

        `text` has no white space around it. It is kept as it is unless it has repeated keys (the
        last wins) or lone surrogates (they become U+FFFD), which JSON readers treat differently.
        """
        row = self._parsed(text, part, number)
        if row is None:
            return None
        try:
            canonical = canonical_json(row) if self._is_wide else _canonical(row)
        except (TypeError, ValueError):
            return self._repaired(row, text, part, number)
        content = json_text(row) if self._is_repeated else text
        return row, content, hash_canonical(SAMPLE_TAG, canonical)

    def _parsed(self, text: str, part: Part, number: int) -> dict[str, Any] | None:
        self._is_repeated = self._is_wide = False
        try:
            try:
                row, end = self._decode(text)
            except json.JSONDecodeError:
                raise
            except ValueError:  # an integer with more digits than Python converts
                row, end = self._decode_long(text)
            if end != len(text):
                raise json.JSONDecodeError("Extra data", text, end)
            if text.count("[") + text.count("{") > MAX_DEPTH and _depth(row) > MAX_DEPTH:
                raise RecursionError
        except json.JSONDecodeError as error:
            message, fix = syntax_fault(text, error.msg, error.pos)
            self._findings.fault(message, fix, part.place(number))
            return None
        except RecursionError:
            message = f"nested more than {MAX_DEPTH} deep"
            self._findings.fault(message, "keep the inner part as text", part.place(number))
            return None
        if not isinstance(row, dict):
            message = f"a row is an object, not {kind_of(row)}"
            self._findings.fault(message, 'write {"question": ..., "target": ...}', part.place(number))
            return None
        return row

    def _repaired(
        self, row: dict[str, Any], text: str, part: Part, number: int
    ) -> tuple[dict[str, Any], str, str] | None:
        """Take the rows that orjson does not: long integers pass, the rest is named."""
        sound, is_whole = True, not self._is_repeated
        for path, leaf in _leaves(row):
            if isinstance(leaf, JsonFloat) and not math.isfinite(leaf):
                sound = False
                self._findings.fault(_number_fault(leaf.text), "use null, or text", part.place(number), path)
            elif isinstance(leaf, str) and _SURROGATE.search(leaf):
                is_whole = False
                self._findings.warn(f"{part.place(number)}: {path}: half a surrogate pair became U+FFFD")
        if not sound:
            return None
        fixed = _without_surrogates(row)
        content = text if is_whole else json_text(fixed)
        return fixed, content, hash_canonical(SAMPLE_TAG, canonical_json(fixed))


def _integer(digits: str) -> int | JsonFloat:
    """Convert an integer; what has too many digits for Python is infinite, and refused as such."""
    try:
        return int(digits)
    except ValueError:
        return JsonFloat(digits)


def _number_fault(text: str) -> str:
    digits = text.lstrip("-")
    if digits.isdecimal():
        return f"an integer of {len(digits):,} digits is too long"
    if digits[:1].isdecimal():
        return f"{text[:40]} is beyond the range of a double"
    return f"{text} is not JSON"


def _canonical(row: Any) -> bytes:
    """Encode as RFC 8785 JSON, fast.

    orjson writes strings, integers of 64 bits, literals and brackets as RFC 8785 does, and sorts
    keys by code point, which is the order of UTF-16 below U+D800; floats go through rfc8785 itself.
    Raises TypeError on anything else.
    """
    return orjson.dumps(row, default=_canonical_float, option=orjson.OPT_SORT_KEYS)


def _canonical_float(value: Any) -> orjson.Fragment:
    return orjson.Fragment(canonical_json(float(value)))


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key and every scalar, with the dotted path of its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            place = f"{path}.{key}" if path else printable(key)
            yield place, key
            yield from _leaves(item, place)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}.{index}" if path else str(index))
    else:
        yield path, value


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value


def _depth(value: Any) -> int:
    depth, layer = 0, [value]
    while layer:
        inner = [item for item in layer if isinstance(item, dict | list)]
        depth += bool(inner)
        layer = [leaf for item in inner for leaf in (item.values() if isinstance(item, dict) else item)]
    return depth


def kind_of(value: Any) -> str:
    """Name the JSON type of a value, with its article."""
    if value is None or isinstance(value, bool):
        return _LITERALS[value]
    kinds = ((str, "a string"), (list, "a list"), (dict, "an object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "a number")


def printable(text: str) -> str:
    """Replace what a terminal or an encoder would choke on."""
    return _SURROGATE.sub("\ufffd", text)


def syntax_fault(text: str, reason: str, at: int) -> tuple[str, str]:
    """Say why `text` is not JSON at a position, and what to do: (message, fix)."""
    if reason == "Extra data":
        at = len(text) - len(text[at:].lstrip())
    column = at - text.rfind("\n", 0, at)
    before = text[:at].rstrip()
    here = text[at : at + 1]
    if "\0" in text:
        return "not valid JSON: a NUL byte", "save the file as UTF-8 text"
    if (before.endswith(",") and here in ("}", "]")) or "trailing comma" in reason:
        return f"not valid JSON: trailing comma before column {column}", "remove the comma"
    if reason == "Extra data":
        near = printable(text[at : at + 20])
        return (
            f"not valid JSON: more after the value, at column {column}: {near!r}",
            "put one object on a line",
        )
    return f"not valid JSON: {reason.removesuffix(' at')} at column {column}", ""
