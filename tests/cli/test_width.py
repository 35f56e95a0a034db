"""How wide tables are, and how much is said beside them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pexpect
import pytest

from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab

WIDE = "select " + ", ".join(f"repeat('{letter}', 70) as {letter}" for letter in "abc")


def in_terminal(columns: int, *arguments: object, **environment: str) -> str:
    """Run the real command in a terminal of so many columns; give all that it shows."""
    child = pexpect.spawn(
        sys.executable, ["-m", "gradetrail", *map(str, arguments)],
        env={**os.environ, **environment}, dimensions=(40, columns), encoding="utf-8", timeout=60,
    )  # fmt: skip
    text = str(child.read())
    child.close()
    assert child.exitstatus == 0, text
    return text.replace("\r\n", "\n")


@pytest.fixture
def graded(lab: Lab) -> Lab:
    lab.write()
    assert gradetrail("run", "spec.yaml").code == 0
    return lab


def test_a_terminal_cuts_what_does_not_fit_unless_told_not_to(graded: Lab) -> None:
    cut = in_terminal(50, "sql", WIDE)
    assert all(len(line) <= 50 for line in cut.splitlines() if "…" in line) and "…" in cut
    whole = in_terminal(50, "sql", WIDE, "--wide")
    assert all(letter * 70 in whole for letter in "abc") and "…" not in whole
    assert in_terminal(50, "sql", WIDE, GRADETRAIL_WIDE="1") == whole
    narrow = in_terminal(30, "show", "runs")
    assert "more columns do not fit; `--wide` shows them all" in narrow
    assert "tags" in in_terminal(30, "--wide", "show", "runs")


def test_a_file_is_never_cut_at_the_width_of_the_terminal(graded: Lab) -> None:
    for name, words in {
        "query": ("sql", WIDE), "runs": ("show", "runs"), "board": ("show",),
        "gate": ("gate", "latest", "latest"), "views": ("show", "--help-views"),
    }.items():  # fmt: skip
        in_terminal(30, *words, "--output", f"{name}.txt")
        assert Path(f"{name}.txt").read_text() == gradetrail(*words).out


def test_a_pipe_cuts_long_cells_unless_told_not_to(graded: Lab) -> None:
    assert "a" * 59 + "…" in gradetrail("sql", WIDE).out
    assert "a" * 70 in gradetrail("sql", WIDE, "--wide").out
    assert "a" * 59 + "…" in gradetrail("sql", WIDE).out


def test_quiet_leaves_warnings_errors_and_data(graded: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    graded.write("again.yaml", name="again")
    loud = gradetrail("run", "again.yaml")
    assert loud.err.startswith("new run ")
    quiet = gradetrail("run", "again.yaml", "--new", "--quiet")
    assert (quiet.code, quiet.err, quiet.out.splitlines()[0]) == (0, "", loud.out.splitlines()[0])
    assert gradetrail("--quiet", "score", "again.yaml", "--force").err == ""
    graded.write("warned.yaml", name="warned", epochs=2, request={"temperature": 0})
    warned = gradetrail("plan", "warned.yaml", "--quiet")
    assert warned.err.startswith("warning: ") and "---" not in warned.err
    assert gradetrail("show", "nope", "--quiet").err.startswith("error: no view `nope`")
    monkeypatch.setenv("GRADETRAIL_QUIET", "1")
    assert gradetrail("sql", "select 1 where false").err == ""
    monkeypatch.delenv("GRADETRAIL_QUIET")
    assert gradetrail("sql", "select 1 where false").err == "no rows\n"


def test_progress_is_not_drawn_where_quiet_is_asked_for(graded: Lab) -> None:
    assert "%" in in_terminal(100, "run", "spec.yaml", "--new", "--refresh")
    assert "%" not in in_terminal(100, "run", "spec.yaml", "--new", "--refresh", "--quiet")
