"""A warehouse as it would be with other grades: what a preview asks about.

Invariant: nothing is written, and the views are those of the warehouse itself, so that what is foretold
is what comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gradetrail.store.live import Live
from gradetrail.store.schema import arrow_schema
from gradetrail.warehouse.catalog import Catalog
from gradetrail.warehouse.query import Row

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Supposition:
    """What is thought to be added to a warehouse."""

    scores: dict[tuple[str, str], pa.Table] = field(default_factory=dict)
    """All scores of a run by a scorer, by (run_id, scorer_id); they take the place of stored ones."""
    scorers: list[Mapping[str, Any]] = field(default_factory=list)
    """Records of scorers, as they are stored."""
    tasks: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Present definitions of tasks, by name."""


def supposed(live: Live, supposition: Supposition) -> Live:
    """Give what would be live."""
    import pyarrow as pa

    replaced = frozenset((run_id, scorer_id[:12]) for run_id, scorer_id in supposition.scores)
    schema = arrow_schema("scores")
    tables = [table.select(schema.names).cast(schema) for table in supposition.scores.values()]
    if "scores" in live.loose:
        tables.insert(0, live.loose["scores"])
    loose = {**live.loose, "scores": pa.concat_tables(tables)} if tables else live.loose
    known = {str(record["scorer_id"]) for record in live.scorers}
    newest = {
        task: max((int(r["n"]) for r in live.tasks if r["task"] == task), default=0)
        for task in supposition.tasks
    }
    return replace(
        live.without_scores(replaced),
        loose=loose,
        scorers=[*live.scorers, *(dict(r) for r in supposition.scorers if r["scorer_id"] not in known)],
        tasks=[
            *live.tasks,
            *({**record, "task": task, "n": newest[task] + 1} for task, record in supposition.tasks.items()),
        ],
    )


def rows_if(
    live: Live, supposition: Supposition, text: str, params: Mapping[str, Any]
) -> tuple[list[str], Sequence[Row]]:
    """Run one SELECT over the views as they would be; give column names and rows."""
    catalog = Catalog(supposed(live, supposition))
    try:
        catalog.provide(text)
        result = catalog.cursor().execute(text, dict(params))
        return [str(column[0]) for column in result.description or ()], result.fetchall()
    finally:
        catalog.close()
