"""Says why a view has no row: what its rows would be made of, and how to come by it.

Invariant: what is said follows from the warehouse; a view of the user's own is not explained.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gradetrail.errors import QueryError

if TYPE_CHECKING:
    from gradetrail.warehouse import Warehouse

NO_CONFIDENCE = (
    "no graded answer has a confidence; say in the spec where it comes from, "
    "`confidence: {from: logprobs}` (or votes, provider, or a regex), and `gradetrail score SPEC`"
)
NO_PAIR = "no board has two ranked entrants; name a second model or prompt in the spec"
WITHOUT_GRADES = frozenset({"runs", "trials", "calls", "responses", "samples", "prices", "served_models"})
"""Views and tables that have rows before anything is graded."""
ONLY_WITH = {
    "audit": "no grade looks like a mistake of the grading",
    "board": "no task has a graded run",
    "calibration": NO_CONFIDENCE,
    "category_scores": "no spec names a category: `dataset: {path: ..., category: FIELD}`",
    "costs": "no call was made and no stored answer used",
    "errors": "no call and no grading failed",
    "flaky": "no sample has answers that are graded differently; several answers to one come of `epochs: 4`",
    "judge_agreement": "no run is graded by two scorers; add a judge, or people's scores with `type: label`",
    "output_perplexity": "no answer has token log-probabilities; ask with `request: {logprobs: true}`",
    "pairwise": NO_PAIR,
    "position_bias": "no question has `choices`, and no judge states a preference",
    "power": NO_PAIR,
    "reliability_bins": NO_CONFIDENCE,
    "risk_coverage": NO_CONFIDENCE,
    "sample_stats": "no board has a ranked entrant",
    "truncations": "no answer was cut off by the token limit",
    "wrong": "every grade that counts passes",
}
"""What is missing where a view has no row although answers are graded."""


def why_empty(opened: Warehouse, view: str, conditions: Mapping[str, Any]) -> str | None:
    """Say why a view has no row for a run or task; None if that is not known."""
    runs = [
        run for run in opened.manifests() if all(run.get(name) == value for name, value in conditions.items())
    ]
    if not runs:
        return "there is no run; `gradetrail run SPEC` makes one"
    if view not in WITHOUT_GRADES and not _is_graded(opened, [str(run["run_id"]) for run in runs]):
        return "nothing is graded; `gradetrail score SPEC` grades the answers that are stored"
    return ONLY_WITH.get(view)


def _is_graded(opened: Warehouse, run_ids: list[str]) -> bool:
    try:
        query = "select 1 from scores where list_contains($run_ids::varchar[], run_id) limit 1"
        return bool(opened.rows(query, {"run_ids": run_ids})[1])
    except QueryError:  # damage is told elsewhere, and is no reason of this kind
        return True
