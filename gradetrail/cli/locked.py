"""Opens a warehouse for SQL of others, within the limits that the options say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from gradetrail.errors import Fault, SelectionError

if TYPE_CHECKING:
    from datetime import datetime

    from gradetrail.sql_child import Limits
    from gradetrail.warehouse.locked import LockedWarehouse

LEAST_MB = 64
HELP = frozenset({"-h", "--help"})
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([MG])i?B?", re.IGNORECASE)


def meanwhile(arguments: Sequence[str]) -> AbstractContextManager[None]:
    """Let the process that `gradetrail sql` will ask come up while the command line is loaded."""
    if list(arguments[:1]) != ["sql"] or not HELP.isdisjoint(arguments):
        return nullcontext()
    from gradetrail.sql_child.process import started_early
    from gradetrail.warehouse.locked import MODULE

    return started_early(MODULE)


def limits_from(timeout_s: float | None, memory: str | None) -> Limits:
    """Give the limits that `--timeout` and `--memory` say; SelectionError for what is no size."""
    from gradetrail.warehouse.locked import limits_of

    return limits_of(timeout_s, None if memory is None else _megabytes(memory))


def _megabytes(text: str) -> int:
    found = _MEMORY.fullmatch(text.strip())
    size = int(float(found[1]) * (1024 if found[2] in "Gg" else 1)) if found else 0
    if size < LEAST_MB:
        fix = f"write 512MB or 8GB, at least {LEAST_MB}MB"
        raise SelectionError(Fault(f"`{text}` is no size of memory", "--memory", fix=fix))
    return size


def open_locked(
    root: Path,
    *runs: str | None,
    limits: Limits,
    as_of: datetime | None = None,
    own_files: Iterable[Path] = (),
) -> LockedWarehouse:
    """Open a warehouse behind a wall, with the bundles that are among the names of runs."""
    from gradetrail.warehouse.locked import LockedWarehouse

    return LockedWarehouse(
        root, bundles=bundles_among(runs), as_of=as_of, own_files=list(own_files), limits=limits
    )


def bundles_among(runs: Iterable[str | None]) -> list[str]:
    """List the paths of bundles among names of runs."""
    named = [run for run in runs if run is not None]
    if not named:
        return []
    from gradetrail.store.bundle import is_bundle

    return [run for run in named if is_bundle(run)]
