"""Programs that try to break out, to break the machine, or to be graded better than they are."""

import re
import time

import pytest

from gradetrail.scoring.sandbox import Sandbox
from tests.sandbox.programs import DYING, ESCAPING, EXHAUSTING, FORGING, LYING, Case


@pytest.mark.parametrize(
    "case", [*EXHAUSTING, *ESCAPING, *DYING, *FORGING, *LYING], ids=lambda case: case.name
)
def test_gets_the_right_verdict(sandbox: Sandbox, case: Case) -> None:
    started = time.monotonic()
    outcome = sandbox.run(case.program, checks=case.checks, limits=case.limits)
    assert re.fullmatch(case.verdict, outcome.verdict), outcome
    assert re.search(case.detail, outcome.detail), outcome
    if case in LYING:
        assert outcome.passed == (outcome.total if case.verdict == "pass" else 0), outcome
    assert time.monotonic() - started < case.limits.wall_s + 5
