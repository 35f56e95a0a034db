"""The one gate and the one budget of a command.

Invariant: the widest concurrency and the lowest rates and ceilings of all its specs hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from gradetrail.generation.budget import Budget
from gradetrail.generation.gate import Gate
from gradetrail.prices import Price, price_file, prices_of
from gradetrail.spec import Spec
from gradetrail.store.places import home_of


def make_gate(specs: Sequence[Spec]) -> Gate:
    """Make the one gate of a command: the widest concurrency, the lowest rates."""
    knobs = [spec.run for spec in specs]
    vendors = {model.provider for spec in specs for model in spec.models if model.base_url is None}
    return Gate(
        max(knob.concurrency for knob in knobs),
        slow_start=bool(vendors & {"openai", "anthropic"}),
        requests_per_minute=min(
            (k.requests_per_minute for k in knobs if k.requests_per_minute), default=None
        ),
        tokens_per_minute=min((k.tokens_per_minute for k in knobs if k.tokens_per_minute), default=None),
    )


def known_prices(root: Path, asked: set[tuple[str, str]]) -> list[Price]:
    """Give the prices of (provider, model) pairs, and the user's own, which may be in the warehouse."""
    return prices_of(asked, price_file(home_of(root)))


def make_budget(root: Path, specs: Sequence[Spec], asked: set[tuple[str, str]]) -> Budget:
    """Make the one budget of a command; SpecError if a ceiling is set and a model has no price."""
    ceilings = [spec.run.max_cost_usd for spec in specs if spec.run.max_cost_usd is not None]
    budget = Budget(known_prices(root, asked), Decimal(str(min(ceilings))) if ceilings else None)
    budget.refuse_unpriced(asked, specs[0].where("run", "max_cost_usd"))
    return budget
