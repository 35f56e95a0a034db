"""Server-sent events: the bytes of a streamed reply, cut into events.

Invariant: what an event holds does not depend on how the bytes were cut on their way.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gradetrail.providers.reply import BOM


@dataclass(slots=True)
class EventReader:
    """Turns chunks of bytes into events, in order; whoever feeds it limits their sum."""

    _rest: bytes = b""
    _has_begun: bool = False
    _data: list[bytes] = field(default_factory=list)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Give the data of each event that a chunk ends."""
        text = self._rest + chunk
        # a CR at the end may be half of a CR LF
        held = b"\r" if text.endswith(b"\r") else b""
        whole = text.removesuffix(held) if held else text
        end = max(whole.rfind(b"\n"), whole.rfind(b"\r")) + 1
        self._rest = whole[end:] + held
        return [data for line in whole[:end].splitlines() if (data := self._line(line)) is not None]

    def end(self) -> list[bytes]:
        """Give the event that the end of the stream ends, if there is one."""
        line, self._rest = self._rest.removesuffix(b"\r"), b""
        events = [self._line(line)] if line else []
        return [data for data in (*events, self._line(b"")) if data is not None]

    def _line(self, line: bytes) -> bytes | None:
        if not self._has_begun:
            self._has_begun, line = True, line.removeprefix(BOM)
        if not line:
            data, self._data = self._data, []
            return b"\n".join(data) if data else None
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        return None
