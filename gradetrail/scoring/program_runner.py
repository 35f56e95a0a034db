"""Where programs of models run: in sandboxes on the cores of this machine, or on Ray workers.

Invariant: a program's outcome does not depend on where it runs. On a worker that can make no sandbox it
is not run at all, unless code without one is allowed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any, Protocol

from gradetrail.errors import Fault, GradetrailError
from gradetrail.ray_cluster import Cluster
from gradetrail.scoring.sandbox import Job, Limits, Outcome, Sandbox, find_sandbox, run_many

PROGRAMS_AT_ONCE = 16
"""Programs that a Ray worker is sent together."""


class ProgramRunner(Protocol):
    """Runs programs."""

    def run(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """Give one outcome for each job, in order."""

    def close(self) -> None:
        """Stop what was started."""


class LocalRunner:
    """Runs programs here, one sandbox for each core."""

    def __init__(self, *, allow_unsafe: bool = False) -> None:
        self._allow_unsafe = allow_unsafe

    def run(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """Run jobs in parallel; GradetrailError where no sandbox can be made."""
        return run_many(_sandbox(self._allow_unsafe), jobs)

    def close(self) -> None:
        """Nothing runs on."""


class RayRunner:
    """Runs programs in Ray tasks, each of which takes one core; the cluster starts with the first program."""

    def __init__(self, *, allow_unsafe: bool = False, workers: int | None = None) -> None:
        self._allow_unsafe, self._workers = allow_unsafe, workers
        self._cluster: Cluster | None = None
        self._task: Any = None

    def run(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """Send jobs to the workers; at most two batches a core wait at a time."""
        waiting: deque[Any] = deque()
        plain = [asdict(job) for job in jobs]
        for begin in range(0, len(plain), PROGRAMS_AT_ONCE):
            cluster = self._started()
            batch = plain[begin : begin + PROGRAMS_AT_ONCE]
            waiting.append(self._task.remote(batch, self._allow_unsafe))
            if len(waiting) >= 2 * cluster.cores:
                yield from _outcomes(cluster.ray, waiting.popleft())
        while waiting:
            yield from _outcomes(cluster.ray, waiting.popleft())

    def close(self) -> None:
        """Stop the cluster if it was started here."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _started(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self._workers)
            # a task whose worker dies is sent again, to another
            self._task = self._cluster.ray.remote(run_here).options(num_cpus=1, max_retries=3)
        return self._cluster


def run_here(jobs: Sequence[dict[str, Any]], allow_unsafe: bool) -> list[dict[str, Any]]:
    """Run a batch in a worker; jobs and outcomes as plain data."""
    sandbox = _sandbox(allow_unsafe)
    return [asdict(outcome) for outcome in run_many(sandbox, map(_job, jobs), workers=1)]


@cache
def _sandbox(allow_unsafe: bool) -> Sandbox:
    return find_sandbox(allow_unsafe)


def _job(plain: dict[str, Any]) -> Job:
    return Job(**{**plain, "checks": tuple(plain["checks"]), "limits": Limits(**plain["limits"])})


def _outcomes(ray: Any, reference: Any) -> Iterator[Outcome]:
    from ray.exceptions import RayError, RayTaskError

    try:
        found = ray.get(reference)
    except RayTaskError as error:
        cause = error.cause
        if isinstance(cause, GradetrailError):
            raise GradetrailError(*cause.faults) from None
        raise
    except RayError as error:
        raise GradetrailError(Fault(f"Ray could not run programs: {str(error).splitlines()[0]}")) from error
    return (Outcome(**outcome) for outcome in found)


def program_runner(executor: str, *, allow_unsafe: bool = False, workers: int | None = None) -> ProgramRunner:
    """Make the runner of an executor: `local` or `ray`."""
    if executor == "ray":
        return RayRunner(allow_unsafe=allow_unsafe, workers=workers)
    return LocalRunner(allow_unsafe=allow_unsafe)
