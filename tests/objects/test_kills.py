"""kill -9 at the requests that change an object store: nothing is lost, doubled or left unfinished."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from gradetrail.store.places import place_name

EVERY = int(os.environ.get("OBJECT_KILLS_EVERY", "71"))
"""Of the steps (two for each request) one in so many is the last; 1 tries all of them."""


def test_kill_9_at_each_request_that_changes_something_loses_and_doubles_nothing(
    any_address: Path, tmp_path: Path
) -> None:
    bucket = place_name(any_address.parent)
    command = [sys.executable, "-m", "tests.objects.steps", bucket, str(tmp_path), "3", str(EVERY)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2], check=True
    )
    trials = [json.loads(line) for line in done.stdout.splitlines()]
    assert [trial["code"] for trial in trials] == [-9] * (len(trials) - 1) + [0]
    assert len(trials) > 150 // EVERY
    ends = set()
    for trial in trials:
        for facts in (trial["after"], trial["finally"]):
            assert (facts["damaged"], facts["doubled"], facts["unfounded"]) == ([], 0, 0), trial
        assert trial["after"]["lost"] == 0, trial
        assert trial["again"] == 0, trial
        ends.add(json.dumps(trial["finally"]["end"]))
    assert len(ends) == 1, "it came to something else than undisturbed"
