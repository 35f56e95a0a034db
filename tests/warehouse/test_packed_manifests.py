"""Manifests of packed runs: read when asked for, as of the look, and missed when they are damaged."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gradetrail.errors import SelectionError
from gradetrail.store import Store
from gradetrail.store.manifests import Manifests
from gradetrail.warehouse import Warehouse
from tests.store.test_packing import NO_GRACE, finished


def pack_of(root: Path) -> Path:
    (pack,) = (root / "packs").glob("runs-*.parquet")
    return pack


def packed(root: Path, *numbers: int) -> list[str]:
    runs = [finished(root, number) for number in numbers]
    assert Store(root).compact(NO_GRACE) is not None
    return runs


def runs_in(warehouse: Warehouse) -> list[str]:
    return [run_id for (run_id,) in warehouse.rows("select run_id from manifests order by run_id")[1]]


def test_a_manifest_beside_the_pack_is_the_newer_one(tmp_path: Path) -> None:
    first, second = packed(tmp_path, 1, 2)
    Store(tmp_path).write_manifest(first, {"run_id": first, "task": "gsm8k", "status": "incomplete"})
    third = finished(tmp_path, 3)
    with Warehouse(tmp_path) as warehouse:
        rows = warehouse.rows("select run_id, status from manifests order by run_id")[1]
        assert rows == [(first, "incomplete"), (second, "complete"), (third, "complete")]
        assert [(m["run_id"], m["status"]) for m in warehouse.live.manifests] == rows


def test_python_and_sql_see_the_runs_of_the_look_whatever_is_packed_since(tmp_path: Path) -> None:
    runs = packed(tmp_path, 1, 2)
    warehouse = Warehouse(tmp_path)
    packed(tmp_path, 3)
    assert [manifest["run_id"] for manifest in warehouse.live.manifests] == runs
    assert warehouse.run_id("latest") == runs[-1]


def test_manifests_travel_to_another_process(tmp_path: Path) -> None:
    packed(tmp_path, 1, 2)
    live = Store(tmp_path).live()
    assert isinstance(live.manifests, Manifests)
    assert pickle.loads(pickle.dumps(live)).manifests == live.manifests


@pytest.mark.parametrize("part", ["texts", "footer"])
def test_a_damaged_pack_of_manifests_is_named_and_the_rest_is_shown(tmp_path: Path, part: str) -> None:
    packed(tmp_path, 1, 2)
    third = finished(tmp_path, 3)
    pack = pack_of(tmp_path)
    body = pq.read_metadata(pack).row_group(0).column(1)
    assert body.path_in_schema == "body"
    first_page = body.dictionary_page_offset or body.data_page_offset
    place = first_page + body.total_compressed_size // 3 if part == "texts" else -60
    data = bytearray(pack.read_bytes())
    data[place : place + 12] = b"\xff" * 12
    pack.write_bytes(data)
    with Warehouse(tmp_path) as asked_in_sql:
        assert runs_in(asked_in_sql) == [third]
        assert [fault.where for fault in asked_in_sql.damaged] == [str(pack)]
    with Warehouse(tmp_path) as asked_in_python:
        assert asked_in_python.run_id("latest") == third
        with pytest.raises(SelectionError):
            asked_in_python.run_id("000001")
        assert asked_in_python.is_partial
