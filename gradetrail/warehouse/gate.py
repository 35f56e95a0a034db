"""What a gate is asked: how much each scorer may lose, and what counts as evidence.

Invariant: every limit is a finite number >= 0 that a drop can exceed, absolute or a share of the base's
mean; the verdict itself is the macro `gate`, and nothing is decided here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradetrail.errors import Fault, SelectionError, did_you_mean

GATE = (
    "from gate($a_run, $b_run, max_drop := $max_drop, is_relative := $is_relative, limits := $limits,"
    " max_errors := $max_errors, significance := $significance, allow_prompt := $allow_prompt,"
    " allow_scorer := $allow_scorer, a_model := $a_model, b_model := $b_model, a_prompt := $a_prompt,"
    " b_prompt := $b_prompt)"
)
RANGES = "commands/score_ranges"
"""The query of `Limits.check_ranges`."""
_LIMIT = re.compile(r"(?:(?P<key>[^=]+)=)?(?P<number>[0-9.eE+-]+)(?P<percent>%)?\Z")


@dataclass(frozen=True, slots=True)
class Limit:
    """How much a mean may lose."""

    at_most: float
    is_relative: bool = False
    """Whether it is a share of the base's mean."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What a mean of a scorer can lose at most; None where there is no bound."""

    width: float | None
    """In the scorer's unit."""
    share: float | None
    """Of the mean: 1 where more is better and nothing is below 0."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a gate, and what else it is told."""

    default: Limit | None = Limit(0.0)
    """For every scorer that has none of its own; None leaves those out of the gate."""
    own: Mapping[str, Limit] = field(default_factory=dict)
    """By `scorer` or `task/scorer`, each also with `:metric`; the most exact one counts."""
    max_errors: float = 0.05
    """Share of errors on a side above which nothing is decided."""
    significance: float = 0.05
    """Highest corrected p that is evidence; 1 waives evidence."""
    allow: frozenset[str] = frozenset()
    """What may differ: `prompt`, `scorer`."""

    def params(self) -> dict[str, Any]:
        """Give the parameters of GATE, but for its sides."""
        return {
            "max_drop": self.default.at_most if self.default else None,
            "is_relative": bool(self.default and self.default.is_relative),
            "limits": {
                key: {"at_most": limit.at_most, "is_relative": limit.is_relative}
                for key, limit in self.own.items()
            }
            or None,
            "max_errors": self.max_errors,
            "significance": self.significance,
            "allow_prompt": "prompt" in self.allow,
            "allow_scorer": "scorer" in self.allow,
        }

    def check_names(self, graded: Iterable[tuple[str, str, str]]) -> None:
        """Refuse a limit for what is none of the (task, scorer, metric) compared; SelectionError."""
        known: dict[str, None] = {}
        for task, scorer, metric in graded:
            known |= dict.fromkeys(
                (scorer, f"{scorer}:{metric}", f"{task}/{scorer}", f"{task}/{scorer}:{metric}")
            )
        faults = [
            Fault(f"no scorer `{key}` in these runs", "--max-drop", fix=did_you_mean(key, known))
            for key in self.own
            if key not in known
        ]
        if faults:
            raise SelectionError(*faults)

    def check_ranges(self, scales: Mapping[tuple[str, str], Scale]) -> None:
        """Refuse a limit that no drop can exceed; SelectionError. `scales` are by (task, scorer)."""
        faults = []
        for key, limit in (None, self.default), *self.own.items():
            named = None if key is None else key.partition(":")[0]
            about = [
                scale
                for (task, scorer), scale in scales.items()
                if named is None or named in (scorer, f"{task}/{scorer}")
            ]
            most = None if limit is None else _most(limit, about)
            if limit is None or most is None or limit.at_most < most:
                continue
            shown = f"{100 * limit.at_most:g}%" if limit.is_relative else f"{limit.at_most:g}"
            text = shown if key is None else f"{key}={shown}"
            if limit.is_relative:
                reason, fix = (
                    "no mean can lose more than 100 %",
                    "write 5% for a twentieth of the base's mean",
                )
            else:
                reason = f"no mean can drop by more than {most:g} here"
                fix = f"write {text}% for a share of the base's mean, or a drop below {most:g}"
            faults.append(Fault(f"`{text}`: {reason}", "--max-drop", fix=fix))
        if faults:
            raise SelectionError(*faults)


def _most(limit: Limit, scales: Sequence[Scale]) -> float | None:
    """Give what a mean on any of the scales can lose at most; None if one has no bound, or there is none."""
    found = [scale.share if limit.is_relative else scale.width for scale in scales]
    return None if not found or None in found else max(most for most in found if most is not None)


def parse_limits(texts: Sequence[str]) -> tuple[Limit | None, dict[str, Limit]]:
    """Read `0.02`, `5%`, `strict=0.02`, `task/strict:metric=5%` as (default, own); SelectionError.

    Without any, nothing may be lost; with named ones alone, the others are not gated.
    """
    default: Limit | None = None if texts else Limit(0.0)
    own: dict[str, Limit] = {}
    faults = []
    for text in texts:
        match = _LIMIT.match(text.strip())
        number = _number(match["number"]) if match else None
        if match is None or number is None:
            fix = "write 0.02, 5% (of the base's mean), SCORER=0.02 or TASK/SCORER=5%"
            faults.append(Fault(f"`{text}` is no limit", "--max-drop", fix=fix))
            continue
        limit = Limit(number / 100 if match["percent"] else number, bool(match["percent"]))
        key = None if match["key"] is None else match["key"].strip()
        if key in own or (key is None and default is not None):
            named = "the default" if key is None else f"`{key}`"
            faults.append(
                Fault(f"`{text}`: {named} has a limit already", "--max-drop", fix="state each once")
            )
        elif key is None:
            default = limit
        else:
            own[key] = limit
    if faults:
        raise SelectionError(*faults)
    return default, own


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
