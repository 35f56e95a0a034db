"""Which statistics are measured on random data, and how far each may be from its reference."""

from __future__ import annotations

from collections.abc import Callable

from tests.statistics import answers, boards, epochs, macros, readings, samples
from tests.statistics.world import Found

AREAS: dict[str, Callable[[], Found]] = {
    "boards": boards.differences,
    "readings": readings.differences,
    "answers": answers.differences,
    "epochs": epochs.differences,
    "samples": samples.differences,
    "macros": macros.differences,
}

TOLERANCES = {
    "normal quantile": 1e-8,  # Acklam's approximation
    "t quantile": 1e-8,  # Cornish and Fisher's expansion above 40 degrees of freedom
    "sign test": 1e-11,  # relative; logarithms of factorials
    "Fisher's exact test": 1e-9,  # relative
    "smallest detectable difference": 1e-8,  # a t quantile
    "paired interval": 1e-8,
    "interval": 1e-8,
    "category, interval": 1e-8,
    "history, interval": 1e-7,  # a t quantile times a standard error
    "comparison, interval": 1e-7,
}
"""Absolute, unless relative is said; scores are in [0, 3]."""
USUAL = 5e-12
"""Boards compare scores to 12 digits."""


def line(name: str, found: Found) -> str:
    """Say what was measured of one statistic."""
    largest = found[name]
    kind = f"{largest.n:,} data sets, {largest.n_null:,} of them NULL"
    return f"{name:36} {largest.gap:9.1e}   {kind}"
