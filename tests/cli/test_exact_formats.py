"""What queries give is not lost or changed on its way to other programs, whatever its names and types."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gradetrail.store import Store
from gradetrail.warehouse import Warehouse
from tests.cli.command import gradetrail

REPEATED = "select 1 as a, 2 as a, 3 as a_1, 4 as A, 5 as a, 6 as b"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("warehouse") / "warehouse"
    Store(root)
    return root


def test_columns_of_one_name_are_numbered_alike_in_every_format_that_has_keys(empty: Path) -> None:
    printed = {
        form: gradetrail("sql", REPEATED, "--format", form, "--warehouse", empty).raw
        for form in ("json", "jsonl", "parquet")
    }
    expected = {"a": 1, "a_1": 2, "a_1_1": 3, "A_2": 4, "a_3": 5, "b": 6}
    assert json.loads(printed["json"]) == [expected]
    assert json.loads(printed["jsonl"]) == expected
    assert pq.read_table(io.BytesIO(printed["parquet"])).to_pylist() == [expected]
    with Warehouse(empty) as opened:
        assert opened.sql(REPEATED).to_dicts() == [expected]


def test_a_parquet_file_of_a_warehouse_has_every_column(empty: Path, tmp_path: Path) -> None:
    with Warehouse(empty) as opened:
        opened.write_parquet(REPEATED, None, tmp_path / "x.parquet")
    assert list(pq.read_table(tmp_path / "x.parquet").to_pylist()[0].values()) == [1, 2, 3, 4, 5, 6]


def test_csv_keeps_names_as_they_are(empty: Path) -> None:
    text = gradetrail("sql", REPEATED, "--format", "csv", "--warehouse", empty).out
    assert text == "a,a,a_1,A,a,b\n1,2,3,4,5,6\n"
