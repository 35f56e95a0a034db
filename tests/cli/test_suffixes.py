"""A file holds the format that its name promises."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab

READERS: dict[str, Callable[[Path], list[Any]]] = {
    "parquet": lambda path: pq.read_table(path).to_pylist(),
    "json": lambda path: json.loads(path.read_text()),
    "JSONL": lambda path: [json.loads(line) for line in path.read_text().splitlines()],
    "csv": lambda path: list(csv.DictReader(io.StringIO(path.read_text()))),
    "md": lambda path: [line for line in path.read_text().splitlines() if line.startswith("|")][2:],
}


@pytest.mark.parametrize(
    "words",
    [
        ("sql", "select run_id from runs"),
        ("show", "runs"),
        ("leaderboard",),
        ("run", "spec.yaml"),
        ("export", "runs"),
        ("plan", "spec.yaml"),
    ],
    ids=lambda words: words[0],
)
def test_the_suffix_of_the_file_is_its_format(lab: Lab, words: tuple[str, ...]) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    for suffix, read in READERS.items():
        target = Path(f"out.{suffix}")
        done = gradetrail(*words, "--output", target)
        assert (done.code, done.raw) == (0, b""), done.err
        assert len(read(target)) == 1, suffix


@pytest.mark.parametrize("name", ["out.txt", "out", "out.xml"])
def test_a_suffix_that_is_no_format_keeps_what_the_command_prints(lab: Lab, name: str) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    printed = gradetrail("show", "runs").raw
    assert gradetrail("show", "runs", "--output", name).code == 0
    assert Path(name).read_bytes() == printed


def test_a_format_that_contradicts_the_suffix_is_refused_before_any_work(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write()
    done = gradetrail("run", "spec.yaml", "--format", "csv", "--output", "x.parquet")
    assert (done.code, lab.warehouse.exists(), Path("x.parquet").exists()) == (2, False, False)
    assert "--output: x.parquet is to be parquet, but --format says csv" in done.err
    monkeypatch.setenv("GRADETRAIL_FORMAT", "jsonl")
    done = gradetrail("run", "spec.yaml", "--output", "x.json")
    assert (done.code, lab.warehouse.exists()) == (2, False)
    assert "GRADETRAIL_FORMAT says jsonl" in done.err
    assert gradetrail("run", "spec.yaml", "--output", "x.jsonl").code == 0


def test_a_verdict_takes_the_suffix_too(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    for name in ("gate.xml", "gate.json"):
        assert gradetrail("gate", "latest", "latest", "--output", name).code == 0
    assert Path("gate.xml").read_text().startswith("<")
    assert json.loads(Path("gate.json").read_text())
