"""A run as the pipeline gives it: what came of it, and ways to look at it.

Invariant: it holds no result; each is asked of the warehouse.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gradetrail.generation.progress import Progress
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import polars as pl

    from gradetrail.generation.budget import Halt
    from gradetrail.report.pictures import Plot
    from gradetrail.scoring.planner import Graded


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """A run in a warehouse."""

    run_id: str
    task: str
    root: Path
    status: str
    """`complete`, `incomplete`, `aborted` or `interrupted`."""
    reason: str | None = None
    halt: Halt | None = None
    """The ceiling that stopped it; None if none did."""
    is_new: bool = True
    graded: tuple[Graded, ...] = ()
    progress: Progress = field(default_factory=Progress)
    differences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n = self.progress.n_trials
        return f"Run({self.run_id}, {self.status}, {n:,} {'trial' if n == 1 else 'trials'})"

    def board(self) -> pl.DataFrame:
        """Give the task's leaderboard; columns of the view `leaderboard`."""
        with Warehouse(self.root) as warehouse:
            return warehouse.leaderboard(self.task)

    def plot(self, view: str = "leaderboard") -> Plot:
        """Draw the task's chart of a view, as `gradetrail.plot` does; notebooks show it."""
        import gradetrail

        drawn: Plot = gradetrail.plot(self.root, view, task=self.task)
        return drawn

    def wrong(self) -> pl.DataFrame:
        """Give this run's wrong answers with question and target; columns of the view `wrong`."""
        with Warehouse(self.root) as warehouse:
            return warehouse.sql("select * from wrong where run_id = $run_id", {"run_id": self.run_id})

    def diff(self, other: Run | str) -> pl.DataFrame:
        """Compare with another run, sample by sample; columns of `diff`. `other` is the older."""
        with Warehouse(self.root) as warehouse:
            return warehouse.diff(other.run_id if isinstance(other, Run) else other, self.run_id)
