"""`--fail-on`: a condition trips, does not, or says that it cannot be told; a mistyped one costs nothing."""

from __future__ import annotations

import pytest

from tests.cli.command import gradetrail, tree
from tests.pipeline.lab import SIX, Lab


def run(*conditions: str) -> tuple[int, str]:
    flags = [part for condition in conditions for part in ("--fail-on", condition)]
    done = gradetrail("run", "spec.yaml", *flags)
    return done.code, done.err


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("mean <", "syntax error"),
        ("mean < 0.5; drop table x", "is not an expression list"),
        ("meen < 0.5", "meen"),
        ("mean", "is a DOUBLE, neither true nor false"),
        ("scorer = 'numerik' and mean < 0.5", "no scorer `numerik`"),
        ("mean < 0.5 and scorer in ('numeric', 'strict')", "no scorer `strict`"),
        ("(n > 3 or scorer <> 'numerik') and mean < 0.5", "did you mean `numeric`?"),
        ("'m1' = model and mean < 0.5", "no model `m1`"),
        ("prompt = 'cot' and mean < 0.5", "no prompt `cot`"),
        ("task = 'sum' and mean < 0.5", "no task `sum`"),
    ],
)
def test_a_condition_that_can_never_trip_is_refused_before_any_call(
    lab: Lab, condition: str, told: str
) -> None:
    lab.write()
    before = tree(lab.folder)
    code, err = run(condition)
    assert (code, lab.api.n_calls) == (2, 0)
    assert f"--fail-on {condition}" in err
    assert told in err
    assert tree(lab.folder) == before


def test_every_mistyped_name_is_told_at_once(lab: Lab) -> None:
    lab.write()
    code, err = run("scorer = 'a' and mean < 1", "prompt = 'b' and model = 'c' and mean < 1")
    assert code == 2
    assert all(text in err for text in ("no scorer `a`", "no prompt `b`", "no model `c`"))


def test_names_of_the_spec_are_taken_and_the_verdict_is_theirs_alone(lab: Lab) -> None:
    lab.write(scorer=None, scorers={"numeric": "numeric", "strict": {"type": "exact", "extract": "nothing"}})
    name = "openai_compatible/m1"
    assert run("scorer = 'numeric' and mean < 0.9")[0] == 0
    assert run(f"model = '{name}' and scorer in ('strict') and n_unanswered > 3")[0] == 1
    code, err = run("scorer = 'strict' and mean < 0.9", "scorer = 'numeric' and mean < 0.9")
    assert code == 1
    assert f"--fail-on: scorer = 'strict' and mean < 0.9: strict of {name} / default has mean 0.0" in err
    assert "numeric of" not in err


def test_a_metric_that_no_result_has_leaves_no_verdict(lab: Lab) -> None:
    lab.write()
    code, err = run("metric = 'f2' and mean < 0.5")
    assert code == 3
    assert "no metric `f2`" in err
    assert "known: score" in err
    assert run("metric = 'score' and mean < 0.5")[0] == 0


def test_a_mean_that_is_not_known_is_no_pass(lab: Lab) -> None:
    lab.data([{**row, "other": None} for row in SIX])
    strict = {"type": "exact", "target": "{{ other }}"}
    lab.write(scorer=None, scorers={"numeric": "numeric", "strict": strict})
    code, err = run("mean < 0.5")
    assert code == 3
    assert "nobody can say whether mean < 0.5: strict of openai_compatible/m1 / default has mean None" in err
    assert run("scorer = 'numeric' and mean < 0.5")[0] == 0


def test_a_scorer_that_the_spec_dropped_does_not_count(lab: Lab) -> None:
    lab.write(scorer=None, scorers={"numeric": "numeric", "strict": {"type": "exact", "extract": "nothing"}})
    assert run("mean < 0.5")[0] == 1
    lab.write()
    assert run("mean < 0.5")[0] == 0


def test_the_verdict_covers_every_spec_of_the_command(lab: Lab) -> None:
    lab.write("good.yaml", name="good")
    lab.write("bad.yaml", name="bad", extract="nothing")
    flags = ("--fail-on", "mean < 0.5", "--fail-on", "task = 'good' and mean < 0.5")
    done = gradetrail("run", "good.yaml", "bad.yaml", *flags)
    assert done.code == 3, "nothing was scored in one of them"
    lab.write("bad.yaml", name="bad", target="7")
    done = gradetrail("run", "good.yaml", "bad.yaml", *flags)
    assert done.code == 1
    assert done.err.count("--fail-on") == 1
