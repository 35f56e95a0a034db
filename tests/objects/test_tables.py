"""The tables of a warehouse in an object store, as plain Parquet in a folder and in an object store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradetrail.errors import SelectionError, StoreError
from gradetrail.store import Store
from gradetrail.store.remote import Remote
from gradetrail.store.schema import TABLES
from gradetrail.warehouse import Warehouse
from tests.cli.command import gradetrail
from tests.objects.places import SECRET, Machine
from tests.store.rows import RUN, answered, planned

COLUMNS = ["run_id", "response_id", "text"]
QUERY = "select run_id, response_id, text from responses order by all"


def packed(root: Path) -> Store:
    store = planned(root, 3)
    with store.writer(RUN) as writer:
        for number in range(3):
            writer.append(**answered(number))
    assert store.compact(0.0) is not None
    return store


def test_they_are_written_to_a_folder_from_a_store_of_any_kind(
    any_address: Path, tmp_path: Path, machine: Machine
) -> None:
    import polars as pl

    packed(any_address)
    machine("two")
    with Warehouse(any_address) as opened:
        files = opened.write_tables(tmp_path / "tables")
        _, wanted = opened.rows(QUERY)
    found = pl.scan_parquet(files["responses"]).select(COLUMNS).collect().sort(COLUMNS)
    assert found.rows() == wanted
    assert len(wanted) == 3


def test_in_an_object_store_polars_and_pyarrow_read_them_by_their_addresses(
    address: Path, s3_server: str
) -> None:
    import polars as pl
    import pyarrow.dataset as ds
    from pyarrow import fs

    packed(address)
    where = address.parent / "tables"
    with Warehouse(address) as opened:
        files = opened.write_tables(where)
        _, wanted = opened.rows(QUERY)
    assert list(files) == list(TABLES)
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": SECRET, "aws_region": "us-east-1"}
    options = {**keys, "aws_endpoint_url": s3_server, "aws_allow_http": "true"}
    lazy = pl.scan_parquet(files["responses"], storage_options=options).select(COLUMNS)
    assert lazy.collect().sort(COLUMNS).rows() == wanted
    every = pl.scan_parquet(f"s3://{where.parent.name}/tables/responses/*.parquet", storage_options=options)
    assert every.select(COLUMNS).collect().sort(COLUMNS).rows() == wanted
    there = fs.S3FileSystem(
        access_key="test", secret_key=SECRET, region="us-east-1", endpoint_override=s3_server
    )
    names = [file.removeprefix("s3://") for file in files["responses"]]
    rows: list[dict[str, Any]] = ds.dataset(names, filesystem=there).to_table(COLUMNS).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == wanted
    done = gradetrail("export", "--tables", where, "--warehouse", address)
    assert done.code == 2
    assert "is there already" in done.err


def test_what_cannot_be_sent_whole_is_not_left_there_in_part(
    address: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed(address)
    where = address.parent / "tables"
    real = Remote.create

    def first_only(self: Remote, name: str, data: Any) -> Any:
        if name.startswith("trials/"):
            raise StoreError("away")
        return real(self, name, data)

    monkeypatch.setattr(Remote, "create", first_only)
    with Warehouse(address) as opened:
        with pytest.raises(StoreError, match="away"):
            opened.write_tables(where)
        monkeypatch.setattr(Remote, "create", real)
        assert Remote(str(where)).top() == ()
        opened.write_tables(where)
        with pytest.raises(SelectionError, match="is there already"):
            opened.write_tables(where)
