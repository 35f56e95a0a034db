"""Draws every chart as text, for terminals; needs nothing installed.

Invariant: it shows the rows that the picture shows, in the same order, and computes nothing but places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gradetrail.report.bars import RULE, Line, drawn, short, shortened
from gradetrail.report.drawn import Record, boards_of, records_of

if TYPE_CHECKING:
    from gradetrail.warehouse import Warehouse

RANKED, UNRANKED, CONFIDENCE = "●", "○", "│"
WIDTH = 100
"""Cells of a line where no terminal says otherwise."""
RUNS_SHOWN = 20
"""Newest runs of each entrant that are drawn."""
SHADES = "░▒▓█"
"""How large a difference is beside the largest one of its board."""
LEAST_LABEL = 12


def text_chart(
    warehouse: Warehouse,
    view: str = "leaderboard",
    *,
    task: str | None = None,
    run: str | None = None,
    width: int = WIDTH,
) -> str:
    """Draw what `plot` draws, board by board, in lines of `width` cells. SelectionError as there."""
    boards = boards_of(records_of(warehouse, view, task=task, run=run))
    return "\n".join(f"{title}\n{DRAWINGS[view](rows, width)}" for title, rows in boards)


def _leaderboard(records: Sequence[Record], width: int) -> str:
    """Draw a line for each entrant: its interval, a dot at its mean, hollow if it is not ranked."""
    return drawn(
        [
            Line(
                record["entrant"],
                _mean_and_n(record) + ("" if record["is_ranked"] else f"  {record['standing']}"),
                _interval(record, RANKED if record["is_ranked"] else UNRANKED),
            )
            for record in records
        ],
        width,
    )


def _history(records: Sequence[Record], width: int) -> str:
    """Draw a block for each entrant: a line for each of its newest runs, the oldest first."""
    entrants: dict[tuple[int, str], list[Record]] = {}
    for record in records:
        entrants.setdefault((record["place"], record["entrant"]), []).append(record)
    return drawn([line for key in sorted(entrants) for line in _steps(key[1], entrants[key])], width)


def _steps(entrant: str, records: Sequence[Record]) -> Iterator[Line]:
    shown = records[-RUNS_SHOWN:]
    left_out = len(records) - len(shown)
    yield Line(entrant, f"({left_out:,} older {'run' if left_out == 1 else 'runs'})" if left_out else "")
    for record in shown:
        run = record["run_id"]
        begun = f"{run[:4]}-{run[4:6]}-{run[6:8]} {run[9:11]}:{run[11:13]}"
        verdict = f"  {record['verdict']}" if record["verdict"] is not None else ""
        yield Line(f"  {begun} {run[-6:]}", _mean_and_n(record) + verdict, _interval(record, RANKED))


def _reliability(records: Sequence[Record], width: int) -> str:
    """Draw a block for each entrant: a line from confidence to the share that is right, for each bin."""
    lines = [Line(f"{CONFIDENCE} mean confidence, {RANKED} share that is right")]
    for entrant, group in groupby(records, key=lambda record: record["entrant"]):
        bins = list(group)
        lines.append(Line(entrant, f"ECE {short(bins[0]['ece'])}  n {sum(bin_['n'] for bin_ in bins):,}"))
        lines += [
            Line(
                f"  {bin_['bin_low']:.1f} to {bin_['bin_high']:.1f}",
                f"{short(bin_['mean_confidence'])} {RULE} {short(bin_['accuracy'])}  n {bin_['n']:,}",
                ((bin_["mean_confidence"], CONFIDENCE), (bin_["accuracy"], RANKED)),
            )
            for bin_ in bins
        ]
    return drawn(lines, width, (0.0, 1.0))


def _pairwise(records: Sequence[Record], width: int) -> str:
    """Draw a table of differences, row minus column, shaded by size; as many columns at once as fit."""
    from rich.cells import cell_len

    entrants = sorted({(record["place"], record["entrant"]) for record in records})
    most = max(abs(record["difference"]) for record in records) or 1.0
    found = {(record["place"], record["other_place"]): _difference(record, most) for record in records}
    cell = max(map(len, found.values())) + 1
    names = [f"{n} {name}" for n, (_, name) in enumerate(entrants, 1)]
    label = min(max(map(cell_len, names)), max(LEAST_LABEL, width - cell))
    at_once = max(1, (width - label) // cell)
    lines = ["row minus column; in brackets what chance may explain"]
    for first in range(0, len(entrants), at_once):
        columns = list(enumerate(entrants, 1))[first : first + at_once]
        lines.append(" " * label + "".join(f"{n:>{cell}}" for n, _ in columns))
        for name, (place, _) in zip(names, entrants, strict=True):
            cells = [found.get((place, other), "") for _, (other, _) in columns]
            lines.append(shortened(name, label) + "".join(f"{text:>{cell}}" for text in cells))
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _difference(record: Record, most: float) -> str:
    """Give a difference: with a shade, or in brackets where chance may explain it."""
    size = abs(record["difference"])
    text = ("-" if record["difference"] < 0 else "+") + format(size, ".3f" if 5e-3 <= most < 1e5 else ".3g")
    if not record["is_settled"]:
        return f"({text})"
    return SHADES[min(len(SHADES) - 1, int(size / most * len(SHADES)))] + text


def _mean_and_n(record: Record) -> str:
    return f"{short(record['mean'])}  n {record['n']:,}"


def _interval(record: Record, mark: str) -> tuple[tuple[float, str], ...]:
    """Give the ends of an interval, where they are known, and the mean."""
    ends = [float(record[name]) for name in ("ci_low", "ci_high") if record[name] is not None]
    return (*((end, RULE) for end in ends), (float(record["mean"]), mark))


DRAWINGS: dict[str, Callable[[Sequence[Record], int], str]] = {
    "leaderboard": _leaderboard,
    "calibration": _reliability,
    "reliability_bins": _reliability,
    "pairwise": _pairwise,
    "history": _history,
}
"""How each view is drawn."""
