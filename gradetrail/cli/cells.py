"""Gives values as text: exact for programs, one short line for people.

Invariant: control characters of model text never reach a terminal.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

Row = Sequence[Any]

LEAST_MONEY = Decimal("0.0000005")
"""Up to here money would be 0 with six decimals."""


def plain(value: Any) -> Any:
    """Turn a value into what JSON can hold, without losing anything."""
    if isinstance(value, Decimal):
        number = float(value)
        return number if Decimal(repr(number)) == value else str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return _blob(value)
    if isinstance(value, timedelta):
        return _span(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def _blob(value: bytes) -> str:
    """Give bytes as DuckDB does: letters as they are, others in hex."""
    return "".join(chr(n) if 32 <= n < 127 and chr(n) not in "\\'\"" else f"\\x{n:02X}" for n in value)


def _span(value: timedelta) -> str:
    """Give a time span as DuckDB does: `-2 days -02:00:03.5`."""
    size = abs(value)
    sign = "-" if value < timedelta(0) else ""
    minutes, seconds = divmod(size.seconds, 60)
    clock = f"{sign}{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
    if size.microseconds:
        clock += f".{size.microseconds:06}".rstrip("0")
    if not size.days:
        return clock
    days = f"{sign}{size.days} day" + ("s" if size.days != 1 else "")
    return f"{days} {clock}" if size.seconds or size.microseconds else days


def numeric_columns(names: Sequence[str], rows: Sequence[Row]) -> list[bool]:
    """Tell which columns hold numbers."""
    return [
        any(isinstance(row[n], int | float | Decimal) and not isinstance(row[n], bool) for row in rows)
        for n in range(len(names))
    ]


def cells_of(names: Sequence[str], rows: Sequence[Row]) -> list[list[str]]:
    """Give every value as one line for people; the numbers of a column have as many decimals."""
    decimals = [max((_decimals(row[n]) for row in rows), default=0) for n in range(len(names))]
    return [[shown(value, decimals[n]) for n, value in enumerate(row)] for row in rows]


def _decimals(value: Any) -> int:
    """Count the decimals that a number needs: at most 4, of money 6."""
    if not isinstance(value, float | Decimal) or not math.isfinite(value) or _is_extreme(value):
        return 0
    text = f"{value:.6f}" if isinstance(value, Decimal) else f"{value:.4f}"
    return len(text.rstrip("0").partition(".")[2])


def _is_extreme(value: float | Decimal) -> bool:
    if isinstance(value, Decimal):
        # half of the last decimal is rounded to the even one, which is 0
        return 0 < abs(value) <= LEAST_MONEY
    return abs(value) >= 1e6 or 0 < abs(value) < 5e-5


def _extreme(value: float) -> str:
    size = abs(value)
    return f"{value:.3g}" if size < 1 else f"{value:,.0f}" if size < 1e15 else f"{value:g}"


def shown(value: Any, decimals: int | None = None) -> str:
    """Give a value as one line for people: rounded, control characters escaped."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float | Decimal):
        if _is_extreme(value):
            return _extreme(float(value))
        text = f"{value:.{_decimals(value) if decimals is None else decimals}f}"
        return text.removeprefix("-") if float(text) == 0 else text
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, datetime):
        return value.replace(microsecond=0, tzinfo=None).isoformat(sep=" ")
    if isinstance(value, list | tuple | dict):
        return escaped(json.dumps(plain(value), ensure_ascii=False))
    return escaped(str(plain(value)))


def escaped(text: str) -> str:
    """Escape control and direction-changing characters, so that text cannot drive a terminal."""
    return text if text.isprintable() else "".join(map(_escaped_char, text))


def escaped_lines(text: str) -> str:
    """Escape text of several lines, line by line: what is said on stderr may quote a model or a server."""
    return "\n".join(map(escaped, text.split("\n")))


def _escaped_char(char: str) -> str:
    # spaces of all widths are harmless, and the joiner holds families of emoji together
    if char.isprintable() or char == "\u200d" or unicodedata.category(char) == "Zs":
        return char
    code = ord(char)
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(
        char, f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )
