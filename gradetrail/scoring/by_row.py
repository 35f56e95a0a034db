"""Brings whole rows to the scorers that see every column, and what they say back.

Invariant: a row that cannot be graded says why; it never stops the rows beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.scorer_spec import Python, Sql
from gradetrail.scorer_spec.base import LARGEST_SCORE
from gradetrail.scoring.by_rule import Measures, expect_measures
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.frames import answer_frame
from gradetrail.scoring.rule import Measure
from gradetrail.scoring.tables import BATCH_ROWS, Verdicts

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Said:
    """What a scorer said of one row."""

    score: Any = None
    """A number or truth value; None where it found nothing to grade."""
    extracted: Any = None
    detail: Any = None
    fault: str | None = None
    measures: tuple[tuple[str, Any], ...] = field(default=())
    """Further metrics, each with a number or None."""


def compare_rows(con: duckdb.DuckDBPyConnection, definition: Definition) -> bool:
    """Make `judged` from `subject`; say whether there are further metrics, in `measure`."""
    frame = answer_frame(con, definition)
    sql.run_file(con, "scoring/no_verdict")
    sql.run_file(con, "scoring/no_measures")
    metrics: dict[str, None] = {}
    for rows, said in _said(frame, definition):
        verdicts, measures = Verdicts(), Measures()
        places: list[Any] = [rows.column(name).to_pylist() for name in ("row", "extracted", "extracted_by")]
        for row, found, rule, one in zip(*places, said, strict=True):
            score, fault = checked_score(one, definition)
            extracted = _text(one.extracted)
            verdicts.add(
                row,
                score,
                found if extracted is None else extracted,
                rule if extracted is None else definition.scorer.type,
                _text(one.detail),
                fault,
            )
            for name, value in one.measures:
                metrics[name] = None
                if score is not None and value is not None:
                    measures.add(row, Measure(name, float(value)))
        verdicts.write(con)
        measures.write(con)
    expect_measures(con, lambda _: tuple(metrics))
    sql.run_file(con, "scoring/noted_verdicts")
    sql.run_file(con, "scoring/judged_in_python")
    return bool(metrics)


def _said(frame: pa.Table, definition: Definition) -> Iterator[tuple[pa.Table, Sequence[Said]]]:
    scorer = definition.scorer
    if isinstance(scorer, Python):
        from gradetrail.scoring.function import call_function

        said = call_function(definition, frame)
        for begin in range(0, frame.num_rows, BATCH_ROWS):
            yield frame.slice(begin, BATCH_ROWS), said[begin : begin + BATCH_ROWS]
        return
    from gradetrail.scoring.sql_rows import Evaluator

    assert isinstance(scorer, Sql)
    with Evaluator(scorer.sql) as evaluator:
        for begin in range(0, frame.num_rows, BATCH_ROWS):
            rows = frame.slice(begin, BATCH_ROWS)
            yield rows, evaluator.evaluate(rows)


def checked_score(said: Said, definition: Definition) -> tuple[float | None, str | None]:
    """Give a row's score as a number on the scorer's scale, and why there is none; one of them is None."""
    if said.fault is not None or said.score is None:
        return None, said.fault
    low, high = definition.bounds()
    named = (("score", said.score), *((f"metric `{name}`", value) for name, value in said.measures))
    for name, value in named:
        if value is None:
            continue
        if not math.isfinite(value):
            return None, f"the {name} {value} is no number"
        if abs(value) > LARGEST_SCORE:
            return None, f"the {name} {value:g} is beyond {LARGEST_SCORE:g}: no mean of such can be computed"
        if (low is not None and value < low) or (high is not None and value > high):
            return None, f"the {name} {value:g} is outside the scorer's `scale` of {low:g} to {high:g}"
    return float(said.score), None


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)
