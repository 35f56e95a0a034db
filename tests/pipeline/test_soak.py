"""A small soak on every run of the tests (`make soak` is the large one), and that it can fail."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.pipeline.processes import ROOT, environment


@pytest.mark.timeout(600)
def test_faults_a_kill_and_a_full_disk_leave_the_answers_and_scores_of_an_undisturbed_run() -> None:
    command = [sys.executable, ROOT / "bench" / "soak.py", "--calls", "1500", "--kills", "1"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| yes |" in done.stdout
    assert "NO" not in done.stdout


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import soak

    return soak


@pytest.mark.parametrize(
    ("wrong", "fact"),
    [
        ("", ""),
        ("lost", "every question was answered"),
        ("kind", "requests suffered a fault, of every kind"),
        ("code", "a full disk ended it with 3 and said so"),
        ("again", "no stored answer was asked for again"),
        ("twice", "answered twice: no more than were in flight"),
        ("many", "at most 64 answers were lost each time"),
        ("pending", "nothing is pending, in one run"),
        ("row", "`scores` is equal row for row"),
    ],
)
def test_the_soak_fails_if_a_fact_does_not_hold(soak: Any, wrong: str, fact: str) -> None:
    tally = soak.Tally(Counter({"a": 1, "b": 2, "c": 2}), Counter(list(soak.KINDS)))
    ends = [
        soak.Disturbance("full disk", 3, "No space left on device", 1, Counter("b"), 0),
        soak.Disturbance("kill -9", -9, "", 2, Counter("c"), 0),
        soak.Disturbance("end", 0, "", 3, Counter(), 0),
    ]
    runs = Counter(['["soak", "complete", 3, 3, 0, 0]'])
    expected = {"scores": Counter("abc"), "runs": runs}
    found = {"scores": Counter("abc"), "runs": runs}
    match wrong:
        case "lost":
            del tally.whole["a"]
        case "kind":
            del tally.faults["a reset"]
        case "code":
            ends[0] = replace(ends[0], code=2)
        case "again":
            ends[2] = replace(ends[2], n_asked_again=1)
        case "twice":
            tally.whole["a"] = 2
        case "many":
            ends[1] = replace(ends[1], in_flight=Counter(range(65)))
        case "pending":
            found["runs"] = expected["runs"] = Counter(['["soak", "incomplete", 3, 2, 0, 1]'])
        case "row":
            found["scores"] = Counter("abb")
    judged = soak.facts(3, tally, ends, (expected, found))
    assert [one.name for one in judged if not one.holds] == [fact] * bool(fact)
