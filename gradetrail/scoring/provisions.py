"""What some scorers of a run need besides the answers: whole rows, or the grades of other scorers.

Invariant: a relation is provided before the scorer that reads it is asked, and describes one run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.scorer_spec import CodeExec
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.frames import reads_rows, register_samples
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

PARTS = "parts_read"
"""Metadata of stored scores: the files with the grades that they follow from.

Scores that name them `parts` instead may be pending though those grades were there: they are owed again."""


def provide(
    con: duckdb.DuckDBPyConnection,
    run_id: str,
    definition: Definition,
    *,
    asked: Iterable[tuple[str, str | None, str]],
    graded: Mapping[str, pa.Table],
    copies_programs: bool = True,
) -> None:
    """Make the relations that a scorer reads; `graded` are scores that are not stored yet, by scorer_id.

    `asked` are (sample_id, choice_order, JSON text of the row). `copies_programs` takes what came of a
    program from any run in which the same answer to the same sample was graded by the same definition.
    """
    scorers = [definition.scorer, *(case.scorer for case in definition.cases().values())]
    if copies_programs and any(isinstance(scorer, CodeExec) for scorer in scorers):
        sql.run_file(con, "scoring/programs_before", {"scorer_id": definition.scorer_id()})
    if reads_rows(definition):
        details = sql.arrow_file(con, "scoring/answer_details", {"run_id": run_id})
        con.register("answer_detail", details)
        register_samples(con, ((sample_id, content) for sample_id, _, content in asked))
    if definition.parts:
        _provide_parts(con, run_id, definition, graded)


def _provide_parts(
    con: duckdb.DuckDBPyConnection, run_id: str, definition: Definition, graded: Mapping[str, pa.Table]
) -> None:
    import pyarrow as pa

    wanted = list(dict.fromkeys(part.scorer_id() for part in definition.parts))
    params = {"run_id": run_id, "scorer_ids": [each for each in wanted if each not in graded]}
    stored = sql.arrow_file(con, "scoring/part_scores", params)
    fresh = [
        graded[each].select(stored.column_names).cast(stored.schema) for each in wanted if each in graded
    ]
    con.register("part_score", pa.concat_tables([stored, *fresh]))


def parts_state(
    warehouse: Warehouse, run_id: str, definition: Definition, published: Mapping[str, int]
) -> dict[str, str]:
    """Name the stored grades that a combination follows from; `published` are newer than the warehouse."""
    if not definition.parts:
        return {}
    numbers = []
    for part in definition.parts:
        scorer_id = part.scorer_id()
        number = published.get(scorer_id) or _number(warehouse, run_id, scorer_id)
        numbers.append(f"{scorer_id[:12]}.{number}")
    return {PARTS: " ".join(numbers)}


def _number(warehouse: Warehouse, run_id: str, scorer_id: str) -> int:
    """Give the number of the live scores of a run by a scorer; 0 if there are none."""
    return warehouse.live.numbers["scores"].get((run_id, scorer_id[:12]), 0)
