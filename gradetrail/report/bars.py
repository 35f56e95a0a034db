"""Draws the leaderboard as text, for terminals.

Invariant: it shows what the query of the chart gives, as the picture does, and computes nothing but places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import Fault, SelectionError

if TYPE_CHECKING:
    from gradetrail.warehouse import Warehouse

Record = Mapping[str, Any]
QUERY = "charts/leaderboard"
RANKED, UNRANKED, LINE = "●", "○", "─"
LEAST = 20
"""Cells of the narrowest scale; names have what is left."""
WIDTH = 100
"""Cells of a line where no terminal says otherwise."""


def board_bars(
    warehouse: Warehouse, *, task: str | None = None, run: str | None = None, width: int = WIDTH
) -> str:
    """Draw a line for each entrant: its 95 % interval, a dot at its mean, hollow if it is not ranked.

    `width` is in cells; each board has a scale of its own. SelectionError where there is nothing to draw.
    """
    params = {"task": task, "run_id": None if run is None else warehouse.run_id(run)}
    names, rows = warehouse.rows(sql.text_of(QUERY), params)
    if not rows:
        raise SelectionError(Fault("nothing to draw: no grades", "--plot"))
    records = [dict(zip(names, row, strict=True)) for row in rows]
    boards = groupby(records, key=lambda record: (record["task"], record["scorer"], record["metric"]))
    return "\n".join(_board(head, list(group), width) for head, group in boards)


def _board(head: tuple[str, str, str], records: Sequence[Record], width: int) -> str:
    from rich.cells import cell_len

    task, scorer, metric = head
    told = [f"{short(record['mean'])}  n {record['n']:,}{_standing(record)}" for record in records]
    room = max(LEAST, width - LEAST - max(map(len, told)) - 4)
    label = min(room, max(cell_len(record["entrant"]) for record in records))
    scale = max(LEAST, width - label - max(map(len, told)) - 4)
    low = min(_ends(record)[0] for record in records)
    high = max(_ends(record)[1] for record in records)
    lines = [f"{task}: {scorer}" + (f" ({metric})" if metric != "score" else "")]
    for record, text in zip(records, told, strict=True):
        lines.append(f"{shortened(record['entrant'], label)}  {_bar(record, low, high, scale)}  {text}")
    left, right = short(low), short(high)
    lines.append(f"{' ' * label}  {left}{right.rjust(scale - len(left))}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


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


def _standing(record: Record) -> str:
    return "" if record["is_ranked"] else f"  {record['standing']}"


def _ends(record: Record) -> tuple[float, float]:
    """Give the ends of what is drawn of an entrant: of its interval, or its mean twice."""
    mean = float(record["mean"])
    known = [mean, *(float(record[name]) for name in ("ci_low", "ci_high") if record[name] is not None)]
    return min(known), max(known)


def _bar(record: Record, low: float, high: float, scale: int) -> str:
    """Draw one interval within `scale` cells."""

    def place(value: float) -> int:
        return round((value - low) / (high - low) * (scale - 1)) if high > low else scale // 2

    first, last = map(place, _ends(record))
    cells = [LINE if first <= at <= last else " " for at in range(scale)]
    cells[place(float(record["mean"]))] = RANKED if record["is_ranked"] else UNRANKED
    return "".join(cells)
