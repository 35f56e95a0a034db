"""What models cost: dated prices from a maintained package, over which the user's own file wins.

Invariant: prices are exact decimals with a day from which they hold and a source; a model that
nobody prices has no row, so its cost is unknown, never zero.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from gradetrail.errors import Fault, SpecError, did_you_mean

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice, TieredPrices

PACKAGE_PROVIDERS = {"anthropic": "anthropic", "openai": "openai"}
"""Our providers that are a vendor's own API, by the package's name for it. Others have no list price."""

FREE = frozenset({"mock", "replay"})
"""Providers whose calls are nobody's bill; a `python` adapter may well call an API that is paid."""

KINDS = ("input", "cache_read", "cache_write", "output")
"""Kinds of tokens; input leaves out what the cache served or took."""

EARLIEST = date(1970, 1, 1)
"""Day from which a price without a date holds."""

_MODEL = re.compile(rf"({'|'.join(PACKAGE_PROVIDERS)})/(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Price:
    """Price of one model from one day on; US dollars per million tokens. None: that kind has no price."""

    provider: str
    model: str
    """The provider's name for the model."""
    valid_from: date
    input_usd_per_mtok: Decimal | None
    cache_read_usd_per_mtok: Decimal | None
    cache_write_usd_per_mtok: Decimal | None
    output_usd_per_mtok: Decimal | None
    source: str

    def record(self) -> dict[str, str | None]:
        """Give the row of the view `prices`; values as text."""
        return {name: None if value is None else str(value) for name, value in asdict(self).items()}


def prices_of(models: Iterable[tuple[str, str]], file: Path | None = None) -> list[Price]:
    """Give all dated prices of (provider, model) pairs, and of every model in the user's file.

    Raises SpecError if the file is not a list of prices.
    """
    own = read_prices(file) if file is not None else []
    priced = {(price.provider, price.model) for price in own}
    wanted = sorted({pair for pair in models if pair[0] in PACKAGE_PROVIDERS} - priced)
    found = [price for pair in wanted for price in _cached(wanted)[pair]] if wanted else []
    return sorted([*own, *found], key=lambda price: (price.provider, price.model, price.valid_from))


def price_on(prices: Iterable[Price], provider: str, model: str, day: date) -> Price | None:
    """Give the price of a model on a day; None if it has none."""
    fitting = [p for p in prices if (p.provider, p.model) == (provider, model) and p.valid_from <= day]
    return max(fitting, key=lambda price: price.valid_from, default=None)


def price_file(home: Path) -> Path | None:
    """Find the user's prices: `$GRADETRAIL_PRICES`, else `prices.yaml` of a warehouse; None without."""
    named = os.environ.get("GRADETRAIL_PRICES")
    if named:
        return Path(named)
    file = home / "prices.yaml"
    return file if file.is_file() else None


def models_in(
    manifests: Iterable[Mapping[str, Any]], scorers: Iterable[Mapping[str, Any]]
) -> set[tuple[str, str]]:
    """Collect the (provider, model) pairs that runs asked, and that scorers judge with."""
    asked = {
        (str(model.get("provider")), str(model.get("name")))
        for manifest in manifests
        for model in manifest.get("models") or ()
    }
    return asked | {pair for scorer in scorers for pair in _named_in(scorer.get("definition"))}


def _named_in(value: Any) -> Iterator[tuple[str, str]]:
    """Yield models that a scorer's definition names: `provider/name`, or an object with both."""
    if isinstance(value, str):
        match = _MODEL.fullmatch(value)
        if match:
            yield match[1], match[2]
    elif isinstance(value, Mapping):
        provider, name = value.get("provider"), value.get("name") or value.get("model")
        if isinstance(provider, str) and isinstance(name, str):
            yield provider, name
        for item in value.values():
            yield from _named_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _named_in(item)


def read_prices(file: Path) -> list[Price]:
    """Read the user's prices: a YAML list of {provider, model, valid_from, <kind>_usd_per_mtok, source}."""
    from gradetrail.yaml_source import read_source

    source = read_source(file)
    if not isinstance(source.value, list):
        raise SpecError(
            Fault(
                "prices are a list", f"{file}:1", fix="- {provider: ..., model: ..., input_usd_per_mtok: ...}"
            )
        )
    faults: list[Fault] = []
    prices = [_own_price(entry, source.where((n,)), faults) for n, entry in enumerate(source.value)]
    if faults:
        raise SpecError(*faults)
    return prices


def _own_price(entry: Any, where: str, faults: list[Fault]) -> Price:
    columns = tuple(f"{kind}_usd_per_mtok" for kind in KINDS)
    known = ("provider", "model", "valid_from", *columns, "source")
    values = dict(entry) if isinstance(entry, Mapping) else {}
    needed = ("provider", "model", "input_usd_per_mtok", "output_usd_per_mtok")
    missing = [name for name in needed if values.get(name) is None]
    unknown = sorted(values.keys() - set(known))
    faults += [Fault(f"`{name}` is missing", where, fix=f"known: {', '.join(known)}") for name in missing]
    faults += [Fault(f"unknown key `{name}`", where, fix=did_you_mean(name, known)) for name in unknown]
    day = EARLIEST
    if values.get("valid_from") is not None:
        try:
            day = date.fromisoformat(str(values["valid_from"]))
        except ValueError:
            faults.append(Fault(f"`{values['valid_from']}` is no date", where, "valid_from", "2026-11-30"))
    amounts = {name: _amount(values.get(name), where, name, faults) for name in columns}
    whole = amounts["input_usd_per_mtok"]
    return Price(
        str(values.get("provider")),
        str(values.get("model")),
        day,
        whole,
        amounts["cache_read_usd_per_mtok"] if amounts["cache_read_usd_per_mtok"] is not None else whole,
        amounts["cache_write_usd_per_mtok"] if amounts["cache_write_usd_per_mtok"] is not None else whole,
        amounts["output_usd_per_mtok"],
        str(values.get("source") or where),
    )


def _amount(value: Any, where: str, field: str, faults: list[Fault]) -> Decimal | None:
    if value is None:
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if isinstance(value, bool) or not amount.is_finite() or amount < 0:
        faults.append(Fault(f"`{value}` is no price", where, field, "US dollars per million tokens"))
        return None
    return amount


def _cached(wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[Price]]:
    """Look models up in the package, through a small file: importing it takes 150 ms."""
    stamp, file = _package_stamp(), _cache_file()
    try:
        known = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        known = {}
    models = known.get("models", {}) if isinstance(known, dict) and known.get("package") == stamp else {}
    try:
        return {pair: [_from_record(row) for row in models["/".join(pair)]] for pair in wanted}
    except (KeyError, TypeError, ValueError, InvalidOperation):
        found = {pair: _from_package(*pair) for pair in wanted}
    models = models if isinstance(models, dict) else {}
    models |= {"/".join(pair): [price.record() for price in prices] for pair, prices in found.items()}
    _write_cache(file, {"package": stamp, "models": models})
    return found


def _package_stamp() -> str:
    """Tell one installed package from another without importing it."""
    spec = importlib.util.find_spec("genai_prices")
    if spec is None or spec.origin is None:
        return ""
    state = (Path(spec.origin).parent / "data.py").stat()
    return f"{spec.origin} {state.st_size} {state.st_mtime_ns}"


def _cache_file() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "gradetrail" / "prices.json"


def _write_cache(file: Path, content: Mapping[str, Any]) -> None:
    own = file.with_suffix(f".{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        own.write_bytes(orjson.dumps(content))
        own.replace(file)
    except OSError:
        return  # a home that cannot be written to only costs time


def _from_record(row: Mapping[str, str | None]) -> Price:
    amounts = {name: value for name, value in row.items() if name.endswith("_usd_per_mtok")}
    return Price(
        provider=str(row["provider"]),
        model=str(row["model"]),
        valid_from=date.fromisoformat(str(row["valid_from"])),
        source=str(row["source"]),
        **{name: None if value is None else Decimal(value) for name, value in amounts.items()},
    )


def _from_package(provider: str, model: str) -> list[Price]:
    """Look a model up in genai-prices; an unknown one has no prices."""
    from genai_prices import __version__, data_snapshot
    from genai_prices.types import ModelPrice, StartDateConstraint

    try:
        _, info = data_snapshot.get_snapshot().find_provider_model(
            model, None, PACKAGE_PROVIDERS[provider], None
        )
    except LookupError:
        return []
    source = f"genai-prices {__version__}: {info.id}"
    if isinstance(info.prices, ModelPrice):
        return [_price(provider, model, EARLIEST, info.prices, source)]
    prices = []
    for entry in info.prices:
        if entry.constraint is None:
            prices.append(_price(provider, model, EARLIEST, entry.prices, source))
        elif isinstance(entry.constraint, StartDateConstraint):
            prices.append(_price(provider, model, entry.constraint.start_date, entry.prices, source))
        # prices by the hour of the day are left out: costs are taken by day
    return prices


def _price(provider: str, model: str, day: date, listed: ModelPrice, source: str) -> Price:
    raw = {kind: getattr(listed, f"{kind}_mtok", None) for kind in KINDS}
    amounts = {kind: _base(value) for kind, value in raw.items()}
    is_tiered = any(hasattr(value, "tiers") for value in raw.values())
    whole = amounts["input"]
    return Price(
        provider,
        model,
        day,
        whole,
        amounts["cache_read"] if amounts["cache_read"] is not None else whole,
        amounts["cache_write"] if amounts["cache_write"] is not None else whole,
        amounts["output"],
        f"{source}, base tier" if is_tiered else source,
    )


def _base(value: Decimal | TieredPrices | None) -> Decimal | None:
    """Give the price of a call of ordinary length; longer inputs of tiered models cost more."""
    return value if isinstance(value, Decimal) or value is None else value.base
