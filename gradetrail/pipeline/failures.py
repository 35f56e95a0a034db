"""What makes graded runs unusable, read from stored grades alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gradetrail import sql
from gradetrail.errors import Fault
from gradetrail.warehouse import Warehouse

SEE_ERRORS = "see `gradetrail show errors`, or raise --allow-errors"


def unscored(root: Path, run_ids: Sequence[str]) -> list[Fault]:
    """Say of which runs nothing was scored."""
    with Warehouse(root) as opened:
        con = opened.connection("scores")
        found = sql.run_file(con, "generation/scored_runs", {"run_ids": list(run_ids)}).fetchall()
    scored = {run_id for (run_id,) in found}
    return [
        Fault("nothing was scored", run_id, fix=f"see the outcomes: gradetrail show graded {run_id}")
        for run_id in run_ids
        if run_id not in scored
    ]


def failed_grading(root: Path, run_ids: Sequence[str], allow_errors: float) -> list[Fault]:
    """Say by which scorers, as the tasks use them now, too many grades of runs failed."""
    with Warehouse(root) as opened:
        con = opened.connection("scores", "run_scores")
        failed = sql.run_file(con, "generation/failed_grades", {"run_ids": list(run_ids)}).fetchall()
    return [
        Fault(
            f"{n_failed:,} of {n_all:,} grades by `{scorer}` failed ({n_failed / n_all:.1%})",
            run_id,
            fix=SEE_ERRORS,
        )
        for run_id, scorer, n_failed, n_all in failed
        if n_failed / n_all > allow_errors
    ]
