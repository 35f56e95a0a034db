"""What a JSON value in an answer says.

Invariant: only whole values count, and numbers and strings keep their text: `1.50` stays `1.50`. But half
a surrogate pair, which JSON can write and nothing can hold, becomes U+FFFD. An answer's value in which a key
stands twice says nothing, and no earlier value counts instead.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gradetrail.providers.response import repaired


class NumberText(str):
    """A number as it was written."""


class _Doubled(dict[str, Any]):
    """An object in which a key stands twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    return value if len(value) == len(pairs) else _Doubled(value)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_int=NumberText, parse_float=NumberText, parse_constant=_refuse)
_STRICT = json.JSONDecoder(
    parse_int=NumberText, parse_float=NumberText, parse_constant=_refuse, object_pairs_hook=_object
)
_FENCE = re.compile(r"^[ ]{0,3}```([^\n`]*)$", re.MULTILINE)
_BEGINNING = re.compile(r'\{(?=[ \t\n\r]*["}])|\[(?=[ \t\n\r]*["{\[\]0-9tfn-])')
ABSENT: Any = object()
"""What stands for no value, which null is not."""
_UNCLEAR: Any = object()
"""What stands for a value in which a key stands twice."""
MAX_READ = 20_000_000
"""Characters read in vain, over all brackets that are tried as a beginning: bounds hostile texts."""
DEPTH_READ = 10_000
"""What a nesting that is too deep counts as."""
DEEPEST = 100
"""Levels of a value; a deeper one counts as none, so that what walks through it stays within its stack."""
COUNTED = 100
"""Characters before an error, whose lines are counted for its message, in the time that one is read."""


def last_json(text: str, path: str | None = None) -> str | None:
    """Give the last object or list of a text in which `path` leads somewhere, as text; None if there is none.

    A text, or its last fenced block, that is a single JSON value counts too. `path` is dotted, with
    numbers for places in lists. Strings come as they are, null counts as nothing.
    """
    found = None
    for value in _values(text):
        here = _clear_at(value, path)
        if here is _UNCLEAR:
            found = None
        elif here is not ABSENT and here is not None:
            found = shown_json(here)
    return found or None


def last_value(text: str, path: str | None = None) -> Any:
    """Give the value itself, numbers as NumberText; ABSENT if there is none. Here null is a value."""
    found = [_clear_at(value, path) for value in _values(text)]
    last = next((value for value in reversed(found) if value is not ABSENT), ABSENT)
    return ABSENT if last is _UNCLEAR else last


def _clear_at(value: Any, path: str | None) -> Any:
    here = value_at(value, path)
    return _UNCLEAR if here is not ABSENT and _has_doubled(value) else here


def _has_doubled(value: Any) -> bool:
    if isinstance(value, dict):
        return isinstance(value, _Doubled) or any(map(_has_doubled, value.values()))
    return isinstance(value, list) and any(map(_has_doubled, value))


def parsed_json(text: str) -> Any:
    """Give the value of a text that is JSON and nothing else, numbers as NumberText; else ValueError."""
    try:
        return _whole(_DECODER.decode(text.strip()))
    except RecursionError:
        raise ValueError("nested too deep") from None


def _values(text: str) -> list[Any]:
    values: list[Any] = []
    position, n_read = 0, 0
    for start in _BEGINNING.finditer(text):
        if start.start() < position:
            continue
        try:
            value, position = _STRICT.raw_decode(text, start.start())
            values.append(_whole(value))
        except json.JSONDecodeError as error:
            n_read += error.pos - start.start() + error.pos // COUNTED
        except (ValueError, RecursionError):
            n_read += DEPTH_READ
        if n_read > MAX_READ:
            break
    if not values:
        for candidate in (text, *_last_fenced(text)):
            try:
                values.append(_whole(_STRICT.decode(candidate.strip())))
            except (ValueError, RecursionError):
                continue
    return values


def _whole(value: Any, left: int = DEEPEST) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else repaired(value)[0]
    if not isinstance(value, dict | list):
        return value
    if not left:
        raise RecursionError
    if isinstance(value, list):
        return [_whole(item, left - 1) for item in value]
    items = {repaired(name)[0]: _whole(item, left - 1) for name, item in value.items()}
    return _Doubled(items) if isinstance(value, _Doubled) else items


def _last_fenced(text: str) -> list[str]:
    """Give the content of the last fenced block that is closed, if there is one."""
    found: list[str] = []
    begin: int | None = None
    for fence in _FENCE.finditer(text):
        if begin is None:
            begin = fence.end() + 1
        elif not fence[1].strip(" \t"):
            found, begin = [text[begin : fence.start()]], None
    return found


def value_at(value: Any, path: str | None) -> Any:
    """Give the value at a dotted path, with numbers for places in lists; ABSENT if it leads nowhere."""
    for name in path.split(".") if path else ():
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return ABSENT
    return value


def shown_json(value: Any) -> str:
    """Write a value as text: strings as they are, numbers as they were written, the rest as JSON."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return encoded_json(value)


def encoded_json(value: Any) -> str:
    """Write a value as compact JSON, numbers as they were written."""
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{encoded_json(v)}" for k, v in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(encoded_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
