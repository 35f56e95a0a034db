"""Draws spans on a scale of cells, one a line, for charts in a terminal.

Invariant: computes nothing but places; a mark stands within half a cell of where its value is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

RULE = "─"
LEAST = 20
"""Cells of the narrowest scale; names have what is left."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart: marks with a rule between the outermost; without marks, a heading."""

    label: str
    told: str = ""
    """What stands behind the scale."""
    marks: tuple[tuple[float, str], ...] = ()
    """Values, each with the character that stands there; later ones win."""


def drawn(lines: Sequence[Line], width: int, domain: tuple[float, float] | None = None) -> str:
    """Draw lines over one scale, which a last line names; it ends with a newline.

    `width` is in cells. The scale is `domain`, else from the least to the greatest mark.
    """
    from rich.cells import cell_len

    bars = [line for line in lines if line.marks]
    told = max(cell_len(line.told) for line in bars)
    room = max(LEAST, width - LEAST - told - 4)
    label = min(room, max(cell_len(line.label) for line in bars))
    scale = max(LEAST, width - label - told - 4)
    values = [value for line in bars for value, _ in line.marks]
    low, high = domain or (min(values), max(values))
    text = [
        f"{shortened(line.label, label)}  {_bar(line, low, high, scale)}  {line.told}"
        if line.marks
        else f"{line.label}  {line.told}"
        for line in lines
    ]
    left, right = short(low), short(high)
    text.append(f"{' ' * label}  {left}{right.rjust(scale - len(left))}")
    return "".join(f"{line.rstrip()}\n" for line in text)


def _bar(line: Line, low: float, high: float, scale: int) -> str:
    """Draw the marks of a line within `scale` cells."""
    places = [
        (round((value - low) / (high - low) * (scale - 1)) if high > low else scale // 2, mark)
        for value, mark in line.marks
    ]
    first, last = min(places)[0], max(places)[0]
    cells = [RULE if first <= at <= last else " " for at in range(scale)]
    for place, mark in places:
        cells[place] = mark
    return "".join(cells)


def short(value: float) -> str:
    """Give a number with three decimals, or with four digits where those would be none or too many."""
    size = abs(value)
    return f"{value:.3f}" if size == 0 or 5e-4 < size < 1e5 else f"{value:.4g}"


def shortened(name: str, cells: int) -> str:
    """Pad a name, or leave out its middle: names of one family differ at their ends."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(name) <= cells:
        return set_cell_size(name, cells)
    begin = end = ""
    for first, last in zip(name, reversed(name), strict=True):
        if cell_len(begin + end + last) < cells:
            end = last + end
        if cell_len(begin + end + first) < cells:
            begin += first
    return set_cell_size(f"{begin}…{end}", cells)
