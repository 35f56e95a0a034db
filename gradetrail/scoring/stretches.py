"""A large run cut into stretches: trials next to each other in their file whose answers are so too.

Invariant: each trial is in just one stretch, and they come in the order of the trials. That the answers are
where a stretch says is only likely: whoever grades one proves it by counting, or grades the run as a whole.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gradetrail import sql

if TYPE_CHECKING:
    import duckdb

MOST_READ = 2
"""Most answers that are read for a trial; more means that they have another order."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows of two files, each from `begin` to before `until`."""

    trial_file: str
    trial_begin: int
    trial_until: int
    answer_file: str
    answer_begin: int
    answer_until: int


def stretches_of(con: duckdb.DuckDBPyConnection, run_id: str, size: int) -> list[Stretch]:
    """Cut a run into stretches of `size` trials; none if it has no more, or its answers another order."""
    n_trials = int(sql.run_file(con, "scoring/n_trials", {"run_id": run_id}).fetchall()[0][0])
    if n_trials <= size:
        return []
    rows = sql.run_file(con, "scoring/stretches", {"run_id": run_id, "size": size}).fetchall()
    if any(value is None for row in rows for value in row):
        return []
    found = [Stretch(*row) for row in rows]
    widths = [stretch.answer_until - stretch.answer_begin for stretch in found]
    return found if all(width > 0 for width in widths) and sum(widths) <= MOST_READ * n_trials else []


def enter(con: duckdb.DuckDBPyConnection, stretch: Stretch) -> None:
    """Let `trials` and `responses` be those of a stretch."""
    sql.run_file(con, "scoring/set_stretch", asdict(stretch))
    sql.run_file(con, "scoring/trials_of_stretch")
    sql.run_file(con, "scoring/responses_of_stretch")


def leave(con: duckdb.DuckDBPyConnection) -> None:
    """Let `trials` and `responses` be the stored tables again."""
    sql.run_file(con, "scoring/no_stretch")
