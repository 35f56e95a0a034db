"""Kill -9, a full disk and a disk that became read-only at steps of everything that writes to a warehouse.

`make faults` strikes at every step; here at some, the same each time (FAULT_TEST_EVERY=1 for all).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.operations import OPERATIONS
from tests.pipeline.processes import ROOT, environment

EVERY = int(os.environ.get("FAULT_TEST_EVERY", "0"))
STRIDES = {"kill": 24, "ENOSPC": 60, "EROFS": 60}
PAUSED = {"pack and reclaim": 25, "score": 13, "rm --answers --force": 90, "check --repair": 5}
"""Strides by operation; where others wait for minutes for the one that is stopped, there is none."""


@pytest.mark.parametrize("fault", STRIDES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_struck_at_any_step_nothing_is_lost_or_doubled_and_the_same_again_completes(
    tmp_path: Path, operation: str, fault: str
) -> None:
    strike(tmp_path, operation, fault, EVERY or STRIDES[fault])


@pytest.mark.parametrize("operation", PAUSED)
def test_stopped_while_others_pack_and_do_the_same_and_let_go_on_it_loses_and_doubles_nothing(
    tmp_path: Path, operation: str
) -> None:
    strike(tmp_path, operation, "pause", EVERY or PAUSED[operation])


def strike(tmp_path: Path, operation: str, fault: str, every: int) -> None:
    """Strike an operation at some steps, and look at what came of each."""
    arguments = [sys.executable, "-m", "tests.faults.steps", tmp_path, operation, fault, str(every)]
    done = subprocess.run(arguments, cwd=ROOT, env=environment(), capture_output=True, text=True)
    trials = [json.loads(line) for line in done.stdout.splitlines()]
    assert trials, done.stderr
    assert trials[-1]["is_last"], "it never got through"
    for facts in trials:
        assert "has_failed" not in facts, (facts, done.stderr)
        assert (facts["lost"], facts["doubled"], facts["wrong"]) == (0, 0, 0), facts
        assert facts["is_known_end"], (facts, done.stderr)
        assert facts["is_completed"], facts
