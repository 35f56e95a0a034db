"""Grading a run that Python holds."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradetrail as gt
from tests.pipeline.lab import Lab


def test_a_run_that_was_generated_is_graded_as_it_is(lab: Lab) -> None:
    run = gt.generate(lab.spec(), warehouse=lab.warehouse)
    (graded,) = gt.score(run, warehouse=lab.warehouse)
    assert (graded.run_id, graded.n_rows) == (run.run_id, 6)


def test_a_run_brings_its_warehouse_along(lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = gt.generate(lab.spec(), warehouse=lab.warehouse)
    monkeypatch.setenv("GRADETRAIL_WAREHOUSE", str(tmp_path / "elsewhere"))
    assert [item.n_rows for item in gt.score(run)] == [6]


def test_what_is_neither_a_spec_nor_a_run_is_refused(lab: Lab) -> None:
    gt.generate(lab.spec(), warehouse=lab.warehouse)
    with pytest.raises(gt.GradetrailError, match="a int is no spec"):
        gt.score(5, warehouse=lab.warehouse)  # type: ignore[arg-type]
