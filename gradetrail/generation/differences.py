"""Names what keeps a plan from going on with a run: each difference, old and new, as a line.

Invariant: nothing here decides anything; a plan goes on with a run exactly if there is no line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import orjson

from gradetrail import sql
from gradetrail.dataset import parse_row
from gradetrail.generation.manifest import model_records, selection_record, stored_spec

if TYPE_CHECKING:
    import duckdb

    from gradetrail.generation.plan import Plan

SHOWN = 10
"""Differences of one kind that are named; the others are counted."""
MAX_VALUE = 60
"""Characters of a value that are shown."""
CONTEXT = 15
"""Characters of a long value that are shown before the place where it differs."""
PLANNED_BLOCKS = ("prompts", "few_shot", "choices", "request")
"""Blocks of a spec that a plan's identity covers, besides the selection."""
KINDS = {"sample": "samples", "lost sample": "samples that are gone", "input": "prompts", "model": "models"}


def plan_differences(manifest: Mapping[str, Any], plan: Plan) -> Iterator[str]:
    """Compare what a plan's identity covers: prompts, request block, selection."""
    old, new = manifest["spec"], stored_spec(plan.spec)
    is_explained = False
    for block, before, after in (
        *((name, old.get(name) or {}, new.get(name) or {}) for name in PLANNED_BLOCKS),
        ("selection", manifest["selection"], selection_record(plan)),
    ):
        if changes := list(_changed(before, after)):
            is_explained = True
            yield f"{block}: {', '.join(changes)}"
    for name, old_id in manifest["prompts"].items() if not is_explained else ():
        if name in plan.spec.prompts and plan.renderer.prompt_id(name) != old_id:
            yield f"prompt {name}: {old_id[:12]} -> {plan.renderer.prompt_id(name)[:12]}, by its examples"


def trial_differences(
    con: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any], plan: Plan
) -> Iterator[str]:
    """Compare the trials of a run with those of a plan, which is registered as `owed_plan` reads it."""
    params = {"run_id": manifest["run_id"], "dataset_id": manifest["dataset_id"]}
    rows = sql.run_file(con, "generation/plan_differences", params).fetchall()
    old_models = {record["model"]: record for record in manifest["models"]}
    new_models = {record["model"]: record for record in model_records(plan.entrants)}
    for kind, group in groupby(rows, key=lambda row: row[0]):
        found = list(group)
        for _, name, old, new, content in found[:SHOWN]:
            if kind == "lost sample":
                yield f"sample {name} is gone"
                continue
            changes: list[str] = []
            if kind == "model":
                changes = list(_changed(old_models.get(name, {}), new_models[name]))
            elif content is not None:
                changes = list(_changed(parse_row(content), _row_of(plan, name)))
            yield f"{'prompt' if kind == 'input' else kind} {name}: " + (
                ", ".join(changes) or f"{old[:12]} -> {new[:12]}"
            )
        if len(found) > SHOWN:
            yield f"and {len(found) - SHOWN:,} more {KINDS[kind]}"


def _row_of(plan: Plan, sample_id: str) -> dict[str, Any]:
    import pyarrow.compute as pc

    number = pc.index(plan.samples.chosen.column("sample_id"), sample_id).as_py()
    return parse_row(plan.samples.content(number))


def _changed(old: Any, new: Any, above: str = "") -> Iterator[str]:
    """Yield `field old -> new` for what differs, by dotted fields where mappings and lists hold others."""
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if before == after or name == "model_id":
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _changed(before, after, f"{above}{name}.")
        elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
            yield from _changed(dict(enumerate(before)), dict(enumerate(after)), f"{above}{name}.")
        else:
            yield f"{above}{name} {_shown(before, after)} -> {_shown(after, before)}"


def _shown(value: Any, other: Any) -> str:
    """Give a value as JSON; of a long one the part from where it differs from the other."""
    if value is None:
        return "none"
    text, against = (orjson.dumps(each, default=str).decode() for each in (value, other))
    if len(text) > MAX_VALUE:
        pairs = enumerate(zip(text, against, strict=False))
        same = next((n for n, (own, its) in pairs if own != its), min(len(text), len(against)))
        start = max(0, same - CONTEXT)
        text = f"{'…' if start else ''}{text[start:]}"
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"
