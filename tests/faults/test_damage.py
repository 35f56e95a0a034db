"""A little of what `make faults` does at length: files spoilt, two packers, the clock, a storm."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.pipeline.processes import ROOT, environment

SUFFER = """
import json, sys
from tests.faults import damage
for name, trials in damage.KINDS[sys.argv[1]](int(sys.argv[2])):
    print(json.dumps([name, [damage.asdict(trial) for trial in trials]]))
"""


@pytest.mark.parametrize(
    ("kind", "n"), [("bits", 64), ("cuts", 16), ("vanished", 0), ("packers", 2), ("clock", 2)]
)
def test_whatever_happens_to_a_warehouse_is_noticed_or_costs_nothing(kind: str, n: int) -> None:
    arguments = [sys.executable, "-c", SUFFER, kind, str(n)]
    done = subprocess.run(arguments, cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    trials = [trial for _, of_row in rows for trial in of_row]
    assert len(trials) >= max(n, 2)
    for trial in trials:
        assert (trial["lost"], trial["doubled"], trial["is_unnoticed"]) == (0, 0, False), trial


def test_writers_readers_and_a_packer_with_kill_9_for_a_few_seconds() -> None:
    script = (
        "import json; from tests.faults.storm import storm; print(json.dumps(storm(6, writers=3, readers=1)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["lost"], facts["doubled"], facts["wrong"]) == (0, 0, 0), done.stderr
    assert facts["looks"] > 0
