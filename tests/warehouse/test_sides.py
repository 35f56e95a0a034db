"""What a comparison compares when little is said, and what it refuses."""

import pytest

from gradetrail.errors import SelectionError
from gradetrail.warehouse.sides import Dimensions, sides


def run(n, models, prompts=("default",), task="t"):
    return {
        "run_id": f"2026120{n}T083112Z-{task}-00000{n}", "task": task, "started_at": f"2026-12-0{n}",
        "models": [{"model": model} for model in models], "prompts": dict.fromkeys(prompts, ""),
    }  # fmt: skip


RUNS = [run(1, ["x", "y"]), run(2, ["x", "y"]), run(3, ["x", "y"], ("plain", "cot"))]
TASKS = [
    {"task": "t", "n": 1, "scorers": {"strict": "A", "loose": "L"}},
    {"task": "t", "n": 2, "scorers": {"strict": "B", "loose": "L"}},
    {"task": "t", "n": 3, "scorers": {"strict": "A", "loose": "L"}},
]


def of(a=None, b=None, runs=RUNS, graded=None, **dimensions):
    is_graded = (lambda *_: True) if graded is None else (lambda run, by: (run[-1], by) in graded)
    found = sides(runs, TASKS, a, b, Dimensions(**dimensions), is_graded)
    return {name: value for name, value in found.items() if value is not None}


def tails(found):
    return found["a_run"][-1] + found["b_run"][-1]


def test_nothing_named_compares_the_newest_run_with_the_one_before():
    assert tails(of()) == "23"


def test_one_run_is_compared_with_its_successor():
    assert tails(of("000001")) == "12"
    with pytest.raises(SelectionError, match="is the newest run"):
        of("latest")


def test_two_values_of_a_dimension_are_compared_within_one_run():
    assert of(models=("x", "y")) == {
        "a_run": RUNS[2]["run_id"], "b_run": RUNS[2]["run_id"], "a_model": "x", "b_model": "y",
    }  # fmt: skip
    assert of("000001", models=("x", "y"))["b_run"] == RUNS[0]["run_id"]
    assert of(prompts=("plain", "cot"))["b_prompt"] == "cot"


def test_one_value_narrows_both_sides():
    found = of("000001", "000002", models=("x",))
    assert (found["a_model"], found["b_model"]) == ("x", "x")


def test_the_only_models_of_two_runs_are_compared_whatever_their_names():
    runs = [run(1, ["gpt-5"]), run(2, ["gpt-6"])]
    found = of(runs=runs)
    assert (found["a_model"], found["b_model"]) == ("gpt-5", "gpt-6")


def test_a_scorer_is_compared_with_its_former_definition():
    found = of(scorers=("strict~1",))
    assert tails(found) == "33"
    assert (found["a_scorer"], found["b_scorer"]) == ("strict", "strict")
    assert (found["a_version"], found["b_version"]) == (2, 1)
    assert of(scorers=("strict~2", "strict"))["a_version"] == 1


def test_definitions_are_compared_on_the_newest_run_that_both_graded():
    graded = {("1", "A"), ("1", "B"), ("2", "A"), ("2", "B"), ("3", "A")}
    assert tails(of(scorers=("strict~1",), graded=graded)) == "22"
    assert tails(of("000001", scorers=("strict~1",), graded=graded)) == "11"


def test_a_run_that_a_definition_did_not_grade_is_refused_with_those_it_did():
    graded = {("1", "B"), ("2", "B"), ("2", "A")}
    with pytest.raises(SelectionError, match=r"3` is not graded by `strict~1`\n.*it graded: .*-000002, "):
        of("000003", "000002", scorers=("strict~1",), graded=graded)
    with pytest.raises(SelectionError, match=r"1` is not graded by `strict`\n.*gradetrail score .*-000001"):
        of("000001", scorers=("strict~1",), graded=graded)
    with pytest.raises(SelectionError, match="it graded no run"):
        of(scorers=("strict~1",), graded=set())


def test_where_no_run_is_named_the_newest_that_has_what_is_named_is_taken():
    capitals = run(5, ["z"], ("short", "long"), task="capitals")
    runs, tasks = [*RUNS, capitals], [*TASKS, {"task": "capitals", "n": 1, "scorers": {"loose": "M"}}]

    def taken(**dimensions):
        return tails(sides(runs, tasks, None, None, Dimensions(**dimensions)))

    assert taken(scorers=("strict~1", "strict")) == taken(scorers=("strict", "loose")) == "33"
    assert taken(models=("x", "y")) == "33" and taken(prompts=("short", "long")) == "55"
    # one value: two runs of the newest task that has it
    assert taken(scorers=("strict",)) == taken(models=("x",)) == "23"
    # what none has is refused as in the newest run
    with pytest.raises(SelectionError, match=r"task `capitals` has no scorer `strct`"):
        taken(scorers=("strct~1",))
    with pytest.raises(SelectionError, match=r"task `capitals` has one run"):
        taken(scorers=("loose",))


def test_one_run_has_nothing_to_be_compared_with():
    with pytest.raises(SelectionError, match=r"has one run; a comparison has two sides\n.*--scorer S~1"):
        of(runs=RUNS[:1])


def test_two_scorers_are_compared_as_the_run_has_them():
    found = of(scorers=("strict", "loose"))
    assert (found["a_scorer"], found["b_scorer"]) == ("strict", "loose")
    assert "a_version" not in found


@pytest.mark.parametrize(
    ("dimensions", "message"),
    [
        ({"models": ("x", "z")}, "no model `z`"),
        ({"prompts": ("plan",)}, "did you mean `plain`"),
        ({"scorers": ("strct",)}, "did you mean `strict`"),
        ({"scorers": ("strict~3",)}, "has 3 definitions"),
        ({"scorers": ("loose~1",)}, "has 1 definition"),
        ({"models": ("x", "y", "x")}, "two sides"),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(dimensions, message):
    with pytest.raises(SelectionError, match=message):
        of("latest", "latest", **dimensions)
