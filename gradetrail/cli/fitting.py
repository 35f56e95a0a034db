"""Chooses which columns of a table a line has room for, and how wide each is.

Invariant: a number, a date and the id of a run are never cut. What a wider line shows has every column
of a narrower one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal

from gradetrail.cli.cells import Row

GAP = 2
"""Cells between two columns."""
LEAST_HEADER, LEAST_TEXT, LEAST_NAME = 12, 16, 24
"""Cells that a column keeps for as long as another can be left out."""
LAST_RESORT = 8
"""Cells that a text keeps where no other column can be left out."""
NAME = re.compile(r"(\w+_)?(model|prompt|scorer|metric|task|entrant|judge|view|column|id)")
"""Columns that say what a row is about."""
VITAL = frozenset(
    "rank n n_shared mean score outcome status verdict change difference p p_holm base new drop ece".split()
)
"""Columns that say what came of it."""
_NUMBER = re.compile(r"[-+\d.,%?]*")


@dataclass(frozen=True, slots=True)
class Column:
    """What a column needs."""

    place: int
    natural: int
    least: int
    is_whole: bool
    """Whether no cell may be cut."""
    is_name: bool
    is_constant: bool
    is_vital: bool

    @property
    def last_resort(self) -> int:
        """Cells that it keeps where only names are left."""
        return self.least if self.is_whole else min(self.least, LAST_RESORT)


def columns_of(
    names: Sequence[str],
    rows: Sequence[Row],
    cells: Sequence[Sequence[str]],
    most: int | None,
    least_text: int = LEAST_TEXT,
) -> list[Column]:
    """Say what each column needs; `most` are the cells that a text may have, None for any number."""
    from rich.cells import cell_len

    found = []
    for n, name in enumerate(names):
        header, content = cell_len(name), max((cell_len(row[n]) for row in cells), default=0)
        is_whole, is_name = _is_whole(name, n, rows), NAME.fullmatch(name) is not None
        natural = max(header, content)
        if not is_whole and most is not None:
            natural = min(natural, most)
        shortest = content if is_whole else LEAST_NAME if is_name else least_text
        if is_name and not is_whole and natural > shortest:
            shortest = _distinct_from(shortest, natural, {row[n] for row in cells})
        least = min(natural, max(shortest, min(header, LEAST_HEADER)))
        is_constant = is_name and len(cells) > 1 and len({row[n] for row in cells}) == 1
        found.append(Column(n, natural, least, is_whole, is_name, is_constant, name in VITAL))
    return found


def _is_whole(name: str, n: int, rows: Sequence[Row]) -> bool:
    if name.endswith("run_id"):
        return True
    values = [row[n] for row in rows if row[n] is not None]
    if any(isinstance(value, int | float | Decimal | date | time | timedelta) for value in values):
        return True
    return bool(values) and all(isinstance(value, str) and _NUMBER.fullmatch(value) for value in values)


def _distinct_from(least: int, natural: int, texts: set[str]) -> int:
    """Give the cells from which on no two names look alike."""
    return next(
        (
            size
            for size in range(least, natural)
            if len({shortened(t, size, True) for t in texts}) == len(texts)
        ),
        natural,
    )


def fitted(columns: Sequence[Column], total: int | None) -> dict[int, int]:
    """Give the width of each column that is shown, by its place; None is a line without end."""
    kept = list(columns)
    if total is not None:
        for column in _least_first(columns):
            size = "last_resort" if all(one.is_name for one in kept) else "least"
            if len(kept) == 1 or _line(getattr(one, size) for one in kept) <= total:
                break
            kept.remove(column)
    widths = {one.place: one.natural for one in kept}
    if total is not None:
        _shrink(widths, kept, total)
    return widths


def _least_first(columns: Sequence[Column]) -> list[Column]:
    """Order columns by what is missed least: a name that all rows share, then from the right."""

    def worth(column: Column) -> tuple[int, int]:
        tier = 0 if column.is_constant else 3 if column.is_name else 2 if column.is_vital else 1
        return tier, -column.place

    return sorted(columns, key=worth)


def _line(widths: Iterator[int]) -> int:
    return sum(width + GAP for width in widths) - GAP


def _shrink(widths: dict[int, int], kept: Sequence[Column], total: int) -> None:
    """Take from the widest until the line fits: of texts and headers first, of names last."""
    stages = [
        {one.place: one.least for one in kept if not one.is_name},
        {one.place: one.least for one in kept},
        {one.place: one.last_resort for one in kept},
        {one.place: one.least if one.is_whole else 1 for one in kept},
    ]
    for least in stages:
        while (over := _line(iter(widths.values())) - total) > 0:
            widest = max(least, key=lambda place: widths[place] - least[place], default=None)
            if widest is None or widths[widest] <= least[widest]:
                break
            widths[widest] -= min(1, over)


def shortened(text: str, width: int, in_middle: bool) -> str:
    """Cut a text to so many cells, at its end or in its middle."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    n_tail = (width - 1) // 2 if in_middle else 0
    head, tail = set_cell_size(text, width - 1 - n_tail), ""
    for char in reversed(text):
        if cell_len(char + tail) > n_tail:
            break
        tail = char + tail
    return f"{head}…{tail}"
