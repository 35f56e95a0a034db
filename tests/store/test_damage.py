from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gradetrail.store import Store
from tests.store.rows import (
    OTHER,
    RUN,
    SCORER,
    answered,
    planned,
    response,
    rows_of,
    score,
    statuses,
    table_of,
    texts,
)


def finished(root: Path) -> Store:
    """Make a warehouse with two runs of four trials, two parts each."""
    store = planned(root, 4)
    planned(root, 4, OTHER)
    for run_id in (RUN, OTHER):
        with store.writer(run_id, part_rows=2) as writer:
            for number in range(4):
                writer.append(**answered(number, run_id))
    return store


def spoil(path: Path, how: str) -> None:
    whole = path.read_bytes()
    spoilt = {
        "empty": b"",
        "cut short": whole[: len(whole) // 2],
        "200 bytes": whole[:200],
        "no tail": whole[:-4] + b"xxxx",
        "no head": b"xxxx" + whole[4:],
        "a footer beyond the file": whole[:-8] + b"\xff\xff\xff\x7f" + whole[-4:],
    }
    path.write_bytes(spoilt[how])


WAYS = ["empty", "cut short", "200 bytes", "no tail", "no head", "a footer beyond the file"]


@pytest.mark.parametrize("how", WAYS)
def test_a_damaged_answer_file_is_named_and_left_out_and_the_rest_is_there(tmp_path: Path, how: str) -> None:
    finished(tmp_path)
    path = tmp_path / "responses" / f"{RUN}.1.parquet"
    spoil(path, how)
    live = Store(tmp_path, create=False).live()
    assert [fault.where for fault in live.damaged] == [str(path)]
    assert "check --repair" in live.damaged[0].fix
    assert str(path) not in live.files["responses"]
    assert len(rows_of(live, "responses")) == 6
    assert statuses(live) == {"answered": 8}


def test_damage_is_named_again_by_every_look(tmp_path: Path) -> None:
    store = finished(tmp_path)
    spoil(tmp_path / "calls" / f"{RUN}.1.parquet", "cut short")
    reader = Store(tmp_path, create=False)
    assert len(reader.live().damaged) == len(reader.live().damaged) == 1
    assert store.live().damaged != []


def test_parts_below_a_damaged_fold_stand_in_for_it(tmp_path: Path) -> None:
    finished(tmp_path)
    (fold,) = tmp_path.glob(f"trials/{RUN}.*f.parquet")
    spoil(fold, "cut short")
    live = Store(tmp_path, create=False).live()
    assert [fault.where for fault in live.damaged] == [str(fold)]
    assert statuses(live) == {"answered": 8}
    assert live.loose["trials"].num_rows == 4


def test_a_damaged_segment_whose_journal_is_still_there_costs_nothing(tmp_path: Path) -> None:
    store = planned(tmp_path, 2)
    with store.writer(RUN) as writer:
        writer.append(**answered(0))
        writer.flush()
        journal = tmp_path / "journal" / f"{RUN}.1.jsonl"
        copy = journal.read_bytes()
    journal.write_bytes(copy)
    spoil(tmp_path / "responses" / f"{RUN}.1.parquet", "no tail")
    live = Store(tmp_path, create=False).live()
    assert texts(live) == ["answer 0"]
    assert len(live.damaged) == 1


def test_a_damaged_part_is_not_folded_away_but_stays_named(tmp_path: Path) -> None:
    store = planned(tmp_path, 4)
    with store.writer(RUN) as writer:
        writer.append(**answered(0))
    for name in ("1f", "1"):
        spoil(tmp_path / "trials" / f"{RUN}.{name}.parquet", "cut short")
    with Store(tmp_path).writer(RUN) as writer:
        writer.append(**answered(1))
    live = Store(tmp_path, create=False).live()
    assert statuses(live) == {"answered": 1, "pending": 3}
    assert len(live.damaged) == 2
    assert not (tmp_path / "trials" / f"{RUN}.2f.parquet").exists()


@pytest.mark.parametrize("is_late", [False, True], ids=["before the fold", "after the look"])
def test_a_flipped_bit_in_a_part_is_never_copied_into_a_fold(tmp_path: Path, is_late: bool) -> None:
    store = planned(tmp_path, 400)
    path = tmp_path / "trials" / f"{RUN}.0.parquet"
    column = pq.ParquetFile(path).metadata.row_group(0).column(13)
    assert column.path_in_schema == "request_key"
    whole = bytearray(path.read_bytes())
    whole[column.data_page_offset + column.total_compressed_size // 2] ^= 1
    if is_late:
        assert store.live().damaged == []  # both ends and the footer are whole
    path.write_bytes(whole)
    with store.writer(RUN) as writer:
        writer.append(**answered(0))
    assert list(tmp_path.glob("trials/*f.parquet")) == []
    live = store.live()
    assert [fault.where for fault in live.damaged] == [str(path)]
    assert statuses(live) == {"answered": 1}


def test_older_scores_stand_in_for_damaged_ones_and_the_next_grading_replaces_both(tmp_path: Path) -> None:
    store = finished(tmp_path)
    for n in (1, 2):
        rows = table_of("scores", [score(number, value=float(n == 2)) for number in range(4)])
        assert store.publish_scores(RUN, SCORER, rows, {}) == n
    spoil(tmp_path / "scores" / f"{RUN}.{SCORER[:12]}.2f.parquet", "cut short")
    store = Store(tmp_path)
    live = store.live()
    assert {row[0] for row in rows_of(live, "scores", "score")} == {0.0}
    assert len(live.damaged) == 1
    assert store.publish_scores(RUN, SCORER, rows, {}) == 3
    assert {row[0] for row in rows_of(store.live(), "scores", "score")} == {1.0}


def test_a_file_without_field_ids_is_found_when_its_footer_is_read(tmp_path: Path) -> None:
    store = finished(tmp_path)
    path = tmp_path / "responses" / f"{RUN}.9.parquet"
    rows = table_of("responses", [response(9)])
    pq.write_table(rows.cast(pa.schema([field.remove_metadata() for field in rows.schema])), path)
    live = store.live()
    (fault,) = store.suspect(live.files["responses"])
    assert fault.where == str(path)
    assert "field id" in fault.message
    assert str(path) not in store.live().files["responses"]


def test_a_spoilt_footer_is_found_when_a_query_has_failed_on_it(tmp_path: Path) -> None:
    store = finished(tmp_path)
    path = tmp_path / "calls" / f"{RUN}.1.parquet"
    whole = bytearray(path.read_bytes())
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    whole[begin : begin + 40] = bytes(40)
    path.write_bytes(whole)
    live = store.live()
    assert live.damaged == []
    assert [fault.where for fault in store.suspect(live.files["calls"])] == [str(path)]
    live = store.live()
    assert [fault.where for fault in live.damaged] == [str(path)]
    assert len(rows_of(live, "calls")) == 6


@pytest.mark.parametrize("folder", ["responses", "calls", "trials", "scores"])
def test_a_parquet_file_with_a_foreign_name_is_named_and_not_read(tmp_path: Path, folder: str) -> None:
    finished(tmp_path)
    (tmp_path / folder).mkdir(exist_ok=True)
    for name in (f"{RUN}.1 (copy).parquet", f"{RUN}.01.parquet", "x.parquet"):
        shutil.copy(tmp_path / "responses" / f"{RUN}.1.parquet", tmp_path / folder / name)
    (tmp_path / folder / ".DS_Store").write_bytes(b"")
    (tmp_path / folder / f"{RUN}.7.parquet.0a1b2c3d.tmp").write_bytes(b"half")
    live = Store(tmp_path, create=False).live()
    assert len(live.damaged) == 3
    assert len(rows_of(live, "responses")) == 8
    assert statuses(live) == {"answered": 8}


@pytest.mark.parametrize("text", ["", "{", "[1]", "null"])
def test_a_damaged_manifest_is_named_and_the_others_are_read(tmp_path: Path, text: str) -> None:
    store = Store(tmp_path)
    store.write_manifest(RUN, {"run_id": RUN})
    store.write_manifest(OTHER, {"run_id": OTHER})
    (tmp_path / "runs" / f"{RUN}.json").write_text(text)
    assert store.manifests() == [{"run_id": OTHER}]
    live = store.live()
    assert live.manifests == [{"run_id": OTHER}]
    assert [fault.where for fault in live.damaged] == [str(tmp_path / "runs" / f"{RUN}.json")]
