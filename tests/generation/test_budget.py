"""Money is exact, unknown is not zero, and a ceiling needs prices."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from gradetrail.errors import SpecError
from gradetrail.generation.budget import Budget
from gradetrail.prices import Price


def price(model: str, *, cache_write: str | None = "3.75") -> Price:
    write = None if cache_write is None else Decimal(cache_write)
    return Price(
        "anthropic", model, date(2020, 1, 1), Decimal(3), Decimal("0.30"), write, Decimal(15), "test"
    )


def call(**tokens: Any) -> dict[str, Any]:
    return {"provider": "anthropic", "model": "m", "status": "ok", **tokens}


def test_cached_tokens_are_paid_once_and_at_their_own_price() -> None:
    budget = Budget([price("m")], None)
    budget.add(call(input_tokens=5, cache_write_tokens=10_000, cache_read_tokens=2_000, output_tokens=400))
    assert budget.spent_usd == Decimal("0.044115")


def test_a_thousand_small_sums_stay_exact() -> None:
    budget = Budget([], None)
    for _ in range(1000):
        budget.add(call(billed_usd=Decimal("0.0000728")))
    assert budget.spent_usd == Decimal("0.0728")


@pytest.mark.parametrize("tokens", [{"input_tokens": 5}, {"output_tokens": 5}, {}])
def test_missing_usage_is_unknown_and_counted_not_free(tokens: dict[str, int]) -> None:
    budget = Budget([price("m")], None)
    budget.add(call(**tokens))
    assert (budget.spent_usd, budget.unpriced) == (0, {"anthropic/m"})


def test_a_kind_of_token_without_a_price_makes_the_cost_unknown() -> None:
    budget = Budget([price("m", cache_write=None)], None)
    assert budget.cost_usd(call(input_tokens=1, output_tokens=1, cache_write_tokens=5)) is None
    assert budget.cost_usd(call(input_tokens=1, output_tokens=1, cache_write_tokens=0)) is not None


def test_a_ceiling_refuses_models_without_a_price_and_names_them() -> None:
    budget = Budget([price("m")], Decimal(1))
    budget.refuse_unpriced([("anthropic", "m"), ("mock", "noisy"), ("replay", "x")], "spec.yaml:3")
    with pytest.raises(SpecError, match="no price for openai_compatible/x"):
        budget.refuse_unpriced([("anthropic", "m"), ("openai_compatible", "x")], "spec.yaml:3")


def test_a_ceiling_is_reached_when_it_is_spent() -> None:
    budget = Budget([price("m")], Decimal("0.0001"))
    budget.add(call(input_tokens=10, output_tokens=1))
    assert budget.halt is None
    budget.add(call(input_tokens=20, output_tokens=0))
    assert budget.spent_usd == Decimal("0.000105")
    assert str(budget.halt) == "max_cost_usd of $0.0001 is reached ($0.000105 spent by this command)"


def test_a_ceiling_stops_where_an_answer_has_no_known_cost() -> None:
    budget, open_ended = Budget([price("m")], Decimal(1)), Budget([price("m")], None)
    for one in (budget, open_ended):
        one.add(call(status="error"))
        assert one.halt is None
        one.add(call(output_tokens=5))
    assert "anthropic/m answers without saying how many tokens it used" in str(budget.halt)
    assert open_ended.halt is None
