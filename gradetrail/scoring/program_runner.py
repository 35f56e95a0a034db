"""Runs the programs of models in sandboxes on the cores of this machine.

Invariant: where no sandbox can be made no program is run, unless code without one is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from gradetrail.scoring.sandbox import Job, Outcome, Sandbox, find_sandbox, run_many


class ProgramRunner:
    """Runs programs, each in a sandbox."""

    def __init__(self, *, allow_unsafe: bool = False, workers: int | None = None) -> None:
        """Run so many programs at a time; None is one for each core."""
        self._allow_unsafe, self._workers = allow_unsafe, workers

    def run(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """Give one outcome for each job, in order; GradetrailError where no sandbox can be made."""
        return run_many(_sandbox(self._allow_unsafe), jobs, self._workers)


@cache
def _sandbox(allow_unsafe: bool) -> Sandbox:
    return find_sandbox(allow_unsafe)
