"""Grades runs here or on a Ray cluster, whose tasks have a run, or a share of one, and a DuckDB of their own.

Invariant: workers write nothing. They see the warehouse as the driver does, and give tables back; the
driver publishes whole files as it does alone, and holds the grades of one (run, scorer) at a time. What
judges said is read here, where their keys and addresses are known.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import Fault, GradetrailError, StoreError
from gradetrail.ray_cluster import Cluster
from gradetrail.scoring.answers import Share, n_parts_of
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.planner import MEMORY_LIMIT, Fresh, grades
from gradetrail.scoring.program_runner import ProgramRunner
from gradetrail.spec import Spec
from gradetrail.store import Live
from gradetrail.store.spool import Spool
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

LEAST_TRIALS = 1_000
"""Trials below which a run is not split, however many cores there are."""
ATTEMPTS = 3
"""How often a task is sent again whose worker died."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all tasks of a command share."""

    root: Path
    live: Live
    spec: Spec
    allow_unsafe: bool
    copies_programs: bool


Source = Callable[[str], Fresh]
"""Gives the grades of a run that are due."""


@contextlib.contextmanager
def grading(
    warehouse: Warehouse,
    spec: Spec,
    due: Mapping[str, Sequence[Definition]],
    *,
    executor: str,
    copies_programs: bool = True,
    allow_unsafe: bool = False,
) -> Iterator[Source]:
    """Grade runs where an executor says, `local` or `ray`; to be asked for in the order of `due`.

    `due` are definitions by run_id, parts before what combines them. A cluster is started if there are any.
    `copies_programs` takes what came of a program from earlier runs. Programs run without a sandbox only
    where none can be made and `allow_unsafe` is set.
    """
    if executor != "ray" or not any(due.values()):
        runner = ProgramRunner(allow_unsafe=allow_unsafe)

        def here(run_id: str) -> Fresh:
            return grades(
                warehouse, spec, run_id, due[run_id], runner=runner, copies_programs=copies_programs
            )

        yield here
        return
    root = warehouse.root.absolute() if warehouse.root.exists() else warehouse.root  # s3:// is no path
    setting = Setting(root, warehouse.live, spec, allow_unsafe, copies_programs)
    distribution = Distribution(warehouse, setting, due, spec.run.workers)
    try:
        yield distribution.grades
    finally:
        distribution.close()


class Distribution:
    """The grading of some runs in tasks; a few tasks are ahead of what is asked for."""

    def __init__(
        self,
        warehouse: Warehouse,
        setting: Setting,
        due: Mapping[str, Sequence[Definition]],
        workers: int | None,
    ) -> None:
        """Plan the tasks, in the order of `due`: definitions by run_id."""
        self._warehouse, self._setting, self._due = warehouse, setting, due
        self._cluster = Cluster(workers)
        self._cores = self._cluster.cores
        self._boxed = [self._cluster.ray.put(setting)]
        self._task = self._cluster.ray.remote(grade_share)
        away = [run_id for run_id, wanted in due.items() if _away(wanted)]
        con = warehouse.connection("trials", "responses")
        shares = shares_of(_n_trials(con, away), self._cores, partial(n_parts_of, con))
        self._ahead = deque((run_id, share) for run_id in away for share in shares[run_id])
        self._sent: dict[str, list[Sequence[Any]]] = {run_id: [] for run_id in away}
        self._n_shares = {run_id: len(shares[run_id]) for run_id in away}
        self._n_flying = 0

    def grades(self, run_id: str) -> Fresh:
        """Yield the scores by each definition of a run, and how many of its ballots are open."""
        wanted = self._due[run_id]
        away = _away(wanted)
        for number, definition in enumerate(away):
            pieces = [self._given(task[number]) for task in self._tasks_of(run_id)]
            if number == len(away) - 1:
                self._n_flying -= len(self._sent.pop(run_id))
                self._send()
            yield definition, Spool(rows for rows, _ in pieces), sum(n for _, n in pieces)
        here = [definition for definition in wanted if definition not in away]
        if here:
            setting = self._setting
            runner = ProgramRunner(allow_unsafe=setting.allow_unsafe)
            yield from grades(
                self._warehouse, setting.spec, run_id, here,
                runner=runner, copies_programs=setting.copies_programs,
            )  # fmt: skip

    def close(self) -> None:
        """Let the workers go."""
        self._cluster.close()

    def _tasks_of(self, run_id: str) -> list[Sequence[Any]]:
        """Give the references of a run's tasks, each with one for each definition."""
        while len(self._sent[run_id]) < self._n_shares[run_id]:
            self._send_next()
        self._send()
        return self._sent[run_id]

    def _send(self) -> None:
        """Keep the workers busy: two tasks a core wait at most."""
        while self._ahead and self._n_flying < 2 * self._cores:
            self._send_next()

    def _send_next(self) -> None:
        run_id, share = self._ahead.popleft()
        wanted = _away(self._due[run_id])
        task = self._task.options(num_cpus=1, max_retries=ATTEMPTS, num_returns=len(wanted))
        found = task.remote(self._boxed, run_id, wanted, share)
        self._sent[run_id].append(found if len(wanted) > 1 else [found])
        self._n_flying += 1

    def _given(self, reference: Any) -> tuple[pa.Table, int]:
        from ray.exceptions import RayError, RayTaskError

        try:
            found: tuple[pa.Table, int] = self._cluster.ray.get(reference)
        except RayTaskError as error:
            if isinstance(error.cause, GradetrailError):
                raise type(error.cause)(*error.cause.faults) from None
            raise
        except RayError as error:
            reason = str(error).strip().splitlines()[0]
            fix = (
                "install gradetrail on every node as it is here, and give a warehouse that each of them sees"
            )
            raise GradetrailError(Fault(f"Ray could not grade: {reason}", fix=fix)) from error
        return found


def shares_of(
    n_trials: Mapping[str, int], cores: int, n_parts_of: Callable[[str, int], int]
) -> dict[str, list[Share | None]]:
    """Split runs so that every core has work: by the trials of each; None is a run that stays whole.

    `n_parts_of` gives the parts that a run of so many trials has at least.
    """
    total = max(1, sum(n_trials.values()))
    found: dict[str, list[Share | None]] = {}
    for run_id, n in n_trials.items():
        n_tasks = min(-(-cores * n // total), -(-n // LEAST_TRIALS))
        if n_tasks < 2:
            found[run_id] = [None]
            continue
        n_parts = max(n_tasks, n_parts_of(run_id, n))
        found[run_id] = [Share(n_parts, tuple(range(first, n_parts, n_tasks))) for first in range(n_tasks)]
    return found


def grade_share(boxed: Sequence[Any], run_id: str, wanted: Sequence[Definition], share: Share | None) -> Any:
    """Grade in a worker: for each definition the scores, and how many ballots are open.

    As Ray wants it, one definition gives one such pair, several a list of them. `boxed` holds the
    reference of the setting, which is read once by each worker.
    """
    with sql.without_others():
        warehouse, setting = _opened(boxed[0])
        runner = ProgramRunner(allow_unsafe=setting.allow_unsafe, workers=1)
        found = {
            definition.scorer_id(): (scores.table(), n_open)
            for definition, scores, n_open in grades(
                warehouse, setting.spec, run_id, wanted,
                runner=runner, copies_programs=setting.copies_programs, share=share,
            )
        }  # fmt: skip
    given = [found[definition.scorer_id()] for definition in wanted]
    return given if len(given) > 1 else given[0]


_OPEN: dict[str, tuple[Warehouse, Setting]] = {}
"""The warehouse that this worker has open, by its setting's reference."""


def _opened(reference: Any) -> tuple[Warehouse, Setting]:
    key = reference.hex()
    if key not in _OPEN:
        import ray

        for warehouse, _ in _OPEN.values():
            warehouse.close()
        _OPEN.clear()
        setting: Setting = ray.get(reference)
        # files that are not here are copies of a remote warehouse on another machine, or packed by now
        is_here = all(Path(file).exists() for file in setting.live.all_files())
        live = setting.live if is_here else None
        try:
            warehouse = Warehouse(setting.root, room=sql.Room(MEMORY_LIMIT), threads=1, live=live)
        except StoreError as error:
            fix = "give a warehouse that every node sees: a shared folder, or an object store"
            raise StoreError(Fault(f"a Ray worker cannot open it: {error.faults[0]}", fix=fix)) from None
        _OPEN[key] = warehouse, setting
    return _OPEN[key]


def _away(wanted: Sequence[Definition]) -> list[Definition]:
    """List what workers grade: no judge, nothing that stands on one, nor what else that stands on."""
    here = {d.scorer_id() for d in wanted if d.judges()}
    families = [{d.scorer_id(), *(part.scorer_id() for part in d.parts)} for d in wanted if d.parts]
    here |= {p.scorer_id() for d in wanted for p in d.parts if p.judges()}
    while grown := [family for family in families if family & here and not family <= here]:
        here |= set().union(*grown)
    return [definition for definition in wanted if definition.scorer_id() not in here]


def _n_trials(con: duckdb.DuckDBPyConnection, run_ids: Sequence[str]) -> dict[str, int]:
    """Count the trials of runs, in their order."""
    found = dict(sql.run_file(con, "scoring/n_trials_of_runs", {"run_ids": list(run_ids)}).fetchall())
    return {run_id: int(found.get(run_id, 0)) for run_id in run_ids}
