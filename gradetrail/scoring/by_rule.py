"""Brings answers to a rule that is a Python function, and its verdicts back.

Invariant: within a batch each different (answer, targets) is judged once, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.scoring.rule import Given, Measure, Rule
from gradetrail.scoring.tables import Verdicts, batches, unzipped

if TYPE_CHECKING:
    import duckdb


def compare_by_rule(con: duckdb.DuckDBPyConnection, rule: Rule, *, takes_target: bool) -> None:
    """Make `judged` from `haystack`, and `measure` and `expected` where the rule has further metrics."""
    params = {"reads_calls": rule.reads_calls, "takes_target": takes_target}
    sql.run_file(con, "scoring/todo_given", params)
    sql.run_file(con, "scoring/no_verdict")
    sql.run_file(con, "scoring/no_measures")
    if rule.metrics is not None:
        expect_measures(con, rule.metrics)
    for batch in batches(con, "todo_given_rows"):
        given = [
            Given(text, tuple(targets or ()) if takes_target else (), calls)
            for _, text, targets, calls in batch
        ]
        different = list(dict.fromkeys(given))
        judged = dict(zip(different, rule.judge(different), strict=True))
        verdicts, measures = Verdicts(), Measures()
        for (row, *_), one in zip(batch, given, strict=True):
            verdict = judged[one]
            verdicts.add(
                row, verdict.score, verdict.extracted, verdict.extracted_by, verdict.detail, verdict.fault
            )
            for measure in verdict.measures:
                measures.add(row, measure)
        verdicts.write(con)
        measures.write(con)
    sql.run_file(con, "scoring/verdict_sources")
    sql.run_file(con, "scoring/noted_verdicts")
    sql.run_file(con, "scoring/judged_in_python")


def expect_measures(
    con: duckdb.DuckDBPyConnection, metrics_of: Callable[[Sequence[str]], Sequence[str]]
) -> None:
    """Write which further metrics a sample has, so that an answer without a score lacks each of them."""
    lists = [row[0] for row in sql.run_file(con, "scoring/subject_targets").fetchall()]
    pairs = [(targets, metric) for targets in lists for metric in metrics_of(targets or ())]
    targets, metrics = unzipped(pairs, 2)
    sql.run_file(con, "scoring/expected_rows", {"targets": targets, "metrics": metrics})


@dataclass(slots=True)
class Measures:
    """Further metrics on their way into `measure`."""

    rows: list[tuple[int, str, float, str | None, str | None]] = field(default_factory=list)

    def add(self, row: int, measure: Measure) -> None:
        """Add one metric of one answer."""
        self.rows.append((row, measure.metric, measure.score, measure.extracted, measure.detail))

    def write(self, con: duckdb.DuckDBPyConnection) -> None:
        """Put them into `measure`."""
        if self.rows:
            names = ("rows", "metrics", "scores", "extracted", "details")
            sql.run_file(con, "scoring/measure_rows", dict(zip(names, unzipped(self.rows, 5), strict=True)))
