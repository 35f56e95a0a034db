"""The temporary tables of grading, and the rows that SQL leaves to Python.

Invariant: texts pass through Python in batches, so memory does not grow with the number of answers;
values go back as bound lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import QueryError

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 20_000
MACROS = (
    "white_space",
    "is_blank",
    "final_text",
    "strip_text",
    "collapse_text",
    "lower_text",
    "normal_text",
    "plain_number",
    "shortened",
    "keys_present",
    "keys_missing",
    "right_letters",
    "may_be_near",
    "ungraded_outcome",
)
"""Macros of `sql/macros` that grading reads, in the order in which they need each other."""


def load_macros(con: duckdb.DuckDBPyConnection) -> None:
    """Create what the queries of grading call, unless the connection has it, as a warehouse's does."""
    try:
        sql.run_file(con, "scoring/has_macros")
    except QueryError:
        for name in MACROS:
            sql.run_file(con, f"macros/{name}")


def count(con: duckdb.DuckDBPyConnection, name: str) -> int:
    """Give the number that the query `scoring/name` counts."""
    row = sql.run_file(con, f"scoring/{name}").fetchone()
    assert row is not None
    return int(row[0])


def batches(con: duckdb.DuckDBPyConnection, name: str) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of `todo` in batches, as the query `scoring/name` lists them."""
    for after in range(0, count(con, "n_todo"), BATCH_ROWS):
        yield sql.run_file(con, f"scoring/{name}", {"after": after, "size": BATCH_ROWS}).fetchall()


@dataclass(slots=True)
class Findings:
    """What Python found in texts, on its way back into `found`."""

    rows: list[int] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)
    notes: list[str | None] = field(default_factory=list)
    faults: list[str | None] = field(default_factory=list)

    def add(self, row: int, text: str | None, note: str | None = None, fault: str | None = None) -> None:
        """Add one text; None where nothing was found."""
        self.rows.append(row)
        self.texts.append(text)
        self.notes.append(note)
        self.faults.append(fault)

    def write(self, con: duckdb.DuckDBPyConnection) -> None:
        """Put them into `found`."""
        params = {"rows": self.rows, "texts": self.texts, "notes": self.notes, "faults": self.faults}
        sql.run_file(con, "scoring/found_in_python", params)


@dataclass(slots=True)
class Verdicts:
    """Scores that Python gave, on their way into `verdict`."""

    rows: list[int] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    extracted: list[str | None] = field(default_factory=list)
    extracted_by: list[str | None] = field(default_factory=list)
    details: list[str | None] = field(default_factory=list)
    faults: list[str | None] = field(default_factory=list)

    def add(
        self,
        row: int,
        score: float | None,
        extracted: str | None = None,
        extracted_by: str | None = None,
        detail: str | None = None,
        fault: str | None = None,
    ) -> None:
        """Add one answer; None for a score that could not be given, with the fault."""
        self.rows.append(row)
        self.scores.append(score)
        self.extracted.append(extracted)
        self.extracted_by.append(extracted_by)
        self.details.append(detail)
        self.faults.append(fault)

    def write(self, con: duckdb.DuckDBPyConnection) -> None:
        """Put them into `verdict`."""
        sql.run_file(
            con,
            "scoring/verdict_rows",
            {
                "rows": self.rows,
                "scores": self.scores,
                "extracted": self.extracted,
                "extracted_by": self.extracted_by,
                "details": self.details,
                "faults": self.faults,
            },
        )


def unzipped(pairs: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    """Turn rows into columns; as many empty ones as `width` if there are no rows."""
    return [list(column) for column in zip(*pairs, strict=True)] if pairs else [[] for _ in range(width)]
