"""The stored tables, read by engines that know nothing of a warehouse: exactly the rows of the views."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gradetrail.errors import SelectionError, StoreError
from gradetrail.store import Store
from gradetrail.store.removal import Removal
from gradetrail.store.repair import damaged
from gradetrail.store.schema import TABLES, arrow_schema
from gradetrail.store.segments import writing
from gradetrail.warehouse import Warehouse
from tests.store.rows import answered, planned, table_of
from tests.store.test_packing import NO_GRACE, finished, grade, run_name

Rows = list[dict[str, Any]]

RAY = """
import sys, ray, pyarrow as pa
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
assert not [name for name in sys.modules if name.startswith("gradetrail")]
for table in sys.argv[2:]:
    rows = ray.data.read_parquet(f"{sys.argv[1]}/{table}").to_arrow_refs()
    rows = pa.concat_tables(ray.get(rows))
    with pa.OSFile(f"{sys.argv[1]}.{table}.arrow", "wb") as sink, pa.ipc.new_file(sink, rows.schema) as file:
        file.write_table(rows)
"""


def by_polars(files: Sequence[str]) -> pa.Table:
    import polars as pl

    return pl.scan_parquet(list(files)).collect().to_arrow()


def by_pyarrow(files: Sequence[str]) -> pa.Table:
    import pyarrow.dataset as ds

    return ds.dataset(list(files)).to_table()


def by_duckdb(files: Sequence[str]) -> pa.Table:
    import duckdb

    with duckdb.connect() as con:
        con.execute("set timezone = 'UTC'")
        found: pa.Table = con.sql(f"from '{Path(files[0]).parent}/*.parquet'").to_arrow_table()
        return found


ENGINES = [by_polars, by_pyarrow, by_duckdb]


def in_order(table: str, rows: pa.Table) -> Rows:
    """Give rows in one order and in the types of the schema, whatever the engine made of them."""
    schema = arrow_schema(table)
    fitting = rows.select(schema.names).cast(schema)
    return sorted(fitting.to_pylist(), key=repr)


def of_views(opened: Warehouse) -> dict[str, Rows]:
    return {table: in_order(table, opened.arrow(f"from {table}")) for table in TABLES}


def with_samples(root: Path) -> Store:
    store = Store(root)
    rows = [
        {"dataset_id": "d" * 64, "sample_id": f"s{n}", "sample_hash": "h", "position": n, "content": "{}"}
        for n in range(5)
    ]
    store.publish_samples("d" * 64, table_of("samples", rows))
    return store


def loose(root: Path) -> None:
    """Make finished runs, each with files of its own."""
    with_samples(root)
    for number in range(4):
        finished(root, number)


def packed(root: Path) -> None:
    """Pack them."""
    loose(root)
    Store(root).compact(NO_GRACE)


def masked(root: Path) -> None:
    """Grade, continue and remove runs after they were packed: rows of packs that do not count any more."""
    packed(root)
    store = Store(root)
    store.remove(Removal(run_name(3), with_answers=True), {})
    grade(store, run_name(1), 3, 0.25)
    with store.writer(run_name(2)) as writer:
        writer.append(**answered(2, run_name(2), text="asked again"))
    finished(root, 4)


def packed_again(root: Path) -> None:
    """Pack what came later, so that masks are kept in the record."""
    masked(root)
    Store(root).compact(NO_GRACE)


def repaired(root: Path) -> None:
    """Lose a pack and the grades of a run to damage that was set aside."""
    masked(root)
    store = Store(root)
    pack = next((root / "packs").glob("responses-*"))
    pack.write_bytes(b"x" + pack.read_bytes()[1:])
    scores = next((root / "scores").iterdir())
    scores.write_bytes(scores.read_bytes()[:-9])
    assert len(store.set_aside([name for name, _ in damaged(store.storage)])) == 2


def unfinished(root: Path) -> None:
    """Leave a run in its journal, and one in parts that are not folded."""
    packed(root)
    for number in (5, 1):
        store = planned(root, 4, run_name(number)) if number == 5 else Store(root)
        writer = store.writer(run_name(number))
        writer.append(**answered(0, run_name(number), text="not sealed yet"))
        writer.flush()


STATES = [loose, packed, masked, packed_again, repaired, unfinished]


@pytest.mark.parametrize("state", STATES)
def test_any_engine_reads_exactly_the_rows_of_the_views(
    tmp_path: Path, state: Callable[[Path], None]
) -> None:
    root = tmp_path / "warehouse"
    state(root)
    with Warehouse(root) as opened:
        assert not opened.is_partial
        wanted = of_views(opened)
        files = opened.write_tables(tmp_path / "tables")
    assert list(files) == list(TABLES)
    assert all(wanted.values())
    for engine in ENGINES:
        assert {table: in_order(table, engine(found)) for table, found in files.items()} == wanted


def test_ray_data_reads_exactly_the_rows_of_the_views(tmp_path: Path) -> None:
    root, folder = tmp_path / "warehouse", tmp_path / "tables"
    masked(root)
    with Warehouse(root) as opened:
        wanted = of_views(opened)
        opened.write_tables(folder)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RAY, str(folder), *TABLES],
        env={"RAY_USAGE_STATS_ENABLED": "0", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for table, rows in wanted.items():
        with pa.memory_map(f"{folder}.{table}.arrow") as file:
            assert in_order(table, pa.ipc.open_file(file).read_all()) == rows, table


def test_what_the_documentation_shows_runs(tmp_path: Path) -> None:
    loose(tmp_path / "warehouse")
    page = (Path(__file__).parents[2] / "docs" / "warehouse.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    said = "print(means['score'].to_list(), len(means), errors.num_rows, longest)"
    done = subprocess.run(
        [sys.executable, "-c", f"{shown}\n{said}"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == "[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] 8 0 [('gpt', 8)]".split()


def test_what_the_documentation_shows_of_ray_data_runs(tmp_path: Path) -> None:
    loose(tmp_path / "warehouse")
    page = (Path(__file__).parents[2] / "docs" / "warehouse.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    with Warehouse(tmp_path / "warehouse") as opened:
        opened.write_tables(tmp_path / "tables")
        _, wanted = opened.rows("select model, avg(score) from scores group by all order by all")
    start = "import ray; ray.init(num_cpus=2, include_dashboard=False, configure_logging=False)"
    said = "print(sorted(tuple(row.values()) for row in scores.groupby('model').mean('score').take_all()))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{start}\n{shown}\n{said}"], cwd=tmp_path,
        env={"RAY_USAGE_STATS_ENABLED": "0", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(wanted)


def test_only_rows_that_stand_beside_others_are_written_anew(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    masked(root)
    with Warehouse(root) as opened:
        files = opened.write_tables(tmp_path / "tables")
        live = opened.live
    whole = {Path(file).stat().st_ino for found in live.files.values() for file in found}
    written = {
        table: [f for f in found if Path(f).stat().st_ino not in whole] for table, found in files.items()
    }
    assert {table: len(found) for table, found in written.items() if found} == {"trials": 1, "scores": 1}
    assert list(live.partly) == ["trials", "scores"]


def test_the_files_stay_when_the_warehouse_packs_and_deletes_its_own(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    loose(root)
    with Warehouse(root) as opened:
        wanted = of_views(opened)
        files = opened.write_tables(tmp_path / "tables")
    Store(root).compact(NO_GRACE)
    grade(Store(root), run_name(1), 3, 0.25)
    assert {table: in_order(table, by_pyarrow(found)) for table, found in files.items()} == wanted


def test_files_that_were_packed_since_the_warehouse_was_opened_are_found_in_their_packs(
    tmp_path: Path,
) -> None:
    root = tmp_path / "warehouse"
    loose(root)
    with Warehouse(root) as opened:
        wanted = of_views(opened)
    with Warehouse(root) as opened:
        Store(root).compact(NO_GRACE)
        files = opened.write_tables(tmp_path / "tables")
        assert not opened.is_partial
    assert {table: in_order(table, by_pyarrow(found)) for table, found in files.items()} == wanted


def test_damage_is_left_out_and_named(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    loose(root)
    with Warehouse(root) as opened:
        path = next((root / "scores").iterdir())
        data = bytearray(path.read_bytes())
        data[-200:-20] = bytes(180)
        path.write_bytes(data)
        files = opened.write_tables(tmp_path / "tables")
        assert [fault.where for fault in opened.damaged] == [str(path)]
    assert by_pyarrow(files["scores"]).num_rows == 9


def test_as_of_leaves_later_runs_out(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    masked(root)
    with Warehouse(root, as_of=datetime(2026, 11, 30, 8, 31, 1, tzinfo=UTC)) as opened:
        wanted = of_views(opened)
        files = opened.write_tables(tmp_path / "tables")
    assert {row["run_id"] for row in wanted["scores"]} == {run_name(0), run_name(1)}
    assert {table: in_order(table, by_polars(found)) for table, found in files.items()} == wanted


def test_a_file_of_an_older_schema_gets_the_columns_of_today(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    loose(root)
    path = next((root / "calls").iterdir())
    rows = pq.read_table(path)
    with path.open("wb") as file:
        writing("calls", [rows])(file)
    pq.write_table(pq.read_table(path).drop_columns(["billed_usd"]), path)
    with Warehouse(root) as opened:
        wanted = of_views(opened)
        files = opened.write_tables(tmp_path / "tables")
    assert sum(row["billed_usd"] is None for row in wanted["calls"]) == 3
    for engine in ENGINES:
        assert in_order("calls", engine(files["calls"])) == wanted["calls"]


def test_an_empty_warehouse_has_every_table_with_its_columns(tmp_path: Path) -> None:
    Store(tmp_path / "warehouse")
    with Warehouse(tmp_path / "warehouse") as opened:
        files = opened.write_tables(tmp_path / "tables")
    for table, (file,) in files.items():
        assert pq.read_table(file).equals(arrow_schema(table).empty_table())


def test_a_folder_that_holds_something_is_refused_and_a_failure_leaves_nothing(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    loose(root)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    (tmp_path / "empty").mkdir()
    with Warehouse(root) as opened:
        with pytest.raises(SelectionError, match="is there already"):
            opened.write_tables(tmp_path / "full")
        with pytest.raises(StoreError, match="cannot be written"):
            opened.write_tables(tmp_path / "full" / "mine" / "below")
        opened.write_tables(tmp_path / "empty")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "full", "warehouse"]
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine"]
