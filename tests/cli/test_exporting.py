"""Tables for other programs, and everything as one database that any DuckDB opens."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gradetrail import sql
from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab

READER = """
import duckdb, json, sys
assert not [name for name in sys.modules if name.startswith("gradetrail")]
con = duckdb.connect(sys.argv[1], read_only=True)
facts = {
    name: con.execute(f'select count(*) from "{name}"').fetchone()[0]
    for (name,) in con.execute(
        "select table_name from information_schema.tables order by table_name"
    ).fetchall()
}
run = con.execute("select run_id from runs").fetchone()[0]
gate = con.execute("select gate from gate($run, $run, max_drop := 0)", {"run": run}).fetchone()[0]
board = con.execute("select model, mean, n_pass from leaderboard").fetchall()
said = con.execute(
    "select comment from duckdb_columns() where table_name = 'trials' and column_name = 'epoch'"
).fetchone()
other = duckdb.connect()
other.execute(f"attach '{sys.argv[1]}' as mine (read_only)")
attached = other.execute("select count(*) from mine.graded").fetchone()[0]
print(json.dumps([facts, gate, board, said[0], attached]))
"""


def test_the_database_is_queried_by_a_process_that_knows_only_duckdb(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    folder = lab.warehouse / "sql"
    folder.mkdir()
    (folder / "easy.sql").write_text("create view easy as select sample_id from graded where is_pass")
    done = gradetrail("export", "--duckdb", "all.duckdb")
    assert (done.code, done.raw) == (0, b""), done.err
    read = subprocess.run(
        [sys.executable, "-I", "-c", READER, "all.duckdb"], capture_output=True, text=True, timeout=60
    )
    assert read.returncode == 0, read.stderr
    facts, gate, board, said, attached = json.loads(read.stdout)
    views = [
        name.partition("/")[2]
        for name in sql.everything()
        if name.startswith(("base/", "views/")) and not sql.is_macro(name)
    ]
    assert set(views) <= facts.keys()
    assert {name: facts[name] for name in ("trials", "responses", "calls", "scores", "easy")} == {
        "trials": 6, "responses": 6, "calls": 6, "scores": 6, "easy": 6,
    }  # fmt: skip
    assert (gate, board, said, attached) == (
        "pass",
        [["openai_compatible/m1", 1.0, 6]],
        "Repeat number, from 1.",
        6,
    )


def test_the_database_has_a_format_that_older_duckdbs_read(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    own = lab.warehouse / "sql"
    own.mkdir()
    (own / "mine.sql").write_text("create view mine as from leaderboard")
    assert "DuckDB 1.5 or newer" in gradetrail("export", "--duckdb", "all.duckdb").err
    header = Path("all.duckdb").read_bytes()[:20]
    # a checksum, the mark, and the number of the format, which 1.2 has as 65 and 2.0 as 69
    assert (header[8:12], int.from_bytes(header[12:], "little") <= 65) == (b"DUCK", True)


def test_views_say_in_the_database_what_they_say_in_the_warehouse(lab: Lab) -> None:
    import duckdb

    lab.write(epochs=2)
    gradetrail("run", "spec.yaml")
    assert gradetrail("export", "--duckdb", "all.duckdb").code == 0
    with duckdb.connect("all.duckdb", read_only=True) as con:
        for view in ("leaderboard", "graded", "runs", "costs", "run_scores", "pairwise", "pass_at_k"):
            query = f"from {view} order by all"
            cursor = con.execute(query)
            names = [column[0] for column in cursor.description]
            assert [dict(zip(names, row, strict=True)) for row in cursor.fetchall()] == lab.rows(query), view


def test_views_of_the_user_are_created_in_the_database_within_limits(lab: Lab) -> None:
    import duckdb

    lab.write()
    gradetrail("run", "spec.yaml")
    own = lab.warehouse / "sql"
    own.mkdir()
    Path("secret.txt").write_text("secret")
    for name, text in {
        "first": "view first as select n from second", "second": "view second as select n from leaderboard",
        "twice": "macro twice(x) as 2 * x",
        "spy": f"view spy as from read_text('{Path('secret.txt').absolute()}')",
        "bomb": "view bomb as from range(len(range(400000000)))",
    }.items():  # fmt: skip
        (own / f"{name}.sql").write_text(f"create {text}")
    done = gradetrail("export", "--duckdb", "all.duckdb", "--memory", "512MB")
    assert done.code == 0, done.err
    for name, reason in (("spy", "file system operations are disabled"), ("bomb", "Out of Memory")):
        assert f"warning: left out: {own.absolute() / name}.sql" in done.err and reason in done.err
    with duckdb.connect("all.duckdb", read_only=True) as con:
        assert con.execute("select twice(n) from first").fetchall() == [(12,)]
        views = {name for (name,) in con.execute("select view_name from duckdb_views()").fetchall()}
    assert {"first", "second", "leaderboard"} <= views and not {"spy", "bomb"} & views
    assert sorted(path.name for path in Path().glob("all.duckdb*")) == ["all.duckdb"]


def test_a_view_of_the_user_that_does_not_end_ends_the_export_and_is_named(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    own = lab.warehouse / "sql"
    own.mkdir()
    (own / "endless.sql").write_text(
        "create view endless as from range(levenshtein(repeat('ab', 90000), repeat('ba', 90000)))"
    )
    done = gradetrail("export", "--duckdb", "all.duckdb", "--timeout", "1")
    assert done.code == 3
    assert f"{own.absolute() / 'endless'}.sql: it took more than 1 s" in done.err
    assert list(Path().glob("all.duckdb*")) == []


def test_a_view_is_exported_whole_in_every_format(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    assert gradetrail("export", "graded", "--output", "graded.parquet").code == 0
    table = pq.read_table("graded.parquet")
    assert table.num_rows == 6
    assert table.to_pylist() == lab.rows("from graded")
    assert gradetrail("export", "graded", "--format", "csv", "--output", "graded.csv").code == 0
    with Path("graded.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["sample_id"] for row in rows] == table.column("sample_id").to_pylist()
    assert set(rows[0]) == set(table.column_names)
    done = gradetrail("export", "leaderboard", "--format", "jsonl")
    assert [json.loads(line)["n_pass"] for line in done.out.splitlines()] == [6]
    assert pq.read_table(io.BytesIO(gradetrail("export", "runs").raw)).num_rows == 1


def test_a_run_is_exported_as_its_graded_trials(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml", "--tag", "base")
    gradetrail("run", "spec.yaml", "--new")
    assert gradetrail("export", "sums@base", "--output", "run.parquet").code == 0
    runs = pq.read_table("run.parquet").column("run_id").to_pylist()
    assert (len(runs), set(runs)) == (
        6,
        {lab.rows("select run_id from runs order by started_at")[0]["run_id"]},
    )


def test_the_stored_tables_are_a_folder_of_parquet_that_any_engine_reads(lab: Lab) -> None:
    lab.write(epochs=2)
    gradetrail("run", "spec.yaml")
    done = gradetrail("export", "--tables", "tables")
    assert (done.code, done.raw) == (0, b""), done.err
    assert "tables/scores: 1 file\n" in done.err
    for table in ("trials", "responses", "calls", "scores", "samples"):
        found = pq.read_table(f"tables/{table}").to_pylist()
        assert sorted(map(repr, found)) == sorted(map(repr, lab.rows(f"from {table}"))), table


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to export"),
        (("nothing",), "`nothing` is neither a view nor a run"),
        (("latest", "--bundle", "a", "--duckdb", "b"), "--bundle and --duckdb are two exports"),
        (("latest", "--duckdb", "b"), "--duckdb exports the whole warehouse"),
        (("latest", "--tables", "b"), "--tables exports the whole warehouse"),
        (("--tables", "a", "--duckdb", "b"), "--duckdb and --tables are two exports"),
        (("--tables", "."), "is there already"),
        (("latest", "--bundle", "no/such/a.bundle"), "its folder does not exist"),
        (("graded", "--output", "no/such/a.parquet"), "its folder does not exist"),
        (("latest", "--bundle", "a", "--output", "b"), "the file is named already"),
        (("--bundle", "a"), "nothing to export"),
    ],
)
def test_an_export_that_cannot_be_is_2_and_writes_nothing(
    lab: Lab, arguments: tuple[str, ...], message: str
) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    before = set(lab.folder.iterdir())
    done = gradetrail("export", *arguments)
    assert (done.code, message in done.err) == (2, True), done.err
    assert set(lab.folder.iterdir()) == before
