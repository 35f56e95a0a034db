"""Opens a warehouse for the board of one run.

Invariant: every graded entrant of the run is on that board: of the task's board as it stands if the run shows
all of its own there, else of a board of this run alone, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.cli.output import say
from gradetrail.cli.query import open_runs
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path


@contextmanager
def open_board(root: Path, run: str | None, as_of: datetime | None) -> Iterator[tuple[Warehouse, str | None]]:
    """Give the warehouse in which the view `leaderboard` has the run's rows, and the run's id.

    Without a run it is the warehouse, and None. SelectionError for a run that is none.
    """
    with open_runs(root, run, as_of=as_of) as opened:
        if run is None:
            yield opened, None
            return
        run_id = opened.run_id(run)
        manifest = next(one for one in opened.manifests() if one["run_id"] == run_id)
        n_shown = _n_shown(opened, run_id)
        if n_shown == len(manifest.get("models") or ()) * len(manifest.get("prompts") or ()):
            yield opened, run_id
            return
        with Warehouse(opened.root, live=replace(opened.live, manifests=[manifest])) as alone:
            if _n_shown(alone, run_id) == n_shown:
                yield opened, run_id
                return
            say(f"newer runs stand on the board of `{manifest['task']}`; this is the board of {run_id} alone")
            yield alone, run_id


def _n_shown(warehouse: Warehouse, run_id: str) -> int:
    ((n_shown,),) = warehouse.rows(sql.text_of("commands/n_shown"), {"run_id": run_id})[1]
    return int(n_shown)
