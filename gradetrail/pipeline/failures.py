"""What makes graded runs unusable, read from stored grades alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gradetrail import sql
from gradetrail.errors import Fault
from gradetrail.warehouse import Warehouse

SEE_ERRORS = "see `gradetrail show errors`, or raise --allow-errors"


class GradingFaults(NamedTuple):
    """Why graded runs must not be used."""

    unscored: list[Fault]
    """One for each run of which nothing was scored, by whatever definition."""
    failed: list[Fault]
    """One for each run and scorer, as the task uses it now, by which too many grades failed."""


def grading_faults(root: Path, run_ids: Sequence[str], allow_errors: float) -> GradingFaults:
    """Look at the grades of runs; faults are in the order of the runs, and in that of their names."""
    with Warehouse(root) as opened:
        con = opened.connection("scores", "definitions")
        rows = sql.run_file(con, "generation/grading_outcomes", {"run_ids": list(run_ids)}).fetchall()
    scored = {run_id for run_id, _, n_scored, _, _ in rows if n_scored}
    return GradingFaults(
        [
            Fault("nothing was scored", run_id, fix=f"see the outcomes: gradetrail show graded {run_id}")
            for run_id in run_ids
            if run_id not in scored
        ],
        [
            Fault(
                f"{n_failed:,} of {n_all:,} grades by `{scorer}` failed ({n_failed / n_all:.1%})",
                run_id,
                fix=SEE_ERRORS,
            )
            for run_id, scorer, _, n_failed, n_all in rows
            if scorer is not None and n_failed / n_all > allow_errors
        ],
    )
