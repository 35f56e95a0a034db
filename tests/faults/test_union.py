"""Importing warehouses is their union: in any order, any number of times, and never what was removed here."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradetrail.store import Store
from gradetrail.warehouse import Warehouse
from gradetrail.warehouse.bundles import write_bundle
from gradetrail.warehouse.health import examine
from gradetrail.warehouse.importing import import_bundle, import_warehouse
from gradetrail.warehouse.removing import outlook, remove_run
from tests.faults.operations import run, write_spec
from tests.faults.steps import State, state_of

SOURCES = ("first", "went on apart", "stranger")


def brought(root: Path, other: Path) -> list[str]:
    """Import a warehouse; name the runs that came in."""
    return [done.run_id for done in import_warehouse(root, other) if done.is_new]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make three warehouses: two of a common past, one of them packed, and one that asked the same apart."""
    folder = tmp_path_factory.mktemp("union")
    for name in (SOURCES[0], SOURCES[2]):
        (folder / name).mkdir()
        run(folder / name, write_spec(folder / name, "sums", 3))
    shutil.copytree(folder / SOURCES[0], folder / SOURCES[1])
    for name in SOURCES[:2]:
        run(folder / name, folder / name / "sums.yaml", new=True)  # rests on the common run's answers
    Store(folder / SOURCES[1] / "warehouse").compact(0.0)
    return folder


def once(*states: State) -> dict[str, set[tuple[str, str]]]:
    """Give the union of what warehouses hold."""
    return {table: {row for state in states for row in state[table]} for table in states[0]}


@settings(max_examples=6, deadline=None)
@given(order=st.lists(st.sampled_from(SOURCES), min_size=1, max_size=4))
def test_a_warehouse_holds_what_any_of_those_held_that_it_was_given_each_row_once(
    lab: Path, order: list[str]
) -> None:
    with TemporaryDirectory() as scratch:
        root = Path(scratch) / "warehouse"
        for number, name in enumerate(order):
            came = brought(root, lab / name / "warehouse")
            assert bool(came) == (name not in order[:number]), "once is enough"
            assert number % 2 or Store(root).compact(0.0) is not None
        held = state_of(root)
        union = once(*(state_of(lab / name / "warehouse") for name in order))
        assert {table: max(Counter(name for name, _ in rows).values()) for table, rows in held.items()} == (
            dict.fromkeys(held, 1)
        )
        assert once(held) == union
        assert examine(root).findings == ()


def test_what_was_removed_here_stays_out_until_its_bundle_is_brought(lab: Path, tmp_path: Path) -> None:
    root, other = tmp_path / "warehouse", lab / SOURCES[0] / "warehouse"
    first, second = brought(root, other)  # in the order of their start
    remove_run(root, outlook(root, second))
    remove_run(root, outlook(root, first, with_answers=True))
    assert [(done.run_id, done.left_out) for done in import_warehouse(root, other)] == [
        (first, first),
        (second, second),
    ]
    apart = lab / SOURCES[1] / "warehouse"
    (third,) = {str(m["run_id"]) for m in Store(apart).manifests()} - {first, second}
    assert {done.run_id: done.left_out for done in import_warehouse(root, apart)} == {
        first: first,
        third: first,
    }
    assert state_of(root)["responses"] == []
    with Warehouse(apart) as theirs:
        write_bundle(theirs, third, tmp_path / "third.bundle")
    assert import_bundle(root, tmp_path / "third.bundle").is_new
    assert len(state_of(root)["responses"]) == 3
    assert examine(root).findings == ()
