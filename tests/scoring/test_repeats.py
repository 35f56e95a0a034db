"""Several answers to one question: pass@k and the majority, by the tables of another project."""

from typing import Any

import pytest

from gradetrail.warehouse.catalog import Catalog
from tests.scoring.grading import answer, graded
from tests.scoring.test_overlap import golds_of, table
from tests.sql.given import live_of

TIES = {"Maj at K - No Majority": 1 / 3}
"""Where answers are named equally often their table takes the first; here they share the vote."""


def said(case: Any, k: int) -> dict[str, Any]:
    """Grade the answers of a row of those tables as epochs; give what the view says for k."""
    texts = case["model_response"]["text"]
    rows = [
        answer(text, golds_of(case["doc"]), sample_id="a", epoch=n) for n, text in enumerate(texts, start=1)
    ]
    grades = [
        {"sample_id": "a", "epoch": row["epoch"], "score": one.score, "extracted": one.extracted}
        for row, one in zip(rows, graded("exact", rows), strict=True)
    ]
    catalog = Catalog(live_of({"grades": grades}))
    catalog.provide("pass_at_k")
    query = "select pass_at_k, majority_vote from pass_at_k where k = $k"
    (row,) = catalog.cursor().execute(query, {"k": k}).fetchall()
    catalog.close()
    return dict(zip(("pass_at_k", "majority_vote"), row, strict=True))


@pytest.mark.parametrize("case", table("pass_at_k"))
def test_pass_at_k_is_that_of_another_projects_table(case: Any) -> None:
    (wanted,) = case["expected_output"].values()
    found = said(case, case["metric_params"]["k"])
    assert found["pass_at_k"] == pytest.approx(wanted, abs=case["tolerance"])


@pytest.mark.parametrize("case", table("maj_at_k"))
def test_the_majority_is_that_of_another_projects_table_but_for_ties(case: Any) -> None:
    (theirs,) = case["expected_output"].values()
    assert said(case, 1)["majority_vote"] == pytest.approx(TIES.get(case["name"], theirs))
