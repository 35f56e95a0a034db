"""Packing: many files become few, and every row is there once, whatever comes before, between and after."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gradetrail.store import Live, Store
from gradetrail.store import packing as packing_module
from tests.store.rows import SCORER, answered, call, planned, rows_of, score, statuses, table_of, texts

NO_GRACE = 0.0


def run_name(number: int) -> str:
    return f"20261130T0831{number % 60:02d}Z-gsm8k-{number:06x}"


def finished(root: Path, number: int, n_trials: int = 3) -> str:
    """Make a finished run with scores and a manifest."""
    run_id = run_name(number)
    store = planned(root, n_trials, run_id)
    with store.writer(run_id) as writer:
        for trial in range(n_trials):
            writer.append(**answered(trial, run_id))
    grade(store, run_id, n_trials)
    store.write_manifest(run_id, {"run_id": run_id, "task": "gsm8k", "status": "complete"})
    return run_id


def grade(store: Store, run_id: str, n_trials: int, value: float = 1.0) -> int:
    rows = table_of("scores", [score(n, value=value, run_id=run_id) for n in range(n_trials)])
    return store.publish_scores(run_id, SCORER, rows, {"trials": "1f", "value": str(value)})


def everything(live: Live) -> dict[str, list[tuple[object, ...]]]:
    tables = ("trials", "responses", "calls", "scores", "samples")
    return {table: sorted(rows_of(live, table), key=repr) for table in tables}


def names(root: Path, folder: str) -> list[str]:
    return sorted(os.listdir(root / folder)) if (root / folder).exists() else []


def test_packed_runs_read_as_before_and_from_few_files(tmp_path: Path) -> None:
    runs = [finished(tmp_path, number) for number in range(12)]
    store = Store(tmp_path)
    store.publish_samples("d" * 64, table_of("samples", [
        {"dataset_id": "d" * 64, "sample_id": f"s{n}", "sample_hash": "h", "position": n, "content": "{}"}
        for n in range(5)
    ]))  # fmt: skip
    before = store.live()
    rows = everything(before)
    done = store.compact(NO_GRACE)
    assert done is not None
    assert done.packed.n_packs == 5
    assert done.packed.n_files == 12 * 5 + 1
    for reader in (store, Store(tmp_path, create=False)):
        after = reader.live()
        assert everything(after) == rows
        assert after.manifests == before.manifests
        assert after.damaged == []
        assert {table: len(files) for table, files in after.files.items()} == dict.fromkeys(after.files, 1)
        assert sorted(after.stems("trials")) == sorted(before.stems("trials"))
        assert sorted(after.stems("scores")) == sorted(before.stems("scores"))
        assert after.stems("samples") == before.stems("samples")
    for folder in ("trials", "responses", "calls", "scores", "samples", "runs"):
        assert names(tmp_path, folder) == []
    assert store.manifest(runs[3]) == before.manifests[3]
    assert store.trials(runs[3]).num_rows == 3
    notes = store.notes(store.live().record, f"{runs[3]}.{SCORER[:12]}.1f")
    assert notes == {"trials": "1f", "value": "1.0"}


def test_what_is_packed_stays_until_the_grace_period_is_over(tmp_path: Path) -> None:
    finished(tmp_path, 1)
    store = Store(tmp_path)
    before = names(tmp_path, "trials"), names(tmp_path, "runs")
    store.compact(3600)
    assert (names(tmp_path, "trials"), names(tmp_path, "runs")) == before
    assert statuses(store.live()) == {"answered": 3}
    past = (tmp_path / "packs" / "1.json").stat().st_mtime - 4000
    os.utime(tmp_path / "packs" / "1.json", (past, past))
    store.compact(3600)
    assert (names(tmp_path, "trials"), names(tmp_path, "runs")) == ([], [])
    assert statuses(store.live()) == {"answered": 3}


def test_a_packed_run_goes_on_and_its_newer_fold_counts(tmp_path: Path) -> None:
    run, other = finished(tmp_path, 1), finished(tmp_path, 2)
    store = Store(tmp_path)
    store.compact(NO_GRACE)
    with store.writer(run) as writer:
        fresh = answered(0, run, text="asked again")
        fresh["trials"][0]["stop_reason"] = "length"
        fresh["response"]["response_id"] = "new"
        fresh["calls"] = [call(100, run)]
        writer.append(**fresh)
        writer.flush()
        live = store.live()  # beside a journal
        assert statuses(live) == {"answered": 6}
        assert texts(live).count("asked again") == 1
        assert len(texts(live)) == 7
    for _ in range(3):
        live = store.live()
        assert statuses(live) == {"answered": 6}
        found = rows_of(live, "trials", "run_id, sample_id, model, stop_reason")
        assert [row for row in found if row[3] == "length"] == [(run, "s00000", "m0", "length")]
        assert len(texts(live)) == 7
        assert len([stem for stem in live.stems("trials") if stem.startswith(run)]) == 1
        store.compact(NO_GRACE)
    assert store.trials(run).num_rows == store.trials(other).num_rows == 3
    assert names(tmp_path, "trials") == []


def test_part_numbers_go_on_after_packing(tmp_path: Path) -> None:
    run = finished(tmp_path, 1)
    store = Store(tmp_path)
    for number in range(3):
        store.compact(NO_GRACE)
        with store.writer(run) as writer:
            writer.append(**{**answered(number + 10, run), "trials": []})
    assert len(texts(store.live())) == 6


def test_newer_scores_count_and_numbers_go_on(tmp_path: Path) -> None:
    run, other = finished(tmp_path, 1), finished(tmp_path, 2)
    store = Store(tmp_path)
    for number, value in enumerate((0.5, 0.25, 0.25, 0.125), start=1):
        store.compact(NO_GRACE)
        found = grade(store, run, 3, value)
        assert found == [None, 2, 3, 3, 4][number]
        for _ in range(2):
            live = store.live()
            scores = rows_of(live, "scores", "run_id, score")
            assert sorted(scores) == sorted([(run, value)] * 3 + [(other, 1.0)] * 3)
            store.compact(NO_GRACE)
    notes = store.notes(store.live().record, f"{run}.{SCORER[:12]}.4f")
    assert notes is not None
    assert notes["value"] == "0.125"
    assert store.scores_number(run, SCORER) == 4


def test_an_unfinished_run_is_not_packed(tmp_path: Path) -> None:
    store = planned(tmp_path, 4)
    run = next(iter(store.live().stems("trials"))).rpartition(".")[0]
    store.write_manifest(run, {"run_id": run, "task": "gsm8k", "status": "running"})
    with store.writer(run) as writer:
        writer.append(**answered(0, run))
        writer.flush()
        done = store.compact(NO_GRACE)
        assert done is not None
        assert done.packed.n_files == 0
    assert statuses(store.live()) == {"answered": 1, "pending": 3}


def test_a_manifest_that_was_written_again_counts(tmp_path: Path) -> None:
    run = finished(tmp_path, 1)
    store = Store(tmp_path)
    store.compact(NO_GRACE)
    for tag in ("a", "b"):
        store.write_manifest(run, {**store.manifest(run), "tags": [tag]})
        assert store.manifest(run)["tags"] == [tag]
        store.compact(NO_GRACE)
        assert store.manifest(run)["tags"] == [tag]
        assert names(tmp_path, "runs") == []


def test_packs_are_split_between_runs_and_small_ones_are_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing_module, "PACK_ROWS", 30)
    for number in range(24):
        finished(tmp_path, number, 4)
        if number % 4 == 3:
            Store(tmp_path).compact(NO_GRACE)
    store = Store(tmp_path)
    live = store.live()
    assert statuses(live) == {"answered": 96}
    assert len(rows_of(live, "scores")) == 96
    assert len(live.files["trials"]) <= 4
    for file in live.files["trials"]:
        runs = pq.read_table(file).column("run_id").to_pylist()
        assert runs == sorted(runs)
    by_file = [set(pq.read_table(file).column("run_id").to_pylist()) for file in live.files["trials"]]
    assert all(not one & other for one, other in itertools.combinations(by_file, 2))


def test_a_second_packer_leaves_off_and_a_dead_one_leaves_no_trace(tmp_path: Path) -> None:
    finished(tmp_path, 1)
    store = Store(tmp_path)
    claim = store.storage.claim("packs/lock")
    assert claim is not None
    assert store.compact(NO_GRACE) is None
    claim.release()
    orphan = tmp_path / "packs" / "trials-1-0-0123abcd.parquet"
    orphan.write_bytes(b"half")
    store.compact(NO_GRACE)
    assert not orphan.exists()
    assert statuses(store.live()) == {"answered": 3}
    assert store.live().damaged == []


def test_packing_starts_by_itself_when_there_are_many_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradetrail.store.store.LOOSE_FILES", 3)
    for number in range(3):
        finished(tmp_path, number)
    store = Store(tmp_path)
    assert store.compact_if_many() is None
    finished(tmp_path, 3)
    assert store.compact_if_many() is not None
    assert store.compact_if_many() is None
    assert statuses(store.live()) == {"answered": 12}


def test_a_damaged_file_is_left_out_of_packs_and_stays_in_sight(tmp_path: Path) -> None:
    runs = [finished(tmp_path, number) for number in range(3)]
    path = next((tmp_path / "responses").glob(f"{runs[1]}.*"))
    data = bytearray(path.read_bytes())
    data[60] ^= 1
    path.write_bytes(data)
    store = Store(tmp_path)
    store.compact(NO_GRACE)
    assert names(tmp_path, "responses") == [path.name]
    assert [fault.where for fault in store.suspect(store.live().files["responses"], is_thorough=True)] == [
        str(path)
    ]
