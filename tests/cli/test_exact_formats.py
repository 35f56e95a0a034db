"""What queries give is not lost or changed on its way to other programs, whatever its names and types."""

from __future__ import annotations

import csv
import io
import json
from datetime import time
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gradetrail.cli.cells import cells_of, shown
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


@pytest.mark.parametrize("most", [None, 2])
def test_time_spans_keep_their_months_in_every_format(empty: Path, most: int | None) -> None:
    query = (
        "select to_months(i::int) as span, [to_months(1)] as spans, i as n, time '12:00' as t"
        " from range(3) as t(i) order by i desc"
    )
    spans = ["2 months", "1 month", "00:00:00"]
    with Warehouse(empty) as opened:
        names, rows = opened.rows(query, most=most)
        assert names == ["span", "spans", "n", "t"]
        assert rows == [(span, "[1 month]", 2 - n, time(12)) for n, span in enumerate(spans)][:most]
        assert opened.sql(query)["span"].to_list() == spans
    for form in ("csv", "jsonl", "table", "markdown"):
        done = gradetrail("sql", query, "--format", form, "--warehouse", empty)
        assert [
            span for line in done.out.splitlines() for span in spans if span in line.split("[")[0]
        ] == spans


def test_a_sum_of_integers_is_an_integer_in_a_frame_where_it_is_not_too_large(empty: Path) -> None:
    huge = 2**126
    query = "select sum(i) as s, $huge::hugeint as h, null::hugeint as z from range(10) as t(i)"
    with Warehouse(empty) as opened:
        frame = opened.sql(query, {"huge": str(huge)})
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "Decimal(precision=38, scale=0)", "Int64"]
    assert frame.rows() == [(45, huge, None)]


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


AS_TEXT = (
    "'12345678901234567890123456789012345678'::decimal(38, 0)",
    "'-1.1234567890123456789012345678901234567'::decimal(38, 37)",
    "'nan'::double",
    "'inf'::double",
    "'-inf'::double",
    "'\\xAA\\x00b ~\\x7F\\x22\\x27\\x5C'::blob",
    "timestamp '2026-01-03 02:00:03.5' - timestamp '2026-01-02'",
    "timestamp '2026-01-02' - timestamp '2026-01-03 02:00:03.5'",
    "timestamp '2026-01-02' - timestamp '2026-01-03'",
    "interval '1 day'",
    "interval '3 days'",
    "interval '0.000001 seconds'",
    "interval '0 seconds'",
)


def test_a_cell_of_csv_is_the_text_that_duckdb_gives(empty: Path) -> None:
    query = (
        "select " + ", ".join(f"{value} as c{n}" for n, value in enumerate(AS_TEXT)) + ", null::double as n"
    )
    with Warehouse(empty) as opened:
        expected = opened.rows("select " + ", ".join(f"cast({value} as varchar)" for value in AS_TEXT))[1][0]
    done = gradetrail("sql", query, "--format", "csv", "--warehouse", empty)
    _, cells = csv.reader(io.StringIO(done.out))
    assert cells == [*expected, ""]


def test_json_has_bytes_and_time_spans_as_the_same_text(empty: Path) -> None:
    query = "select '\\xAA\\x00b'::blob as b, ['\\xAA'::blob] as l, interval '1 day 2 hours' as i"
    done = gradetrail("sql", query, "--format", "jsonl", "--warehouse", empty)
    assert json.loads(done.out) == {"b": "\\xAA\\x00b", "l": ["\\xAA"], "i": "1 day 02:00:00"}


@pytest.mark.parametrize(
    ("money", "text"),
    [
        ("0.0000002", "2e-07"), ("-0.0000002", "-2e-07"), ("0.0000005", "5e-07"), ("0.000000501", "0.000001"),
        ("0.000001", "0.000001"), ("0.000000000", "0"), ("0.25", "0.25"),
    ],
)  # fmt: skip
def test_money_that_is_not_0_is_never_shown_as_0(money: str, text: str) -> None:
    assert shown(Decimal(money)) == text
    assert cells_of(["cost_usd"], [[Decimal(money)], [Decimal("0.5")]])[0][0].startswith(text)
