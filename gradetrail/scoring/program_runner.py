"""Where programs of models run: in sandboxes on the cores of this machine, or on Ray workers.

Invariant: a program's outcome does not depend on where it runs. On a worker that can make no sandbox it
is not run at all, unless code without one is allowed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any, Protocol

from gradetrail.errors import DependencyError, Fault, GradetrailError
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
        self._ray: Any = None
        self._task: Any = None
        self._owns_cluster, self._cores = False, 1

    def run(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """Send jobs to the workers; at most two batches a core wait at a time."""
        waiting: deque[Any] = deque()
        plain = [asdict(job) for job in jobs]
        for begin in range(0, len(plain), PROGRAMS_AT_ONCE):
            self._start()
            batch = plain[begin : begin + PROGRAMS_AT_ONCE]
            waiting.append(self._task.remote(batch, self._allow_unsafe))
            if len(waiting) >= 2 * self._cores:
                yield from _outcomes(self._ray, waiting.popleft())
        while waiting:
            yield from _outcomes(self._ray, waiting.popleft())

    def close(self) -> None:
        """Stop the cluster if it was started here."""
        if self._owns_cluster:
            self._ray.shutdown()
        self._ray, self._owns_cluster = None, False

    def _start(self) -> None:
        if self._ray is not None:
            return
        try:
            import ray
        except ImportError:
            raise DependencyError(
                Fault("executor `ray` needs Ray", fix="pip install 'gradetrail[ray]'")
            ) from None
        self._ray = ray
        self._owns_cluster = not ray.is_initialized()
        if self._owns_cluster:
            address = os.environ.get("RAY_ADDRESS")
            ray.init(
                address=address, log_to_driver=False, include_dashboard=False, configure_logging=False,
                num_cpus=None if address else self._workers,
            )  # fmt: skip
        self._cores = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        # a task whose worker dies is sent again, to another
        self._task = self._ray.remote(run_here).options(num_cpus=1, max_retries=3)


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
