"""Prices are dated and exact; what nobody prices is unknown."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from gradetrail.errors import SpecError
from gradetrail.prices import Price, models_in, price_file, price_on, prices_of, read_prices
from gradetrail.warehouse import Warehouse
from tests.warehouse.conftest import NEW

SONNET = ("anthropic", "claude-sonnet-4-6")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gradetrail" / "prices.json"


def test_the_package_gives_dated_prices_and_says_so():
    prices = prices_of([SONNET])
    price = price_on(prices, *SONNET, date(2026, 11, 30))
    assert price == Price(
        *SONNET, price.valid_from, Decimal("3"), Decimal("0.3"), Decimal("3.75"), Decimal("15"), price.source
    )
    assert price.source.startswith("genai-prices ")
    assert len({p.valid_from for p in prices}) == len(prices) > 1


def test_a_kind_without_its_own_price_costs_what_input_costs():
    (price,) = prices_of([("openai", "gpt-5.1")])
    assert price.cache_write_usd_per_mtok == price.input_usd_per_mtok
    assert price.cache_read_usd_per_mtok < price.input_usd_per_mtok


@pytest.mark.parametrize(
    "pair", [("openai", "acme/unlisted-1"), ("openai_compatible", "gpt-5.1"), ("mock", "x")]
)
def test_an_unlisted_model_and_a_server_of_ones_own_have_no_price(pair):
    assert prices_of([pair]) == []


def test_a_second_look_reads_the_cache_and_a_broken_cache_is_made_again(cache):
    first = prices_of([SONNET])
    assert prices_of([SONNET]) == first
    cache.write_text("{")
    assert prices_of([SONNET]) == first
    cache.write_text(json.dumps({"package": "another", "models": {"/".join(SONNET): []}}))
    assert prices_of([SONNET]) == first
    assert prices_of([SONNET, ("openai", "gpt-5.1")])[: len(first)] == first


def test_the_users_file_wins_and_adds_models(tmp_path):
    file = tmp_path / "prices.yaml"
    file.write_text(
        "- {provider: anthropic, model: claude-sonnet-4-6, input_usd_per_mtok: 1, output_usd_per_mtok: 2}\n"
        "- {provider: openai_compatible, model: llama, valid_from: 2026-01-01, input_usd_per_mtok: 0.1,"
        " cache_read_usd_per_mtok: 0, output_usd_per_mtok: 0.25, source: our contract}\n"
    )
    prices = prices_of([SONNET], file)
    assert [(p.model, p.input_usd_per_mtok, p.source) for p in prices] == [
        ("claude-sonnet-4-6", Decimal("1"), f"{file}:1"),
        ("llama", Decimal("0.1"), "our contract"),
    ]
    assert prices[1].cache_read_usd_per_mtok == 0
    assert prices[1].cache_write_usd_per_mtok == Decimal("0.1")
    assert price_on(prices, "openai_compatible", "llama", date(2025, 12, 31)) is None


def test_every_fault_of_the_users_file_is_told_with_its_line(tmp_path):
    file = tmp_path / "prices.yaml"
    file.write_text(
        "- {provider: openai, model: a, input_usd_per_mtok: -1, output_usd_per_mtok: cheap}\n"
        "- {provider: openai, model: b, input_usd_per_mtok: 1, output_usd_per_mtok: 1,"
        " valid_from: soon, price: 1}\n"
        "- {model: c, input_usd_per_mtok: 1}\n"
    )
    with pytest.raises(SpecError) as caught:
        read_prices(file)
    told = [(fault.where.rpartition(":")[2], fault.message) for fault in caught.value.faults]
    assert told == [
        ("1", "`-1` is no price"), ("1", "`cheap` is no price"), ("2", "unknown key `price`"),
        ("2", "`soon` is no date"), ("3", "`provider` is missing"), ("3", "`output_usd_per_mtok` is missing"),
    ]  # fmt: skip


def test_the_environment_names_a_file_before_the_warehouse_does(tmp_path, monkeypatch):
    assert price_file(tmp_path) is None
    (tmp_path / "prices.yaml").touch()
    assert price_file(tmp_path) == tmp_path / "prices.yaml"
    monkeypatch.setenv("GRADETRAIL_PRICES", "/elsewhere.yaml")
    assert price_file(tmp_path) == Path("/elsewhere.yaml")


def test_judges_are_found_in_the_definitions_of_scorers():
    manifests = [{"models": [{"provider": "openai", "name": "gpt-5.1"}]}, {}]
    scorers = [
        {"definition": {"type": "judge", "model": {"provider": "anthropic", "name": "claude-haiku-4-5"}}},
        {"definition": {"type": "judge", "model": "openai/o4-mini", "prompt": "is openai/x right?"}},
        {"definition": {"type": "combine", "of": [{"model": "anthropic/claude-opus-4-8"}]}},
    ]
    assert models_in(manifests, scorers) == {
        ("openai", "gpt-5.1"), ("anthropic", "claude-haiku-4-5"), ("openai", "o4-mini"),
        ("anthropic", "claude-opus-4-8"),
    }  # fmt: skip


def test_a_price_that_is_added_later_prices_old_runs(root):
    text = "select model, cost_usd from leaderboard where run_id = $run order by model"
    with Warehouse(root) as warehouse:
        assert warehouse.rows(text, {"run": NEW})[1] == [("x", None), ("y", None)]
        assert warehouse.rows("from prices")[1] == []
    (root / "prices.yaml").write_text(
        "- {provider: openai, model: x, input_usd_per_mtok: 1, output_usd_per_mtok: 2}\n"
    )
    with Warehouse(root) as warehouse:
        assert len(warehouse.rows("from prices")[1]) == 1
