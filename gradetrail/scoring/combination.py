"""Grades by the stored grades of other scorers of the spec.

Invariant: a combination reads nothing of an answer but what its parts said of it, and has no grade where
one of them is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.scorer_spec import Combine
from gradetrail.scoring.definition import Definition

if TYPE_CHECKING:
    import duckdb


def parts_first(definitions: Sequence[Definition]) -> list[Definition]:
    """Put every scorer behind those that it combines; otherwise the order stays."""
    ordered: dict[str, Definition] = {}

    def add(definition: Definition) -> None:
        for part in definition.parts:
            add(part)
        ordered.setdefault(definition.name, definition)

    for definition in definitions:
        add(definition)
    wanted = {definition.name for definition in definitions}
    return [definition for name, definition in ordered.items() if name in wanted]


def part_ids(definitions: Iterable[Definition]) -> set[str]:
    """Give the scorer_ids that combinations stand on; a scorer of another name may have one of them too."""
    return {part.scorer_id() for definition in definitions for part in definition.parts}


def combine(con: duckdb.DuckDBPyConnection, definition: Definition) -> None:
    """Add the grades of all rows of `answer` to `grade`, from the relation `part_score`.

    `part_score` has model, prompt, sample_id, epoch, scorer_id, score, is_pass, outcome, extracted: one row
    for each part's first metric.
    """
    scorer = definition.scorer
    assert isinstance(scorer, Combine)
    ends = []
    for part in definition.parts:
        low, high = part.bounds()
        assert low is not None
        assert high is not None
        ends.append((low, high) if part.scorer.higher_is_better else (high, low))
    params = {
        "names": [part.name for part in definition.parts],
        "scorer_ids": [part.scorer_id() for part in definition.parts],
        "weights": [scorer.of[part.name] for part in definition.parts],
        "worsts": [worst for worst, _ in ends],
        "bests": [best for _, best in ends],
        "method": scorer.by,
        "leaves_unanswered_out": definition.leaves_unanswered_out,
        "threshold": scorer.threshold,
    }
    sql.run_file(con, "scoring/grade_combined", params)
