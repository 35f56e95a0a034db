"""What the judges of one command share: limits, what was spent, who is told, and how it went.

Invariant: all judges of a command are under one gate and one budget. What makes calls is loaded when one
is to be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from gradetrail.generation.progress import Progress
from gradetrail.scorer_spec import judges_in
from gradetrail.scoring.judge_setup import judge_spec
from gradetrail.spec import Model, Spec

if TYPE_CHECKING:
    from gradetrail.generation.engine import Shared


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the asking about one run ended."""

    run_id: str
    scorer: str
    status: str
    """`complete`, `aborted` or `interrupted`."""
    reason: str | None
    progress: Progress


@dataclass(slots=True)
class JudgeCalls:
    """What the judges of one command share: limits, what was spent, and who is told."""

    specs: Sequence[Spec]
    spent_usd: Decimal = Decimal(0)
    """What the command has spent already, on the models under test."""
    observe: Callable[[Progress], None] | None = None
    tell: Callable[[str], None] | None = None
    told: set[str] = field(default_factory=set)
    """Warnings that the user has seen."""
    unpriced: frozenset[str] = frozenset()
    """Models under test that answered at a cost which is not known."""
    verdicts: list[Verdict] = field(default_factory=list)
    """How it went, for each run and scorer whose judge was asked."""
    _shared: Shared | None = None

    def warn(self, warnings: Iterable[str]) -> None:
        """Tell warnings, each once."""
        for warning in warnings:
            if self.tell is not None and warning not in self.told:
                self.tell(f"warning: {warning}")
            self.told.add(warning)

    @property
    def is_stopped(self) -> bool:
        """Whether no judge is to be asked any more."""
        return any(verdict.status != "complete" for verdict in self.verdicts)

    def shared(self, root: Path) -> Shared:
        """Give the gate and the budget; SpecError if a ceiling is set and a judge has no price."""
        from gradetrail.generation.engine import Shared
        from gradetrail.pipeline.limits import make_budget, make_gate

        if self._shared is None:
            alone = [with_judge(spec, model) for spec in self.specs for model in judge_models(spec)]
            asked = {(model.provider, model.name) for spec in alone for model in spec.models}
            budget = make_budget(root, self.specs, asked)
            budget.spent_usd = self.spent_usd
            budget.unpriced |= self.unpriced
            self._shared = Shared(make_gate(alone), budget)
        return self._shared


def judge_models(spec: Spec) -> list[Model]:
    """List the models that judge."""
    return [judge.model for _, judge in judges_in(spec.scorers)]


def with_judge(spec: Spec, model: Model) -> Spec:
    """Give the spec of a generation that asks a judge alone."""
    return judge_spec(spec).model_copy(update={"models": (model,)})
