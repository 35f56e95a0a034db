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


FOREIGN = (
    "interval '14 months 3 days 2.5 seconds'",
    "[interval '1 day', null]",
    "{'a': interval '1 day', 'b': 'x'}",
    "union_value(a := 1)",
    "map {}",
    "[map {}]",
    "340282366920938463463374607431768211455::uhugeint",
    "[[340282366920938463463374607431768211455::uhugeint]]",
    "map {'k': 3::uhugeint}",
    "'12:00:00+02'::timetz",
    "'101'::bit",
    "[1::uhugeint]::uhugeint[1]",
    "'123456789012345678901234567890123456789012'::bignum",
    "1::variant",
    "'POINT(1 2)'::geometry",
)


def test_types_that_frames_and_parquet_do_not_hold_are_the_text_that_duckdb_gives(
    empty: Path, tmp_path: Path
) -> None:
    query = "select " + ", ".join(f"{value} as c{n}" for n, value in enumerate(FOREIGN)) + ", 7 as c, $v as v"
    with Warehouse(empty) as opened:
        texts = ", ".join(f"cast({value} as varchar)" for value in FOREIGN)
        expected = (*opened.rows("select " + texts)[1][0], 7, "v")
        assert opened.sql(query, {"v": "v"}).rows() == [expected]
        assert tuple(opened.arrow(query, {"v": "v"}).to_pylist()[0].values()) == expected
        opened.write_parquet(query, {"v": "v"}, tmp_path / "x.parquet")
    assert tuple(pq.read_table(tmp_path / "x.parquet").to_pylist()[0].values()) == expected
    done = gradetrail("sql", query.replace("$v", "'v'"), "--format", "parquet", "--warehouse", empty)
    assert (done.code, done.err) == (0, "")
    assert tuple(pq.read_table(io.BytesIO(done.raw)).to_pylist()[0].values()) == expected


def test_columns_of_one_name_keep_their_order_and_rows_beside_one_that_becomes_text(empty: Path) -> None:
    query = "select i as a, -i as a, to_days(i::int) as a from range(5000) as t(i) order by i desc"
    with Warehouse(empty) as opened:
        frame = opened.sql(query)
        expected = opened.rows("select i, -i, cast(to_days(i::int) as varchar) from range(5000) as t(i)")[1]
    assert (frame.columns, frame.rows()) == (["a", "a_1", "a_2"], expected[::-1])


def test_what_frames_do_hold_keeps_its_type(empty: Path) -> None:
    query = (
        "select 1 as i, 1.5::decimal(38, 9) as d, [1] as l, {'a': [true]} as s, time '12:00' as t, 'a' as v"
    )
    with Warehouse(empty) as opened:
        kinds = [str(kind) for kind in opened.arrow(query).schema.types]
    assert kinds == [
        "int32", "decimal128(38, 9)", "list<l: int32>", "struct<a: list<l: bool>>", "time64[us]", "string",
    ]  # fmt: skip
