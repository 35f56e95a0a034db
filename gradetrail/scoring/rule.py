"""What a scorer whose rule is a Python function sees, and what it says.

Invariant: a rule depends on nothing but what it is given, so equal answers are judged once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Given:
    """One answer, as a rule sees it."""

    text: str
    """What extraction found, or the whole answer without its reasoning."""
    targets: tuple[str, ...]
    """Any of which will do; empty where the scorer takes none."""
    tool_calls: str | None = None
    """JSON list of {id, name, arguments}; None where there is none, or the scorer does not read them."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One further metric of an answer, beside its score."""

    metric: str
    score: float
    extracted: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rule says of one answer."""

    score: float | None
    """None with a fault; None without one where nothing gradable was found."""
    extracted: str | None = None
    extracted_by: str | None = None
    detail: str | None = None
    fault: str | None = None
    """Why the answer could not be judged, through no fault of its own."""
    measures: tuple[Measure, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """How a scorer judges."""

    judge: Callable[[Sequence[Given]], Sequence[Verdict]]
    """Gives one verdict for each answer, in order."""
    metrics: Callable[[Sequence[str]], Sequence[str]] | None = None
    """Names the further metrics for a list of targets, which may be empty; None: there are none."""
    reads_calls: bool = False
    """Whether tool calls are judged rather than text."""


def one_by_one(judge: Callable[[Given], Verdict]) -> Rule:
    """Make a rule of a function of one answer."""
    return Rule(lambda batch: [judge(given) for given in batch])
