"""`diff` without runs, in a warehouse of several tasks."""

from __future__ import annotations

import pytest

from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab


@pytest.fixture
def sums(lab: Lab) -> str:
    """A run of `sums`, graded by two definitions of `strict`, with a newer run of another task."""
    lab.write(scorer=None, scorers={"strict": "exact"})
    assert gradetrail("run", "spec.yaml").code == 0
    lab.write(scorer=None, scorers={"strict": {"type": "exact", "normalize": ["lower"]}})
    assert gradetrail("score", "spec.yaml").code == 0
    run_id: str = lab.row("select run_id from runs")["run_id"]
    alone = gradetrail("diff", "--scorer", "strict~1,strict")
    assert (alone.code, alone.err) == (0, "strict: 6 same\nno rows\n")
    lab.write("more.yaml", name="more")
    assert gradetrail("run", "more.yaml").code == 0
    return run_id


def test_the_task_that_has_the_scorer_is_compared_and_told(sums: str) -> None:
    done = gradetrail("diff", "--scorer", "strict~1,strict")
    assert (done.code, done.err) == (0, f"task `sums`: {sums}\nstrict: 6 same\nno rows\n")
    named = gradetrail("diff", "sums@latest", "--scorer", "strict~1,strict")
    assert (named.code, named.err) == (0, "strict: 6 same\nno rows\n")
