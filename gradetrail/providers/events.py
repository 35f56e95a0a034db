"""Server-sent events: the bytes of a streamed reply, cut into events.

Invariant: what an event holds does not depend on how the bytes were cut on their way.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_BYTES = 64_000_000
"""A single event may not be longer; a server that never ends a line would fill the memory."""


@dataclass(slots=True)
class EventReader:
    """Turns chunks of bytes into events, in order."""

    _rest: bytes = b""
    _data: list[bytes] = field(default_factory=list)
    _n_bytes: int = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Give the data of each event that a chunk ends; ValueError for one without end."""
        text = self._rest + chunk
        # a CR at the end may be half of a CR LF
        held = b"\r" if text.endswith(b"\r") else b""
        whole = text.removesuffix(held) if held else text
        end = max(whole.rfind(b"\n"), whole.rfind(b"\r")) + 1
        self._rest = whole[end:] + held
        events = [data for line in whole[:end].splitlines() if (data := self._line(line)) is not None]
        if len(self._rest) + self._n_bytes > MOST_BYTES:
            raise ValueError(f"an event of more than {MOST_BYTES:,} bytes")
        return events

    def end(self) -> list[bytes]:
        """Give the event that the end of the stream ends, if there is one."""
        line, self._rest = self._rest.removesuffix(b"\r"), b""
        events = [self._line(line)] if line else []
        return [data for data in (*events, self._line(b"")) if data is not None]

    def _line(self, line: bytes) -> bytes | None:
        if not line:
            data, self._data, self._n_bytes = self._data, [], 0
            return b"\n".join(data) if data else None
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._n_bytes += len(value)
        return None
