from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from gradetrail.errors import StoreError
from gradetrail.store import Store
from tests.store.rows import NOW, RUN, answered, planned, table_of, texts, trial


def test_a_new_folder_becomes_a_warehouse_that_says_its_format(tmp_path: Path) -> None:
    Store(tmp_path / "a" / "b")
    record = json.loads((tmp_path / "a" / "b" / "gradetrail.json").read_text())
    assert record["format"] == 1
    assert record["written_by"].startswith("gradetrail")
    Store(tmp_path / "a" / "b")
    Store(tmp_path / "a" / "b", create=False)


def test_an_empty_warehouse_has_no_files_and_no_rows(tmp_path: Path) -> None:
    live = Store(tmp_path).live()
    assert live.files == {"responses": [], "calls": [], "trials": [], "scores": [], "samples": []}
    assert (live.loose, live.manifests, live.scorers, live.tasks, live.damaged) == ({}, [], [], [], [])
    assert live.running == set()


def test_a_newer_format_is_refused_naming_what_wrote_it(tmp_path: Path) -> None:
    (tmp_path / "gradetrail.json").write_text('{"format": 2, "written_by": "gradetrail 3.1"}')
    for create in (True, False):
        with pytest.raises(StoreError, match=r"gradetrail 3\.1 wrote it in format 2") as caught:
            Store(tmp_path, create=create)
        assert "newer gradetrail" in caught.value.faults[0].fix


def test_a_damaged_record_of_packs_is_named_and_nothing_is_written_on_top_of_it(tmp_path: Path) -> None:
    store = planned(tmp_path, 2)
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "1.json").write_text("{}")
    assert [Path(fault.where).name for fault in store.live().damaged] == ["1.json"]
    with pytest.raises(StoreError, match="damaged"):
        store.writer(RUN)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "x"}', "{}"])
def test_a_damaged_format_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "gradetrail.json").write_text(text)
    with pytest.raises(StoreError, match=r"gradetrail\.json: is damaged"):
        Store(tmp_path)


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(StoreError, match=r"is not a warehouse, and holds `thesis\.tex`"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="is not a warehouse"):
        Store(tmp_path, create=False)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_the_users_own_sql_and_hidden_files_may_be_there_first(tmp_path: Path) -> None:
    (tmp_path / "sql").mkdir()
    (tmp_path / ".gitignore").write_text("*")
    Store(tmp_path)
    assert (tmp_path / "gradetrail.json").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is a file, not a folder"):
        Store(tmp_path / "file")
    with pytest.raises(StoreError, match="is not a warehouse"):
        Store(tmp_path / "file", create=False)
    with pytest.raises(StoreError, match="cannot make a warehouse"):
        Store(tmp_path / "file" / "below")


def test_a_file_system_without_hard_links_is_refused_at_once_and_left_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))  # as vfat does

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(StoreError, match=r"no hard links[^$]*local disk"):
        Store(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_reading_does_not_make_a_warehouse(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        Store(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_a_reader_refuses_to_write(tmp_path: Path) -> None:
    Store(tmp_path)
    reader = Store(tmp_path, create=False)
    before = sorted(tmp_path.rglob("*"))
    for attempt in (
        lambda: reader.write_manifest(RUN, {}),
        lambda: reader.publish_task("t", {}),
        lambda: reader.writer(RUN),
        lambda: reader.start_plan(RUN, table_of("trials", [trial(0)])),
    ):
        with pytest.raises(StoreError, match="opened for reading"):
            attempt()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that every user may look into, unlike pytest's."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)
    shutil.rmtree(folder)


READ = """
import os, sys
from pathlib import Path
import pyarrow, pyarrow.compute, pyarrow.json, pyarrow.parquet
from gradetrail.errors import StoreError
from gradetrail.store import Store
if os.getuid() == 0:  # whom no permission stops
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
live = Store(Path(sys.argv[1]), create=False).live()
print(len(live.files["responses"]), live.loose["trials"].num_rows, live.damaged, sorted(live.running))
try:
    Store(Path(sys.argv[1]))
except StoreError as error:
    print(error)
"""


def test_a_read_only_warehouse_can_be_read_also_while_another_user_writes_to_it(open_folder: Path) -> None:
    root = open_folder / "warehouse"
    store = planned(root, 3)
    with store.writer(RUN) as writer:
        writer.append(**answered(0))
    with store.writer(RUN) as writer:
        writer.append(**answered(1))
        writer.flush()
        for path in [root, *root.rglob("*")]:
            path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
        before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
        done = subprocess.run([sys.executable, "-c", READ, str(root)], capture_output=True, text=True)
        assert done.stdout.splitlines()[0] == f"1 3 [] ['{RUN}']", done.stderr
        assert "may not be written to" in done.stdout
        assert "--warehouse DIR" in done.stdout
        assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
        for path in [root, *root.rglob("*")]:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)
    assert len(texts(store.live())) == 2


def test_a_run_id_has_the_time_in_utc_the_name_and_six_digits(tmp_path: Path) -> None:
    store = Store(tmp_path)
    east = NOW.astimezone(timezone(timedelta(hours=9)))
    ids = {store.new_run_id("gsm8k.v2", east) for _ in range(20)}
    assert len(ids) == 20
    for run_id in ids:
        stamp, name, tail = run_id.split("-")
        assert (stamp, name, len(tail)) == ("20261130T083112Z", "gsm8k.v2", 6)
        assert datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=NOW.tzinfo) == NOW.replace(
            microsecond=0
        )


@pytest.mark.parametrize(
    "name", ["", "..", "a/b", "a..b", "../x", ".hidden", "a b", "a\x00", "é", "x" * 200, "a\n"]
)
def test_no_name_can_leave_its_folder(tmp_path: Path, name: str) -> None:
    store = Store(tmp_path / "w")
    rows = table_of("trials", [trial(0)])
    attempts = [
        lambda: store.new_run_id(name, NOW),
        lambda: store.write_manifest(name, {}),
        lambda: store.start_plan(name, rows),
        lambda: store.writer(name),
        lambda: store.trials(name),
        lambda: store.publish("trials", name, rows),
        lambda: store.publish_samples(name, table_of("samples", [])),
        lambda: store.publish_scorer(name, {}),
        lambda: store.publish_task(name, {}),
        lambda: store.publish_scores(name, "ab" * 32, table_of("scores", []), {}),
        lambda: store.publish_scores(RUN, name, table_of("scores", []), {}),
    ]
    for attempt in attempts:
        with pytest.raises(StoreError, match="is no"):
            attempt()
    assert [path.name for path in tmp_path.rglob("*")] == ["w", "gradetrail.json"]


def test_a_table_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="known: calls, responses"):
        Store(tmp_path).publish("respones", f"{RUN}.1", table_of("responses", []))
