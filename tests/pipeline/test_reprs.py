"""What a run and a warehouse say of themselves in a notebook."""

from __future__ import annotations

from gradetrail import pipeline
from gradetrail.warehouse import Warehouse
from tests.pipeline.lab import Lab


def test_a_run_and_a_warehouse_are_named_in_few_words(lab: Lab) -> None:
    lab.write()
    done = pipeline.run("spec.yaml")
    n_trials = done.progress.n_trials
    assert n_trials >= 6
    assert repr(done) == f"Run({done.run_id}, complete, {n_trials} trials)"
    with Warehouse("warehouse") as opened:
        assert repr(opened) == "Warehouse('warehouse')"
