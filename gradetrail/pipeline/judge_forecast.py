"""How often judges would be asked after a run, and what that may cost.

Invariant: a count is exact for answers that are stored, and otherwise the most that it can be without
nudges: every answer, every vote, every order. Nothing is called or written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gradetrail import sql
from gradetrail.dataset import parse_row
from gradetrail.generation.forecast import BYTES_PER_TOKEN, DEVIATIONS, Estimate, Range
from gradetrail.generation.plan import Plan
from gradetrail.pipeline.judging import CallCounts, call_counts
from gradetrail.prices import Price, price_file, price_on, prices_of
from gradetrail.prompt import target_texts
from gradetrail.request import canonical_messages
from gradetrail.scorer_spec import Judge
from gradetrail.scoring.grade import Definition
from gradetrail.scoring.planner import dockets
from gradetrail.store.places import is_warehouse
from gradetrail.warehouse import Warehouse

TEXT = "text and max_tokens"


@dataclass(frozen=True, slots=True)
class Past:
    """What a judge has used so far."""

    n: int
    """Calls."""
    input_mean: float
    input_deviation: float | None
    output_mean: float
    output_deviation: float | None


def judge_estimates(
    root: Path, plan: Plan, run_id: str | None, definitions: Sequence[Definition]
) -> Iterator[Estimate]:
    """Yield an estimate for each scorer that asks a judge; `run_id` is the run that the plan continues."""
    judges = [definition for definition in definitions if definition.judge is not None]
    if not judges:
        return
    counts, history = _known(root, plan, run_id, judges)
    for definition in judges:
        assert isinstance(definition.scorer, Judge)
        assert definition.judge is not None
        known = counts.get(definition.name, CallCounts(0, 0, 0))
        n_trials = _judged_trials(plan, definition.scorer)
        sides = 2 if definition.scorer.swap else 1
        n_calls = known.n_open + max(0, n_trials - known.n_answers) * definition.scorer.votes * sides
        shape = definition.judge.shape
        past = history.get((shape.provider, shape.model))
        if past is None:
            tokens_in, tokens_out = _from_text(plan, definition, n_calls)
        else:
            tokens_in, tokens_out = _from_history(n_calls, past)
        prices = prices_of({(shape.provider, shape.model)}, price_file(root))
        price = price_on(prices, shape.provider, shape.model, datetime.now(UTC).date())
        yield Estimate(
            model=f"{definition.scorer.model.display} (judge `{definition.name}`)",
            n_trials=n_trials,
            n_hits=known.n_stored,
            n_requests=n_calls,
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cost_usd=None if price is None else _cost(price, tokens_in, tokens_out),
            basis=f"at most, without nudges; {f'history of {past.n:,} calls' if past else TEXT}",
        )


def _judged_trials(plan: Plan, scorer: Judge) -> int:
    """Count the trials that may be judged: all but those that are the opponent's own."""
    against, total = scorer.against, plan.trials.num_rows
    if against is None or against.run is not None or against.target:
        return total
    own = [
        entrant
        for entrant in plan.entrants
        if entrant.model.display != (against.model or entrant.model.display)
        or entrant.prompt != (against.prompt or entrant.prompt)
    ]
    return total * len(own) // max(1, len(plan.entrants))


def _known(
    root: Path, plan: Plan, run_id: str | None, judges: Sequence[Definition]
) -> tuple[dict[str, CallCounts], dict[tuple[str, str], Past]]:
    """Give the calls about stored answers by scorer, and what judges have used by (provider, model)."""
    import pyarrow as pa

    if not is_warehouse(root):
        return {}, {}
    counts: dict[str, CallCounts] = {}
    shapes = [definition.judge.shape for definition in judges if definition.judge is not None]
    with Warehouse(root) as warehouse:
        if run_id is not None:
            for definition in judges:
                counts[definition.name] = call_counts(dockets(warehouse, plan.spec, run_id, definition))
        con = warehouse.connection("base")
        asked = {"provider": [s.provider for s in shapes], "model": [s.model for s in shapes]}
        con.register("asked_model", pa.table(asked))
        params = {"task": plan.spec.name, "role": "judge"}
        rows = sql.run_file(con, "generation/token_history", params).fetchall()
        con.unregister("asked_model")
    return counts, {(row[0], row[1]): Past(*row[2:7]) for row in rows}


def _from_history(n_calls: int, past: Past) -> tuple[Range, Range]:
    # the sum of so many draws, around a mean that is itself known from n draws only
    spread = DEVIATIONS * math.sqrt(n_calls + n_calls**2 / past.n)
    pairs = ((past.input_mean, past.input_deviation), (past.output_mean, past.output_deviation))
    high_in, high_out = (
        n_calls * mean + spread * (mean if deviation is None else deviation) for mean, deviation in pairs
    )
    return Range(0.0, high_in), Range(0.0, high_out)


def _from_text(plan: Plan, definition: Definition, n_calls: int) -> tuple[Range, Range]:
    """Bound the tokens of calls by the questions as they are rendered, and `max_tokens` of both models."""
    assert isinstance(definition.scorer, Judge)
    assert definition.judge is not None
    if not n_calls:
        return Range(0.0, 0.0), Range(0.0, 0.0)
    most = definition.judge.shape.params.get("max_tokens")
    shown = _most_shown(plan, definition)
    high = None
    if shown is not None:
        repeats = definition.scorer.votes * (2 if definition.scorer.swap else 1)
        trials = plan.trials.num_rows
        asked = trials / max(1, plan.samples.chosen.num_rows) * _question_bytes(plan, definition)
        high = repeats * (asked / BYTES_PER_TOKEN[1] + trials * shown)
    return Range(0.0, high), Range(0.0, float(n_calls * most) if isinstance(most, int) else None)


def _most_shown(plan: Plan, definition: Definition) -> float | None:
    """Bound the tokens of all answers that one question to a judge may show; None if nothing bounds them."""
    assert isinstance(definition.scorer, Judge)
    against, names = definition.scorer.against, definition.judge_prompt().names
    stated = [entrant.shape.params.get("max_tokens") for entrant in plan.entrants]
    limits = [limit for limit in stated if isinstance(limit, int)]
    if len(limits) < len(stated) or (against is not None and against.run):
        return None
    turns = max(len(plan.spec.prompts[entrant.prompt].turns) for entrant in plan.entrants)
    answers = 1 + (against is not None and not against.target)
    earlier = max(0, turns - 1) if "conversation" in names else 0
    # what one model writes as one token another may read as several
    return (answers + earlier) * max(limits) * BYTES_PER_TOKEN[0] / BYTES_PER_TOKEN[1]


def _question_bytes(plan: Plan, definition: Definition) -> float:
    """Sum, over samples, the bytes that a judge is asked besides answers."""
    import pyarrow.compute as pc

    assert isinstance(definition.scorer, Judge)
    against, prompt = definition.scorer.against, definition.judge_prompt()
    n_bytes = 0
    for batch in plan.samples.batches():
        for row in batch.select(["sample_id", "content"]).to_pylist():
            values, _ = plan.renderer.values(parse_row(row["content"]), row["sample_id"], 1)
            targets = None if definition.target is None else target_texts(definition.target, values)
            messages = prompt.messages(values, targets, dict.fromkeys(prompt.answer_names, ""))
            n_bytes += len(canonical_messages(messages))
            if against is not None and against.target:
                n_bytes += sum(len(text.encode()) for text in targets or ())
    if "conversation" not in prompt.names:
        return n_bytes
    longest = int(pc.max(plan.trials.column("input_bytes")).as_py() or 0)
    return n_bytes + longest * plan.samples.chosen.num_rows


def _cost(price: Price, tokens_in: Range, tokens_out: Range) -> Range | None:
    rates = price.input_usd_per_mtok, price.output_usd_per_mtok
    if rates[0] is None or rates[1] is None:
        return None
    if tokens_in.high is None or tokens_out.high is None:
        return Range(0.0, None)
    return Range(0.0, (tokens_in.high * float(rates[0]) + tokens_out.high * float(rates[1])) / 1e6)
