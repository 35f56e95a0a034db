"""Collects what is wrong with a dataset, so that one attempt shows it all.

Invariant: every fault and warning names its place; the first 20 are kept, the rest are counted.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from gradetrail.errors import DatasetError, Fault

SHOWN = 20


@dataclass(slots=True)
class Findings:
    """Faults and warnings of one load."""

    _faults: list[Fault] = field(default_factory=list)
    _warnings: list[str] = field(default_factory=list)
    _n_faults: int = 0
    _n_warnings: int = 0

    def fault(self, message: str, fix: str = "", where: str = "", field: str = "") -> None:
        """Note a fault; the load fails at the next `check`."""
        self._n_faults += 1
        if self._n_faults <= SHOWN:
            self._faults.append(Fault(message, where, field, fix))

    def warn(self, text: str) -> None:
        """Note something that the user should know and that stops nothing."""
        if text in self._warnings:
            return
        self._n_warnings += 1
        if self._n_warnings <= SHOWN:
            self._warnings.append(text)

    def check(self) -> None:
        """Raise DatasetError if there is any fault."""
        if self._n_faults:
            more = self._n_faults - len(self._faults)
            raise DatasetError(*self._faults, *([f"and {more:,} more"] if more else []))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings, the last of them a count of those left out."""
        more = self._n_warnings - len(self._warnings)
        return (*self._warnings, *([f"and {more:,} more warnings"] if more else []))


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or what stands in for one, whose rows have numbers."""

    name: str
    counts: str
    """`line` or `row`: what the numbers count, from 1."""

    def place(self, number: int) -> str:
        """Give `file:12`, or `file row 12` where rows are not lines."""
        return f"{self.name}:{number}" if self.counts == "line" else f"{self.name} row {number}"


class Places:
    """Where each row of the dataset came from, by position."""

    def __init__(self) -> None:
        self._numbers = array("q")
        self._parts: list[tuple[int, Part]] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, part: Part, number: int) -> None:
        """Append the place of the next row."""
        if not self._parts or self._parts[-1][1] is not part:
            self._parts.append((len(self._numbers), part))
        self._numbers.append(number)

    def __getitem__(self, position: int) -> str:
        part = next(part for start, part in reversed(self._parts) if start <= position)
        return part.place(self._numbers[position])

    def listing(self, positions: Sequence[int]) -> str:
        """Name the first five of the places, and count the rest."""
        named = ", ".join(self[position] for position in positions[:5])
        more = len(positions) - 5
        return f"{named} and {more:,} more" if more > 0 else named
