"""A run in one file: read wherever a run is, brought in once, and refused if it is not what it says."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from gradetrail.errors import StoreError
from gradetrail.store.bundle import unpack
from gradetrail.warehouse import Warehouse
from gradetrail.warehouse.bundles import write_bundle
from gradetrail.warehouse.importing import import_bundle
from tests.cli.command import gradetrail, tree
from tests.gate.workshop import Workshop
from tests.sql.given import live_of
from tests.warehouse.conftest import GIVEN, NEW, OLD, stored

FACTS = (
    "from graded order by all",
    "from leaderboard order by all",
    "from runs order by all",
    "from costs order by all",
    "from samples order by all",
)


@pytest.fixture
def bundle(shop: Workshop) -> Path:
    """A bundle of the run tagged `main`, which is in ./warehouse too."""
    shop.run("--tag", "main")
    done = gradetrail("export", "sums@main", "--bundle", "main.bundle")
    assert done.code == 0, done.err
    return shop.folder / "main.bundle"


def facts(warehouse: Warehouse) -> list[Any]:
    with warehouse:
        return [warehouse.rows(query) for query in FACTS]


def test_a_bundle_says_all_that_the_warehouse_says_of_its_run(shop: Workshop, bundle: Path) -> None:
    assert facts(Warehouse("nowhere", bundles=[bundle])) == facts(Warehouse("warehouse"))
    assert not Path("nowhere").exists()


def test_equal_runs_make_equal_bundles(bundle: Path) -> None:
    before = bundle.read_bytes()
    assert gradetrail("export", "latest", "--bundle", "main.bundle").code == 0
    assert bundle.read_bytes() == before


def test_a_bundle_is_a_run_for_gate_diff_and_show_beside_any_warehouse_or_none(
    shop: Workshop, bundle: Path
) -> None:
    Path("warehouse").rename("main")
    shop.answers(wrong=16)
    shop.run()
    before = tree(shop.folder / "warehouse")
    for flags in ((), ("--warehouse", "warehouse")):
        done = shop.gate("main.bundle", "latest", "--max-drop", "0.02", *flags)
        assert (done.code, "0.9 -> 0.6, lost 0.3" in done.err) == (1, True), done.err
    assert gradetrail("diff", str(bundle), "latest").err.startswith("exact: 28 same, 12 broken")
    rows = json.loads(gradetrail("show", "wrong", "main.bundle", "--format", "json").raw)
    assert len(rows) == 4
    assert gradetrail("export", "latest", "--bundle", "new.bundle").code == 0
    assert shop.gate("main.bundle", "new.bundle", "--warehouse", "none").code == 1
    assert tree(shop.folder / "warehouse") == before
    assert shop.ids() == shop.ids("warehouse")


def test_latest_is_a_run_of_the_warehouse_whatever_the_bundle_is(shop: Workshop, bundle: Path) -> None:
    Path("warehouse").rename("main")
    shop.answers(wrong=16)
    new = shop.run()
    assert gradetrail("export", "latest", "--bundle", "new.bundle").code == 0
    done = shop.gate("new.bundle", "latest", "--warehouse", "main")
    assert (done.code, done.out.partition("\n")[0]) == (0, f"pass: {new} -> {shop.ids('main')[0]}")


def test_answers_that_two_runs_share_are_there_once(shop: Workshop, bundle: Path) -> None:
    """The second run's answers were paid by the first, which the other warehouse has as well."""
    shop.run("--new", "--tag", "hits")
    assert gradetrail("export", "sums@hits", "--bundle", "hits.bundle").code == 0
    assert gradetrail("import", "main.bundle", "--warehouse", "other").code == 0
    expected = facts(Warehouse("warehouse"))
    assert facts(Warehouse("other", bundles=["hits.bundle"])) == expected
    assert facts(Warehouse("nowhere", bundles=["hits.bundle", "main.bundle"])) == expected
    assert gradetrail("import", "hits.bundle", "--warehouse", "other").code == 0
    assert facts(Warehouse("other")) == expected
    for order in (("hits.bundle", "main.bundle"), ("main.bundle", "hits.bundle")):
        shutil.rmtree("third", ignore_errors=True)
        assert gradetrail("import", *order, "--warehouse", "third").code == 0
        assert facts(Warehouse("third")) == expected


def test_an_import_happens_once_and_the_run_lives_on(shop: Workshop, bundle: Path) -> None:
    first = gradetrail("import", "main.bundle", "--warehouse", "other")
    assert (first.code, "40 trials, 40 answers that were not stored" in first.err) == (0, True)
    before = tree(shop.folder / "other")
    again = gradetrail("import", "main.bundle", "--warehouse", "other")
    assert (again.code, "was there already" in again.err) == (0, True)
    assert tree(shop.folder / "other") == before
    done = gradetrail("run", "sums@main", "--warehouse", "other", "--format", "json")
    assert (done.code, "40 hits" in done.err or "0/0 requests" in done.err) == (0, True), done.err
    assert gradetrail("score", "sums@main", "--warehouse", "other").err.startswith("nothing to grade")
    assert shop.ids("other") == shop.ids()


def test_an_import_that_was_cut_short_is_completed_by_the_next(shop: Workshop, bundle: Path) -> None:
    expected = facts(Warehouse("warehouse"))
    for gone in ("runs", "scores", "trials"):
        shutil.rmtree("other", ignore_errors=True)
        assert gradetrail("import", "main.bundle", "--warehouse", "other").code == 0
        for folder in dict.fromkeys(("runs", gone)):
            for file in (shop.folder / "other" / folder).iterdir():
                file.unlink()
        assert gradetrail("import", "main.bundle", "--warehouse", "other").code == 0
        assert facts(Warehouse("other")) == expected, gone


def test_imports_at_once_bring_every_answer_once(shop: Workshop, bundle: Path) -> None:
    shop.run("--new", "--tag", "hits")
    assert gradetrail("export", "sums@hits", "--bundle", "hits.bundle").code == 0
    command = [sys.executable, "-m", "gradetrail", "import", "--warehouse", "other"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    racing = [
        subprocess.Popen([*command, name], env=env, stderr=subprocess.PIPE, text=True)
        for name in ("main.bundle", "hits.bundle", "main.bundle")
    ]
    for process in racing:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert facts(Warehouse("other")) == facts(Warehouse("warehouse"))


def test_a_bundle_holds_the_answers_of_judges_whoever_paid_for_them(tmp_path: Path) -> None:
    judged = {**GIVEN, "scores": [], "responses": [
        {"run_id": NEW, "response_id": "verdict", "request_key": "k", "text": "right"},
        {"run_id": NEW, "response_id": "nobody's", "request_key": "k", "text": "unused"},
    ]}  # fmt: skip
    grade = {"run_id": OLD, "model": "x", "sample_id": "a", "scorer": "judge", "scorer_id": "s3" * 32}
    judged["scores"] = [{**grade, "score": 1.0, "judge_response_ids": ["verdict"]}]
    judged["tasks"] = [{"task": "t", "n": 1, "scorers": {"strict": "s2" * 32, "judge": "s3" * 32}}]
    root = stored(tmp_path / "warehouse", live_of(judged))
    with Warehouse(root) as warehouse:
        write_bundle(warehouse, OLD, tmp_path / "old.bundle")
    with Warehouse("nowhere", bundles=[tmp_path / "old.bundle"]) as opened:
        query = "select response_id, text from responses where run_id <> $run"
        assert opened.rows(query, {"run": OLD})[1] == [("verdict", "right")]
        assert opened.manifests()[0]["run_id"] == OLD
        assert opened.rows("select count(*) from runs")[1] == [(1,)]


def test_a_task_keeps_its_present_scorers(shop: Workshop, bundle: Path) -> None:
    Path("warehouse").rename("main")
    shop.spec(scorer={"type": "exact", "normalize": ["strip", "lower"]})
    shop.run()
    query = "select scorer, count(*) as n from definitions where is_current group by all"
    asked = ("sql", query, "--format", "csv")
    before = gradetrail(*asked).out
    done = shop.gate("main.bundle", "latest")
    assert (done.code, "other scorer version: 1 in the base, 2 now" in done.err) == (3, True), done.err
    assert gradetrail("import", "main.bundle").code == 0
    assert gradetrail(*asked).out == before
    assert "other scorer version" in shop.gate("sums@main", "latest~0").err
    assert gradetrail("score", "spec.yaml").code == 0
    assert shop.gate("sums@main", "sums@latest").code == 0


def test_a_run_that_the_warehouse_has_counts_as_it_is_there(shop: Workshop, bundle: Path) -> None:
    expected = facts(Warehouse("warehouse"))
    assert facts(Warehouse("warehouse", bundles=[bundle])) == expected
    assert shop.gate("main.bundle", "latest").code == 0


def test_nothing_is_exported_from_a_run_that_is_damaged(shop: Workshop) -> None:
    shop.run()
    (answers,) = Path("warehouse/responses").glob("*.parquet")
    answers.write_bytes(answers.read_bytes()[:-20])
    done = gradetrail("export", "latest", "--bundle", "main.bundle")
    assert done.code == 3, done.err
    assert not Path("main.bundle").exists()


# ---- hostile bundles

Members = dict[str, bytes]


def repacked(bundle: Path, change: Callable[[Members], None], *, resign: bool = True) -> Path:
    """Change the members of a bundle; `resign` makes its list agree with them again."""
    with zipfile.ZipFile(bundle) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    if resign:
        index = json.loads(members.pop("bundle.json"))
        index["files"] = {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in members.items()
        }
        members = {"bundle.json": json.dumps(index).encode(), **members}
    target = bundle.with_name("hostile.bundle")
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return target


def refused(path: Path, message: str) -> None:
    """Both readers must refuse it, and neither may leave anything behind."""
    folder = path.parent
    before = tree(folder)
    for arguments in (("import", path.name, "--warehouse", "fresh"), ("show", "runs", path.name)):
        done = gradetrail(*arguments)
        assert (done.code, message in done.err) == (2, True), done.err
    assert tree(folder) == before


def name_of(members: Members, folder: str) -> str:
    return next(name for name in members if name.startswith(folder))


@pytest.mark.parametrize(
    "name",
    [
        "../evil.json", "runs/../../evil.json", "/etc/evil", "runs\\..\\evil.json", "C:evil", "sql/evil.sql",
        "scorers/a/b.json", "trials/evil.0f.parquet", "journal/x.0.jsonl", "packs/1.json", "runs/other.json",
        "scores/x.parquet",
    ],
)  # fmt: skip
def test_a_member_with_another_name_is_refused(bundle: Path, name: str) -> None:
    refused(
        repacked(bundle, lambda members: members.update({name: b"{}"})), "holds a file that no bundle has"
    )


def test_a_link_is_refused(bundle: Path) -> None:
    target = repacked(bundle, lambda members: None)
    with zipfile.ZipFile(target, "a") as archive:
        link = zipfile.ZipInfo("scorers/link.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    refused(target, "holds something that is no plain file")


def test_a_compressed_member_is_refused_before_it_grows(bundle: Path) -> None:
    target = repacked(bundle, lambda members: None)
    with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("scorers/bomb.json", b"\0" * 50_000_000)
    assert target.stat().st_size < 1_000_000
    refused(target, "holds a compressed file")


def test_a_member_that_was_changed_missing_or_added_is_refused(bundle: Path) -> None:
    def grown(members: Members) -> None:
        members[name_of(members, "runs/")] += b" "

    def other(members: Members) -> None:
        name = name_of(members, "runs/")
        members[name] = members[name].replace(b"complete", b"completE")

    def gone(members: Members) -> None:
        del members[name_of(members, "scores/")]

    def more(members: Members) -> None:
        members[f"scorers/{'0' * 64}.json"] = b"{}"

    refused(repacked(bundle, grown, resign=False), "does not agree with bundle.json")
    refused(repacked(bundle, other, resign=False), "its sha256 differs")
    refused(repacked(bundle, gone, resign=False), "its list of files is not what it holds")
    refused(repacked(bundle, more, resign=False), "does not agree with bundle.json")


def test_a_member_that_is_there_twice_is_refused(bundle: Path) -> None:
    target = repacked(bundle, lambda members: None)
    with zipfile.ZipFile(target) as archive:
        name = archive.namelist()[1]
        data = archive.read(name)
    with zipfile.ZipFile(target, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(zipfile.ZipInfo(name), data)
    refused(target, "its list of files is not what it holds")


def test_rows_of_another_run_are_refused(shop: Workshop, bundle: Path) -> None:
    """A bundle that could add trials to a run of yours would change its board."""
    for folder in ("trials/", "scores/", "responses/", "calls/"):

        def forged(members: Members, folder: str = folder) -> None:
            name = name_of(members, folder)
            path = shop.folder / "forged.parquet"
            path.write_bytes(members[name])
            table = pq.read_table(path)
            other = [f"{value[:-1]}x" for value in table.column("run_id").to_pylist()]
            place = table.schema.get_field_index("run_id")
            pq.write_table(table.set_column(place, table.schema.field(place), [other]), path)
            members[name] = path.read_bytes()
            path.unlink()

        refused(repacked(bundle, forged), "holds rows whose run_id is not")


def test_a_manifest_of_another_run_or_a_bad_task_is_refused(bundle: Path) -> None:
    def edited(**values: str) -> Callable[[Members], None]:
        def change(members: Members) -> None:
            name = name_of(members, "runs/")
            members[name] = json.dumps({**json.loads(members[name]), **values}).encode()

        return change

    refused(repacked(bundle, edited(run_id="20261130T083112Z-sums-000001")), "is another run's manifest")
    refused(repacked(bundle, edited(task="../../etc")), "`../../etc` is no task name")


def test_a_run_id_that_is_a_path_is_refused(bundle: Path) -> None:
    def change(members: Members) -> None:
        index = json.loads(members["bundle.json"])
        members["bundle.json"] = json.dumps({**index, "run_id": "../../x"}).encode()

    refused(repacked(bundle, change, resign=False), "`../../x` is no run id")


def test_an_answer_whose_id_is_not_that_of_its_content_is_not_brought_in(
    shop: Workshop, bundle: Path
) -> None:
    def forged(members: Members) -> None:
        name = name_of(members, "responses/")
        path = shop.folder / "forged.parquet"
        path.write_bytes(members[name])
        table = pq.read_table(path)
        place = table.schema.get_field_index("text")
        texts = ["all right" for _ in range(table.num_rows)]
        pq.write_table(table.set_column(place, table.schema.field(place), [texts]), path)
        members[name] = path.read_bytes()
        path.unlink()

    hostile = repacked(bundle, forged)
    with pytest.raises(StoreError, match="its content is not what its id says"):
        import_bundle(shop.folder / "fresh", hostile)
    assert not (shop.folder / "fresh").exists()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"PK\x03\x04" + b"\0" * 100, b"no zip at all"])
def test_a_file_that_is_no_bundle_is_refused(shop: Workshop, data: bytes) -> None:
    shop.run()
    (shop.folder / "x.bundle").write_bytes(data)
    refused(shop.folder / "x.bundle", "is not a bundle")


def test_every_cut_of_a_bundle_is_refused(bundle: Path, tmp_path: Path) -> None:
    whole = bundle.read_bytes()
    cut = tmp_path / "cut.bundle"
    for size in range(0, len(whole), max(1, len(whole) // 40)):
        cut.write_bytes(whole[:size])
        with pytest.raises(StoreError):
            unpack(cut, tmp_path / f"cut{size}")


def test_a_bundle_of_a_newer_format_says_what_to_do(bundle: Path) -> None:
    def newer(members: Members) -> None:
        members["bundle.json"] = json.dumps({**json.loads(members["bundle.json"]), "format": 2}).encode()

    refused(repacked(bundle, newer, resign=False), "is a bundle of format 2")


def test_a_bundle_that_is_not_there_is_named(shop: Workshop) -> None:
    shop.run()
    done = shop.gate("main.bundle", "latest")
    assert (done.code, "main.bundle: there is no such file" in done.err) == (2, True)
