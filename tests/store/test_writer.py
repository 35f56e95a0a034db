from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gradetrail.errors import RunLockedError, StoreError
from gradetrail.store import Store
from gradetrail.store import writer as writer_module
from tests.store.rows import (
    OTHER,
    RUN,
    answered,
    failed,
    planned,
    rows_of,
    statuses,
    table_of,
    texts,
    trial,
)


def names(root: Path, folder: str) -> list[str]:
    return sorted(path.name.removeprefix(RUN) for path in (root / folder).glob("*"))


def test_a_plan_is_one_file_of_pending_trials(tmp_path: Path) -> None:
    live = planned(tmp_path, 5).live()
    assert [Path(file).name for file in live.files["trials"]] == [f"{RUN}.0.parquet"]
    assert statuses(live) == {"pending": 5}
    assert live.loose == {}


def test_a_plan_is_written_once(tmp_path: Path) -> None:
    store = planned(tmp_path, 2)
    with pytest.raises(StoreError, match="has a plan already"):
        store.start_plan(RUN, table_of("trials", [trial(0)]))
    assert statuses(store.live()) == {"pending": 2}


def test_what_was_flushed_is_seen_at_once_and_what_was_not_is_not(tmp_path: Path) -> None:
    store = planned(tmp_path, 3)
    with store.writer(RUN) as writer:
        writer.append(**answered(0))
        writer.append(**failed(1))
        assert statuses(store.live()) == {"pending": 3}
        writer.flush()
        writer.sync()
        live = store.live()
        assert statuses(live) == {"answered": 1, "error": 1, "pending": 1}
        assert (live.running, len(rows_of(live, "calls"))) == ({RUN}, 2)
        writer.append(**answered(1))
    live = store.live()
    assert statuses(live) == {"answered": 2, "pending": 1}
    assert (live.running, live.loose, len(rows_of(live, "calls"))) == (set(), {}, 3)


def test_a_closed_run_is_one_fold_with_every_trial_and_leaves_no_journal(tmp_path: Path) -> None:
    store = planned(tmp_path, 7)
    with store.writer(RUN, part_rows=2) as writer:
        for number in range(5):
            writer.append(**answered(number))
    live = store.live()
    assert [Path(file).name for file in live.files["trials"]] == [f"{RUN}.3f.parquet"]
    assert names(tmp_path, "responses") == [".1.parquet", ".2.parquet", ".3.parquet"]
    assert names(tmp_path, "journal") == []
    assert statuses(live) == {"answered": 5, "pending": 2}
    assert texts(live) == [f"answer {number}" for number in range(5)]


def test_a_run_that_goes_on_gets_a_new_fold_that_supersedes_the_old(tmp_path: Path) -> None:
    store = planned(tmp_path, 4)
    for number in range(3):
        with store.writer(RUN) as writer:
            writer.append(**answered(number))
        assert statuses(store.live()) == {"answered": number + 1, "pending": 3 - number}
    assert names(tmp_path, "trials") == [f".{n}.parquet" for n in ("0", "1", "1f", "2", "2f", "3", "3f")]
    assert [Path(file).name for file in store.live().files["trials"]] == [f"{RUN}.3f.parquet"]


def test_a_writer_with_nothing_to_write_leaves_nothing(tmp_path: Path) -> None:
    store = planned(tmp_path, 2)
    before = sorted(tmp_path.rglob("*.*"))
    with store.writer(RUN, header={"run_id": RUN}) as writer:
        writer.flush()
        writer.sync()
    assert sorted(tmp_path.rglob("*.*")) == before


def test_in_one_part_the_later_state_of_a_trial_counts(tmp_path: Path) -> None:
    store = planned(tmp_path, 1)
    with store.writer(RUN) as writer:
        writer.append(**failed(0))
        writer.append(**answered(0))
        writer.flush()
        assert statuses(store.live()) == {"answered": 1}
    assert statuses(store.live()) == {"answered": 1}
    assert len(rows_of(store.live(), "calls")) == 2


def test_numbers_of_parts_are_never_used_twice(tmp_path: Path) -> None:
    store = planned(tmp_path, 9)
    seen: set[str] = set()
    for number in range(3):
        with store.writer(RUN, part_rows=1) as writer:
            writer.append(**answered(number))
            writer.append(**answered(number + 3))
        for path in tmp_path.glob("calls/*"):  # nothing but the fold is left to say which were used
            seen.add(path.name)
            path.unlink()
        for path in tmp_path.glob("responses/*"):
            path.unlink()
        for path in tmp_path.glob("trials/*"):
            if not path.stem.endswith("f"):
                path.unlink()
    assert len(seen) == 6
    assert statuses(store.live()) == {"answered": 6, "pending": 3}


def test_a_part_is_full_by_bytes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "PART_BYTES", 20_000)
    store = planned(tmp_path, 10)
    with store.writer(RUN) as writer:
        for number in range(10):
            writer.append(**answered(number, text="x" * 7_000))
    assert len(names(tmp_path, "responses")) == 5
    assert len(texts(store.live())) == 10


def test_known_trials_are_added_without_a_journal_and_later_rows_win_over_them(tmp_path: Path) -> None:
    store = planned(tmp_path, 4)
    with store.writer(RUN) as writer:
        writer.append(**failed(0))
        hits = [trial(number, "answered", is_hit=True) for number in (0, 1, 5)]
        writer.add_trials(table_of("trials", hits))
        writer.append(**failed(1))
        writer.flush()
        assert statuses(store.live()) == {"answered": 2, "error": 1, "pending": 2}
        writer.add_trials(table_of("trials", []))
    live = store.live()
    assert statuses(live) == {"answered": 2, "error": 1, "pending": 2}
    hits_kept = [key for key, is_hit in rows_of(live, "trials", "request_key, is_hit") if is_hit]
    assert set(hits_kept) == {trial(0)["request_key"], trial(5)["request_key"]}


def test_the_trials_of_one_run_can_be_asked_for_while_it_runs_and_after(tmp_path: Path) -> None:
    store = planned(tmp_path, 3)
    planned_other = table_of("trials", [trial(0, run_id=OTHER)])
    store.start_plan(OTHER, planned_other)
    assert store.trials(OTHER).equals(planned_other)
    with store.writer(RUN) as writer:
        writer.append(**answered(1))
        writer.flush()
        running = store.trials(RUN)
    assert sorted(running.column("status").to_pylist()) == ["answered", "pending", "pending"]
    after = store.trials(RUN)
    assert after.sort_by("request_key").equals(running.sort_by("request_key"))
    assert store.trials("unknown").num_rows == 0


def test_a_second_writer_is_refused_naming_host_and_process(tmp_path: Path) -> None:
    store = planned(tmp_path, 2)
    with store.writer(RUN):
        with pytest.raises(RunLockedError) as caught:
            Store(tmp_path).writer(RUN)
        assert f"process {os.getpid()} on {socket.gethostname()} is generating into run {RUN}" in str(
            caught.value
        )
        assert caught.value.exit_code == 2
        with store.writer(OTHER):
            pass
    with store.writer(RUN):
        pass


def test_an_error_inside_leaves_the_run_sealed_and_unlocked(tmp_path: Path) -> None:
    store = planned(tmp_path, 2)
    writer = store.writer(RUN)
    writer.append(**answered(0))
    writer.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    live = store.live()
    assert statuses(live) == {"answered": 1, "pending": 1}
    assert live.running == set()
    with pytest.raises(StoreError, match="closed"):
        writer.append(**answered(1))
    writer.close()


def test_half_published_and_sealed_but_kept_parts_are_read_right_and_taken_up(tmp_path: Path) -> None:
    whole = planned(tmp_path / "whole", 3)
    with whole.writer(RUN) as writer:
        writer.append(**answered(0))
        writer.append(**failed(1))
        writer.flush()
        journal = (whole.root / "journal" / f"{RUN}.1.jsonl").read_bytes()
    segments = [Path(table) / f"{RUN}.1.parquet" for table in ("responses", "calls", "trials")]
    for n_published in range(4):
        store = planned(tmp_path / str(n_published), 3)
        (store.root / "journal").mkdir()
        (store.root / "journal" / f"{RUN}.1.jsonl").write_bytes(journal)
        for segment in segments[:n_published]:
            (store.root / segment).parent.mkdir(exist_ok=True)
            shutil.copy(whole.root / segment, store.root / segment)
        (store.root / "trials" / f"{RUN}.1.parquet.0a1b2c3d.tmp").write_bytes(b"half")
        expected = {"answered": 1, "error": 1, "pending": 1}
        assert statuses(store.live()) == expected
        assert texts(store.live()) == ["answer 0"]
        with store.writer(RUN) as writer:
            assert writer.absorbed.n_parts == 1
        live = store.live()
        assert (statuses(live), texts(live), live.loose) == (expected, ["answer 0"], {})
        assert len(rows_of(live, "calls")) == 2
        assert list(store.root.rglob("*.tmp")) == []
        assert names(store.root, "journal") == []


def test_a_warehouse_that_vanishes_is_an_error_and_not_a_new_warehouse(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    store = planned(root, 2)
    writer = store.writer(RUN)
    writer.append(**answered(0))
    writer.flush()
    shutil.rmtree(root)
    writer.append(**answered(1))
    with pytest.raises(StoreError, match="the folder is gone"):
        writer.flush()
    with pytest.raises(StoreError, match="the folder is gone"):
        writer.append(**answered(1))
    with pytest.raises(StoreError, match="the folder is gone"):
        writer.close()
    with pytest.raises(StoreError, match="the folder is gone"):
        store.live()
    with pytest.raises(StoreError, match="the folder is gone"):
        store.write_manifest(RUN, {})
    assert not root.exists()


FULL = """
import resource, sys
from pathlib import Path
from gradetrail.errors import StoreError
from gradetrail.store import Store
from tests.store.rows import RUN, answered

def fill_disk(n_bytes):  # a limit on the size of files stands for a disk that is full
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))

n_kept = 0
try:
    with Store(Path(sys.argv[1])).writer(RUN) as writer:
        if sys.argv[2] == "append":
            fill_disk(10_000)
        for number in range(20):
            writer.append(**answered(number))
            writer.flush()
            n_kept += 1
        fill_disk(1_000)
except StoreError as error:
    print(n_kept, error)
"""


@pytest.mark.parametrize("moment", ["append", "close"])
def test_a_full_disk_is_an_error_that_says_so_and_what_was_flushed_is_kept(
    tmp_path: Path, moment: str
) -> None:
    store = planned(tmp_path, 20)
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path), moment], capture_output=True, text=True)
    n_kept, _, message = done.stdout.partition(" ")
    assert "free some space" in message, done.stderr
    live = store.live()
    assert len(texts(live)) == int(n_kept) > 0
    assert (live.damaged, list(tmp_path.rglob("*.tmp"))) == ([], [])
    with store.writer(RUN) as writer:
        assert (writer.absorbed.n_parts, writer.absorbed.n_torn) == (1, 0)
    pending = {"pending": 20 - int(n_kept)} if moment == "append" else {}
    assert statuses(store.live()) == {"answered": int(n_kept), **pending}


def test_a_fold_is_written_in_row_groups_of_one_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("folding", "segments"):
        monkeypatch.setattr(f"gradetrail.store.{module}.FACT_ROW_GROUP", 3)
    store = planned(tmp_path, 8)
    with store.writer(RUN) as writer:
        writer.append(**answered(7))
    file = pq.ParquetFile(store.live().files["trials"][0])
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [3, 3, 2]
