"""`combine`: one verdict out of the grades of other scorers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradetrail import pipeline, sql
from gradetrail.errors import SpecError
from gradetrail.scoring.definition import definitions
from gradetrail.scoring.grade import grade
from tests.scoring.grading import answer, connection, grades_of, spec_with
from tests.scoring.whole import Desk

PARTS = {
    "number": "numeric",
    "word": {"type": "includes", "target": "sure"},
    "long": {"type": "sql", "sql": "length(text)", "scale": [0, 20]},
}
ANSWERS = [
    {"sample_id": "a", "text": "4, sure"},
    {"sample_id": "b", "text": "4"},
    {"sample_id": "c", "text": "sure thing it is"},
    {"sample_id": "d", "text": ""},
]


def combined(tmp_path: Path, options: dict[str, Any], **parts: Any) -> list[tuple[Any, ...]]:
    desk = Desk(tmp_path, ANSWERS)
    desk.run({**PARTS, "all_of_it": {"type": "combine", **options}}, **parts)
    return desk.grades("all_of_it", "sample_id, outcome, raw_score, raw_is_pass")


WAYS: list[tuple[dict[str, Any], list[float]]] = [
    ({"of": ["number", "word"]}, [1, 0.5, 0.5]),
    ({"of": {"number": 3, "word": 1}}, [1, 0.75, 0.25]),
    ({"of": ["number", "word"], "by": "majority"}, [1, 0.5, 0.5]),
    ({"of": {"number": 2, "word": 1}, "by": "majority"}, [1, 1, 0]),
    ({"of": ["number", "word"], "by": "all"}, [1, 0, 0]),
    ({"of": ["number", "word"], "by": "any"}, [1, 1, 1]),
    ({"of": ["number", "word"], "by": "min"}, [1, 0, 0]),
    ({"of": ["number", "word"], "by": "max"}, [1, 1, 1]),
    ({"of": ["long", "number"]}, [(7 / 20 + 1) / 2, (1 / 20 + 1) / 2, (16 / 20) / 2]),
]


@pytest.mark.parametrize("weight", [1e50, 1e-50])
def test_weights_at_their_limits_weigh_as_any_others(tmp_path: Path, weight: float) -> None:
    found = combined(tmp_path, {"of": {"number": weight, "word": weight}})
    assert [row[2] for row in found[:3]] == pytest.approx([1, 0.5, 0.5])


def test_scores_of_parts_make_one(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:3])
    desk.run({**PARTS, **{f"c{n}": {"type": "combine", **options} for n, (options, _) in enumerate(WAYS)}})
    for n, (options, scores) in enumerate(WAYS):
        found = desk.grades(f"c{n}", "outcome, raw_score, raw_is_pass")
        assert [row[1] for row in found] == pytest.approx(scores), options
        assert {row[0] for row in found} == {"scored"}
        threshold = 0.999999 if options.get("by") in ("majority", "all", "any") else 0.5
        assert [row[2] for row in found] == [score >= threshold for score in scores]


def test_an_answer_that_no_part_could_grade_is_unanswered_as_they_say(tmp_path: Path) -> None:
    assert combined(tmp_path, {"of": ["number", "word"]})[3] == ("d", "empty", None, None)


def test_an_unanswered_part_counts_as_its_worst_and_as_no_pass(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS)
    scorers = {**PARTS, "mean": {"type": "combine", "of": ["number", "word"]}}
    desk.run({**scorers, "every": {"type": "combine", "of": ["number", "word"], "by": "all"}})
    assert desk.grades("number", "sample_id, outcome")[2] == ("c", "unparsed")
    assert desk.grades("mean")[2] == ("c", "scored", 0.5, "number unparsed, word 1")
    assert desk.grades("every")[2][2] == 0


def test_where_the_task_excludes_the_unanswered_one_such_part_makes_the_whole_so(tmp_path: Path) -> None:
    found = combined(tmp_path, {"of": ["word", "number"]}, unanswered="exclude")
    assert [row[1] for row in found] == ["scored", "scored", "unparsed", "empty"]


def test_a_missing_part_makes_the_whole_missing(tmp_path: Path) -> None:
    samples = [{"id": "a", "answer": "4"}, {"id": "b", "answer": "none"}, {"id": "c", "answer": "4"}]
    desk = Desk(tmp_path, [{"sample_id": "a", "text": "4"}, {"sample_id": "b", "text": "4"}], samples)
    scorers = {"number": "numeric", "word": {"type": "includes", "target": "4"}}
    desk.run({**scorers, "any": {"type": "combine", "of": ["word", "number"], "by": "any"}})
    assert [row[:3] for row in desk.grades("any")] == [
        ("a", "scored", 1.0),
        ("b", "scorer_error", None),
        ("c", "provider_error", None),
    ]
    assert desk.grades("any", "counts_as")[1:] == [("missing",), ("missing",)]


def test_parts_may_stand_behind_it_in_the_spec_and_be_combinations(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:2])
    desk.run(
        {
            "outer": {"type": "combine", "of": ["inner", "word"]},
            "inner": {"type": "combine", "of": ["number", "word"], "by": "any"},
            **PARTS,
        }
    )
    assert [row[2] for row in desk.grades("outer")] == [1.0, 0.5]
    assert desk.rows("select scorer from leaderboard where is_primary") == [("outer",)]


def test_lower_is_better_turns_a_part_round(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:2])
    short = {"type": "sql", "sql": "length(text)", "scale": [0, 10], "lower_is_better": True}
    desk.run({"short": short, "whole": {"type": "combine", "of": ["short"]}})
    assert [row[2] for row in desk.grades("whole")] == pytest.approx([0.3, 0.9])


def test_a_changed_part_is_graded_anew_and_the_combination_with_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS)
    whole = {"type": "combine", "of": ["number", "word"]}
    desk.run({**PARTS, "whole": whole})
    assert desk.score({**PARTS, "whole": whole}) == {"number": 0, "word": 0, "long": 0, "whole": 0}
    changed = {**PARTS, "word": {"type": "includes", "target": "thing"}}
    assert desk.score({**changed, "whole": whole}) == {"number": 0, "word": 4, "long": 0, "whole": 4}
    assert [row[2] for row in desk.grades("whole")] == [0.5, 0.5, 0.5, None]


def test_it_is_graded_again_when_a_part_was_without_it(tmp_path: Path) -> None:
    """As after a kill between the two: the stored grades of a part are newer than the combination."""
    desk = Desk(tmp_path, ANSWERS)
    whole = {"type": "combine", "of": ["word"]}
    desk.run({"word": PARTS["word"], "whole": whole})
    from gradetrail.scoring.planner import owed
    from gradetrail.store import Store
    from gradetrail.warehouse import Warehouse

    spec = desk.spec({"word": PARTS["word"], "whole": whole})
    word, combination = definitions(spec)
    root = tmp_path / "warehouse"
    with Warehouse(root) as opened:
        (run_id,) = (manifest["run_id"] for manifest in opened.manifests())
        found = opened.arrow("select * from scores where scorer_id = $id", {"id": word.scorer_id()})
    import pyarrow.compute as pc

    other = found.set_column(
        found.schema.get_field_index("detail"), "detail", pc.fill_null(found.column("detail"), "again")
    )
    Store(root).publish_scores(run_id, word.scorer_id(), other, {})
    with Warehouse(root) as opened:
        assert owed(opened, run_id, [combination]) == [combination]
    assert desk.score({"word": PARTS["word"], "whole": whole})["whole"] == 4


@pytest.mark.parametrize("order", [("c", "f", "g"), ("g", "c", "f")])
@pytest.mark.parametrize("of", [["word", "f"], ["f", "g"]])
def test_a_part_may_be_a_scorer_that_has_another_name_too(
    tmp_path: Path, order: tuple[str, ...], of: list[str]
) -> None:
    kinds = {"c": {"type": "combine", "of": of}, "f": PARTS["word"], "g": PARTS["word"]}
    scorers = {**{name: kinds[name] for name in order}, "word": {**PARTS["word"], "pass_threshold": 0.9}}
    desk = Desk(tmp_path, ANSWERS[:3])
    desk.run(scorers)
    assert [row[1:3] for row in desk.grades("c")] == [("scored", 1.0), ("scored", 0.0), ("scored", 1.0)]
    for name in "fg":
        assert [row[2] for row in desk.grades(name)] == [1.0, 0.0, 1.0]
    before = desk.grades("c")
    assert set(desk.score(scorers).values()) == {0}
    pipeline.score(desk.spec(scorers), warehouse=tmp_path / "warehouse", force=True)
    assert desk.grades("c") == before


def test_one_that_was_stored_as_pending_beside_graded_parts_is_owed(tmp_path: Path) -> None:
    """Warehouses hold such grades under the metadata `parts`: of a part that was not read in time."""
    from gradetrail.scoring.planner import grading_state
    from gradetrail.store import Store
    from gradetrail.warehouse import Warehouse

    desk = Desk(tmp_path, ANSWERS[:3])
    scorers = {"word": PARTS["word"], "whole": {"type": "combine", "of": ["word"]}}
    desk.run(scorers)
    right = desk.grades("whole")
    combination = definitions(desk.spec(scorers))[-1]
    root = tmp_path / "warehouse"
    with Warehouse(root) as opened:
        (run_id,) = (manifest["run_id"] for manifest in opened.manifests())
        state = grading_state(opened, run_id, combination)
        stored = "select * replace ('pending' as outcome, null as score, null as is_pass) from scores"
        pending = opened.arrow(f"{stored} where scorer_id = $id", {"id": combination.scorer_id()})
    older = {"parts" if name == "parts_read" else name: value for name, value in state.items()}
    Store(root).publish_scores(run_id, combination.scorer_id(), pending, {**older, "open": "0"})
    assert {row[1] for row in desk.grades("whole")} == {"pending"}
    assert desk.score(scorers) == {"word": 0, "whole": 3}
    assert desk.grades("whole") == right
    assert desk.score(scorers) == {"word": 0, "whole": 0}


def test_the_scorers_it_combines_are_in_its_identity_and_their_names_are_not() -> None:
    def identity(**scorers: Any) -> str:
        return definitions(spec_with("exact", scorers=scorers))[-1].scorer_id()

    base = identity(a="exact", b="numeric", c={"type": "combine", "of": ["a", "b"]})
    assert identity(x="exact", y="numeric", c={"type": "combine", "of": ["y", "x"]}) == base
    changed = identity(
        a="exact", b={"type": "numeric", "abs_tol": 1}, c={"type": "combine", "of": ["a", "b"]}
    )
    heavier = identity(a="exact", b="numeric", c={"type": "combine", "of": {"a": 2, "b": 1}})
    voted = identity(a="exact", b="numeric", c={"type": "combine", "of": ["a", "b"], "by": "majority"})
    assert len({base, changed, heavier, voted}) == 4


@pytest.mark.parametrize(
    ("scorers", "field", "message"),
    [
        (
            {"a": "exact", "c": {"type": "combine", "of": ["a", "nothing"]}},
            "scorers.c.of",
            "no scorer `nothing`",
        ),
        ({"c": {"type": "combine", "of": ["c"]}}, "scorers.c.of", "needs itself: c -> c"),
        (
            {"c": {"type": "combine", "of": ["d"]}, "d": {"type": "combine", "of": ["c"]}},
            "scorers.c.of",
            "needs itself: c -> d -> c",
        ),
        ({"c": {"type": "combine", "of": []}}, "scorers.c", "`of` names the scorers"),
        ({"a": "exact", "c": {"type": "combine", "of": {"a": 0}}}, "scorers.c", "above 0"),
        *(
            (
                {"a": "exact", "b": "numeric", "c": {"type": "combine", "of": {"a": 1, "b": weight}}},
                "scorers.c",
                "the weight of `b` must be between 1e-50 and 1e+50",
            )
            for weight in (1.7e308, 1e51, 1e-51, 5e-324)
        ),
        (
            {"a": "exact", "b": "numeric", "c": {"type": "combine", "of": {"a": 1, "b": 2}, "by": "any"}},
            "scorers.c",
            "takes no weights",
        ),
        (
            {"s": {"type": "switch", "on": "{{ k }}", "cases": {"x": {"type": "combine", "of": ["s"]}}}},
            "scorers.s.cases.x",
            "inside a switch",
        ),
    ],
)
def test_what_cannot_be_combined_is_refused_with_its_field(
    scorers: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        spec_with("exact", scorers=scorers)
    (fault, *_) = caught.value.faults
    assert (fault.field, message in fault.message) == (field, True), caught.value.faults


def test_the_cases_of_a_switch_may_be_labels_expressions_and_functions(tmp_path: Path) -> None:
    kinds = ["label", "sql", "python", "numeric"]
    samples = [{"id": kind, "answer": "4", "kind": kind, "human": 0.5} for kind in kinds]
    desk = Desk(tmp_path, [{"sample_id": kind, "text": "4 it is"} for kind in kinds], samples)
    desk.write("grade.py", "def grade(frame):\n    return [0.25] * frame.height\n")
    cases = {
        "label": {"type": "label", "field": "human"},
        "sql": {"type": "sql", "sql": "{'score': 0.75, 'detail': kind}"},
        "python": {"type": "python", "path": "grade.py"},
        "numeric": "numeric",
    }
    switch = {"type": "switch", "on": "{{ kind }}", "cases": cases}
    desk.run({"each": switch, "whole": {"type": "combine", "of": ["each"]}})
    assert {row[0]: row[1:] for row in desk.grades("whole")} == {
        "label": ("scored", 0.5, "each 0.5"),
        "sql": ("scored", 0.75, "each 0.75"),
        "python": ("scored", 0.25, "each 0.25"),
        "numeric": ("scored", 1.0, "each 1"),
    }
    assert desk.rows("select detail from graded where scorer = 'each' and sample_id = 'sql'") == [("sql",)]


def test_a_part_without_bounds_or_threshold_is_refused(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS)
    free = {"type": "sql", "sql": "length(text)", "scale": None}
    with pytest.raises(SpecError, match=r"scores of `free` have no bounds"):
        desk.run({"free": free, "whole": {"type": "combine", "of": ["free"]}})
    assert not (tmp_path / "warehouse" / "runs").exists() or not list(
        (tmp_path / "warehouse" / "runs").glob("*.json")
    )


GRADES = st.one_of(
    st.floats(0, 1).map(lambda score: ("scored", score)),
    st.sampled_from(["unparsed", "truncated", "provider_error", "judge_error"]).map(lambda o: (o, None)),
)
MISSING = {"provider_error", "judge_error"}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(GRADES, st.floats(0.1, 10)), min_size=1, max_size=5),
    st.sampled_from(["mean", "majority", "all", "any", "min", "max"]),
    st.booleans(),
)
def test_it_is_what_the_rule_says(
    parts: list[tuple[tuple[str, float | None], float]], by: str, is_excluding: bool
) -> None:
    names = [f"p{n}" for n in range(len(parts))]
    equal = by in ("all", "any", "min", "max")
    weights = [1.0 if equal else weight for _, weight in parts]
    scorers = {
        name: {"type": "exact", "normalize": [], "pass_threshold": 0.5, "target": name} for name in names
    }
    of = dict(zip(names, weights, strict=True))
    spec = spec_with(
        "exact",
        scorers={**scorers, "c": {"type": "combine", "of": of, "by": by}},
        unanswered="exclude" if is_excluding else "wrong",
    )
    whole = definitions(spec)[-1]
    con = connection([answer("x", "x")])
    con.execute("alter table answer add column model varchar")
    con.execute("alter table answer add column prompt varchar")
    con.execute("update answer set model = 'm', prompt = 'p'")
    for macro in ("is_unanswered",):
        sql.run_file(con, f"macros/{macro}")
    con.execute(
        "create table part_score (model varchar, prompt varchar, sample_id varchar, epoch integer,"
        " scorer_id varchar, metric varchar, score double, is_pass boolean, outcome varchar,"
        " extracted varchar)"
    )
    for part, ((outcome, score), _) in zip(whole.parts, parts, strict=True):
        is_pass = None if score is None else score >= 0.5
        con.execute(
            "insert into part_score values ('m', 'p', '1', 1, ?, 'score', ?, ?, ?, null)",
            [part.scorer_id(), score, is_pass, outcome],
        )
    grade(con, whole)
    (found,) = grades_of(con)
    outcomes = [outcome for (outcome, _), _ in parts]
    missing = [outcome for outcome in outcomes if outcome in MISSING]
    unanswered = [outcome for outcome in outcomes if outcome not in MISSING and outcome != "scored"]
    if missing or (unanswered and (is_excluding or len(unanswered) == len(parts))):
        assert (found.outcome, found.score) == ((missing or unanswered)[0], None)
        return
    values = [score or 0.0 for (_, score), _ in parts]
    passes = [value >= 0.5 and outcome == "scored" for value, outcome in zip(values, outcomes, strict=True)]
    total = sum(weights)
    share = sum(weight for weight, is_pass in zip(weights, passes, strict=True) if is_pass) / total
    expected = {
        "mean": sum(v * w for v, w in zip(values, weights, strict=True)) / total,
        "majority": 0.5 if abs(share - 0.5) < 1e-12 else float(share > 0.5),
        "all": float(all(passes)),
        "any": float(any(passes)),
        "min": min(values),
        "max": max(values),
    }
    assert found.score == pytest.approx(expected[by])
