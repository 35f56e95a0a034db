"""Looks at targets before anything is paid for: which samples will not be graded, whatever is answered.

Invariant: nothing here refuses anything; a sample without a usable target is asked and stays ungraded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradetrail.scorer_spec import JsonMatch, Numeric, Scorer, ToolCalls
from gradetrail.scoring.comparison import has_target
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.json_value import parsed_json
from gradetrail.scoring.numbers import find_number
from gradetrail.scoring.tool_calls import wanted_calls

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
        unusable = _unusable(self.definition.scorer, targets)
        if unusable is not None:
            self.n_unusable += 1
            self.first_unusable = self.first_unusable or unusable

    def warnings(self) -> Iterator[str]:
        """Say what was counted."""
        scorer = f"scorer `{self.definition.name}`"
        of = f"of {self.n_samples:,} samples"
        if self.n_without:
            yield f"{scorer}: {self.n_without:,} {of} have no target; they are asked but not graded"
        if self.n_unusable:
            shown = self.first_unusable
            shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"
            what = LACKS[self.definition.scorer.type]
            yield f"{scorer}: the targets of {self.n_unusable:,} {of} {what}, such as `{shown}`"


LACKS = {"numeric": "hold no number", "json_match": "are no JSON", "tool_calls": "are no tool calls"}
"""What is wrong with unusable targets, by the type of the scorer."""


def _unusable(scorer: Scorer, targets: Sequence[str]) -> str | None:
    """Give a target that nothing can be compared with; None if all are good."""
    if isinstance(scorer, Numeric):
        numbers = (find_number(target, which=scorer.which, decimal=scorer.decimal) for target in targets)
        return next((text for text, number in zip(targets, numbers, strict=True) if number is None), None)
    try:
        if isinstance(scorer, ToolCalls):
            wanted_calls(targets)
    except ValueError:
        return targets[0]
    if isinstance(scorer, JsonMatch):
        return next((target for target in targets if not _is_json(target)), None)
    return None


def _is_json(text: str) -> bool:
    try:
        parsed_json(text)
    except ValueError:
        return False
    return True
