from __future__ import annotations

import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradetrail.errors import StoreError
from gradetrail.store import Store
from gradetrail.store.folding import folded, in_order, match, merged_runs, order_of, piece_of
from gradetrail.store.schema import (
    REQUIRED,
    SORT_KEYS,
    TABLES,
    TRIAL_KEY,
    Column,
    arrow_schema,
    duckdb_schema,
)
from gradetrail.store.segments import read
from tests.store.rows import RUN, answered, call, connection, response, rows_of, table_of, trial

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "VARCHAR": TEXT,
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "INTEGER": st.integers(-(2**31), 2**31 - 1),
    "DOUBLE": st.floats(allow_nan=False, allow_infinity=False),
    "BOOLEAN": st.booleans(),
    "TIMESTAMPTZ": st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    "DECIMAL(18,9)": st.decimals(-999_999_999, 999_999_999, places=9),
    "VARCHAR[]": st.lists(TEXT, max_size=3),
}


def value_of(table: str, column: Column) -> st.SearchStrategy[Any]:
    values = VALUES[column.type]
    return values if column.name in REQUIRED[table] else st.none() | values


def rows_for(table: str, **fixed: Any) -> st.SearchStrategy[list[dict[str, Any]]]:
    columns = {c.name: value_of(table, c) for c in TABLES[table]}
    return st.lists(
        st.fixed_dictionaries(columns | {name: st.just(value) for name, value in fixed.items()}), max_size=8
    )


def as_multiset(table: str, rows: list[dict[str, Any]]) -> Counter[str]:
    # by way of Arrow, so that the same time has the same zone object
    return Counter(repr(row) for row in table_of(table, rows).to_pylist())


@pytest.mark.parametrize("table", TABLES)
def test_any_rows_come_back_from_parquet_as_they_went_in(table: str) -> None:
    @given(rows_for(table))
    @settings(max_examples=25)
    def check(rows: list[dict[str, Any]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder))
            assert store.publish(table, f"{RUN}.1", table_of(table, rows))
            path = store.root / table / f"{RUN}.1.parquet"
            by_pyarrow = read(path, table)
            assert by_pyarrow.schema.equals(arrow_schema(table))
            assert as_multiset(table, by_pyarrow.to_pylist()) == as_multiset(table, rows)
            query = f"select * from read_parquet('{path}', schema = {duckdb_schema(table)})"
            found = connection().sql(query).to_arrow_table()
            assert as_multiset(table, found.cast(arrow_schema(table)).to_pylist()) == as_multiset(table, rows)

    check()


def test_any_rows_come_back_from_the_journal_and_from_what_it_is_sealed_into() -> None:
    @given(
        rows_for("responses", run_id=RUN),
        rows_for("calls", run_id=RUN),
        rows_for("trials", run_id=RUN),
    )
    @settings(max_examples=25)
    def check(
        responses: list[dict[str, Any]], calls: list[dict[str, Any]], trials: list[dict[str, Any]]
    ) -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder))
            last = {tuple(row[name] for name in TRIAL_KEY): row for row in trials}
            wanted = {"responses": responses, "calls": calls, "trials": list(last.values())}
            with store.writer(RUN) as writer:
                for answer in responses:
                    writer.append(response=answer, calls=[], trials=[])
                writer.append(response=None, calls=calls, trials=trials)
                writer.flush()
                live = store.live()
                assert live.files["trials"] == []
                for table, rows in wanted.items():
                    found = live.loose[table].to_pylist() if table in live.loose else []
                    assert as_multiset(table, found) == as_multiset(table, rows)
            live = store.live()
            assert live.loose == {}
            for table, rows in wanted.items():
                found = [row for file in live.files[table] for row in read(Path(file), table).to_pylist()]
                assert as_multiset(table, found) == as_multiset(table, rows)

    check()


KEYS = st.fixed_dictionaries(
    {"a": st.sampled_from("xyzé\U0001f600"), "b": st.none() | st.sampled_from("pq"), "c": st.integers(-2, 2)}
)


@given(st.lists(st.lists(KEYS, max_size=6), min_size=1, max_size=4))
def test_folding_keeps_the_last_row_of_each_key_in_key_order(pieces: list[list[dict[str, Any]]]) -> None:
    expected: dict[tuple[Any, ...], int] = {}
    tables, number = [], 0
    for rows in pieces:
        numbered = []
        for row in rows:
            expected[row["a"], row["b"], row["c"]] = number
            numbered.append({**row, "number": number})
            number += 1
        schema = pa.schema({"a": pa.string(), "b": pa.string(), "c": pa.int32(), "number": pa.int64()})
        tables.append(pa.Table.from_pylist(numbered, schema=schema))
    found = [
        row for batch in folded([piece_of(table) for table in tables], "abc") for row in batch.to_pylist()
    ]
    assert {(row["a"], row["b"], row["c"]): row["number"] for row in found} == expected
    keys = [(row["a"].encode(), row["b"] is None, row["b"] or "", row["c"]) for row in found]
    assert keys == sorted(set(keys))


@given(
    st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 6)), max_size=9), max_size=5),
    st.booleans(),
)
def test_rows_that_come_in_runs_are_put_in_the_order_that_sorting_gives(
    runs: list[list[tuple[str, int]]], is_encoded: bool
) -> None:
    rows = [row for run in runs for row in sorted(run)]
    names = pa.array([name for name, _ in rows], pa.string())
    table = pa.table({"a": names.dictionary_encode() if is_encoded else names, "b": [n for _, n in rows]})
    table = table.append_column("nothing", pa.nulls(len(rows), pa.string()))
    merged = merged_runs(table, ["a", "nothing", "b"])
    assert merged is not None
    assert merged.to_pylist() == table.take(order_of(table, ["a", "nothing", "b"])).to_pylist()


def test_rows_in_disorder_and_keys_that_are_null_here_and_there_are_left_to_sorting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gradetrail.store.folding.MOST_PIECES", 3)
    assert merged_runs(pa.table({"a": [5, 4, 3, 2, 1]}), ["a"]) is None
    assert merged_runs(pa.table({"a": [1, 3, 5, 7, 2, 4, 6, 8]}), ["a"]) is None
    assert merged_runs(pa.table({"a": [1, None, 2]}), ["a"]) is None


def test_keys_too_many_for_one_number_still_order_and_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table_of("trials", [trial(number) for number in (5, 3, 3, 4, 0, 9)])
    plain = pa.concat_tables(folded([piece_of(rows)], TRIAL_KEY))
    monkeypatch.setattr("gradetrail.store.folding._CODE_LIMIT", 3)
    assert pa.concat_tables(folded([piece_of(rows)], TRIAL_KEY)).equals(plain)
    assert in_order(rows, TRIAL_KEY).column("sample_id").to_pylist() == [
        "s00000", "s00002", "s00001", "s00001", "s00002", "s00004",
    ]  # fmt: skip
    assert match(rows, plain, TRIAL_KEY).to_pylist() == [3, 2, 2, 1, 0, 4]


def test_a_fold_in_several_passes_is_the_fold_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table_of("trials", [trial(number * 7 % 40) for number in range(60)])
    newer = table_of("trials", [trial(number, "answered") for number in range(11)])
    once = pa.concat_tables(folded([piece_of(rows), piece_of(newer)], TRIAL_KEY))
    monkeypatch.setattr("gradetrail.store.folding.PASS_ROWS", 7)
    monkeypatch.setattr("gradetrail.store.folding.FACT_ROW_GROUP", 3)
    assert pa.concat_tables(folded([piece_of(rows), piece_of(newer)], TRIAL_KEY)).equals(once)


def test_facts_are_sorted_by_run_and_key_in_their_files(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for table, make in {"trials": trial, "responses": response, "calls": call}.items():
        store.publish(table, f"{RUN}.1", table_of(table, [make(number) for number in (9, 2, 7, 0, 5)]))
        rows = read(tmp_path / table / f"{RUN}.1.parquet", table)
        if table in SORT_KEYS:
            assert rows.equals(rows.sort_by([(name, "ascending") for name in SORT_KEYS[table]]))
        else:  # in the order in which they came
            assert rows.column("request_key").to_pylist() == [make(n)["request_key"] for n in (9, 2, 7, 0, 5)]


def test_files_are_written_as_the_schema_says(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.publish("responses", f"{RUN}.1", table_of("responses", [response(n) for n in range(70_000)]))
    file = pq.ParquetFile(tmp_path / "responses" / f"{RUN}.1.parquet")
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [
        30_000,
        30_000,
        10_000,
    ]
    group = file.metadata.row_group(0)
    chunks = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    assert {chunk.compression for chunk in chunks.values()} == {"ZSTD"}
    assert not any(chunks[name].has_dictionary_page for name in ("response_id", "request_key", "text"))
    assert all(chunks[name].has_dictionary_page for name in ("run_id", "model", "messages"))
    ids = {field.name: int(field.metadata[b"PARQUET:field_id"]) for field in file.schema_arrow}
    assert ids == {column.name: column.field_id for column in TABLES["responses"]}


def test_a_flipped_bit_in_a_page_is_found_by_its_checksum(tmp_path: Path) -> None:
    store = Store(tmp_path)
    rows = table_of("responses", [response(number) for number in range(50)])
    store.publish("responses", f"{RUN}.1", rows)
    path = tmp_path / "responses" / f"{RUN}.1.parquet"
    assert store.suspect([str(path)], is_thorough=True) == []
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 4] ^= 1
    path.write_bytes(whole)
    (fault,) = store.suspect([str(path)], is_thorough=True)
    assert fault.where == str(path)


@pytest.mark.parametrize("table", TABLES)
def test_files_of_older_and_newer_versions_read_by_field_id(tmp_path: Path, table: str) -> None:
    store = Store(tmp_path)
    make = {"responses": response, "calls": call, "trials": trial}.get(table)
    rows = table_of(table, [make(1)]) if make else _filled(table)
    newest = TABLES[table][-1].name
    older = rows.drop_columns([newest])
    unknown = pa.field("from_the_future", pa.string(), metadata={"PARQUET:field_id": "999"})
    newer = rows.append_column(unknown, pa.array(["?"]))
    (tmp_path / table).mkdir()
    for name, content in {"older": older, "newer": newer, "today": rows}.items():
        pq.write_table(content, tmp_path / table / f"{name}.parquet")
    null = pa.nulls(1, rows.schema.field(newest).type)
    expected = {
        "older": rows.set_column(rows.num_columns - 1, newest, null),
        "newer": rows,
        "today": rows,
    }
    con = connection()
    for name, content in expected.items():
        path = tmp_path / table / f"{name}.parquet"
        assert read(path, table).to_pylist() == content.to_pylist()
        query = f"select * from read_parquet('{path}', schema = {duckdb_schema(table)})"
        assert con.sql(query).to_arrow_table().cast(arrow_schema(table)).to_pylist() == content.to_pylist()
    files = [str(path) for path in sorted((tmp_path / table).glob("*.parquet"))]
    together = con.execute(f"select count(*) from read_parquet({files}, schema = {duckdb_schema(table)})")
    assert together.fetchall() == [(3,)]
    assert store.suspect(files) == []


def _filled(table: str) -> pa.Table:
    samples: dict[str, Any] = {
        "VARCHAR": "v", "BIGINT": 1, "INTEGER": 2, "DOUBLE": 0.5, "BOOLEAN": True, "VARCHAR[]": ["a", "b"],
    }  # fmt: skip
    return table_of(table, [{column.name: samples[column.type] for column in TABLES[table]}])


def test_a_run_that_an_older_version_began_is_folded_and_merged_with_rows_of_today(tmp_path: Path) -> None:
    store = Store(tmp_path)
    plan = table_of("trials", [trial(number) for number in range(3)]).drop_columns(["error_message"])
    (tmp_path / "trials").mkdir()
    pq.write_table(plan, tmp_path / "trials" / f"{RUN}.0.parquet")
    with store.writer(RUN) as writer:
        writer.append(**answered(0))
        writer.flush()
        assert store.live().loose["trials"].num_rows == 3
    live = store.live()
    assert live.loose == {}
    assert sorted(rows_of(live, "trials", "status")) == [("answered",), ("pending",), ("pending",)]


def test_field_ids_are_pinned_so_that_no_column_takes_the_id_of_another() -> None:
    for table, columns in TABLES.items():
        assert [column.field_id for column in columns] == list(range(1, len(columns) + 1)), table
        assert len({column.name for column in columns}) == len(columns)
    pinned = {
        ("responses", 9): "text", ("calls", 24): "billed_usd", ("trials", 6): "sample_id",
        ("trials", 33): "error_message", ("scores", 22): "judge_response_ids", ("samples", 5): "content",
    }  # fmt: skip
    for (table, field_id), name in pinned.items():
        assert TABLES[table][field_id - 1].name == name


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_a_number_is_refused_with_its_table_column_and_row(tmp_path: Path, value: float) -> None:
    store = Store(tmp_path)
    rows = table_of("calls", [call(0), call(1, latency_ms=value), call(2)])
    with pytest.raises(StoreError) as caught:
        store.publish("calls", f"{RUN}.1", rows)
    (fault,) = caught.value.faults
    assert (fault.where, fault.field) == ("calls row 1", "latency_ms")
    assert list((tmp_path / "calls").glob("*")) == []


def test_rows_that_do_not_fit_are_refused_with_every_fault(tmp_path: Path) -> None:
    store = Store(tmp_path)
    rows = pa.table({"run_id": [RUN], "modle": ["m"], "prompt": ["p"], "sample_id": ["s"], "epoch": ["one"]})
    with pytest.raises(StoreError, match="did you mean `model`") as caught:
        store.publish("trials", f"{RUN}.1", rows)
    assert {fault.field for fault in caught.value.faults} == {"", "model", "status"}
    rows = table_of("trials", [trial(0)]).set_column(10, "epoch", pa.array(["one"]))
    with pytest.raises(StoreError) as caught:
        store.publish("trials", f"{RUN}.1", rows)
    assert [fault.field for fault in caught.value.faults] == ["epoch"]


def test_rows_from_other_libraries_are_cast_to_the_schema(tmp_path: Path) -> None:
    store = Store(tmp_path)
    rows = table_of("trials", [trial(0), trial(1)])
    loose = rows.set_column(2, "model", rows.column("model").cast(pa.large_string()).dictionary_encode())
    loose = loose.set_column(10, "epoch", pc.cast(rows.column("epoch"), pa.int64())).drop_columns(
        ["category"]
    )
    store.publish("trials", f"{RUN}.1", loose)
    assert read(tmp_path / "trials" / f"{RUN}.1.parquet", "trials").equals(rows)
