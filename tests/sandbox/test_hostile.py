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


THREATS = {
    "fork bomb": "fork bomb",
    "memory": "memory",
    "disk": "disk filled with files",
    "endless output": "endless output",
    "stderr flood": "endless stderr",
    "reads of home": "home",
    "reads of the environment": "environment",
    "network": "network",
    "ptrace": "trace the warden",
    "signals to the parent": "signals to the parent",
    "forged results": "printed verdict",
    "sys.exit": "sys.exit(0)",
    "os._exit": "os._exit(0)",
    "atexit": "an exit handler that takes back a failure",
    "threads that outlive": "thread that outlives",
    "monkey-patched assert": "AssertionError replaced",
    "deep recursion": "deep recursion",
    "symlinks": "symbolic links",
    "zombie children": "zombies",
}
"""What a sandbox must stand, and the program that tries it; most have more than one."""


def test_every_threat_has_its_program() -> None:
    programs = {case.name for case in (*EXHAUSTING, *ESCAPING, *DYING, *FORGING, *LYING)}
    assert set(THREATS.values()) <= programs
