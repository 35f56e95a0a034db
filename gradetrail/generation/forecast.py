"""What a plan would cost, and why a request has no stored answer.

Invariant: an estimate is a range and says what it rests on: calls of that model made before, else the
rendered text and `max_tokens`. What cannot be bounded is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from gradetrail import sql
from gradetrail.generation.conversation import SCRIPT_COLUMNS, Scripts
from gradetrail.generation.outstanding import Outstanding
from gradetrail.generation.plan import Plan
from gradetrail.generation.trials import rows_of
from gradetrail.prices import FREE, Price, price_on
from gradetrail.store.places import is_warehouse
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

BYTES_PER_TOKEN = (6.0, 1.5)
"""Most and fewest bytes of a prompt's JSON that one token takes, over languages and tokenisers."""
DEVIATIONS = 4.0
"""Standard deviations on each side of an estimate from history."""


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of a number."""

    low: float
    high: float | None
    """None: not bounded by anything that is known."""


NOTHING = Range(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the requests of one model would use."""

    model: str
    n_trials: int
    n_hits: int
    """Trials that a stored answer serves; of a judge the requests that stored replies serve."""
    n_requests: int
    """Requests to make."""
    input_tokens: Range
    output_tokens: Range
    cost_usd: Range | None
    """None: the model has no price; what asks nobody costs 0."""
    basis: str
    """`history of N calls`, or `text and max_tokens`."""


def estimate(root: Path, plan: Plan, todo: Outstanding, prices: Iterable[Price]) -> list[Estimate]:
    """Estimate tokens and cost of what is owed, for each model of the plan."""
    history = _history(root, plan)
    known = list(prices)
    return [_of_model(name, plan, todo, history, known) for name in _models(plan)]


def _models(plan: Plan) -> list[str]:
    return list(dict.fromkeys(entrant.model.display for entrant in plan.entrants))


def _of_model(
    name: str, plan: Plan, todo: Outstanding, history: Mapping[tuple[str, str], Any], prices: list[Price]
) -> Estimate:
    import pyarrow.compute as pc

    shape = next(entrant.shape for entrant in plan.entrants if entrant.model.display == name)
    numbers = [number for number, entrant in enumerate(plan.entrants) if entrant.model.display == name]
    n_trials, n_pending = (
        table.select(["entrant"]).filter(pc.field("entrant").isin(numbers)).num_rows
        for table in (plan.trials, todo.asked)
    )
    columns = ["entrant", "request_key", "input_bytes"]
    asked = todo.requests.select(columns).filter(pc.field("entrant").isin(numbers))
    past = history.get((shape.provider, shape.model))
    calls = _calls(plan, todo, asked)
    fills_cache = False
    if past is None:
        tokens_in, tokens_out = _from_text(asked, calls, shape.params.get("max_tokens"))
        basis = "text and max_tokens"
    else:
        n, *moments, fills_cache = past
        tokens_in, tokens_out = (_from_history(calls, n, *moments[k : k + 2]) for k in (0, 2))
        basis = f"history of {n:,} calls"
    price = price_on(prices, shape.provider, shape.model, datetime.now(UTC).date())
    cost = None if price is None else _cost(price, tokens_in, tokens_out, fills_cache=fills_cache)
    return Estimate(
        model=name,
        n_trials=n_trials,
        n_hits=n_trials - n_pending,
        n_requests=asked.num_rows,
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        cost_usd=NOTHING if shape.provider in FREE else cost,
        basis=basis,
    )


def _history(root: Path, plan: Plan) -> dict[tuple[str, str], Any]:
    """Give (n, input mean, deviation, output mean, deviation, fills a cache) by (provider, model)."""
    if not is_warehouse(root):
        return {}
    import pyarrow as pa

    pairs = sorted({(entrant.shape.provider, entrant.shape.model) for entrant in plan.entrants})
    asked = pa.table({"provider": [p for p, _ in pairs], "model": [m for _, m in pairs]})
    with Warehouse(root) as warehouse:
        con = warehouse.connection("base")
        con.register("asked_model", asked)
        rows = sql.run_file(
            con, "generation/token_history", {"task": plan.spec.name, "role": "subject"}
        ).fetchall()
        con.unregister("asked_model")
    return {(provider, model): rest for provider, model, *rest in rows}


@dataclass(frozen=True, slots=True)
class _Calls:
    """How many calls some requests are, where a scripted conversation takes one for each turn."""

    fewest: int
    """If conversations have all turns but their last in common."""
    most: int
    most_bytes: int
    """Of all questions that the calls hold, those of earlier turns again in each later one."""
    n_earlier: int
    """Answers to earlier turns that the calls hold."""


def _calls(plan: Plan, todo: Outstanding, asked: pa.Table) -> _Calls:
    import pyarrow.compute as pc

    most = most_bytes = n_earlier = 0
    for number, entrant in enumerate(plan.entrants):
        total = max(1, len(plan.spec.prompts[entrant.prompt].turns))
        rows = asked.filter(pc.field("entrant") == number)
        if total == 1:
            most += rows.num_rows
            most_bytes += int(pc.sum(rows.column("input_bytes")).as_py() or 0)
            continue
        for row in rows_of(rows, ["request_key", "input_bytes"]):
            left = total - len(todo.turn_answers.get(row["request_key"], ()))
            most += left
            most_bytes += left * row["input_bytes"]
            n_earlier += total * (total - 1) // 2
    return _Calls(asked.num_rows, most, most_bytes, n_earlier)


def _from_history(calls: _Calls, n: int, mean: float, deviation: float | None) -> Range:
    # the sum of so many draws, around a mean that is itself known from n draws only
    spread = mean if deviation is None else deviation
    low, high = (DEVIATIONS * spread * math.sqrt(k + k**2 / n) for k in (calls.fewest, calls.most))
    return Range(max(0.0, calls.fewest * mean - low), calls.most * mean + high)


def _from_text(asked: pa.Table, calls: _Calls, max_tokens: int | None) -> tuple[Range, Range]:
    import pyarrow.compute as pc

    most, fewest = BYTES_PER_TOKEN
    low = int(pc.sum(asked.column("input_bytes")).as_py() or 0) / most
    if max_tokens is None:
        return Range(low, None if calls.n_earlier else calls.most_bytes / fewest), Range(0.0, None)
    high = calls.most_bytes / fewest + calls.n_earlier * max_tokens
    return Range(low, high), Range(0.0, float(max_tokens * calls.most))


def _cost(price: Price, tokens_in: Range, tokens_out: Range, *, fills_cache: bool) -> Range | None:
    per_in, per_out = price.input_usd_per_mtok, price.output_usd_per_mtok
    if per_in is None or per_out is None:
        return None
    rates = float(per_in) / 1e6, float(per_out) / 1e6
    # at the low end all input may come from the provider's cache, at the high end go into it
    cached = float(price.cache_read_usd_per_mtok or 0) / 1e6
    filled = float(price.cache_write_usd_per_mtok or 0) / 1e6 if fills_cache else 0.0
    low = tokens_in.low * min(rates[0], cached or rates[0]) + tokens_out.low * rates[1]
    if tokens_in.high is None or tokens_out.high is None:
        return Range(low, None)
    return Range(low, tokens_in.high * max(rates[0], filled) + tokens_out.high * rates[1])


def why(root: Path, plan: Plan, todo: Outstanding, count: int) -> list[str]:
    """Say of the first requests without an answer what the nearest stored request had otherwise."""
    every = todo.requests
    if every.num_rows == 0:
        return ["every trial has an answer"]
    scripts = Scripts(plan)
    lines = []
    for row in rows_of(every.slice(0, count), ["model", "prompt", *SCRIPT_COLUMNS]):
        turn = scripts.turns(row)(todo.turn_answers.get(row["request_key"], ()))
        place = f"{row['model']} / {row['prompt']} / sample {row['sample_id']} / epoch {row['epoch']}"
        shape = turn.request.shape
        asked = {
            "messages": turn.messages.decode(),
            "provider": shape.provider,
            "model": shape.model,
            "sample_id": row["sample_id"],
            "epoch": row["epoch"],
        }
        nearest = _nearest(root, asked)
        if nearest is None:
            lines.append(f"{place}: nothing like it is stored")
            continue
        request, messages, run_id = nearest
        differences = [
            *_changes(orjson.loads(request), orjson.loads(scripts.canonical(row))),
            *_message_changes(orjson.loads(messages), orjson.loads(turn.messages)),
        ]
        reason = "; ".join(differences) or "equal, but older than --max-age or before --refresh"
        lines.append(f"{place}: nearest stored in {run_id}: {reason}")
    if every.num_rows > count:
        lines.append(f"and {every.num_rows - count:,} more")
    return lines


def _nearest(root: Path, asked: Mapping[str, Any]) -> tuple[str, str, str] | None:
    if not is_warehouse(root):
        return None
    with Warehouse(root) as warehouse:
        row = sql.run_file(warehouse.connection("base"), "generation/nearest_requests", asked).fetchone()
    return None if row is None else (row[0], row[1], row[2])


def _changes(old: Any, new: Any, path: str = "") -> list[str]:
    """List leaves that differ: `params.temperature 0 -> 0.7`."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in sorted(old.keys() | new.keys()):
            inner = f"{path}.{key}" if path else key
            found += _changes(old.get(key), new.get(key), inner)
        return found
    return [] if old == new else [f"{path} {_short(old)} -> {_short(new)}"]


def _message_changes(old: list[Any], new: list[Any]) -> list[str]:
    if old == new:
        return []
    if len(old) != len(new):
        return [f"{len(old)} messages -> {len(new)}"]
    found = []
    for number, (was, now) in enumerate(zip(old, new, strict=True), start=1):
        if was != now:
            a, b = str(was.get("content")), str(now.get("content"))
            start = next(
                (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
            )
            found.append(
                f"message {number} ({now.get('role')}) differs from character {start + 1}: "
                f"{_short(a[start:])} -> {_short(b[start:])}"
            )
    return found


def _short(value: Any) -> str:
    text = "not sent" if value is None else orjson.dumps(value).decode()
    return text if len(text) <= 60 else text[:57] + "..."
