"""Parquet, Arrow files, DataFrames and Python rows give the JSON rows that their values say."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import random
import uuid
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradetrail.dataset import Samples, load_samples
from gradetrail.errors import DatasetError
from tests.dataset.loading import DATA, contents, ids, load, load_rows, rows, spec_of

CASES = DATA / "cases"


def load_frame(frame: object, **dataset: Any) -> Samples:
    return load_samples(spec_of("unused.jsonl", **dataset), frame=frame)


def content_of(column: pa.Array[Any]) -> list[str]:
    return contents(load_frame(pa.table({"x": column})))


def fault_of(frame: object) -> str:
    with pytest.raises(DatasetError) as caught:
        load_frame(frame)
    return str(caught.value)


def write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
        return
    opened = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
    with opened(str(path), table.schema) as writer:
        writer.write_table(table)


class TestValues:
    @pytest.mark.parametrize(
        ("column", "text"),
        [
            (pa.array([2**63 - 1]), "9223372036854775807"),
            (pa.array([2**64 - 1], pa.uint64()), "18446744073709551615"),
            (pa.array([True]), "true"),
            (pa.array([0.1]), "0.1"),
            (pa.array([0.1], pa.float32()), "0.1"),
            (pa.array([[0.1, None]], pa.list_(pa.float32())), "[0.1,null]"),
            (pa.array([{"a": 0.1}], pa.struct([("a", pa.float32())])), '{"a":0.1}'),
            (pa.array([1.5], pa.float16()), "1.5"),
            (pa.array(["é\u2028\0"]), '"é\u2028\\u0000"'),
            (pa.array(["x"], pa.large_string()), '"x"'),
            (pa.array(["x"], pa.string_view()), '"x"'),
            (pa.array(["x"]).dictionary_encode(), '"x"'),
            (pa.array([None], pa.string()), "null"),
            (pa.array([None]), "null"),
            (pa.array([decimal.Decimal("1.50")]), '"1.50"'),
            (pa.array([decimal.Decimal("1E+3")], pa.decimal128(10, 0)), '"1000"'),
            (pa.array([dt.date(2024, 1, 5)]), '"2024-01-05"'),
            (pa.array([dt.time(10, 30)]), '"10:30:00"'),
            (pa.array([36_000_000_000_000], pa.time64("ns")), '"10:00:00"'),
            (pa.array([dt.datetime.fromisoformat("2024-01-05T10:00:00.5")]), '"2024-01-05T10:00:00.500000"'),
            (pa.array([1_000], pa.timestamp("ns")), '"1970-01-01T00:00:00.000001"'),
            (pa.array([0], pa.timestamp("s", "Europe/Berlin")), '"1970-01-01T01:00:00+01:00"'),
            (pa.array([[{"a": 1, "b": [None, "x"]}]]), '[{"a":1,"b":[null,"x"]}]'),
            (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), '{"k":1}'),
            (pa.array([[1, 2]], pa.list_(pa.int64(), 2)), "[1,2]"),
        ],
        ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
    )
    def test_a_typed_value_becomes_json_without_loss(self, column: pa.Array[Any], text: str) -> None:
        assert content_of(column) == [f'{{"x":{text}}}']

    @pytest.mark.parametrize(
        ("column", "reason"),
        [
            (pa.array([b"x"]), "binary has no JSON form"),
            (pa.array([{"bytes": b"x", "path": "a"}]), "binary has no JSON form"),
            (pa.array([b"0123"], pa.binary(4)), "fixed_size_binary[4] has no JSON form"),
            (pa.array([1], pa.duration("us")), "duration[us] has no JSON form"),
            (
                pa.array([1], pa.timestamp("ns")),
                "timestamp[ns]: Casting from timestamp[ns] to timestamp[us] would lose",
            ),
            (pa.array([[(1, "a")]], pa.map_(pa.int64(), pa.string())), "the key 1 is not text"),
            (pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64())), "map<string, int64>"),
        ],
        ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
    )
    def test_what_json_cannot_say_is_refused_by_column_or_row(
        self, column: pa.Array[Any], reason: str
    ) -> None:
        found = fault_of(pa.table({"ok": ["a"], "x": column}))
        assert reason in found
        assert "frame: x: " in found or "frame row 1: " in found

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
    @pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
    def test_nan_and_infinity_are_refused_by_row_and_column(self, value: float, kind: pa.DataType) -> None:
        frame = pa.table({"id": [1, 2], "x": pa.array([[1.0], [2.0, value]], pa.list_(kind))})
        assert fault_of(frame).startswith("frame row 2: x.1: ")

    @given(
        st.lists(
            st.fixed_dictionaries(
                {
                    "i": st.none() | st.integers(-(2**63), 2**63 - 1),
                    "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
                    "s": st.none() | st.text(st.characters(exclude_categories=("Cs",))),
                    "l": st.none() | st.lists(st.integers(0, 9), max_size=3),
                }
            ),
            min_size=1,
            max_size=5,
        )
    )
    def test_rows_come_back_equal(self, values: list[dict[str, Any]]) -> None:
        schema = pa.schema(
            [("i", pa.int64()), ("f", pa.float64()), ("s", pa.string()), ("l", pa.list_(pa.int64()))]
        )
        samples = load_frame(pa.Table.from_pylist(values, schema=schema))
        assert [json.loads(content) for content in contents(samples)] == values

    @given(st.floats(width=32, allow_nan=False, allow_infinity=False))
    def test_a_float32_comes_back_as_the_same_float32(self, value: float) -> None:
        (row,) = rows(load_frame(pa.table({"x": pa.array([value], pa.float32())})))
        assert pa.array([float(row["x"])], pa.float32())[0].as_py() == value

    def test_two_columns_of_one_name_are_refused(self) -> None:
        table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
        assert "two columns are called `a`" in fault_of(table)


class TestFiles:
    @pytest.mark.parametrize("name", ["usage_1", "usage_2", "toolcalls_1", "toolcalls_2"])
    def test_parquet_rows_are_those_of_the_file(self, name: str) -> None:
        path = CASES / f"{name}.parquet"
        assert rows(load(path)) == pq.read_table(path).to_pylist()

    @pytest.mark.parametrize("order", ["12", "21"])
    def test_files_whose_schemas_differ_keep_every_value_in_any_order(
        self, tmp_path: Path, order: str
    ) -> None:
        for place, number in enumerate(order):
            (tmp_path / f"{place}.parquet").write_bytes((CASES / f"usage_{number}.parquet").read_bytes())
        assert {row["id"]: row["usage"] for row in rows(load(tmp_path / "*.parquet"))} == {
            "a": {"input": 10},
            "b": {"input": 10, "cached": 7},
        }
        assert ids(load(tmp_path / "*.parquet", where="usage.cached = 7")) == ["b"]

    def test_a_column_that_is_null_in_one_file_and_a_list_in_another_loads(self) -> None:
        samples = load(CASES / "toolcalls_*.parquet", where="tool_calls is null or len(tool_calls) = 1")
        assert [row["tool_calls"] for row in rows(samples)] == [None, ["calc"]]

    def test_files_that_disagree_on_a_type_are_refused_where_sql_needs_one(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"id": ["a"], "x": [1]}), tmp_path / "1.parquet")
        pq.write_table(pa.table({"id": ["b"], "x": [[1]]}), tmp_path / "2.parquet")
        assert [row["x"] for row in rows(load(tmp_path / "*.parquet"))] == [1, [1]]
        with pytest.raises(DatasetError, match="the files disagree on a column's type"):
            load(tmp_path / "*.parquet", where="x = 1")

    @pytest.mark.parametrize("ending", ["arrow", "feather", "ipc", "arrows"])
    @pytest.mark.parametrize("form", ["file", "stream"])
    def test_arrow_files_and_streams_load_under_each_name(
        self, tmp_path: Path, ending: str, form: str
    ) -> None:
        table = pa.table({"id": ["a", "b"], "n": [1, None]})
        opened = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
        path = tmp_path / f"d.{ending}"
        with opened(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=1)
        assert rows(load(path)) == table.to_pylist()
        assert ids(load(path, where="n = 1")) == ["a"]

    def test_row_groups_and_batches_are_read_through(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"id": range(20_001)}), tmp_path / "d.parquet", row_group_size=1_000)
        samples = load(tmp_path / "d.parquet")
        assert ids(samples) == [str(n) for n in range(20_001)]

    def test_a_parquet_file_without_rows_is_refused(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"id": pa.array([], pa.string())}), tmp_path / "d.parquet")
        with pytest.raises(DatasetError, match=r"d\.parquet: there are no rows"):
            load(tmp_path / "d.parquet")

    @pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows"])
    def test_a_damaged_file_loads_or_is_refused_and_never_ends_the_process(
        self, tmp_path: Path, ending: str
    ) -> None:
        table = pa.table(
            {"id": [f"s{n}" for n in range(50)], "l": [[n, 2] for n in range(50)], "s": [{"a": "b"}] * 50}
        )
        path = tmp_path / f"d.{ending}"
        write(table, path)
        data, chance = path.read_bytes(), random.Random(7)
        refused = 0
        for _ in range(60):
            damaged = bytearray(data)
            for _ in range(chance.choice((1, 3, 20))):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            path.write_bytes(bytes(damaged))
            try:
                load(path)
            except DatasetError:
                refused += 1
        assert refused > 20

    def test_a_flipped_bit_under_a_page_checksum_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "d.parquet"
        pq.write_table(
            pa.table({"id": ["needle"]}),
            path,
            write_page_checksum=True,
            write_statistics=False,
            compression="none",
            use_dictionary=False,
        )
        path.write_bytes(path.read_bytes().replace(b"needle", b"noodle", 1))
        with pytest.raises(DatasetError, match=r"d\.parquet: cannot be read: .*CRC"):
            load(path)

    def test_a_truncated_stream_is_refused(self, tmp_path: Path) -> None:
        table = pa.table({"id": [f"{n:050}" for n in range(1_000)]})
        path = tmp_path / "d.arrows"
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
        path.write_bytes(path.read_bytes()[:30_000])
        with pytest.raises(DatasetError, match=r"d\.arrows: cannot be read"):
            load(path)

    def test_duplicate_ids_name_the_rows(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"id": ["a", "b", "a"]}), tmp_path / "d.parquet")
        with pytest.raises(
            DatasetError, match=r"`a` stands in 2 rows: .*d\.parquet row 1, .*d\.parquet row 3"
        ):
            load(tmp_path / "d.parquet")


class TestFrames:
    def test_a_polars_frame_is_the_dataset_of_the_same_rows(self) -> None:
        values = [{"id": "a", "q": "x", "n": 1, "l": ["p"]}, {"id": "b", "q": None, "n": 2, "l": []}]
        assert load_frame(pl.DataFrame(values)).dataset_id == load_rows(values).dataset_id

    def test_polars_types_load(self) -> None:
        frame = pl.DataFrame(
            {
                "c": pl.Series(["u"], dtype=pl.Categorical),
                "t": [dt.time(1, 2)],
                "d": [decimal.Decimal("1.50")],
                "f": pl.Series([0.1], dtype=pl.Float32),
                "w": [dt.datetime.fromisoformat("2024-01-05")],
            }
        )
        assert rows(load_frame(frame)) == [
            {"c": "u", "t": "01:02:00", "d": "1.50", "f": 0.1, "w": "2024-01-05T00:00:00"}
        ]

    def test_a_filtered_pandas_frame_is_the_dataset_of_its_rows_and_missing_is_null(self) -> None:
        frame = pd.DataFrame({"id": ["a", "b", "c"], "n": [1.5, None, 2.5], "q": ["x", None, "z"]})
        samples = load_frame(frame[frame["id"] != "a"])
        assert rows(samples) == [{"id": "b", "n": None, "q": None}, {"id": "c", "n": 2.5, "q": "z"}]

    def test_row_labels_of_pandas_are_no_column(self) -> None:
        samples = load_frame(pa.table({"id": ["a"], "__index_level_0__": [7]}))
        assert rows(samples) == [{"id": "a"}]

    def test_a_list_of_mappings_is_the_dataset_of_the_same_rows(self) -> None:
        values = [{"id": "a", "n": 10**30, "f": 1.5, "x": [None, {"y": True}]}, {"id": "b"}]
        assert load_frame(values).dataset_id == load_rows(values).dataset_id

    def test_python_values_with_a_text_form_take_it(self) -> None:
        key = uuid.UUID(int=5)
        frame = [{"id": key, "d": decimal.Decimal("1.50"), "t": dt.date(2024, 1, 5), "p": ("x", 1)}]
        assert rows(load_frame(frame)) == [{"id": str(key), "d": "1.50", "t": "2024-01-05", "p": ["x", 1]}]

    @pytest.mark.parametrize(
        ("row", "reason"),
        [
            ({"x": object()}, "frame row 2: object has no JSON form"),
            ({"x": b"bytes"}, "frame row 2: bytes has no JSON form"),
            ({1: "x"}, "frame row 2: the key 1 is not text"),
            ({"x": float("nan")}, "frame row 2: x: NaN is not JSON"),
            ({"x": {"y": [float("-inf")]}}, "frame row 2: x.y.0: -Infinity is not JSON"),
            ("text", "frame row 2: a row is an object, not a string"),
            (None, "frame row 2: a row is an object, not null"),
        ],
    )
    def test_python_values_without_a_json_form_are_refused_by_row(self, row: Any, reason: str) -> None:
        assert fault_of([{"id": "a"}, row]).startswith(reason)

    def test_a_mapping_that_holds_itself_is_refused(self) -> None:
        row: dict[str, Any] = {"id": "a"}
        row["self"] = row
        assert fault_of([row]).startswith("frame row 1: nested too deep")

    def test_a_surrogate_in_python_text_is_repaired_and_said(self) -> None:
        samples = load_frame([{"id": "a", "q": "x\ud800"}])
        assert rows(samples) == [{"id": "a", "q": "x\ufffd"}]
        assert samples.warnings == ("frame row 1: q: half a surrogate pair became U+FFFD",)

    @pytest.mark.parametrize(
        "frame", [[], pl.DataFrame(), pl.DataFrame({"id": []})], ids=["list", "bare", "no rows"]
    )
    def test_a_frame_without_rows_is_refused(self, frame: object) -> None:
        assert "there are no rows" in fault_of(frame)

    def test_a_lazy_frame_is_refused_with_what_to_do(self) -> None:
        assert fault_of(pl.LazyFrame({"id": [1]})).endswith("fix: collect() it")

    @pytest.mark.parametrize("frame", ["d.jsonl", {"id": 1}, 7])
    def test_anything_else_is_refused(self, frame: object) -> None:
        assert "pass a DataFrame, an Arrow table or a list of mappings" in fault_of(frame)
