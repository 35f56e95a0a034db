"""Every file of sql/ says what it is, and DuckDB takes it."""

import re

import pytest

from gradetrail import sql
from gradetrail.store import Live
from gradetrail.store.schema import TABLES
from gradetrail.warehouse.catalog import Catalog, open_catalog

EMPTY = Live(files={}, loose={}, manifests=[], scorers=[], tasks=[], damaged=[], running=set())
FILES = sorted(
    path.relative_to(sql.sql_root()).with_suffix("").as_posix() for path in sql.sql_root().glob("*/*.sql")
)
OBJECTS = sql.everything()
RELATIONS = [name for name in OBJECTS if not sql.is_macro(name)]
DESCRIBED = [name for name in RELATIONS if name.startswith(("base/", "views/"))]
CHECKS = [f"checks/{stem}" for stem in sql.names("checks")]


@pytest.fixture(scope="module")
def con():
    opened = open_catalog(EMPTY, with_comments=True)
    yield opened
    opened.close()


def header(name: str) -> list[str]:
    return sql.text_of(name).split("\n")[:4]


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_four_header_lines(name):
    lines = header(name)
    assert all(re.match(r"-- \S", line) for line in lines), lines


@pytest.mark.parametrize("name", OBJECTS)
def test_a_source_is_cited(name):
    assert header(name)[3].startswith("-- Source: ")


@pytest.mark.parametrize("name", [name for name in OBJECTS if not name.startswith("macros/")])
def test_a_relation_states_its_grain(name):
    assert header(name)[1].startswith("-- One row per ")


@pytest.mark.parametrize("name", OBJECTS)
def test_a_file_creates_one_object_of_its_own_name(name):
    stem = name.partition("/")[2]
    created = re.findall(r"^create or replace (?:view|table|macro) (\w+)", sql.text_of(name), re.MULTILINE)
    assert created == [stem]


@pytest.mark.parametrize("name", OBJECTS)
def test_a_file_reads_no_later_layer(name):
    layer = sql.LAYERS.index(name.partition("/")[0])
    assert [read for read in sql.needs(name) if sql.LAYERS.index(read.partition("/")[0]) > layer] == []


@pytest.mark.parametrize("name", RELATIONS)
def test_an_empty_warehouse_has_no_rows(con, name):
    assert con.execute(f"from {name.partition('/')[2]}").fetchall() == []


def test_objects_can_be_made_one_by_one_in_any_order():
    catalog = Catalog(EMPTY)
    for name in reversed(OBJECTS):
        catalog.provide(name.partition("/")[2])
    catalog.close()


@pytest.mark.parametrize("name", [name for name in OBJECTS if name.startswith("views/")])
def test_a_view_can_be_made_with_only_what_it_reads(name):
    catalog = Catalog(EMPTY)
    catalog.provide(name.partition("/")[2])
    catalog.close()


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_view_and_all_its_columns_have_comments(con, name):
    stem = name.partition("/")[2]
    (said,) = con.execute(
        "select comment from duckdb_views() where view_name = $n"
        " union all select comment from duckdb_tables() where table_name = $n",
        {"n": stem},
    ).fetchone()
    assert said == sql.summary_of(name)
    bare = con.execute(
        "select column_name from duckdb_columns() where table_name = $n and comment is null", {"n": stem}
    ).fetchall()
    assert bare == []


@pytest.mark.parametrize("name", [n for n in OBJECTS if n.startswith("views/") and sql.is_macro(n)])
def test_a_macro_with_rows_says_at_its_end_what_each_column_is(con, name):
    stem = name.partition("/")[2]
    ((parameters,),) = con.execute(
        "select parameters from duckdb_functions() where function_name = $n", {"n": stem}
    ).fetchall()
    columns = con.execute(
        f"describe select * from {stem}({', '.join('null' for _ in parameters)})"
    ).fetchall()
    assert list(sql.column_notes(name)) == [column[0] for column in columns]


@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_base_view_has_the_stored_columns_and_what_the_schema_says_of_them(con, table):
    found = con.execute(
        "select column_name, data_type, comment from duckdb_columns()"
        " where table_name = $n order by column_index",
        {"n": table},
    ).fetchall()
    types = {"TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}
    assert found == [(c.name, types.get(c.type, c.type), c.doc) for c in TABLES[table]]


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_finds_nothing_in_an_empty_warehouse(con, name):
    assert con.execute(sql.text_of(name)).fetchall() == []
