"""What a warehouse runs only reads, also where a SELECT has a step that would write."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradetrail.errors import QueryError
from gradetrail.warehouse import Warehouse
from tests.cli.command import tree

COPY = "copy (select 1 as a) to '{file}' (format parquet, use_tmp_file false)"
WRITERS = [
    ("with x as ({copy}) select 1", "copy"),
    ("with a as (with x as ({copy}) select 1) from a", "copy"),
    ("select 1 union all (with x as ({copy}) select 1)", "copy"),
    ("describe with x as ({copy}) select 1", "copy"),
    ("with x as (insert into stored_manifests values ('') returning *) from x", "insert"),
    ("with x as (delete from stored_manifests returning *) from x", "delete"),
    ("with x as (update stored_manifests set body = '' returning *) from x", "update"),
]


@pytest.mark.parametrize(("text", "step"), WRITERS)
def test_a_step_that_writes_is_refused_and_no_file_is_touched(root: Path, text: str, step: str) -> None:
    before = tree(root)
    with Warehouse(root) as warehouse:
        count = warehouse.rows("select count(*) from trials")[1]
        file = warehouse.live.files["trials"][0]
        with pytest.raises(QueryError, match=f"a query is one SELECT; this has: select, {step}"):
            warehouse.rows(text.format(copy=COPY.format(file=file)))
        assert warehouse.rows("select count(*) from trials")[1] == count
    assert tree(root) == before


@pytest.mark.parametrize(
    ("text", "reason", "fix"),
    [
        ("select 1; select 2", "this has 2 statements: select", "one statement at a time"),
        (
            "create table x(i int); drop table x; drop table x",
            "3 statements: create, drop",
            "views are read-only",
        ),
        ("drop view runs", "this has: drop", "views are read-only"),
        (" -- nothing", "there is no statement", "write one SELECT, such as: select * from runs"),
        ("", "there is no statement", "write one SELECT, such as: select * from runs"),
    ],
)
def test_a_refusal_says_what_there_is_once_and_what_helps(
    root: Path, text: str, reason: str, fix: str
) -> None:
    with Warehouse(root) as warehouse, pytest.raises(QueryError) as caught:
        warehouse.rows(text)
    (fault,) = caught.value.faults
    assert fault.message.endswith(reason)
    assert fault.fix == fix


@pytest.mark.parametrize(("text", "step"), WRITERS)
def test_a_view_of_the_user_cannot_hold_such_a_step(root: Path, text: str, step: str) -> None:
    (root / "sql").mkdir()
    with Warehouse(root) as warehouse:
        file = warehouse.live.files["trials"][0]
    query = text.format(copy=COPY.format(file=file))
    (root / "sql" / "mine.sql").write_text(f"create view mine as {query}")
    (root / "sql" / "ours.sql").write_text(f"create macro ours() as table {query}")
    before = tree(root)
    with Warehouse(root) as warehouse:
        for name in ("mine", "ours()"):
            with pytest.raises(QueryError):
                warehouse.rows(f"from {name}")
        assert len(warehouse.rows("from stored_manifests")[1]) == 3
    assert tree(root) == before


def test_steps_that_read_are_as_good_as_ever(root: Path) -> None:
    text = """
        with recursive
        first as (select 1 as n),
        pair as (from first union all select 2),
        counted as (select n from pair union all select n + 10 from counted where n < 10)
        select sum(n)::bigint from counted
    """
    with Warehouse(root) as warehouse:
        assert warehouse.rows(text)[1] == [(26,)]
