"""`gradetrail sql` and `show` of the user's views: behind a wall, within limits, row by row."""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from gradetrail.errors import Fault, LimitError
from gradetrail.warehouse import Warehouse
from gradetrail.warehouse.locked import LockedWarehouse, limits_of
from gradetrail.warehouse.user_objects import UserObject
from tests.cli.command import gradetrail, tree

MANY = "select i, i / 7 as x, case when i % 3 = 0 then null else 'é,\"' || i end as t from range(50000) s(i)"
ENDLESS = "select count(*) from range(1000000000000)"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("locked")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert gradetrail("demo", "ten_tasks").code == 0
    own = folder / "warehouse" / "sql"
    own.mkdir()
    (own / "mine.sql").write_text("-- Mine.\ncreate view mine as select task, model, mean from leaderboard")
    (own / "bomb.sql").write_text("create view bomb as select length(repeat('a', 4000000000)) as n")
    (own / "bound.sql").write_text("create view bound as from range(len(range(60000000)))")
    return folder


@pytest.fixture(autouse=True)
def _here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)


@pytest.mark.parametrize(
    "query", [MANY, "select * from range(0)", "from range(1)", "select 1.50::decimal(4,2)"]
)
def test_streamed_rows_are_what_the_whole_would_be(query: str) -> None:
    with Warehouse("warehouse") as opened:
        names, rows = opened.rows(query)
        whole = opened.arrow(query)
    done = {form: gradetrail("sql", query, "--format", form) for form in ("csv", "json", "jsonl", "parquet")}
    assert {one.code for one in done.values()} == {0}
    assert next(csv.reader(io.StringIO(done["csv"].out))) == names
    assert len(list(csv.reader(io.StringIO(done["csv"].out)))) == len(rows) + 1
    objects = json.loads(done["json"].out)
    assert [json.loads(line) for line in done["jsonl"].out.splitlines()] == objects
    assert [tuple(row) for row in (list(one.values()) for one in objects)] == [
        tuple(float(value) if hasattr(value, "as_tuple") else value for value in row) for row in rows
    ]
    assert json.dumps(objects, ensure_ascii=False, indent=1) + "\n" == done["json"].out
    assert pq.read_table(io.BytesIO(done["parquet"].raw)).equals(whole)


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "parquet", "table", "markdown"])
def test_a_file_holds_what_stdout_would(tmp_path: Path, form: str) -> None:
    target = tmp_path / "out"
    printed = gradetrail("sql", MANY, "--format", form)
    written = gradetrail("sql", MANY, "--format", form, "--output", target)
    assert (printed.code, written.code, written.raw) == (0, 0, b"")
    assert target.read_bytes() == printed.raw
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("pivot run_scores on model using max(n) group by task", "task,biased,noisy,rule_based"),
        (" -- mine\nfrom (pivot (select task, model, n from run_scores) on model using max(n))",
         "task,biased,noisy,rule_based"),
        ("with r as (from run_scores) pivot r on model in ('biased') using max(n) group by task",
         "task,biased"),
        ("unpivot (select 1 as a, 2 as b) on a, b", "name,value"),
        ("describe runs", "column_name,column_type,null,key,default,extra"),
        ("summarize (select mean from run_scores)", "column_name,column_type,min,max,approx_unique,avg,std"),
        ("show tables", "name"),
    ],
)  # fmt: skip
def test_what_only_reads_is_answered_whatever_its_first_word(query: str, first: str) -> None:
    done = gradetrail("sql", query, "--format", "csv")
    assert (done.code, done.out.splitlines()[0][: len(first)]) == (0, first), done.err
    assert len(done.out.splitlines()) > 1


def test_a_pivot_that_could_write_must_name_its_values() -> None:
    done = gradetrail("sql", "select * from (pivot run_scores on model using max(n)) where task <> 'copy'")
    assert done.code == 2 and "beside `copy` a pivot must name its values" in done.err
    named = "select * from (pivot run_scores on model in ('noisy') using max(n)) where task <> 'copy'"
    assert gradetrail("sql", named).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--param", "x=1", "--param", "y=2"), "--param: the query has no $y"),
        (("--param", "x=1", "--run", "r=latest"), "--run: the query has no $r"),
        (("--param", "x=1", "--param", "x=2"), "--param: `x` is given twice"),
        (("--param", "x=1", "--run", "x=latest"), "--run: `x` is given by --param too"),
        (("--param", "x"), "--param: `x` is not NAME=VALUE"),
        (("--param", "=1"), "--param: `=1` is not NAME=VALUE"),
        ((), "no value for $x"),
    ],
)
def test_a_value_that_would_be_left_out_in_silence_is_refused(words: tuple[str, ...], said: str) -> None:
    done = gradetrail("sql", "select $x as a", *words)
    assert (done.code, done.out, said in done.err) == (2, "", True), done.err


def test_a_query_that_takes_too_long_says_which_limit_and_what_raises_it() -> None:
    done = gradetrail("sql", ENDLESS, "--timeout", "0.5")
    assert (done.code, done.out) == (3, "")
    assert "it took more than 0.5 s" in done.err
    assert "fix: `--timeout 1` gives it twice as long" in done.err


def test_a_query_that_needs_too_much_says_which_limit_and_what_raises_it() -> None:
    done = gradetrail("sql", "select length(repeat('a', 4000000000))", "--memory", "256MB")
    assert (done.code, done.out) == (3, "")
    assert "it needs more than 256 MB of memory" in done.err
    assert "fix: `--memory 512MB` gives it twice as much" in done.err


def test_a_table_that_is_too_large_to_be_held_says_what_to_do() -> None:
    done = gradetrail("sql", "from range(3000000)", "--memory", "256MB")
    assert (done.code, done.out) == (3, "")
    assert "print it as csv, jsonl or parquet" in done.err
    assert gradetrail("sql", "from range(3000000)", "--memory", "256MB", "--format", "csv").code == 0


@pytest.mark.parametrize("size", ["lots", "5MB", "-1GB", "8 apples"])
def test_what_is_no_size_is_refused(size: str) -> None:
    done = gradetrail("sql", "select 1", f"--memory={size}")
    assert done.code == 2
    assert "write 512MB or 8GB" in done.err


def test_limits_come_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADETRAIL_TIMEOUT", "0.5")
    assert gradetrail("sql", ENDLESS).code == 3


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_query_that_is_stopped_leaves_no_file(tmp_path: Path, form: str) -> None:
    endless = f"select i from range(100000) t(i) union all ({ENDLESS})"
    target = tmp_path / "out"
    target.write_text("as it was")
    done = gradetrail("sql", endless, "--format", form, "--timeout", "2", "--output", target)
    assert done.code == 3
    assert tree(tmp_path) == {"out": b"as it was"}


@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
def test_a_view_of_the_user_is_shown_in_every_format(form: str) -> None:
    done = gradetrail("show", "mine", "--format", form)
    assert done.code == 0, done.err
    assert b"rule_based" in done.raw
    assert gradetrail("show", "mine", "--task", "no such").code == 2


def test_a_view_of_the_user_is_exported_from_behind_the_wall(tmp_path: Path) -> None:
    target = tmp_path / "mine.parquet"
    assert gradetrail("export", "mine", "--output", target).code == 0
    assert set(pq.read_table(target)["model"].to_pylist()) == {"biased", "noisy", "rule_based"}
    assert gradetrail("export", "nothing").code == 2


@pytest.mark.parametrize("view", ["bomb", "bound"])
def test_a_view_of_the_user_that_asks_for_all_memory_meets_the_limit(view: str) -> None:
    done = gradetrail("show", view, "--memory", "256MB")
    assert done.code in (2, 3), done.err
    assert done.out == ""
    assert "memory" in done.err.lower()


def test_such_views_cost_others_nothing() -> None:
    assert gradetrail("show").code == 0
    assert gradetrail("show", "runs").code == 0
    assert gradetrail("show", "mine", "--memory", "256MB").code == 0
    done = gradetrail("sql", "select count(*) as n from mine", "--memory", "256MB", "--format", "csv")
    assert (done.code, done.out) == (0, "n\n3\n")


def test_no_command_runs_sql_of_the_user_in_its_own_process(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor creates a view of theirs, whose names may be words of our queries: to bind one is to run parts."""
    created: list[str] = []
    create = UserObject.create

    def noted(own: UserObject, con: duckdb.DuckDBPyConnection) -> Fault | None:
        created.append(own.name)
        return create(own, con)

    monkeypatch.setattr(UserObject, "create", noted)
    copy = tmp_path / "warehouse"
    shutil.copytree(home / "warehouse", copy)
    for word in ("model", "task", "standing", "mean", "a"):
        (copy / "sql" / f"{word}.sql").write_text(f"create view {word} as select 1 as x")
    spec = home / "specs" / "ten_tasks" / "ten_tasks.yaml"
    for words in (
        ("diff", "latest", "latest"), ("gate", "latest", "latest"), ("show",), ("show", "wrong"),
        ("show", "pairwise", "--plot"), ("show", "mine"), ("sql", "from mine"), ("export", "graded"),
        ("export", "latest", "--bundle", tmp_path / "b"), ("export", "--duckdb", tmp_path / "d"),
        ("plan", spec), ("run", spec, "--new", "--limit", "2"), ("score", spec, "--preview"), ("check",),
    ):  # fmt: skip
        done = gradetrail(*words, "--warehouse", copy)
        assert (done.code, created) == (0, []), (words, done.err)
    # a program of the user's is its own process
    with Warehouse(copy) as opened:
        assert opened.rows("select count(*) from model")[1] == [(1,)]
    assert created == ["model"]


def test_check_names_views_of_the_user_that_cannot_be_made(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "warehouse"
    shutil.copytree(home / "warehouse", copy)
    own = copy / "sql"
    (own / "bound.sql").unlink()
    (own / "broken.sql").write_text("create view broken as select nope from runs")
    (own / "twice.sql").write_text("create view another as select 1 as x")
    (own / "trials.sql").write_text("create view trials as select 1 as x")
    (own / "adds.sql").write_text("create macro adds(a, b) as a + b")
    done = gradetrail("check", "--warehouse", copy)
    assert (done.code, done.err.count("fix: ")) == (1, 3), done.err
    assert f'{own / "broken.sql"}: Binder Error: Referenced column "nope" not found' in done.err
    assert f"{own / 'twice.sql'}: creates view another; `twice` was expected" in done.err
    assert f"{own / 'trials.sql'}: is ignored: gradetrail has its own `trials`" in done.err


def test_a_query_sees_runs_as_of_a_day() -> None:
    count = "select count(*) as n from leaderboard"
    assert gradetrail("sql", count, "--as-of", "2000-01-01", "--format", "csv").out == "n\n0\n"
    assert gradetrail("sql", count, "--format", "csv").out == "n\n3\n"


def test_nothing_of_the_warehouse_is_touched(home: Path) -> None:
    before = tree(home)
    gradetrail("sql", "with x as (copy trials to 'warehouse/x.csv') select 1")
    gradetrail("sql", MANY, "--format", "jsonl")
    gradetrail("show", "bomb", "--memory", "256MB")
    assert tree(home) == before


def test_a_sort_larger_than_memory_goes_through_the_disk_and_no_further(home: Path) -> None:
    query = "select sum(i)::bigint from (from range(20000000) t(i) order by hash(i) limit 19999999)"
    room = replace(limits_of(memory_mb=512), file_mb=2000)
    with LockedWarehouse(home / "warehouse", limits=room) as opened:
        ((total,),) = opened.rows(query)[1]
    assert 0 <= 199999990000000 - total < 20000000
    with (
        LockedWarehouse(home / "warehouse", limits=replace(room, file_mb=20)) as opened,
        pytest.raises(LimitError, match="more than 512 MB of memory"),
    ):
        opened.rows(query)
