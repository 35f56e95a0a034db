"""How far a run is, counted from the store, is what a query over the trials counts."""

from pathlib import Path

import pytest

from gradetrail.generation.states import States, states_of
from gradetrail.store import Store
from gradetrail.warehouse import Warehouse
from tests.store.rows import RUN, answered, planned, trial

SIX = States(n_trials=6, n_owed=2, n_errors=1)
COUNTED = """
    select
        count(*),
        count(*) filter (where status in ('pending', 'skipped')),
        count(*) filter (where status = 'error' and error_type not in ('over_context', 'filtered'))
    from trials
    where run_id = $run_id
"""
ENDED = [
    {"status": "error", "error_type": "server_error"},
    {"status": "error", "error_type": "over_context"},
    {"status": "skipped"},
]


def six_trials(root: Path) -> Store:
    """Plan six trials: two are answered, two fail, one is skipped, and one keeps waiting."""
    store = planned(root, 6, RUN)
    with store.writer(RUN) as writer:
        writer.append(**answered(0))
        for number, state in enumerate(ENDED, 1):
            writer.append(response=None, calls=[], trials=[{**trial(number), **state}])
        writer.append(**answered(4))
    return store


def counted(root: Path) -> States:
    with Warehouse(root) as warehouse:
        return States(*warehouse.rows(COUNTED, {"run_id": RUN})[1][0])


def test_a_finished_run_is_one_file(tmp_path: Path) -> None:
    six_trials(tmp_path)
    assert states_of(tmp_path, RUN) == counted(tmp_path) == SIX


def test_a_run_that_is_packed_counts_the_same(tmp_path: Path) -> None:
    store = six_trials(tmp_path)
    store.write_manifest(RUN, {"run_id": RUN, "task": "gsm8k", "status": "complete"})
    store.compact(0.0)
    assert list((tmp_path / "trials").glob("*")) == []
    assert states_of(tmp_path, RUN) == counted(tmp_path) == SIX


def test_answers_in_a_journal_count(tmp_path: Path) -> None:
    store = six_trials(tmp_path)
    with store.writer(RUN) as writer:
        writer.append(**answered(5))
        writer.flush()
        assert states_of(tmp_path, RUN) == counted(tmp_path) == States(6, 1, 1)


@pytest.mark.parametrize("name", [f"{RUN}.0.parquet", f"{RUN}.1f.parquet"])
def test_a_damaged_file_counts_for_nobody(tmp_path: Path, name: str) -> None:
    six_trials(tmp_path)
    files = sorted(path.name for path in (tmp_path / "trials").iterdir())
    assert name in files
    path = tmp_path / "trials" / name
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = bytes(len(data) // 2 - 4)
    path.write_bytes(data)
    assert states_of(tmp_path, RUN) == counted(tmp_path)
