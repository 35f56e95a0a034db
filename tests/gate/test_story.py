"""What a changed scorer did to 500 answers, one of them asked again: 29, 390 and 431 mend, 256 breaks."""

from __future__ import annotations

from gradetrail.warehouse.catalog import Catalog
from gradetrail.warehouse.gate import GATE, Limit, Limits
from tests.gate.test_reference_values import SIDES, A, B
from tests.sql.given import live_of

MENDED, BROKEN = (29, 390, 431), 256
WRONG = (13, 17, 120, 188, 307, 369, 372, 404, 426, 455, 495)
"""Wrong under both definitions: eight mistakes, two truncations and one matter of convention."""
GIVEN = {
    "grades": [
        {
            "run_id": run,
            "sample_id": str(n),
            "scorer_id": scorer_id,
            "score": int(n not in WRONG and not (n in MENDED if run == A else n == BROKEN)),
            "text": f"answer {n}" + (" again" if (run, n) == (B, BROKEN) else ""),
        }
        for run, scorer_id in ((A, "s1"), (B, "s2"))
        for n in range(1, 501)
    ],
    "tasks": [{"n": 1, "scorers": {"strict": "s1"}}, {"n": 2, "scorers": {"strict": "s2"}}],
}
STORY = """
select comparison.n_shared, n_fixed, n_broken, n_same, a_mean, b_mean, p, changed.samples
from comparison($a, $b) as comparison, (
    select list(struct_pack(sample_id, change, cause) order by cast(sample_id as integer)) as samples
    from diff($a, $b)
    where change <> 'same'
) as changed
"""


def test_the_story_comes_out_in_one_query() -> None:
    catalog = Catalog(live_of(GIVEN))
    catalog.provide(STORY)
    catalog.provide(GATE)
    ((*numbers, p, samples),) = catalog.cursor().execute(STORY, {"a": A, "b": B}).fetchall()
    assert numbers == [500, 3, 1, 496, 486 / 500, 488 / 500]
    assert round(p, 6) == 0.625
    assert [(row["sample_id"], row["change"], row["cause"]) for row in samples] == [
        ("29", "fixed", "scorer"),
        ("256", "broken", "response"),
        ("390", "fixed", "scorer"),
        ("431", "fixed", "scorer"),
    ]
    limits = Limits(Limit(0.0), allow=frozenset({"scorer"}))
    verdict = f"select gate, n_better, n_worse from ({GATE})"
    found = catalog.cursor().execute(verdict, SIDES | limits.params()).fetchall()
    assert found == [("pass", 3, 1)]
    catalog.close()


def test_two_definitions_on_one_run_are_compared_as_wholes() -> None:
    """The same answers graded twice: only what the definition did is left."""
    again = [
        {
            "run_id": A,
            "sample_id": str(n),
            "scorer": "strict",
            "scorer_id": "s2",
            "score": int(n not in WRONG),
        }
        for n in range(1, 501)
    ]
    catalog = Catalog(live_of({**GIVEN, "scores": again}))
    query = (
        "select n_fixed, n_broken, n_same, is_other_scorer, is_comparable from comparison("
        "$a, $a, a_scorer := 'strict', b_scorer := 'strict', a_version := 1, b_version := 2)"
    )
    catalog.provide(query)
    assert catalog.cursor().execute(query, {"a": A}).fetchall() == [(3, 0, 497, True, True)]
    catalog.close()
