"""Warehouses of every format that was ever released open, and hold what they held."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gradetrail.store import Live, Store
from gradetrail.store.repair import damaged
from gradetrail.warehouse import Warehouse
from tests.store.rows import rows_of

FORMATS = sorted((Path(__file__).parents[1] / "fixtures").glob("format-*"))


def held(live: Live) -> dict[str, Any]:
    """Give the rows of every table as text, sorted."""
    tables = ("trials", "responses", "calls", "scores", "samples")
    return {
        **{table: sorted(map(repr, rows_of(live, table))) for table in tables},
        "runs": [manifest["run_id"] + " " + manifest["status"] for manifest in live.manifests],
    }


def of_rows(rows: dict[str, Any]) -> dict[str, str]:
    """Count rows and hash them."""
    return {
        name: f"{len(found)} {hashlib.sha256(chr(10).join(found).encode()).hexdigest()}"
        for name, found in rows.items()
    }


@pytest.fixture(params=FORMATS, ids=lambda path: path.name)
def frozen(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_a_frozen_warehouse_is_what_it_was(frozen: Path) -> None:
    root = frozen / "warehouse"
    found = {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file()
    }
    assert found == json.loads((frozen / "digests.json").read_text())


def test_it_opens_read_only_with_every_row_it_held(frozen: Path) -> None:
    store = Store(frozen / "warehouse", create=False)
    live = store.live()
    assert live.damaged == []
    assert of_rows(held(live)) == json.loads((frozen / "rows.json").read_text())
    assert list(damaged(store.storage)) == []


def test_every_view_opens_on_it_and_it_can_be_written_on(frozen: Path, tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    shutil.copytree(frozen / "warehouse", root)
    with Warehouse(root) as opened:
        for view in opened.views():
            opened.rows(f'select count(*) from "{view}"')
        assert not opened.is_partial
        n_trials = opened.rows("select count(*) from trials")[1]
    store = Store(root)
    before = of_rows(held(store.live()))
    store.writer(next(run.split()[0] for run in held(store.live())["runs"] if "running" in run)).close()
    assert store.compact(0.0) is not None
    assert of_rows(held(store.live())) == before
    with Warehouse(root) as opened:
        assert opened.rows("select count(*) from trials")[1] == n_trials
