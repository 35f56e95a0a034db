"""How often judges would be asked after a run, and what that may cost.

Invariant: a count is exact for answers that are stored, and otherwise the most that it can be without
nudges: every answer, every vote, every order. Nothing is called or written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gradetrail import sql
from gradetrail.dataset import parse_row
from gradetrail.generation.forecast import BYTES_PER_TOKEN, DEVIATIONS, NOTHING, Estimate, Range
from gradetrail.generation.plan import Plan
from gradetrail.pipeline.judging import CallCounts, call_counts
from gradetrail.pipeline.limits import known_prices
from gradetrail.prices import FREE, Price, price_on
from gradetrail.prompt import render, target_texts
from gradetrail.request import canonical_messages
from gradetrail.scorer_spec import Judge, Switch
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
    judges = [(definition, judge) for definition in definitions for judge in definition.judges()]
    if not judges:
        return
    counts, history = _known(root, plan, run_id, judges)
    shapes = [judge.judge.shape for _, judge in judges if judge.judge is not None]
    prices = known_prices(root, {(shape.provider, shape.model) for shape in shapes})
    for definition, judge in judges:
        assert isinstance(judge.scorer, Judge)
        assert judge.judge is not None
        known = counts.get(judge.name, CallCounts(0, 0, 0))
        asked = _Asked(plan, definition, judge)
        n_trials = _judged_trials(asked, judge.scorer)
        sides = 2 if judge.scorer.swap else 1
        n_calls = known.n_open + max(0, n_trials - known.n_answers) * judge.scorer.votes * sides
        shape = judge.judge.shape
        past = history.get((shape.provider, shape.model))
        if past is None:
            tokens_in, tokens_out = _from_text(asked, n_calls)
        else:
            tokens_in, tokens_out = _from_history(n_calls, past)
        price = price_on(prices, shape.provider, shape.model, datetime.now(UTC).date())
        cost = None if price is None else _cost(price, tokens_in, tokens_out)
        yield Estimate(
            model=f"{judge.scorer.model.display} (judge `{judge.name}`)",
            n_trials=n_trials,
            n_hits=known.n_stored,
            n_requests=n_calls,
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cost_usd=NOTHING if shape.provider in FREE else cost,
            basis=f"at most, without nudges; {f'history of {past.n:,} calls' if past else TEXT}",
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """The samples of a plan whose answers one judge of a scorer grades: all, or those of a switch's case."""

    plan: Plan
    definition: Definition
    judge: Definition

    @property
    def n_samples(self) -> int:
        return (
            sum(1 for _ in self.values())
            if self.judge.case is not None
            else self.plan.samples.chosen.num_rows
        )

    @property
    def n_trials(self) -> int:
        """How many trials there are to these samples."""
        return self.plan.trials.num_rows * self.n_samples // max(1, self.plan.samples.chosen.num_rows)

    def values(self) -> Iterator[Mapping[str, Any]]:
        """Yield what templates see of each sample."""
        on = self.definition.scorer.on if isinstance(self.definition.scorer, Switch) else ""
        for batch in self.plan.samples.batches():
            for row in batch.select(["sample_id", "content"]).to_pylist():
                values, _ = self.plan.renderer.values(parse_row(row["content"]), row["sample_id"], 1)
                if self.judge.case is None or render(on, values) == self.judge.case:
                    yield values


def _judged_trials(asked: _Asked, scorer: Judge) -> int:
    """Count the trials that may be judged: all but those that are the opponent's own."""
    plan, against, total = asked.plan, scorer.against, asked.n_trials
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
    root: Path, plan: Plan, run_id: str | None, judges: Sequence[tuple[Definition, Definition]]
) -> tuple[dict[str, CallCounts], dict[tuple[str, str], Past]]:
    """Give the calls about stored answers by judge, and what judges have used by (provider, model)."""
    import pyarrow as pa

    if not is_warehouse(root):
        return {}, {}
    counts: dict[str, CallCounts] = {}
    shapes = [judge.judge.shape for _, judge in judges if judge.judge is not None]
    with Warehouse(root) as warehouse:
        if run_id is not None:
            for definition, judge in judges:
                counts[judge.name] = call_counts(dockets(warehouse, plan.spec, run_id, definition, judge))
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


def _from_text(asked: _Asked, n_calls: int) -> tuple[Range, Range]:
    """Bound the tokens of calls by the questions as they are rendered, and `max_tokens` of both models."""
    plan, judge = asked.plan, asked.judge
    assert isinstance(judge.scorer, Judge)
    assert judge.judge is not None
    if not n_calls:
        return Range(0.0, 0.0), Range(0.0, 0.0)
    most = judge.judge.shape.params.get("max_tokens")
    shown = _most_shown(plan, judge)
    high = None
    if shown is not None:
        repeats = judge.scorer.votes * (2 if judge.scorer.swap else 1)
        n_bytes = plan.trials.num_rows / max(1, plan.samples.chosen.num_rows) * _question_bytes(asked)
        high = repeats * (n_bytes / BYTES_PER_TOKEN[1] + asked.n_trials * shown)
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


def _question_bytes(asked: _Asked) -> float:
    """Sum, over samples, the bytes that a judge is asked besides answers."""
    import pyarrow.compute as pc

    definition = asked.judge
    assert isinstance(definition.scorer, Judge)
    against, prompt = definition.scorer.against, definition.judge_prompt()
    n_samples = n_bytes = 0
    for values in asked.values():
        targets = None if definition.target is None else target_texts(definition.target, values)
        messages = prompt.messages(values, targets, dict.fromkeys(prompt.answer_names, ""))
        n_samples += 1
        n_bytes += len(canonical_messages(messages))
        if against is not None and against.target:
            n_bytes += sum(len(text.encode()) for text in targets or ())
    if "conversation" not in prompt.names:
        return n_bytes
    longest = int(pc.max(asked.plan.trials.column("input_bytes")).as_py() or 0)
    return n_bytes + longest * n_samples


def _cost(price: Price, tokens_in: Range, tokens_out: Range) -> Range | None:
    rates = price.input_usd_per_mtok, price.output_usd_per_mtok
    if rates[0] is None or rates[1] is None:
        return None
    if tokens_in.high is None or tokens_out.high is None:
        return Range(0.0, None)
    return Range(0.0, (tokens_in.high * float(rates[0]) + tokens_out.high * float(rates[1])) / 1e6)
