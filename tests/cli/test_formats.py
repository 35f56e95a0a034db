"""Every format, byte for byte, over every awkward value; and every view in every format."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from gradetrail.cli.cells import plain, shown
from gradetrail.cli.output import Format, show_rows
from gradetrail.store import Store
from gradetrail.warehouse import Warehouse
from gradetrail.warehouse.locked import LockedWarehouse
from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab

GOLDEN = Path(__file__).parent / "golden"
AWKWARD = """
    select *
    from (
        values
            (1, 'plain', true, 0.5::double, 1.5::decimal(18, 9), ['a', null], {'k': 'v'},
                timestamptz '2026-01-02 03:04:05.678+00', date '2026-01-02'),
            (2, null, null, null, null, null, null, null, null),
            (3, '', false, -0.0::double, 0::decimal(18, 9), [], {'k': null},
                timestamptz '1970-01-01 00:00:00+00', date '1970-01-01'),
            (4, 'a|b\\c`d*e<f>', true, 1e-9::double, 0.0000728::decimal(18, 9), ['|', '"'], {'k': 'x"y'},
                timestamptz '2026-01-02 05:04:05+02', null),
            (5, 'two' || chr(10) || 'lines' || chr(13) || chr(9) || 'tab, comma "quote"', false,
                123456.789::double, -2::decimal(18, 9), [chr(10)], null, null, null),
            (6, 'esc' || chr(27) || '[31m nul' || chr(0) || ' rtl' || chr(8238) || ' sep' || chr(8232)
                || ' nbsp' || chr(160), true, 1e7::double, 1234567.123456789::decimal(18, 9), null, null,
                null, null),
            (7, '👨‍👩‍👧 😀 漢字 → ≤', true, 'nan'::double, null, ['😀'], null, null, null),
            (9007199254740993, 'x', true, 'infinity'::double, null, null, null, null, null)
    ) as t(n, text, flag, number, money, list, struct, moment, day)
    order by n
"""
SUFFIX = {"table": "txt", "json": "json", "jsonl": "jsonl", "csv": "csv", "markdown": "md"}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("warehouse") / "warehouse"
    Store(root)
    return root


@pytest.mark.parametrize("form", SUFFIX)
def test_awkward_values_print_as_the_golden_file_says(empty: Path, form: str) -> None:
    done = gradetrail("sql", AWKWARD, "--format", form, "--warehouse", empty)
    assert (done.code, done.err) == (0, "")
    path = GOLDEN / f"awkward.{SUFFIX[form]}"
    if os.environ.get("WRITE_GOLDEN"):
        path.write_bytes(done.raw)
    assert done.raw == path.read_bytes()


def test_json_and_jsonl_hold_the_same_values_without_loss(empty: Path) -> None:
    whole = json.loads(gradetrail("sql", AWKWARD, "--format", "json", "--warehouse", empty).raw)
    lines = gradetrail("sql", AWKWARD, "--format", "jsonl", "--warehouse", empty).out.split("\n")
    assert [json.loads(line) for line in lines if line] == whole
    with Warehouse(empty) as opened:
        names, rows = opened.rows(AWKWARD)
    assert whole == [dict(zip(names, map(plain, row), strict=True)) for row in rows]
    assert [row["n"] for row in whole][-1] == 9007199254740993
    assert [row["number"] for row in whole][-2:] == [None, None]
    assert whole[5]["text"] == "esc\x1b[31m nul\x00 rtl\u202e sep\u2028 nbsp\xa0"


def test_csv_reads_back_as_it_was(empty: Path) -> None:
    text = gradetrail("sql", AWKWARD, "--format", "csv", "--warehouse", empty).out
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    with Warehouse(empty) as opened:
        names, found = opened.rows(AWKWARD)
    expected = [dict(zip(names, row, strict=True)) for row in found]
    assert [row["text"] for row in rows] == [row["text"] or "" for row in expected]
    assert [row["flag"] for row in rows[:3]] == ["true", "", "false"]
    assert rows[0]["list"] == '["a", null]'
    assert rows[4]["number"] == "123456.789"


def test_parquet_holds_the_types_of_the_query(empty: Path, tmp_path: Path) -> None:
    done = gradetrail("sql", AWKWARD, "--format", "parquet", "--warehouse", empty)
    table = pq.read_table(io.BytesIO(done.raw))
    with Warehouse(empty) as opened:
        expected = opened.arrow(AWKWARD)
    assert table.schema.equals(expected.schema)
    assert table.slice(0, 6).equals(expected.slice(0, 6))
    path = tmp_path / "out.parquet"
    assert (
        gradetrail("sql", AWKWARD, "--format", "parquet", "--warehouse", empty, "--output", path).raw == b""
    )
    assert path.read_bytes() == done.raw


def test_no_control_character_reaches_a_terminal(empty: Path) -> None:
    for form in ("table", "markdown"):
        text = gradetrail("sql", AWKWARD, "--format", form, "--warehouse", empty).out
        assert not {char for char in text if ord(char) < 32} - {"\n"}
        assert not set(text) & set("\u202e\u2028\x7f\x9b")
        assert len(text.splitlines()) == len(text.split("\n")) - 1 == 10


@pytest.mark.parametrize(
    "query",
    [
        "select cast('\x1b[31m\x9b' || text as integer) from (values ('x\x07')) as t (text)",
        'select 1 as "\x1b[31m"',
    ],
    ids=["a fault that quotes a value", "the name of a column"],
)
def test_no_control_character_reaches_a_terminal_beside_the_cells(empty: Path, query: str) -> None:
    for form in ("table", "markdown"):
        done = gradetrail("sql", query, "--format", form, "--warehouse", empty)
        assert "\\u001b[31m" in done.out + done.err
        assert not set("\x1b\x9b\x07") & set(done.out + done.err)


@pytest.mark.parametrize("form", [Format.csv, Format.json, Format.jsonl])
def test_formats_for_programs_are_escaped_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, form: Format
) -> None:
    screen, pipe = _Terminal(), io.StringIO()
    for stream in (screen, pipe):
        monkeypatch.setattr(sys, "stdout", stream)
        show_rows(["text"], [["\x1b[31m\x9b"]], form)
    assert "\x9b" in pipe.getvalue()
    assert not set("\x1b\x9b") & set(screen.getvalue())


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_output_goes_to_the_file_and_nowhere_else(empty: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    done = gradetrail("sql", AWKWARD, "--format", "csv", "--warehouse", empty, "--output", path)
    assert (done.code, done.raw, done.err) == (0, b"", "")
    assert path.read_bytes() == (GOLDEN / "awkward.csv").read_bytes()


def test_an_empty_result_is_said_for_people_and_is_valid_for_programs(empty: Path) -> None:
    nothing = "select 1 as a, 'x' as b where false"
    found = {
        form: gradetrail("sql", nothing, "--format", form, "--warehouse", empty)
        for form in ("table", "json", "jsonl", "csv", "markdown", "parquet")
    }
    assert {form: done.code for form, done in found.items()} == dict.fromkeys(found, 0)
    assert found["table"].err == "no rows\n"
    assert json.loads(found["json"].raw) == []
    assert (found["jsonl"].raw, found["csv"].raw) == (b"", b"a,b\n")
    assert pq.read_table(io.BytesIO(found["parquet"].raw)).num_rows == 0
    assert all(done.err == "" for form, done in found.items() if form != "table")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (1.0, "1"), (0.21683, "0.2168"), (1e-20, "1e-20"), (-3.5e-7, "-3.5e-07"),
        (0.00005, "0.0001"), (999999.5, "999999.5"), (12345678.9, "12,345,679"), (1e300, "1e+300"),
        (9999, "9999"), (10000, "10,000"), (-1234567, "-1,234,567"), (True, "yes"), (None, ""),
    ],
)  # fmt: skip
def test_a_value_alone_is_rounded_for_people(value: Any, text: str) -> None:
    assert shown(value) == text


def test_numbers_of_a_column_have_equal_decimals(empty: Path) -> None:
    query = "select unnest([0.5, 0.25, 1.0]) as a, unnest([1.0, 2.0, 3.0]) as b"
    text = gradetrail("sql", query, "--warehouse", empty).out
    assert text == "   a  b\n────  ─\n0.50  1\n0.25  2\n1.00  3\n"


# ---- views of a real run


@pytest.fixture
def done_once(lab: Lab) -> Lab:
    models = [lab.model(name="m1"), lab.model(name="m2")]
    lab.write(model=None, models=models, epochs=2, dataset={"path": "data.jsonl", "category": "target"})
    assert gradetrail("run", "spec.yaml").code == 0
    return lab


def test_every_view_prints_the_same_rows_in_every_format(done_once: Lab) -> None:
    with Warehouse(done_once.warehouse) as opened:
        views = opened.views()
        expected = {view: opened.rows(f'from "{view}"') for view in views}
    assert len(views) > 20
    for view, (names, rows) in expected.items():
        records = [dict(zip(names, map(plain, row), strict=True)) for row in rows]
        done = gradetrail("show", view, "--format", "json")
        assert done.code == 0, (view, done.err)
        assert sorted(map(str, json.loads(done.raw))) == sorted(map(str, records)), view
        table = pq.read_table(io.BytesIO(gradetrail("show", view, "--format", "parquet").raw))
        assert (table.column_names, table.num_rows) == (names, len(rows)), view
    for view in ("graded", "runs", "costs", "leaderboard"):
        names, rows = expected[view]
        text = gradetrail("show", view, "--format", "csv").out
        assert next(csv.reader(io.StringIO(text, newline=""))) == names
        assert len(list(csv.reader(io.StringIO(text, newline="")))) == len(rows) + 1, view


def test_show_sql_prints_a_query_that_gives_the_view(done_once: Lab) -> None:
    with LockedWarehouse(done_once.warehouse) as opened:
        for view in opened.views():
            done = gradetrail("show", view, "--sql")
            assert (done.code, done.err) == (0, ""), view
            assert done.out.startswith("-- "), view
            names, rows = opened.rows(done.out)
            expected, same = opened.rows(f"from {view}")
            assert (names, len(rows)) == (expected, len(same)), view


def test_what_show_sql_prints_is_asked_as_it_is(done_once: Lab) -> None:
    query = gradetrail("show", "wrong", "--sql").out
    done = gradetrail("sql", "-", "--format", "csv", stdin=query)
    assert (done.code, done.raw) == (0, gradetrail("show", "wrong", "--format", "csv").raw)


def test_show_sql_keeps_the_arguments_of_a_macro(done_once: Lab) -> None:
    assert "macro gate(\n    a_run,\n    b_run," in gradetrail("show", "gate", "--sql").out


def test_the_board_of_several_tasks_is_one_document(done_once: Lab) -> None:
    done_once.write("other.yaml", name="other")
    done = gradetrail("run", "spec.yaml", "other.yaml", "--format", "json")
    assert done.code == 0, done.err
    assert {row["task"] for row in json.loads(done.raw)} == {"sums", "other"}
    table = gradetrail("run", "spec.yaml", "other.yaml").out
    assert "sums: numeric\n" in table
    assert "other: numeric\n" in table
    parquet = gradetrail("run", "spec.yaml", "other.yaml", "--format", "parquet").raw
    assert pq.read_table(io.BytesIO(parquet)).num_rows == 3


def test_previews_and_plans_can_be_parquet_too(done_once: Lab) -> None:
    plan = gradetrail("plan", "spec.yaml", "--format", "parquet", "--show", "0")
    assert pq.read_table(io.BytesIO(plan.raw)).num_rows == 2
    done_once.write(extract="no such thing (.+)", model=done_once.model(name="m1"))
    preview = gradetrail("score", "spec.yaml", "--preview", "--format", "parquet")
    assert pq.read_table(io.BytesIO(preview.raw)).num_rows == 24


def test_a_preview_has_the_same_columns_where_nothing_flips(done_once: Lab) -> None:
    nothing = gradetrail("score", "spec.yaml", "--preview", "--format", "csv").out.splitlines()
    done_once.write(extract="no such thing (.+)", model=done_once.model(name="m1"))
    flips = gradetrail("score", "spec.yaml", "--preview", "--format", "csv").out.splitlines()
    assert len(nothing) == 1 < len(flips)
    assert nothing[0] == flips[0]
