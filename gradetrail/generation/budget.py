"""What a command may cost: the ceiling `max_cost_usd` over all its specs and roles.

Invariant: money is exact; a command with a ceiling asks no model that has no price, and stops where one
answers at a cost that nobody knows; the ceiling is passed by no more than what the calls in flight cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from typing import Any

from gradetrail.errors import Fault, SpecError
from gradetrail.prices import FREE, Price, price_on

MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Halt:
    """Why a ceiling lets no further call be made."""

    max_usd: Decimal
    spent_usd: Decimal
    unpriced: tuple[str, ...]
    """Models that answered at a cost which is not known: no ceiling can hold with them."""
    left_usd: Decimal | None = None
    """What the requests that it left would cost, at the mean of those that ended; None if none did."""

    def __str__(self) -> str:
        """Say it in one line."""
        if self.unpriced:
            why = "answers without saying how many tokens it used, or tokens of a kind that has no price"
            return f"max_cost_usd of ${self.max_usd} cannot hold: {', '.join(self.unpriced)} {why}"
        return f"max_cost_usd of ${self.max_usd} is reached (${self.spent_usd:f} spent by this command)"

    @property
    def next_usd(self) -> Decimal:
        """Name a ceiling under which a command that goes on can end, as far as that is forecast."""
        enough = self.spent_usd + (self.left_usd or Decimal(0))
        return _rounded_up(max(2 * self.max_usd, enough))


def together(halts: Sequence[Halt]) -> Halt:
    """Give one halt for those of one command, of which at least one is: what all of them left adds up."""
    left = [halt.left_usd for halt in halts if halt.left_usd is not None]
    return replace(
        max(halts, key=lambda halt: halt.spent_usd), left_usd=sum(left, Decimal(0)) if left else None
    )


def _rounded_up(usd: Decimal) -> Decimal:
    """Round up to two digits."""
    return usd.quantize(Decimal(1).scaleb(usd.adjusted() - 1), ROUND_CEILING) if usd else usd


class Budget:
    """Adds up what calls cost; without a ceiling it only counts."""

    def __init__(self, prices: Iterable[Price], max_usd: Decimal | None) -> None:
        self.max_usd = max_usd
        self.spent_usd = Decimal(0)
        self.unpriced: set[str] = set()
        """Models that answered at a cost which is not known."""
        self._prices = list(prices)
        self._today: dict[tuple[str, str], Price | None] = {}

    def price(self, provider: str, model: str) -> Price | None:
        """Give today's price of a model; None if it has none."""
        pair = (provider, model)
        if pair not in self._today:
            self._today[pair] = price_on(self._prices, provider, model, datetime.now(UTC).date())
        return self._today[pair]

    def refuse_unpriced(self, models: Iterable[tuple[str, str]], where: str) -> None:
        """Raise SpecError naming the models that a ceiling cannot hold for."""
        if self.max_usd is None:
            return
        unpriced = sorted(f"{p}/{m}" for p, m in set(models) if p not in FREE and self.price(p, m) is None)
        if unpriced:
            message = f"max_cost_usd cannot hold: no price for {', '.join(unpriced)}"
            fix = "put prices into prices.yaml in the warehouse (or $GRADETRAIL_PRICES), or drop the ceiling"
            raise SpecError(Fault(message, where, "run.max_cost_usd", fix))

    def add(self, call: Mapping[str, Any]) -> None:
        """Count one call; columns of the stored table `calls`."""
        cost = call.get("billed_usd")
        if cost is None:
            cost = self.cost_usd(call)
        if cost is not None:
            self.spent_usd += cost
        elif call.get("status") == "ok" and call["provider"] not in FREE:
            self.unpriced.add(f"{call['provider']}/{call['model']}")

    def cost_usd(self, call: Mapping[str, Any]) -> Decimal | None:
        """Price one call by its tokens; None if the price or the tokens are not known."""
        price = self.price(call["provider"], call["model"])
        if price is None or call.get("input_tokens") is None or call.get("output_tokens") is None:
            return None
        total = Decimal(0)
        for kind in ("input", "cache_read", "cache_write", "output"):
            tokens, usd = call.get(f"{kind}_tokens") or 0, getattr(price, f"{kind}_usd_per_mtok")
            if tokens and usd is None:
                return None
            total += tokens * (usd or Decimal(0)) / MILLION
        return total

    @property
    def halt(self) -> Halt | None:
        """Say why no further call may be made; None if one may."""
        if self.max_usd is None or not (self.unpriced or self.spent_usd >= self.max_usd):
            return None
        return Halt(self.max_usd, self.spent_usd, tuple(sorted(self.unpriced)))
