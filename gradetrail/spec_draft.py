"""Makes of a spec that is at fault one that can be checked further, so that all faults come together.

Invariant: what is at fault is left out, or stands in for by something that is not; faults of a stand-in,
and of the block around what was left out, are no faults of the user's and are not told.
"""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from gradetrail.errors import Fault
from gradetrail.yaml_source import Place

_STAND_INS: Mapping[str, Any] = {
    "name": "unnamed",
    "dataset": {},
    "target": "unknown",
    "choices": {"from": "unknown", "answer": "unknown"},
    "prompts": {"default": {"messages": [{"user": "unknown"}]}},
    "models": ["mock/noisy"],
    "scorers": {"exact": {"type": "exact", "target": "unknown"}},
}
"""What other parts of a spec may need, by top-level key."""
_NAMED: Mapping[str, Any] = {
    "prompts": _STAND_INS["prompts"]["default"],
    "scorers": _STAND_INS["scorers"]["exact"],
}


class Draft:
    """The expanded form of a spec, without what is at fault in it."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw: dict[str, Any] = copy.deepcopy(dict(raw))
        self._left_out: list[Place] = []

    def leave_out(self, faults: Iterable[Fault]) -> None:
        """Take out what the faults name; from the last of a list, so that numbers stay true."""
        for place in sorted({place_of(fault.field) for fault in faults}, key=_by_number, reverse=True):
            self._take_out(place)

    def own(self, faults: Iterable[Fault]) -> list[Fault]:
        """Keep the faults that do not follow from what was left out."""
        return [fault for fault in faults if not fault.field or not self._is_touched(place_of(fault.field))]

    def _is_touched(self, place: Place) -> bool:
        if place[:1] == ("models",) and ("request",) in {left[:1] for left in self._left_out}:
            return True  # what a model needs may stand in `request`
        return any(left[: len(place)] == place[: len(left)] for left in self._left_out)

    def _take_out(self, place: Place) -> None:
        above: Any = self.raw
        for depth, key in enumerate(place[:-1]):
            inner = _item(above, key)
            if inner is None:
                self._take_out(place[: depth + 1])
                return
            above = inner
        self._left_out.append(place)
        last = str(place[-1]) if isinstance(above, dict) else place[-1]
        if len(place) == 1 and place[0] in _STAND_INS:
            self.raw[str(place[0])] = copy.deepcopy(_STAND_INS[str(place[0])])
        elif len(place) == 2 and place[0] in _NAMED:
            above[last] = copy.deepcopy(_NAMED[str(place[0])])
        elif len(place) == 2 and place[0] == "models":
            above[last] = {"model": "mock/noisy", "as": f"unknown-{place[1]}"}
        elif isinstance(above, dict) and last in above:
            del above[last]
            if len(place) == 1:
                self._stand_in_for_misspelt(str(place[0]))
        elif len(place) > 1:
            # what is missing, and an item of a list: the block cannot do without
            self._take_out(place[:-1])

    def _stand_in_for_misspelt(self, key: str) -> None:
        near = difflib.get_close_matches(key, _STAND_INS, n=1, cutoff=0.6)
        if near and near[0] not in self.raw:
            self._take_out((near[0],))


def place_of(field: str) -> Place:
    """Give the place that a fault's field spells."""
    return tuple(int(part) if part.isdigit() else part for part in field.split(".") if part)


def _item(block: Any, key: str | int) -> Any:
    if isinstance(block, dict):
        return block.get(str(key))
    return block[key] if isinstance(block, list) and isinstance(key, int) and key < len(block) else None


def _by_number(place: Place) -> tuple[tuple[int, int | str], ...]:
    return tuple((0, part) if isinstance(part, int) else (1, part) for part in place)
