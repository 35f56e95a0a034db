"""Grades answers that a test writes down, through the same function as the product."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from gradetrail import sql
from gradetrail.scoring.grade import Definition, definitions, grade
from gradetrail.spec import Spec, spec_from

COLUMNS = {
    "row": "bigint",
    "entrant": "varchar",
    "sample_id": "varchar",
    "epoch": "integer",
    "text": "varchar",
    "stop_reason": "varchar",
    "status": "varchar",
    "error_type": "varchar",
    "targets": "varchar[]",
    "choices": "varchar[]",
    "pattern": "varchar",
    "switch": "varchar",
    "confidence": "double",
    "token_nll": "double",
    "token_count": "bigint",
    "tool_calls": "varchar",
}
GRADE_COLUMNS = (
    "row",
    "metric",
    "score",
    "is_pass",
    "outcome",
    "extracted",
    "extracted_by",
    "confidence",
    "confidence_source",
    "detail",
)


@dataclass(frozen=True)
class Graded:
    row: int
    metric: str
    score: float | None
    is_pass: bool | None
    outcome: str
    extracted: str | None
    extracted_by: str | None
    confidence: float | None
    confidence_source: str | None
    detail: str | None


def spec_with(scorer: Any, **blocks: Any) -> Spec:
    base = {
        "name": "t",
        "dataset": "d.jsonl",
        "prompt": "{{ q }}",
        "model": "mock/m",
        "target": "{{ answer }}",
    }
    return spec_from({**base, "scorers": {"s": scorer}, **blocks})


def definition(scorer: Any, **blocks: Any) -> Definition:
    return definitions(spec_with(scorer, **blocks))[0]


def answer(text: str | None, target: str | Sequence[str] | None = None, **columns: Any) -> dict[str, Any]:
    targets = [target] if isinstance(target, str) else target if target is None else list(target)
    row = {"entrant": "m", "sample_id": "1", "epoch": 1, "stop_reason": "stop", "status": "answered"}
    return {**row, "text": text, "targets": targets, **columns}


def connection(answers: Iterable[dict[str, Any]], threads: int | None = None) -> duckdb.DuckDBPyConnection:
    con = sql.connect(threads=threads)
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    con.execute(f"create temp table answer ({columns})")
    rows = [{"row": number, "sample_id": str(number), **row} for number, row in enumerate(answers, start=1)]
    lists = [[row.get(name) for row in rows] for name in COLUMNS]
    casts = ", ".join(f"unnest(${n}::{kind}[])" for n, kind in enumerate(COLUMNS.values(), start=1))
    if rows:
        con.execute(f"insert into answer select {casts}", lists)
    return con


def grades_of(con: duckdb.DuckDBPyConnection) -> list[Graded]:
    rows = con.execute(f"select {', '.join(GRADE_COLUMNS)} from grade order by row, metric").fetchall()
    return [Graded(*row) for row in rows]


def graded(
    scorer: Any, answers: Iterable[dict[str, Any]], *, threads: int | None = None, **blocks: Any
) -> list[Graded]:
    con = connection(answers, threads)
    grade(con, definition(scorer, **blocks))
    return grades_of(con)


def graded_one(
    scorer: Any, text: str | None, target: Any = None, *, columns: Any = None, **blocks: Any
) -> Graded:
    (result,) = graded(scorer, [answer(text, target, **(columns or {}))], **blocks)
    return result
