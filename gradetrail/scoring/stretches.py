"""A large run cut into stretches: trials next to each other in their file, with the place of their answers.

Invariant: each trial is in just one stretch, and they come in the order of the trials. That the answers are
where a stretch says is only likely: whoever grades one proves it by counting, or looks for them in all files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gradetrail import sql

if TYPE_CHECKING:
    import duckdb

MOST_READ = 2
"""Most answers that are read for a trial where their places are known; more means another order."""
MOST_PASSES = 12
"""Most stretches of which each reads all answers; more cost what it costs to join the whole run on disk."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a file, from `begin` to before `until`."""

    file: str
    begin: int
    until: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Trials, and where their answers are; None if that may be anywhere."""

    trials: Rows
    answers: Rows | None


def ways_to_cut(con: duckdb.DuckDBPyConnection, run_id: str, size: int) -> Iterator[list[Stretch]]:
    """Yield ways to cut a run into stretches of `size` trials, the best first; none if it has no more."""
    n_trials = int(sql.run_file(con, "scoring/n_trials", {"run_id": run_id}).fetchall()[0][0])
    if n_trials <= size:
        return
    rows = sql.run_file(con, "scoring/stretches", {"run_id": run_id, "size": size}).fetchall()
    near = [Stretch(Rows(*row[:3]), Rows(*row[3:])) for row in rows if None not in row and row[4] < row[5]]
    n_read = sum(rows.until - rows.begin for rows in (stretch.answers for stretch in near) if rows)
    if near and len(near) == len(rows) and n_read <= MOST_READ * n_trials:
        yield near
    if 0 < len(rows) <= MOST_PASSES:
        yield [Stretch(Rows(*row[:3]), None) for row in rows]


def enter(con: duckdb.DuckDBPyConnection, stretch: Stretch) -> None:
    """Let `trials` and `responses` be those of a stretch."""
    sql.run_file(con, "scoring/set_trial_rows", asdict(stretch.trials))
    sql.run_file(con, "scoring/trials_of_stretch")
    if stretch.answers is not None:
        sql.run_file(con, "scoring/set_answer_rows", asdict(stretch.answers))
        sql.run_file(con, "scoring/responses_of_stretch")


def leave(con: duckdb.DuckDBPyConnection) -> None:
    """Let `trials` and `responses` be the stored tables again."""
    sql.run_file(con, "scoring/no_stretch")
