"""The commands that look after a warehouse: compact, check, rm, and import of another warehouse."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest

from gradetrail.pipeline import run
from gradetrail.warehouse import Warehouse
from tests.pipeline.lab import spec_text
from tests.pipeline.processes import Ended, command, table, truth

MODEL = {"model": "mock/rule_based"}


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """Give a folder with a warehouse of two graded runs."""
    rows = "".join(
        f'{{"id": "s{n}", "question": "What is {n}+{n}?", "target": "{2 * n}"}}\n' for n in range(8)
    )
    (tmp_path / "data.jsonl").write_text(rows)
    for number in range(2):
        (tmp_path / f"spec{number}.yaml").write_text(
            spec_text(models=[MODEL], name=f"sums{number}", extract=None, scorer="includes")
        )
        run(tmp_path / f"spec{number}.yaml", warehouse=tmp_path / "warehouse")
    return tmp_path


def gradetrail(lab: Path, *arguments: object) -> Ended:
    return command(lab, *arguments)


def test_compact_changes_no_view_and_a_packed_warehouse_is_healthy(lab: Path) -> None:
    before = truth(lab / "warehouse")
    done = gradetrail(lab, "compact", "--grace", 0)
    assert done.code == 0
    assert "packed" in done.err
    assert list((lab / "warehouse" / "trials").iterdir()) == []
    assert truth(lab / "warehouse") == before
    healthy = gradetrail(lab, "check")
    assert (healthy.code, "healthy" in healthy.err) == (0, True)
    again = gradetrail(lab, "run", "spec0.yaml")
    assert again.code == 0
    assert truth(lab / "warehouse")["runs"] == before["runs"]


def test_check_says_what_is_damaged_and_repair_sets_it_aside(lab: Path) -> None:
    path = next((lab / "warehouse" / "scores").iterdir())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    found = gradetrail(lab, "check")
    assert found.code == 1
    assert path.name in found.err
    assert gradetrail(lab, "check", "--repair").code == 1
    assert not path.exists()
    assert (lab / "warehouse" / "quarantine" / path.name).exists()
    assert gradetrail(lab, "check").code == 0
    assert gradetrail(lab, "run", "spec0.yaml").code == gradetrail(lab, "run", "spec1.yaml").code == 0
    with Warehouse(lab / "warehouse") as opened:
        assert len(opened.rows("from scores")[1]) == 16


def test_check_finds_content_that_was_changed_with_a_right_digest(lab: Path) -> None:
    import pyarrow as pa

    from gradetrail.store.segments import read, writing

    path = next((lab / "warehouse" / "responses").iterdir())
    rows = read(path, "responses")
    place = rows.column_names.index("text")
    forged = rows.set_column(place, "text", pa.array(["better"] * rows.num_rows))
    with path.open("wb") as file:
        writing("responses", [forged])(file)
    found = gradetrail(lab, "check")
    assert found.code == 1
    assert "its content is not what its id says" in found.err


def test_rm_says_what_would_go_and_then_does_it(lab: Path) -> None:
    root = lab / "warehouse"
    with Warehouse(root) as opened:
        first, second = [manifest["run_id"] for manifest in opened.manifests()]
        before = table(opened, "responses")
    told = gradetrail(lab, "rm", first, "--answers")
    assert (told.code, "nothing was removed" in told.err) == (0, True)
    hushed = gradetrail(lab, "rm", first, "--quiet")
    assert hushed.err == "warning: nothing was removed; give --yes to remove it\n"
    with Warehouse(root) as opened:
        assert table(opened, "responses") == before
        assert {row[0] for row in opened.rows("select run_id from trials")[1]} == {first, second}
    # the second run asked the same, so it rests on the answers of the first
    assert f"{second} rests on 8 of its answers: these answers stay" in told.err
    assert len(told.out.splitlines()) == 8
    assert gradetrail(lab, "rm", first, "--answers", "--yes").code == 0
    with Warehouse(root) as opened:
        assert {row[0] for row in opened.rows("select run_id from trials")[1]} == {second}
        assert table(opened, "responses") == before
    assert gradetrail(lab, "check").code == 0


def test_rm_forecasts_the_bytes_that_it_tells_and_never_frees_less_than_none(lab: Path) -> None:
    """A pack is written again together with loose runs of others, which stay for a while."""
    noise = Random(1)
    rows = [{"id": f"s{n}", "question": noise.randbytes(20_000).hex(), "target": "x"} for n in range(8)]
    (lab / "data.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (lab / "more.yaml").write_text(spec_text(models=[MODEL], name="more"))
    run(lab / "more.yaml", warehouse=lab / "bigger")
    assert gradetrail(lab, "compact").code == 0
    assert gradetrail(lab, "import", "bigger").code == 0
    loose = {path: path.stat().st_size for path in (lab / "warehouse").glob("*/*more*.parquet")}
    told = re.search(
        r"about ([\d,]+) bytes of rows\n", gradetrail(lab, "rm", "sums1@latest", "--answers").err
    )
    done = gradetrail(lab, "rm", "sums1@latest", "--answers", "--yes")
    assert done.code == 0, done.err
    assert told is not None
    assert int(told[1].replace(",", "")) > 0
    assert f"removed about {told[1]} bytes of rows; 0 bytes of disk are free now\n" in done.err
    later = re.search(r"files of ([\d,]+) bytes were packed along and stay for readers for now", done.err)
    assert later is not None
    assert int(later[1].replace(",", "")) >= sum(loose.values()) > 0
    reclaimed = gradetrail(lab, "compact", "--grace", 0).err
    assert int(re.search(r"files, ([\d,]+) bytes", reclaimed)[1].replace(",", "")) >= sum(loose.values())  # type: ignore[index]
    assert not any(path.exists() for path in loose)


def test_rm_with_force_makes_trials_of_other_runs_pending_and_run_asks_them_again(lab: Path) -> None:
    with Warehouse(lab / "warehouse") as opened:
        first, second = [manifest["run_id"] for manifest in opened.manifests()]
    assert gradetrail(lab, "rm", first, "--answers", "--force", "--yes").code == 0
    with Warehouse(lab / "warehouse") as opened:
        assert opened.rows("select run_id, status, count(*) from trials group by all")[1] == [
            (second, "pending", 8)
        ]
        assert opened.rows("select count(*) from responses")[1] == [(0,)]
    assert gradetrail(lab, "run", "spec1.yaml").code == 0
    with Warehouse(lab / "warehouse") as opened:
        assert opened.rows("select status, count(*) from trials group by all")[1] == [("answered", 8)]
        assert opened.rows("select count(*) from scores")[1] == [(8,)]


@pytest.mark.parametrize("is_packed", [False, True], ids=["loose", "packed"])
def test_another_warehouse_is_brought_in_whole_and_only_once(lab: Path, is_packed: bool) -> None:
    if is_packed:
        gradetrail(lab, "compact", "--grace", 0)
    done = gradetrail(lab, "import", "warehouse", "--warehouse", "other")
    assert (done.code, "2 runs that were not there" in done.err) == (0, True)
    assert truth(lab / "other") == truth(lab / "warehouse")
    again = gradetrail(lab, "import", "warehouse", "--warehouse", "other")
    assert (again.code, "0 runs that were not there" in again.err) == (0, True)
    assert truth(lab / "other") == truth(lab / "warehouse")
