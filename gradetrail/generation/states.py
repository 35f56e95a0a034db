"""How far a run is: counts of its trials, from the store alone.

Invariant: these are the counts that a query over `trials` would give; no database is opened for them,
since that takes longer than everything else at the end of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradetrail.generation.retry import FINAL
from gradetrail.store import Store


@dataclass(frozen=True, slots=True)
class States:
    """Counts of the trials of one run."""

    n_trials: int
    n_owed: int
    """Pending or skipped; of 0 the run is complete, since an error is an ending and not a debt."""
    n_errors: int
    """Without over_context and filtered, which are answers of a kind."""


def states_of(root: Path, run_id: str) -> States:
    """Count the trials of a run."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trials = Store(root, create=False).states(run_id)
    status, kind = trials.column("status"), trials.column("error_type")
    is_owed: Any = pc.is_in(status, value_set=pa.array(["pending", "skipped"]))
    is_failed: Any = pc.is_in(status, value_set=pa.array(["error"]))
    is_final: Any = pc.is_in(kind, value_set=pa.array(sorted(FINAL)))
    is_counted: Any = pc.and_(is_failed, pc.invert(is_final))
    return States(trials.num_rows, _n_true(is_owed), _n_true(is_counted))


def _n_true(rows: Any) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(rows).as_py() or 0)
