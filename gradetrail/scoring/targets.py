"""Looks at targets before anything is paid for: which samples will not be graded, whatever is answered.

Invariant: nothing here refuses anything; a sample without a usable target is asked and stays ungraded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradetrail.scorer_spec import Numeric
from gradetrail.scoring.comparison import has_target
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.numbers import find_number

SHOWN = 60
"""Characters of a target that a warning shows."""


@dataclass(slots=True)
class TargetWatch:
    """Counts the samples that one scorer cannot grade."""

    definition: Definition
    n_samples: int = 0
    n_without: int = 0
    n_unusable: int = 0
    first_unusable: str = ""

    def look(self, targets: Sequence[str] | None) -> None:
        """Look at the rendered targets of a sample; None if it has none."""
        self.n_samples += 1
        if not targets:
            self.n_without += has_target(self.definition)
            return
        scorer = self.definition.scorer
        if not isinstance(scorer, Numeric):
            return
        for target in targets:
            if find_number(target, which=scorer.which, decimal=scorer.decimal) is None:
                self.n_unusable += 1
                self.first_unusable = self.first_unusable or target
                return

    def warnings(self) -> Iterator[str]:
        """Say what was counted."""
        scorer = f"scorer `{self.definition.name}`"
        of = f"of {self.n_samples:,} samples"
        if self.n_without:
            yield f"{scorer}: {self.n_without:,} {of} have no target; they are asked but not graded"
        if self.n_unusable:
            shown = self.first_unusable
            shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"
            yield f"{scorer}: the targets of {self.n_unusable:,} {of} hold no number, such as `{shown}`"
