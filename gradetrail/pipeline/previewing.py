"""Says what grading by other definitions would change, over one run or all history; writes nothing.

Invariant: grades come out of the same code as `score`, and ranks out of the same views as `show`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.pipeline.checking import checked_definitions
from gradetrail.pipeline.grading import everything, to_score
from gradetrail.pipeline.recorded import SpecLike, warehouse_root
from gradetrail.scoring.combination import parts_first
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.distribution import grading
from gradetrail.scoring.planner import MEMORY_LIMIT, is_current, task_record
from gradetrail.spec import Spec
from gradetrail.warehouse import Warehouse
from gradetrail.warehouse.supposed import Supposition, rows_if

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

ENTRANT = ("scorer", "metric", "model", "prompt")


@dataclass(frozen=True, slots=True)
class RankChange:
    """An entrant that would stand elsewhere on a board."""

    task: str
    scorer: str
    metric: str
    model: str
    prompt: str
    old_rank: str | None
    """`2`, or `1-4` where entrants share ranks; None below the line or off the board."""
    new_rank: str | None
    old_mean: float | None
    new_mean: float | None
    is_pending: bool = False
    """Whether grades of it are pending here, so that where it would stand is not known."""


Change = tuple[str, str, str | None, int]
"""scorer, change, cause, number of grades."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What would change."""

    n_runs: int
    n_trials: int
    flips: tuple[dict[str, Any], ...]
    """One for each trial x scorer x metric whose score, outcome or extraction would differ.

    `change` and `cause` are those of `diff`; `pending` where a judge is to be asked."""
    changes: tuple[Change, ...] = ()
    """How many grades would change in each way, those that would not among them; by scorer."""
    ranks: tuple[RankChange, ...] = ()
    """Entrants that would move, by task, scorer and new rank."""
    n_unasked: int = 0
    """Answers x judges that judges were never asked about, so that they are pending here."""
    policies: tuple[tuple[str, str, str], ...] = ()
    """task, old and new `unanswered` of tasks that would count unanswered trials otherwise."""


def preview(
    *targets: SpecLike,
    warehouse: str | os.PathLike[str] | None = None,
    allow_unsafe_code: bool = False,
    executor: str | None = None,
) -> Preview:
    """Grade stored answers by specs' definitions and compare with the stored grades; writes nothing.

    `allow_unsafe_code` and `executor` are those of `score`.
    """
    root = warehouse_root(warehouse)
    return _preview(root, [to_score(root, target) for target in targets], executor, allow_unsafe_code)


def preview_all(
    *,
    warehouse: str | os.PathLike[str] | None = None,
    allow_unsafe_code: bool = False,
    executor: str | None = None,
) -> Preview:
    """Compare every run of every task with its task's present definitions; writes nothing."""
    root = warehouse_root(warehouse)
    return _preview(root, everything(root), executor, allow_unsafe_code)


def _preview(
    root: Path, work: Sequence[tuple[Spec, Sequence[str]]], executor: str | None, allow_unsafe: bool
) -> Preview:
    flips: list[dict[str, Any]] = []
    changes = Counter[tuple[str, str, str | None]]()
    n_trials = n_runs = n_unasked = 0
    policies: list[tuple[str, str, str]] = []
    supposition = Supposition()
    waiting: set[tuple[str, ...]] = set()
    with Warehouse(root, room=sql.Room(MEMORY_LIMIT)) as opened:
        con = opened.connection("macros", "definitions", "trials", "graded")
        for spec, run_ids in work:
            definitions = checked_definitions(spec)
            old_policy = (opened.task_definition(spec.name) or {}).get("unanswered", spec.unanswered)
            if old_policy != spec.unanswered:
                policies.append((spec.name, old_policy, spec.unanswered))
            _suppose_task(supposition, spec, definitions)
            due = {
                run_id: [
                    definition
                    for definition in parts_first(definitions)
                    if not _changes_nothing(opened, spec, run_id, definition)
                ]
                for run_id in run_ids
            }
            place = executor or spec.run.executor
            with grading(opened, spec, due, executor=place, allow_unsafe=allow_unsafe) as source:
                for run_id in run_ids:
                    n_runs += 1
                    n_trials += sql.run_file(con, "scoring/n_trials", {"run_id": run_id}).fetchall()[0][0]
                    found: dict[str, list[dict[str, Any]]] = {}
                    for definition, spool, n_open in source(run_id):
                        scores = spool.table()
                        n_unasked += n_open
                        found[definition.name], counted = _flips(con, run_id, spec, definition, scores)
                        changes.update(counted)
                        supposition.scores[run_id, definition.scorer_id()] = scores
                    listed = [flip for definition in due[run_id] for flip in found[definition.name]]
                    flips += listed
                    waiting |= {
                        (spec.name, *(flip[name] for name in ENTRANT))
                        for flip in listed
                        if flip["change"] == "pending"
                    }
        ranks = _rank_changes(opened, supposition, waiting) if supposition.scores or policies else ()
    told = tuple((*key, n) for key, n in sorted(changes.items(), key=_told_order))
    return Preview(n_runs, n_trials, tuple(flips), told, tuple(ranks), n_unasked, tuple(policies))


def _told_order(item: tuple[tuple[str, str, str | None], int]) -> tuple[str, int, str, str]:
    (scorer, change, cause), n = item
    return scorer, -n, change, cause or ""


def _flips(
    con: duckdb.DuckDBPyConnection, run_id: str, spec: Spec, definition: Definition, scores: pa.Table
) -> tuple[list[dict[str, Any]], dict[tuple[str, str, str | None], int]]:
    """Compare grades with the stored newest ones of the same scorer name: what changes, and the counts."""
    record = definition.record()
    worst = record["score_min" if record["higher_is_better"] else "score_max"]
    names = {"run_id": run_id, "scorer": definition.name}
    policy = {
        "unanswered_score": None if spec.unanswered == "exclude" else worst,
        "pass_threshold": record["pass_threshold"],
        "higher_is_better": record["higher_is_better"],
    }
    con.register("new_score", scores)
    try:
        sql.run_file(con, "scoring/flip", names | policy)
        found = sql.run_file(con, "scoring/flips", names)
        columns = [column[0] for column in found.description or ()]
        listed = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
        counts = sql.run_file(con, "scoring/flip_counts").fetchall()
    finally:
        sql.run_file(con, "scoring/no_flip")
        con.unregister("new_score")
    return listed, {(definition.name, change, cause): n for change, cause, n in counts}


def _suppose_task(supposition: Supposition, spec: Spec, definitions: Sequence[Definition]) -> None:
    supposition.tasks[spec.name] = task_record(spec, definitions)
    supposition.scorers.extend(definition.record() for definition in definitions)


def _changes_nothing(opened: Warehouse, spec: Spec, run_id: str, definition: Definition) -> bool:
    """Say whether the grades that the task shows now are those of this definition, up to date."""
    present = (opened.task_definition(spec.name) or {}).get("scorers", {})
    return present.get(definition.name) == definition.scorer_id() and is_current(opened, run_id, definition)


def _rank_changes(
    opened: Warehouse, supposition: Supposition, waiting: Collection[tuple[str, ...]]
) -> Sequence[RankChange]:
    text, params = sql.text_of("commands/ranks"), {"tasks": list(supposition.tasks)}
    before = {row[:5]: row[5:] for row in opened.rows(text, params)[1]}
    after = {row[:5]: row[5:] for row in rows_if(opened.live, supposition, text, params)[1]}
    changes = []
    for key in (*after, *(key for key in before if key not in after)):
        old, new = before.get(key, (None,) * 4), after.get(key, (None,) * 4)
        if _rank(*old[:2]) != _rank(*new[:2]):
            task, scorer, metric, model, prompt = key
            changes.append(
                RankChange(
                    task,
                    scorer,
                    metric,
                    model,
                    prompt,
                    _rank(*old[:2]),
                    _rank(*new[:2]),
                    old[2],
                    new[2],
                    is_pending=key in waiting,
                )
            )
    return changes


def _rank(first: int | None, last: int | None) -> str | None:
    if first is None:
        return None
    return str(first) if first == last else f"{first}-{last}"
