"""What `run` says where the run is not the newest of its task, or not the one that the board shows."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab


def run_of(lab: Lab, prompt: str, *flags: str) -> tuple[str, str]:
    """Run a prompt; give what was said, and the run that was at work."""
    lab.write(prompt=prompt)
    done = gradetrail("run", "spec.yaml", *flags)
    assert done.code == 0, done.err
    (line,) = (line for line in done.err.splitlines() if "-sums-" in line and ": complete" in line)
    return done.err, line.partition("run ")[2].partition(":")[0]


A, B = "{{ question }}", "Think. {{ question }}"


@pytest.mark.parametrize("command", ["run", "generate"])
def test_going_back_to_an_older_prompt_says_that_latest_is_another_run(lab: Lab, command: str) -> None:
    said_first, first = run_of(lab, A)
    said_second, second = run_of(lab, B)
    assert "@latest" not in said_first + said_second
    lab.write(prompt=A)
    assert f"note: sums@latest is {second}; this run is {first}" in gradetrail(command, "spec.yaml").err
    lab.write(prompt=B)
    assert "@latest" not in gradetrail(command, "spec.yaml").err


def test_a_tag_names_the_run_that_was_at_work_whichever_is_newest(lab: Lab) -> None:
    _, first = run_of(lab, A)
    run_of(lab, B)
    run_of(lab, A, "--tag", "c0ffee")
    shown = gradetrail("show", "graded", "sums@c0ffee", "--format", "json")
    assert {row["run_id"] for row in json.loads(shown.raw)} == {first}


def test_a_limited_run_says_that_the_board_shows_another(lab: Lab) -> None:
    _, whole = run_of(lab, A)
    said, few = run_of(lab, A, "--limit", "2")
    assert f"note: the board shows run {whole} (n = 6); this run is {few} (n = 2)" in said
    again, _ = run_of(lab, A)
    assert "the board shows" not in again


def test_a_limited_run_that_is_alone_is_on_the_board(lab: Lab) -> None:
    said, _ = run_of(lab, A, "--limit", "2")
    assert "the board shows" not in said
