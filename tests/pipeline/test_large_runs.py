"""A run that is too large for one piece is planned, kept and graded in pieces, with the same rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gradetrail import pipeline
from gradetrail.store.schema import SORT_KEYS
from tests.pipeline.lab import SIX, Lab

MANY = [{**row, "id": f"{row['id']}-{n}"} for n in range(4) for row in SIX]
SCORES = "select * exclude (run_id) from scores order by all"

PLAN = """
import json, resource, sys
from pathlib import Path
from gradetrail.generation.outstanding import Options, outstanding
from gradetrail.generation.plan import make_plan
from gradetrail.spec import spec_from
from datetime import UTC, datetime
folder, n = Path(sys.argv[1]), int(sys.argv[2])
with (folder / "data.jsonl").open("w") as out:
    for number in range(n):
        out.write(json.dumps({"id": f"s{number:07d}", "q": f"{number} " * 40}) + "\\n")
spec = spec_from({"name": "t", "dataset": "data.jsonl", "prompt": "{{ q }}", "target": "{{ q }}",
                  "scorer": "exact", "model": "mock/noisy"}, base=folder)
plan = make_plan(spec)
todo = outstanding(folder / "none", plan, Options(), datetime.now(UTC))
assert todo.n_requests == n
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradetrail.scoring.answers.PART_TRIALS", 5)
    monkeypatch.setattr("gradetrail.store.segments.FACT_ROW_GROUP", 7)
    monkeypatch.setattr("gradetrail.store.folding.FACT_ROW_GROUP", 7)
    monkeypatch.setattr("gradetrail.store.folding.PASS_ROWS", 7)


def test_grades_of_parts_are_the_grades_of_the_whole(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.data(MANY)
    spec = lab.spec(
        model=lab.model(), epochs=2, scorer=None, scorers={"a": "numeric", "b": {"type": "includes"}}
    )
    lab.run(spec)
    whole = lab.rows(SCORES)
    in_pieces(monkeypatch)
    other = Lab(lab.folder, lab.api, "pieces")
    other.run(spec)
    assert other.rows(SCORES) == whole
    assert len(whole) == 2 * 2 * len(MANY)


def test_files_written_in_pieces_are_in_order(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.data(list(reversed(MANY)))
    in_pieces(monkeypatch)
    lab.run(lab.spec(model=lab.model(), epochs=2))
    for table in ("trials", "scores"):
        for path in (lab.warehouse / table).glob("*.parquet"):
            rows = pq.read_table(path)
            assert rows.num_rows == 2 * len(MANY)
            keys = rows.select(list(SORT_KEYS[table])).to_pylist()
            assert keys == sorted(keys, key=lambda key: tuple(map(str, key.values())))
            assert pq.ParquetFile(path).num_row_groups > 1


def test_grading_again_in_pieces_adds_no_file(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.data(MANY)
    in_pieces(monkeypatch)
    spec = lab.spec(model=lab.model())
    lab.run(spec)
    before = sorted(path.name for path in (lab.warehouse / "scores").iterdir())
    pipeline.score(spec, warehouse=lab.warehouse, force=True)
    assert sorted(path.name for path in (lab.warehouse / "scores").iterdir()) == before


def test_a_plan_takes_little_memory_for_each_trial(tmp_path: Path) -> None:
    def peak(n: int) -> int:
        command = [sys.executable, "-c", PLAN, str(tmp_path), str(n)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ).stdout)

    n_few, n_many = 20_000, 60_000
    assert (peak(n_many) - peak(n_few)) / (n_many - n_few) < 2_000
