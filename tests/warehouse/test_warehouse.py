"""What a user may count on when a warehouse is opened for reading."""

import subprocess
import sys
import threading

import polars as pl
import pytest

from gradetrail import sql
from gradetrail.errors import QueryError, SelectionError, StoreError
from gradetrail.warehouse import Warehouse
from gradetrail.warehouse.catalog import Catalog
from tests.sql.given import live_of
from tests.warehouse.conftest import GIVEN, NEW, OLD, OTHER


def test_a_fresh_warehouse_answers_every_view_with_no_rows(empty_root):
    with Warehouse(empty_root) as warehouse:
        views = warehouse.views()
        assert {"leaderboard", "graded", "runs", "trials", "pairwise", "costs"} <= views.keys()
        for view in views:
            assert warehouse.rows(f"from {view}")[1] == [], view


def test_a_folder_that_is_no_warehouse_is_refused(tmp_path):
    with pytest.raises(StoreError):
        Warehouse(tmp_path)


def test_files_and_loose_rows_give_the_same_answers(root):
    catalog = Catalog(live_of(GIVEN))
    with Warehouse(root) as warehouse:
        for view in (
            "leaderboard",
            "graded order by all",
            "pairwise",
            "runs",
            "run_scores",
            "wrong",
            "costs",
        ):
            catalog.provide(view)
            assert warehouse.rows(f"from {view}")[1] == catalog.cursor().execute(f"from {view}").fetchall(), (
                view
            )
    catalog.close()


def test_values_are_bound_by_name(root):
    with Warehouse(root) as warehouse:
        text = "select count(*) as n from trials where run_id = $run and sample_id in $samples"
        params = {"run": OLD, "samples": ["a", "b"], "not_asked_for": 1}
        assert warehouse.rows(text, params) == (["n"], [(4,)])
        assert warehouse.sql(text, params).rows() == [(4,)]
        assert warehouse.arrow(text, params).to_pylist() == [{"n": 4}]
        with pytest.raises(QueryError, match=r"no value for \$samples"):
            warehouse.rows(text, {"run": OLD})


@pytest.mark.parametrize(
    "text",
    [
        "select 1; select 2",
        "",
        "create table t (x int)",
        "drop view leaderboard",
        "copy (select 1) to 'x.csv'",
        "set threads = 1",
        "attach 'x.db'",
        "explain analyze copy (select 1) to 'x.csv'",
        "call pragma_version()",
    ],
)
def test_a_query_is_one_statement_that_reads(root, text):
    with Warehouse(root) as warehouse, pytest.raises(QueryError, match="one SELECT"):
        warehouse.rows(text)


@pytest.mark.parametrize("text", ["from leaderbord", "select nope from trials", "select 1 +", "selec 1"])
def test_a_query_that_duckdb_refuses_says_why(root, text):
    with Warehouse(root) as warehouse, pytest.raises(QueryError, match=r"(?i)error"):
        warehouse.rows(text)


def test_a_connection_reads_the_live_files_and_nothing_else(root, tmp_path):
    import duckdb

    (tmp_path / "secret.csv").write_text("a\n1\n")
    with Warehouse(root) as warehouse:
        con = warehouse.connection()
        assert con.execute("select count(*) from trials").fetchall() == [(20,)]
        for attempt in (
            f"from read_csv('{tmp_path}/secret.csv')",
            f"copy (select 1) to '{tmp_path}/out.csv'",
            f"copy (select 1) to '{root}/trials/new.parquet'",
            f"attach '{tmp_path}/new.db'",
            "set global threads = 1",
            "set enable_external_access = true",
            "install httpfs",
        ):
            with pytest.raises(duckdb.Error):
                con.execute(attempt)


def test_cursors_of_other_threads_see_the_views(root):
    found = []
    with Warehouse(root) as warehouse:
        con = warehouse.connection("leaderboard")

        def ask():
            found.append(con.cursor().execute("select count(*) from leaderboard").fetchall())

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert found == [[(3,)]]


def test_a_connection_may_hold_tables_of_its_own(root):
    with Warehouse(root) as warehouse:
        mine, other = warehouse.connection("trials"), warehouse.connection("trials")
        mine.register("picked", pl.DataFrame({"sample_id": ["a"]}).to_arrow())
        assert mine.execute("select count(*) from trials semi join picked using (sample_id)").fetchall() == [
            (5,)
        ]
        with pytest.raises(Exception, match="picked"):
            other.execute("from picked")


def test_tables_come_as_polars(root):
    with Warehouse(root) as warehouse:
        assert set(warehouse.leaderboard()["task"]) == {"t", "u"}
        board = warehouse.leaderboard("t")
        assert board.select("model", "mean", "run_id").rows() == [("y", 1.0, NEW), ("x", 0.75, NEW)]
        assert warehouse.table("runs")["run_id"].to_list() == [OTHER, NEW, OLD]
        with pytest.raises(SelectionError, match="did you mean `leaderboard`"):
            warehouse.table("leaderbord")


def test_graded_comes_as_a_lazy_frame_of_some_runs_and_columns(root):
    with Warehouse(root) as warehouse:
        frame = warehouse.graded("t@latest", ["model", "score"])
        assert isinstance(frame, pl.LazyFrame)
        means = frame.group_by("model").agg(pl.col("score").mean()).sort("model").collect()
        assert means.rows() == [("x", 0.75), ("y", 1.0)]
        assert warehouse.graded([OLD, "00000c"], ["run_id"]).collect().height == 12
        assert warehouse.graded().collect().height == 20


def test_the_questions_and_answers_stand_beside_the_grades(root):
    with Warehouse(root) as warehouse:
        text = "select sample ->> 'question', response, score from graded where run_id = $run and not is_pass"
        assert warehouse.rows(text, {"run": NEW})[1] == [("what is d?", "c", 0.0)]


def test_a_diff_needs_no_more_than_two_runs(root):
    with Warehouse(root) as warehouse:
        changed = warehouse.diff(OLD, NEW).filter(pl.col("change") != "same")
        assert changed.select("a_model", "sample_id", "change", "cause").rows() == [
            ("x", "c", "fixed", "response")
        ]
        query, params = warehouse.diff_query("t@latest~1", "t@latest")
        assert [row[3] for row in warehouse.rows(query, params)[1]] == ["c"]
        whole = warehouse.comparison(OLD, NEW).select("model", "n_fixed", "n_same", "difference").rows()
        assert whole == [("x", 1, 3, 0.25), ("y", 0, 4, 0.0)]


def test_what_is_known_of_files_is_told(root):
    with Warehouse(root) as warehouse:
        assert sorted(warehouse.stems("trials")) == [f"{OLD}.1f", f"{NEW}.1f", f"{OTHER}.1f"]
        assert warehouse.scores_metadata(OLD, "s2" * 32)["trials"] == "1f"
        assert warehouse.scores_metadata(OLD, "s1" * 32) is None
        assert warehouse.task_definition("t")["scorers"] == {"strict": "s2" * 32}
        assert warehouse.task_definition("nope") is None
        assert [m["run_id"] for m in warehouse.manifests()] == [OLD, NEW, OTHER]


def test_views_say_what_they_are(root):
    with Warehouse(root) as warehouse:
        views = warehouse.views()
        assert views["leaderboard"].startswith("The board of every task")
        assert "diff" not in views
        assert not any(name.startswith(("stored_", "loose_")) for name in views)


def test_a_query_about_the_catalog_sees_all_views(root):
    with Warehouse(root) as warehouse:
        _, rows = warehouse.rows("select view_name from duckdb_views() where not internal")
        assert {("pairwise",), ("calibration",)} <= set(rows)


def test_opening_and_asking_imports_neither_polars_nor_pyarrow(root):
    code = (
        "import sys; from gradetrail.warehouse import Warehouse; w = Warehouse(sys.argv[1]);"
        "w.rows('from leaderboard'); heavy = {'polars', 'pyarrow', 'numpy', 'pandas', 'openai', 'anthropic',"
        "'genai_prices', 'pydantic'} & set(sys.modules); print(sorted(heavy))"
    )
    # the answers are of a model that openai serves: its prices come from the cache of an earlier look
    for _ in range(2):
        out = subprocess.run(
            [sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True
        )
    assert out.stdout.strip() == "[]"


def test_ctrl_c_stops_a_query_at_once(root):
    code = (
        "import os, signal, sys, threading\n"
        "from gradetrail.errors import InterruptError\n"
        "from gradetrail.warehouse import Warehouse\n"
        "warehouse = Warehouse(sys.argv[1])\n"
        "warehouse.connection('trials')\n"
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    warehouse.rows('select sum(a.range * b.range) from range(1000000) a, range(10000000) b')\n"
        "except InterruptError as error:\n"
        "    print(error.exit_code, warehouse.rows('select count(*) from trials')[1])\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True, timeout=60
    )
    assert out.stdout.strip() == "130 [(20,)]"


def test_a_file_that_was_folded_away_before_the_first_query_is_looked_for_again(root):
    warehouse = Warehouse(root)
    folded = root / "trials" / f"{OLD}.1f.parquet"
    folded.rename(folded.with_name(f"{OLD}.2f.parquet"))
    assert warehouse.rows("select count(*) from trials")[1] == [(20,)]
    assert not warehouse.is_partial
    warehouse.close()


def test_a_file_that_was_folded_away_between_queries_is_looked_for_again(root):
    warehouse = Warehouse(root)
    assert warehouse.rows("select count(*) from trials")[1] == [(20,)]
    folded = root / "trials" / f"{OLD}.1f.parquet"
    folded.rename(folded.with_name(f"{OLD}.2f.parquet"))
    assert warehouse.rows("select count(*) from trials")[1] == [(20,)]
    assert not warehouse.is_partial
    warehouse.close()


def test_every_sql_object_is_listed_once():
    assert len(set(sql.everything())) == len(sql.everything())
