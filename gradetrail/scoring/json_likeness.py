"""When two JSON values count as equal.

Invariant: numbers are compared as numbers (1 is 1.0), whatever their length; strings character by
character unless told otherwise; the order of keys never matters; true is not 1.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gradetrail.scoring.json_value import NumberText
from gradetrail.scoring.normalize import normalized

_EXACT = decimal.Context(prec=1000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


@dataclass(frozen=True, slots=True)
class Likeness:
    """How values are compared."""

    abs_tol: float = 0.0
    rel_tol: float = 0.0
    """Relative to the wanted number; the larger of the two tolerances counts, with its edge."""
    steps: tuple[str, ...] = ()
    """Steps of `normalize` that strings take on both sides."""
    is_any_order: bool = False
    """Whether the order of lists does not matter."""
    ignores_extra: bool = False
    """Whether objects may have keys that the wanted ones have not."""
    reads_numbers: bool = False
    """Whether a string that is a JSON number equals that number."""

    def is_equal(self, given: Any, wanted: Any) -> bool:
        """Compare two values as `gradetrail.scoring.json_value` reads them."""
        if isinstance(wanted, dict):
            return isinstance(given, dict) and self._is_equal_object(given, wanted)
        if isinstance(wanted, list):
            return isinstance(given, list) and self._is_equal_list(given, wanted)
        if isinstance(wanted, NumberText) or isinstance(given, NumberText):
            return self._is_equal_number(given, wanted)
        if isinstance(wanted, str):
            return isinstance(given, str) and normalized(given, self.steps) == normalized(wanted, self.steps)
        return given is wanted  # null, true and false are single objects

    def _is_equal_object(self, given: dict[str, Any], wanted: dict[str, Any]) -> bool:
        if not (wanted.keys() <= given.keys()) or (len(given) > len(wanted) and not self.ignores_extra):
            return False
        return all(self.is_equal(given[key], value) for key, value in wanted.items())

    def _is_equal_list(self, given: list[Any], wanted: list[Any]) -> bool:
        if len(given) != len(wanted):
            return False
        if all(self.is_equal(one, other) for one, other in zip(given, wanted, strict=True)):
            return True
        return self.is_any_order and len(paired(given, wanted, self.is_equal)) == len(wanted)

    def _is_equal_number(self, given: Any, wanted: Any) -> bool:
        one, other = self._number(given), self._number(wanted)
        if one is None or other is None:
            return False
        if one == other:
            return True
        if not (self.abs_tol or self.rel_tol):
            return False
        allowed = max(
            decimal.Decimal(repr(self.abs_tol)),
            _EXACT.multiply(decimal.Decimal(repr(self.rel_tol)), _EXACT.abs(other)),
        )
        return _EXACT.abs(_EXACT.subtract(one, other)) <= allowed

    def _number(self, value: Any) -> decimal.Decimal | None:
        is_number = isinstance(value, NumberText) or (self.reads_numbers and isinstance(value, str))
        if not is_number:
            return None
        try:
            number = decimal.Decimal(value.strip()) if value.isascii() else None
        except decimal.InvalidOperation:
            return None
        return number if number is not None and number.is_finite() else None


def paired(
    given: Sequence[Any], wanted: Sequence[Any], is_equal: Callable[[Any, Any], bool]
) -> dict[int, int]:
    """Pair as many as possible, each once: the place in `given` by the place in `wanted`.

    Augmenting paths (Kuhn), since what equals within a tolerance need not equal each other.
    """
    likes = [[place for place, one in enumerate(given) if is_equal(one, other)] for other in wanted]
    place_of: dict[int, int] = {}
    taken_by: dict[int, int] = {}
    for start in range(len(wanted)):
        came_from: dict[int, int] = {}
        queue = [start]
        free: int | None = None
        for seeker in queue:
            for place in likes[seeker]:
                if place in came_from:
                    continue
                came_from[place] = seeker
                if place not in taken_by:
                    free = place
                    break
                queue.append(taken_by[place])
            if free is not None:
                break
        while free is not None:
            seeker = came_from[free]
            taken_by[free] = seeker
            place_of[seeker], free = free, place_of.get(seeker)
    return place_of
