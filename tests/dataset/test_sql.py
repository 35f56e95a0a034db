"""`query` and `where` see columns by JSON type, run locked, and say what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gradetrail.dataset import Selection, load_samples
from gradetrail.dataset.query import typed_table
from gradetrail.errors import DatasetError
from gradetrail.spec import load_spec
from tests.dataset.loading import DATA, contents, ids, load, load_rows, load_text, rows, spec_of

SIX = DATA / "cases" / "six_rows.jsonl"


def column_types(values: list[dict[str, Any]]) -> dict[str, str]:
    """Name the DuckDB type that each key gets, through `typeof`."""
    (row,) = rows(
        load_rows(
            values,
            query="select "
            + ", ".join(f'any_value(typeof("{key}")) as "{key}"' for key in values[0])
            + " from dataset",
        )
    )
    return row


class TestTypes:
    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            (["1", "2024-01-05", None], "VARCHAR"),
            ([None, None], "VARCHAR"),
            ([1, None, -(2**63)], "BIGINT"),
            ([1, 2.5], "DOUBLE"),
            ([True, None], "BOOLEAN"),
            ([1, "1"], "JSON"),
            ([True, 1], "JSON"),
            ([[1], [2]], "JSON"),
            ([{"a": 1}], "JSON"),
            ([2**63], "JSON"),
            ([2**53 + 1, 0.5], "JSON"),
        ],
    )
    def test_a_column_has_the_type_of_all_its_json_values(self, values: list[Any], kind: str) -> None:
        assert column_types([{"x": value} for value in values]) == {"x": kind}

    def test_the_type_does_not_depend_on_where_a_value_stands(self) -> None:
        values = [{"x": n} for n in range(20_000)]
        assert column_types(values) == {"x": "BIGINT"}
        assert column_types([*values, {"x": "last"}]) == {"x": "JSON"}

    def test_cells_of_csv_are_text(self) -> None:
        text = "n,d,b\n007,2024-01-05,true\n"
        query = "select typeof(n) as n, typeof(d) as d, typeof(b) as b from dataset"
        assert rows(load_text(text, "d.csv", query=query)) == [
            {"n": "VARCHAR", "d": "VARCHAR", "b": "VARCHAR"}
        ]

    def test_parquet_columns_keep_their_own_types(self) -> None:
        samples = load(DATA / "cases" / "usage_2.parquet", query="select typeof(usage) as t from dataset")
        assert rows(samples) == [{"t": 'STRUCT("input" BIGINT, cached BIGINT)'}]

    def test_a_key_that_some_rows_lack_is_null_there(self) -> None:
        assert ids(load(DATA / "cases" / "late_key.jsonl", where="topic is null")) == ["1"]
        assert ids(load(DATA / "cases" / "late_key.jsonl", where="level = 2")) == ["3"]

    def test_json_columns_hold_the_text_of_their_values(self) -> None:
        table = typed_table(pa.chunked_array([['{"x":[1.50,{"y":"é"}]}', '{"x":12345678901234567890}']]))
        assert table["x"].to_pylist() == ['[1.50,{"y":"é"}]', "12345678901234567890"]

    def test_odd_names_are_columns(self) -> None:
        values = [{"id": 1, 'we"ird': "x", "a.b": "y", "select": "z", "漢": 1, " ": 2}]
        assert ids(
            load_rows(values, where='"we""ird" = \'x\' and "a.b" = \'y\' and "select" = \'z\' and 漢 = 1')
        ) == ["1"]

    def test_names_that_differ_only_in_case_are_renamed_for_sql_and_said(self) -> None:
        samples = load_rows([{"id": 1, "a": 1, "A": 2}], where="A_1 = 2")
        assert ids(samples) == ["1"]
        assert samples.warnings == ("the column `A` is called `A_1` in SQL",)
        assert rows(samples) == [{"id": 1, "a": 1, "A": 2}]


class TestWhere:
    def test_it_filters_and_leaves_content_and_position_alone(self) -> None:
        samples = load_text('{"id":1,"p":1.50}\n{"id":2,"p":2.50}\n{"id":3,"p":3}', where="p > 1.5")
        assert contents(samples) == ['{"id":2,"p":2.50}', '{"id":3,"p":3}']
        assert samples.selected["position"].to_pylist() == [1, 2]

    def test_that_of_the_spec_and_that_of_the_invocation_both_apply(self) -> None:
        selection = Selection(where="target::int < 10")
        assert ids(load(SIX, selection, where="target::int > 4")) == ["s3", "s4"]

    def test_null_keeps_no_row(self) -> None:
        assert ids(load_rows([{"id": 1, "x": None}, {"id": 2, "x": 3}], where="x > 1")) == ["2"]

    @pytest.mark.parametrize(
        "where",
        [
            "target = '4' -- a comment",
            "target in (select target from dataset where id = 's2')",
            "(target = '4') and true",
            "id like '%2' and len(question) > 0",
        ],
    )
    def test_any_condition_on_a_row_is_one(self, where: str) -> None:
        assert ids(load(SIX, where=where)) == ["s2"]

    @pytest.mark.parametrize(
        "where",
        [
            "",
            "target =",
            "select 1",
            "true; drop table dataset",
            "true, false",
            "true) or (true",
            "true from dataset",
            "true where true",
            "true group by id",
            "true limit 1",
            "count(*) > 1",
            "row_number() over () = 1",
            "target",
            "id = $1",
            "(select count(*) from read_text('pyproject.toml')) > 0",
        ],
    )
    def test_what_is_not_one_condition_is_refused_with_its_text(self, where: str) -> None:
        with pytest.raises(DatasetError) as caught:
            load(SIX, where=where)
        (fault,) = caught.value.faults
        assert fault.field == "dataset.where"
        assert f"in: {where}" in fault.message

    def test_an_unknown_column_lists_the_known_ones(self) -> None:
        with pytest.raises(DatasetError) as caught:
            load(SIX, Selection(where="subject = 'x'"))
        (fault,) = caught.value.faults
        assert fault.where == "--where"
        assert '"subject" not found' in fault.message
        assert fault.fix == "columns: id, question, target"

    def test_a_fault_names_the_line_of_the_spec(self, tmp_path: Path) -> None:
        (tmp_path / "d.jsonl").write_text('{"id":1,"question":"q"}')
        (tmp_path / "s.yaml").write_text(
            "name: t\ndataset:\n  path: d.jsonl\n  where: nope = 1\n"
            "prompt: '{{ question }}'\ntarget: x\nscorer: exact\nmodel: mock/m\n"
        )
        with pytest.raises(DatasetError) as caught:
            load_samples(load_spec(tmp_path / "s.yaml"))
        assert caught.value.faults[0].where == f"{tmp_path}/s.yaml:4"

    def test_it_sees_the_rows_of_the_query(self) -> None:
        query = "select id, target::int * 2 as twice, sum(target::int) over () as total from dataset"
        assert ids(load(SIX, Selection(where="total = 42"), query=query, where="twice > 20")) == ["s6"]


class TestQuery:
    def test_its_rows_are_the_samples(self) -> None:
        samples = load(
            SIX,
            query="select id, upper(question) as question from dataset where target > '4' order by id desc",
        )
        assert rows(samples) == [
            {"id": "s4", "question": "WHAT IS 4+4?"},
            {"id": "s3", "question": "WHAT IS 3+3?"},
        ]
        assert samples.everything.num_rows == 2

    def test_values_keep_their_types(self) -> None:
        query = """
            select
                12345678901234567890123::hugeint as huge,
                1.50::decimal(5, 2) as money,
                date '2024-01-05' as day,
                timestamptz '2024-01-05 10:00:00+02' as moment,
                [1, null] as list,
                {'a': 'x'} as struct,
                map {'k': 1} as map,
                j as j,
                [j] as js,
                {'j': j} as sj,
                true as yes,
                null as nothing
            from dataset
        """
        (content,) = contents(load_text('{"j": {"k": [1.50]}}', query=query))
        assert content == (
            '{"huge":12345678901234567890123,"money":"1.50","day":"2024-01-05","moment":"2024-01-05T08:00:00+00:00",'
            '"list":[1,null],"struct":{"a":"x"},"map":{"k":1},"j":{"k":[1.50]},"js":[{"k":[1.50]}],'
            '"sj":{"j":{"k":[1.50]}},"yes":true,"nothing":null}'
        )

    def test_columns_without_a_json_form_can_be_left_out(self) -> None:
        frame = pa.table({"id": ["a"], "image": [b"\x89PNG"]})
        spec = spec_of("unused.jsonl", query="select * exclude (image) from dataset")
        assert rows(load_samples(spec, frame=frame)) == [{"id": "a"}]

    def test_a_group_by_gives_the_same_dataset_each_time(self) -> None:
        values = [{"k": n % 997, "x": n * 0.1} for n in range(20_000)]
        query = "select k as id, sum(x) as total from dataset group by k"
        first, second = load_rows(values, query=query), load_rows(values, query=query)
        assert first.dataset_id == second.dataset_id
        assert ids(first) == ids(second)

    @pytest.mark.parametrize(
        "query",
        [
            "",
            "select 1; select 2",
            "copy dataset to 'x.csv'",
            "with x as (copy (select 1) to 'x.csv') select * from dataset",
            "with x as (insert into dataset select * from dataset returning *) select * from x",
            "create table t as select 1",
            "set memory_limit = '1GB'",
            "explain select 1",
            "pragma version",
            "attach 'x.db'",
            "selec 1",
            "select nope from dataset",
            "select * from other",
            "select * from read_csv('pyproject.toml')",
            "select * from 'pyproject.toml'",
            "select 'x'::int from dataset",
        ],
    )
    def test_what_is_not_one_select_over_the_dataset_is_refused(self, query: str) -> None:
        with pytest.raises(DatasetError) as caught:
            load(SIX, query=query)
        (fault,) = caught.value.faults
        assert fault.field == "dataset.query"
        form = "write one SELECT over `dataset`; " if query == "selec 1" else ""
        assert fault.fix == f"{form}columns: id, question, target"

    def test_faults_of_its_rows_name_row_and_column(self) -> None:
        with pytest.raises(DatasetError, match=r"query row 1: x: NaN is not JSON"):
            load(SIX, query="select id, 'nan'::double as x from dataset")
        with pytest.raises(DatasetError, match=r"query: x: interval.* has no JSON form|query: x: .*interval"):
            load(SIX, query="select id, interval 1 day as x from dataset")

    def test_faults_of_the_file_come_first(self) -> None:
        with pytest.raises(DatasetError, match=r"bad_line\.jsonl:2"):
            load(DATA / "cases" / "bad_line.jsonl", query="select 1 as id")

    def test_no_rows_are_refused(self) -> None:
        with pytest.raises(DatasetError, match="query: there are no rows"):
            load(SIX, query="select * from dataset where false")

    def test_repeated_ids_name_the_rows_of_the_query(self) -> None:
        with pytest.raises(DatasetError, match="the id `x` stands in 6 rows: query row 1, query row 2"):
            load(SIX, query="select 'x' as id, question from dataset")

    def test_text_with_a_nul_passes_through_sql(self) -> None:
        samples = load_text(
            '{"id":"a","q":"x\\u0000y"}',
            query="select id, q, length(q) as n from dataset",
            where="q = 'x' || chr(0) || 'y'",
        )
        assert rows(samples) == [{"id": "a", "q": "x\0y", "n": 3}]

    def test_stored_content_with_a_nul_is_read_by_duckdb(self) -> None:
        import duckdb

        samples = load_text('{"id":"a","q":"x\\u0000y"}')
        con = duckdb.connect()
        con.register("samples", samples.everything)
        assert con.execute("select content::json ->> 'q' from samples").fetchall() == [("x\0y",)]

    def test_an_object_without_keys_has_no_columns_to_query(self) -> None:
        with pytest.raises(DatasetError, match="the dataset has no columns"):
            load_rows([{}, {}], where="true")

    def test_a_json_row_is_a_json_row_again(self) -> None:
        values = [{"id": "a", "x": {"deep": [1, 2, {"y": None}]}}, {"id": "b", "x": "text"}]
        assert rows(load_rows(values, query="select * from dataset")) == values

    def test_a_rename_is_said_once_for_query_and_where(self) -> None:
        samples = load_rows([{"id": 1, "a": 1, "A": 2}], query="from dataset", where="A_1 = 2")
        assert samples.warnings == ("the column `A` is called `A_1` in SQL",)

    def test_a_name_with_a_nul_or_none_at_all_stops_no_sql(self) -> None:
        assert ids(load_rows([{"id": 1, "a\0b": 2, "": 3}], where="id = 1")) == ["1"]
