"""Which views have a chart, and the rows that each chart shows.

Invariant: pictures and charts in the terminal are drawn from the same rows, in the same order: the board's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import Fault, SelectionError, did_you_mean

if TYPE_CHECKING:
    from gradetrail.warehouse import Warehouse

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows of a chart come from."""

    query: str
    """Stem in `sql/charts`."""
    absence: str
    """What is missing where there are none."""
    is_by_run: bool = False


_RELIABILITY = Source("reliability", "no answer has a confidence", is_by_run=True)
SOURCES = {
    "leaderboard": Source("leaderboard", "no grades", is_by_run=True),
    "calibration": _RELIABILITY,
    "reliability_bins": _RELIABILITY,
    "pairwise": Source("pairwise", "no two ranked entrants"),
    "history": Source("history", "no grades"),
}
"""Sources, by the view that each chart belongs to."""


def check_view(view: str) -> None:
    """Refuse a view that has no chart; SelectionError."""
    if view not in SOURCES:
        raise SelectionError(Fault(f"view `{view}` has no chart", "--plot", fix=did_you_mean(view, SOURCES)))


def records_of(warehouse: Warehouse, view: str, *, task: str | None, run: str | None) -> list[Record]:
    """Give the rows of a view's chart, board by board; SelectionError where there is nothing to draw."""
    check_view(view)
    source = SOURCES[view]
    if run is not None and not source.is_by_run:
        raise SelectionError(
            Fault(f"the chart of `{view}` is of all runs", "--plot", fix="leave the run out")
        )
    params = {"task": task, "run_id": None if run is None else warehouse.run_id(run)}
    names, rows = warehouse.rows(sql.text_of(f"charts/{source.query}"), params)
    if not rows:
        raise SelectionError(Fault(f"nothing to draw: {source.absence}", "--plot"))
    return [dict(zip(names, row, strict=True)) for row in rows]


def boards_of(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Give the title and the rows of each task, scorer and metric."""
    for (task, scorer, metric), group in groupby(
        records, key=lambda r: (r["task"], r["scorer"], r["metric"])
    ):
        yield f"{task}: {scorer}" + (f" ({metric})" if metric != "score" else ""), list(group)
