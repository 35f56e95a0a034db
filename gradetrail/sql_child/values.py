"""Rows on their way between two processes: JSON, with a tag at what JSON has no word for.

Invariant: what is decoded is equal to what was encoded, for every type that DuckDB gives; nothing that
is decoded is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any
from uuid import UUID

import orjson

Row = tuple[Any, ...]
PLAIN = frozenset({bool, int, str, type(None)})
LEAST, MOST = -(1 << 63), (1 << 64) - 1
"""Whole numbers that JSON here can hold."""
AS_IS, MIXED = "", "*"
"""How a column is encoded: as it is, each value with a tag of its own, or by the one tag that all have."""


class NestedError(Exception):
    """A value has more levels than can be handed over."""


def encode(rows: Sequence[Row]) -> bytes:
    """Encode rows, column by column; NestedError for one that is too deep."""
    try:
        return orjson.dumps([_column(column) for column in zip(*rows, strict=True)])
    except (orjson.JSONEncodeError, RecursionError) as error:
        raise NestedError from error


def decode(body: bytes) -> list[Row]:
    """Decode rows; ValueError, TypeError or KeyError for what is none."""
    return list(zip(*(_values(how, values) for how, values in orjson.loads(body)), strict=True))


def _column(values: Sequence[Any]) -> tuple[str, Any]:
    kinds = set(map(type, values)) - {type(None)}
    if kinds <= {float} and isfinite(sum(filter(None, values))):
        return AS_IS, values
    if kinds <= PLAIN:
        # whole numbers that are too large are what it refuses
        with suppress(orjson.JSONEncodeError):
            return AS_IS, orjson.Fragment(orjson.dumps(values))
    if kinds == {Decimal}:
        return "Decimal", [None if value is None else str(value) for value in values]
    return MIXED, [_tagged(value) for value in values]


def _values(how: str, values: list[Any]) -> list[Any]:
    if how == AS_IS:
        return values
    if how == MIXED:
        return [_untagged(value) for value in values]
    decoder = _DECODERS[how]
    return [None if value is None else decoder(value) for value in values]


def _tagged(value: Any) -> Any:
    kind = type(value)
    if kind in PLAIN:
        return value if kind is not int or LEAST <= value <= MOST else ("int", str(value))
    if kind is float:
        return value if isfinite(value) else ("float", repr(value))
    if kind in (list, tuple):
        return kind.__name__, [_tagged(item) for item in value]
    if kind is dict:
        return "dict", [(_tagged(key), _tagged(item)) for key, item in value.items()]
    if kind in (datetime, date, time):
        return kind.__name__, value.isoformat()
    if kind is timedelta:
        return "timedelta", (value.days, value.seconds, value.microseconds)
    if kind in (bytes, bytearray, memoryview):
        return "bytes", bytes(value).hex()
    return (kind.__name__ if kind in (Decimal, UUID) else "str"), str(value)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is None else moment.astimezone(UTC)


def _span(parts: Sequence[int]) -> timedelta:
    days, seconds, microseconds = parts
    return timedelta(days=days, seconds=seconds, microseconds=microseconds)


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "list": lambda items: [_untagged(item) for item in items],
    "tuple": lambda items: tuple(_untagged(item) for item in items),
    "dict": lambda pairs: {_untagged(key): _untagged(item) for key, item in pairs},
    "datetime": _moment,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": _span,
    "bytes": bytes.fromhex,
    "Decimal": Decimal,
    "UUID": UUID,
}


def _untagged(value: Any) -> Any:
    if type(value) is not list:
        return value
    tag, content = value
    return _DECODERS[tag](content)
