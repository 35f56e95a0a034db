"""The user's own views: `<warehouse>/sql/*.sql`."""

import pytest

from gradetrail.errors import QueryError, SelectionError
from gradetrail.warehouse import Warehouse
from gradetrail.warehouse.health import examine
from tests.cli.command import gradetrail


@pytest.fixture
def write(root):
    (root / "sql").mkdir()

    def put(name, text):
        (root / "sql" / f"{name}.sql").write_text(text)

    return put


def test_a_view_of_the_user_shows_up_everywhere(root, write):
    write(
        "passed",
        "-- Runs by passes.\n"
        "create view passed as select run_id, sum(n_pass)::bigint as n from run_scores group by run_id",
    )
    with Warehouse(root) as warehouse:
        assert warehouse.table("passed")["n"].sort().to_list() == [1, 6, 7]
        assert warehouse.views()["passed"] == "Runs by passes."
        assert warehouse.connection().execute("select count(*) from passed").fetchall() == [(3,)]


def test_macros_and_views_may_read_each_other_whatever_their_names(root, write):
    write("a_view", "create view a_view as select twice(n) as n from z_view")
    write("z_view", "create view z_view as select 21 as n")
    write("twice", "create macro twice(x) as 2 * x")
    with Warehouse(root) as warehouse:
        assert warehouse.rows("from a_view")[1] == [(42,)]
        assert warehouse.user_faults == {}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("leaderboard", "create or replace view leaderboard as select 1 as x", "has its own `leaderboard`"),
        ("leaderboard", "create view leaderboard as select 1 as x", "has its own `leaderboard`"),
        ("exact_sum", "create or replace macro exact_sum(x) as 0", "nothing new"),
        ("sqrt", "create macro sqrt(x) as 0", "function of DuckDB"),
        ("COUNT", "create macro COUNT(x) as 42", "function of DuckDB"),
        ("mine", "create view mine as select 1 as x; create view more as select 2 as x", "not one CREATE"),
        ("mine", "create view other as select 1 as x", "view other"),
        ("mine", "create table mine as select 1 as x", "table mine"),
        ("mine", "create schema mine", "schema mine"),
        ("mine", "create secret mine (type s3)", "disabled by configuration"),
        ("mine", "drop view leaderboard", "not one CREATE"),
        ("mine", "select 1", "not one CREATE"),
        ("mine", "", "not one CREATE"),
        ("mine", "create view mine as select nope from trials", "nope"),
        ("mine", "create view mine as select * from read_csv('/etc/passwd')", "disabled by configuration"),
        ("mine", "create view mine as selec", "syntax error"),
    ],
)
def test_a_file_that_does_more_or_less_is_refused_and_the_rest_works(root, write, name, text, message):
    write(name, text)
    write("good", "create view good as select 1 as x")
    with Warehouse(root) as warehouse:
        assert warehouse.rows("from good")[1] == [(1,)]
        assert len(warehouse.rows("select model from leaderboard")[1]) == 3
        (fault,) = warehouse.user_faults.values()
        assert fault.where == str(root / "sql" / f"{name}.sql")
        assert message in fault.message
        if name == "mine":
            with pytest.raises(QueryError, match=r"mine\.sql"):
                warehouse.check_view("mine")


def test_an_unknown_view_is_refused_with_the_nearest(root, write):
    write("passed", "create view passed as select 1 as x")
    with Warehouse(root) as warehouse, pytest.raises(SelectionError, match="did you mean `passed`"):
        warehouse.check_view("pased")


def test_check_names_views_of_the_user_that_are_ignored_or_broken(root, write):
    before = set(examine(root).findings)
    write("graded", "create view graded as select 1 as x")
    write("broken", "create view broken as select nope from trials")
    write("good", "create view good as select 1 as x")
    found = {fault.where: fault for fault in examine(root).findings if fault not in before}
    assert set(found) == {str(root / "sql" / "graded.sql"), str(root / "sql" / "broken.sql")}
    assert "own `graded`" in found[str(root / "sql" / "graded.sql")].message
    assert "nope" in found[str(root / "sql" / "broken.sql")].message
    assert all(fault.fix for fault in found.values())


@pytest.mark.parametrize("command", [("show", "costs"), ("sql", "select count(*) from COSTS")])
def test_a_view_of_the_user_that_is_ignored_is_told_once_where_it_is_asked_for(root, write, command):
    write("costs", "create view costs as select 1 as x")
    done = gradetrail(*command, "--warehouse", root)
    assert (done.code, done.err.count("costs.sql: is ignored")) == (0, 1)
    done = gradetrail("sql", "select count(*) from runs", "--warehouse", root)
    assert (done.code, done.err) == (0, "")
