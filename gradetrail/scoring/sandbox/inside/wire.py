"""How plain values pass between the candidate's process and the one that judges it.

Runs inside the sandbox. Invariant: what arrives is data of exact built-in types, built by this
module and never by code that the other side chose; anything else travels as a number that stands
for an object which stays where it is.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself takes as long to import as a small program takes to run
    from collections.abc import Callable
    from typing import Any

    Lend = Callable[[Any], Any]
    """Gives the encoded stand-in of an object that is not plain, or raises TypeError."""

MESSAGE_LIMIT = 64 * 2**20
NATIVE_INTEGER = 1 << 2048
"""Beyond this an integer travels in base 16, which Python converts at any length."""
FLAT = frozenset({type(None), bool, float, str})

BUILT: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
    "int": lambda text: int(text, 16),
    "bytes": lambda text: text.encode("latin-1"),
    "bytearray": lambda text: bytearray(text.encode("latin-1")),
    "complex": lambda parts: complex(*parts),
    "range": lambda parts: range(*parts),
}
LIBRARY: dict[str, tuple[str, str, Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    # tag: (module, class, how it is taken apart, how it is made from that)
    "Decimal": ("decimal", "Decimal", str, lambda made, part: made(part)),
    "Fraction": ("fractions", "Fraction", str, lambda made, part: made(part)),
    "date": ("datetime", "date", str, lambda made, part: made.fromisoformat(part)),
    "time": ("datetime", "time", str, lambda made, part: made.fromisoformat(part)),
    "datetime": ("datetime", "datetime", str, lambda made, part: made.fromisoformat(part)),
    "timedelta": (
        "datetime",
        "timedelta",
        lambda value: (value.days, value.seconds, value.microseconds),
        lambda made, parts: made(*parts),
    ),
    "ndarray": (
        "numpy",
        "ndarray",
        lambda value: (value.dtype.str, value.shape, value.ravel().tolist()),
        lambda made, parts: sys.modules[made.__module__].array(parts[2], parts[0]).reshape(parts[1]),
    ),
    "deque": ("collections", "deque", list, lambda made, parts: made(parts)),
    "Counter": ("collections", "Counter", dict, lambda made, parts: made(parts)),
    "OrderedDict": ("collections", "OrderedDict", dict, lambda made, parts: made(parts)),
    "defaultdict": ("collections", "defaultdict", dict, lambda made, parts: made(None, parts)),
}


def encode(value: Any, lend: Lend) -> Any:
    """Turn a value into JSON: scalars and lists as they are, all else as `{tag: content}`."""
    kind = type(value)
    if kind in FLAT:
        return value
    if kind is int:
        return value if -NATIVE_INTEGER < value < NATIVE_INTEGER else {"int": hex(value)}
    if kind is list:
        return [item if type(item) in FLAT else encode(item, lend) for item in value]
    if kind is tuple or kind is set or kind is frozenset:
        return {kind.__name__: [encode(item, lend) for item in value]}
    if kind is dict:
        return {"dict": [[encode(key, lend), encode(item, lend)] for key, item in value.items()]}
    if kind is bytes or kind is bytearray:
        return {kind.__name__: value.decode("latin-1")}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    if kind is range:
        return {"range": [value.start, value.stop, value.step]}
    for tag, (module, name, taken_apart, _) in LIBRARY.items():
        if kind.__name__ == name and kind is getattr(sys.modules.get(module), name, None):
            return {tag: encode(taken_apart(value), lend)}
    return lend(value)


class GoneError(BaseException):
    """The other side has closed its end; no exception of a program's is one."""


class Wire:
    """One end of the pair of pipes; `adopt` makes something of the stand-ins that arrive."""

    def __init__(self, reader: int, writer: int, lend: Lend, adopt: Callable[[dict[str, Any]], Any]) -> None:
        self.reader, self.writer = reader, writer
        self.lend, self.adopt = lend, adopt
        self.is_gone = False
        """Whether the other side was found to have left, which a check may have swallowed."""
        # a candidate that replaces these in their modules hurts nobody, but must not break its own answers
        self._read, self._write, self._dumps, self._loads = os.read, os.write, json.dumps, json.loads

    def encode(self, value: Any) -> Any:
        """Encode one value; a structure that contains itself becomes a stand-in."""
        try:
            return encode(value, self.lend)
        except RecursionError:
            return self.lend(value)

    def send(self, *message: Any) -> None:
        """Send a message of values that are encoded already; GoneError when the other side has left."""
        body = self._dumps(message).encode()
        rest = memoryview(len(body).to_bytes(4, "big") + body)
        try:
            while rest:
                rest = rest[self._write(self.writer, rest) :]
        except OSError:
            self.is_gone = True
            raise GoneError from None

    def receive(self) -> list[Any]:
        """Wait for a message; GoneError when the other side has left, ValueError when it is malformed."""
        size = int.from_bytes(self._exactly(4), "big")
        if size > MESSAGE_LIMIT:
            raise ValueError("a message is too long")
        message = self._loads(self._exactly(size), object_hook=self._build)
        if type(message) is not list or not message:
            raise ValueError("a message is malformed")
        return message

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._read(self.reader, min(size - len(parts), 1 << 20))
            if not part:
                self.is_gone = True
                raise GoneError
            parts += part
        return bytes(parts)

    def _build(self, tagged: dict[str, Any]) -> Any:
        if len(tagged) == 1:
            ((tag, content),) = tagged.items()
            if tag in BUILT:
                return BUILT[tag](content)
            if tag in LIBRARY:
                module, name, _, made = LIBRARY[tag]
                return made(getattr(__import__(module), name), content)
        return self.adopt(tagged)
