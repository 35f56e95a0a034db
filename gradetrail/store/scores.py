"""What the loser of a race publishes: the scores that are there, and what its own add to them.

Invariant: of two rows of one trial the one that grades the trial's present answer stays; if both do,
the one that was published first, unless it says that there is no grade yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradetrail.store.folding import folded, match, piece_of
from gradetrail.store.schema import SCORE_KEY, TRIAL_KEY

if TYPE_CHECKING:
    import pyarrow as pa

UNGRADED = ("pending", "provider_error", "judge_error", "scorer_error", "skipped")
"""Outcomes that another attempt may turn into a grade."""


def added(theirs: pa.Table, mine: pa.Table, trials: pa.Table) -> pa.Table:
    """Merge two whole sets of scores of one run by one scorer; `theirs` was published first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sides = [(rows, _grades_present_answer(rows, trials), _is_graded(rows)) for rows in (mine, theirs)]
    pieces = [
        piece_of(
            rows.filter(
                pc.and_(pc.equal(current, pa.scalar(is_current)), pc.equal(graded, pa.scalar(is_graded)))
            )
        )
        for is_current in (False, True)
        for is_graded in (False, True)
        for rows, current, graded in sides
    ]
    return pa.concat_tables([theirs.slice(0, 0), *folded(pieces, SCORE_KEY)])


def _is_graded(scores: pa.Table) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.invert(pc.is_in(scores.column("outcome"), value_set=pa.array(UNGRADED)))


def _grades_present_answer(scores: pa.Table, trials: pa.Table) -> Any:
    import pyarrow.compute as pc

    answer: Any = scores.column("response_id")
    present: Any = trials.column("response_id").take(match(scores, trials, TRIAL_KEY))
    is_same: Any = pc.fill_null(pc.equal(answer, present), False)
    return pc.or_(is_same, pc.and_(pc.is_null(answer), pc.is_null(present)))
