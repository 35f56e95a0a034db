"""Chooses samples: the spec's `where` and `limit`, then what the invocation asks for.

Invariant: a draw depends on seed and sample ids alone, so the order of the file changes nothing;
what is chosen stays in dataset order; an empty choice is an error.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from gradetrail.errors import Fault, SelectionError, did_you_mean

if TYPE_CHECKING:
    from gradetrail.spec import Dataset

COMPARED = 20_000
"""Known ids that a wrong one is compared with, to suggest a near one."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What one invocation chooses, on top of the spec's own `where`, `limit` and `shuffle_seed`."""

    limit: int | None = None
    """Keep so many: drawn where the spec has a shuffle_seed, else the first."""
    sample: int | None = None
    """Draw so many."""
    seed: int | None = None
    """Seed of `sample`; None is 0."""
    cases: tuple[str, ...] = ()
    """Sample ids; empty keeps all."""
    where: str | None = None
    """SQL condition over the dataset's columns."""


def check_selection(selection: Selection) -> None:
    """Refuse numbers that select nothing."""
    faults = [
        Fault(f"{value} is not a number of samples", flag, fix="write 1 or more")
        for flag, value in (("--limit", selection.limit), ("--sample", selection.sample))
        if value is not None and value < 1
    ]
    if faults:
        raise SelectionError(*faults)


def choose(
    names: Sequence[str], dataset: Dataset, selection: Selection, keeps: Mapping[str, Sequence[bool]]
) -> Sequence[int]:
    """Give the positions of the chosen samples, ascending; `names` are the ids in dataset order.

    `keeps` holds what a condition says of each row, by its place: `dataset.where`, `--where`. Raises
    SelectionError where nothing is left, and for an id that is not there.
    """
    rows: Sequence[int] = range(len(names))
    if "dataset.where" in keeps:
        rows = _left([row for row in rows if keeps["dataset.where"][row]], "dataset.where")
    if dataset.limit is not None:
        rows = _limited(rows, names, dataset.limit, dataset.shuffle_seed)
    if "--where" in keeps:
        rows = _left([row for row in rows if keeps["--where"][row]], "--where")
    if selection.cases:
        rows = _named(rows, names, selection.cases)
    if selection.sample is not None:
        rows = draw(rows, names, selection.sample, selection.seed or 0)
    if selection.limit is not None:
        rows = _limited(rows, names, selection.limit, dataset.shuffle_seed)
    return rows


def draw(rows: Sequence[int], names: Sequence[str], n: int, seed: int) -> Sequence[int]:
    """Draw the n rows with the smallest sha256 of `seed:sample_id`, in the order that they stand in."""
    if n >= len(rows):
        return rows
    drawn = heapq.nsmallest(n, ((_rank(seed, names[row]), row) for row in rows))
    return sorted(row for _, row in drawn)


def _rank(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()


def _limited(rows: Sequence[int], names: Sequence[str], limit: int, seed: int | None) -> Sequence[int]:
    return rows[:limit] if seed is None else draw(rows, names, limit, seed)


def _left(rows: Sequence[int], step: str) -> Sequence[int]:
    if not rows:
        raise SelectionError(Fault("keeps no sample", step, fix="loosen the condition"))
    return rows


def _named(rows: Sequence[int], names: Sequence[str], cases: Sequence[str]) -> Sequence[int]:
    at = {names[row]: row for row in rows}
    unknown = [name for name in dict.fromkeys(cases) if name not in at]
    if unknown:
        dropped = set(names).intersection(unknown)
        raise SelectionError(*(_unknown(name, at, name in dropped) for name in unknown))
    return sorted({at[name] for name in cases})


def _unknown(name: str, known: Mapping[str, int], is_dropped: bool) -> Fault:
    if is_dropped:
        fix = "change `where` or `limit`, or ask for another"
        return Fault(
            f"the sample `{name}` is in the dataset, but `where` or `limit` leaves it out", "--cases", fix=fix
        )
    fix = did_you_mean(name, islice(known, COMPARED))
    return Fault(f"no sample `{name}`", "--cases", fix=fix)
