"""A damaged file is named and left out; it neither stops a query nor is it skipped silently."""

import pytest

from gradetrail.errors import QueryError
from gradetrail.warehouse import Warehouse
from tests.warehouse.conftest import NEW, OLD, OTHER

RUNS = "select distinct run_id from trials order by all"


def flip(path, start, end):
    data = bytearray(path.read_bytes())
    for place in range(start, end):
        data[place] ^= 0xFF
    path.write_bytes(data)


def test_a_cut_file_is_named_and_left_out(root):
    path = root / "trials" / f"{OLD}.1f.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with Warehouse(root) as warehouse:
        assert warehouse.rows(RUNS)[1] == [(NEW,), (OTHER,)]
        assert warehouse.is_partial
        assert [fault.where for fault in warehouse.damaged] == [str(path)]


def test_a_footer_that_was_damaged_since_the_look_is_named_and_left_out(root):
    path = root / "trials" / f"{OLD}.1f.parquet"
    with Warehouse(root) as warehouse:
        assert not warehouse.is_partial
        flip(path, path.stat().st_size - 200, path.stat().st_size - 20)
        assert warehouse.rows(RUNS)[1] == [(NEW,), (OTHER,)]
        assert warehouse.is_partial
        assert [fault.where for fault in warehouse.damaged] == [str(path)]
        assert warehouse.rows("select count(*) from leaderboard where run_id = $run", {"run": NEW})[1] == [
            (2,)
        ]


def test_a_damaged_page_is_named_and_left_out(root):
    path = root / "responses" / f"{OLD}.1.parquet"
    with Warehouse(root) as warehouse:
        flip(path, 4, 400)
        assert warehouse.rows("select distinct run_id from responses where text <> '' order by all")[1] == [
            (NEW,), (OTHER,),
        ]  # fmt: skip
        assert [fault.where for fault in warehouse.damaged] == [str(path)]


def test_a_mistake_in_a_query_is_no_damage(root):
    with Warehouse(root) as warehouse:
        with pytest.raises(QueryError):
            warehouse.rows("select cast('x' as integer)")
        assert not warehouse.is_partial


def test_a_damaged_manifest_is_named(root):
    (root / "runs" / f"{OLD}.json").write_text("{")
    with Warehouse(root) as warehouse:
        assert warehouse.is_partial
        assert [m["run_id"] for m in warehouse.manifests()] == [NEW, OTHER]
