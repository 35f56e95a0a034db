"""What Tab offers, and when Enter ends a query."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from gradetrail.cli.completion import SqlCompleter, is_whole, names_in
from gradetrail.store import Store
from gradetrail.warehouse.locked import LockedWarehouse


@pytest.fixture(scope="module")
def completer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlCompleter]:
    root = tmp_path_factory.mktemp("completion") / "warehouse"
    Store(root)
    (root / "sql").mkdir()
    (root / "sql" / "mine.sql").write_text("-- Mine.\ncreate view mine as select 1 as my_column")
    (root / "sql" / "twice.sql").write_text("create macro twice(x) as 2 * x")
    with LockedWarehouse(root) as opened:
        names = names_in(opened)
        yield SqlCompleter(lambda: names, ["\\d", "\\views"], ["csv", "table"], ["run"])


def offered(completer: SqlCompleter, text: str, after: str = "") -> list[str]:
    document = Document(text + after, cursor_position=len(text))
    return [found.text for found in completer.get_completions(document, CompleteEvent())]


def test_after_from_and_join_stand_relations_only(completer: SqlCompleter) -> None:
    assert offered(completer, "from leader") == ["leaderboard"]
    assert offered(completer, "select 1 from runs join run_sc") == ["run_scores"]
    assert "mine" in offered(completer, "FROM ")
    assert "diff(" in offered(completer, "from d")
    assert "select" not in offered(completer, "from ")


def test_columns_of_what_is_read_come_first_and_no_others(completer: SqlCompleter) -> None:
    assert offered(completer, "select my", " from mine")[0] == "my_column"
    assert offered(completer, "select mean_b", " from mine") == []
    assert offered(completer, "select mean_b", " from leaderboard") == ["mean_best"]
    assert "mean_best" in offered(completer, "select mean_b")


def test_macros_parameters_keywords_and_commands(completer: SqlCompleter) -> None:
    assert offered(completer, "select twi") == ["twice("]
    assert "pass_at_k(" in offered(completer, "select pass_")
    assert offered(completer, "from runs where run_id = $r") == ["$run"]
    assert "qualify" in offered(completer, "from runs quali")
    assert offered(completer, "\\") == ["\\d", "\\views"]
    assert offered(completer, "\\format c") == ["csv"]
    assert offered(completer, "\\d reliab") == ["reliability_bins"]


@pytest.mark.parametrize(
    "text",
    ["", "  ", "select 1;", "select 1 ; ", "\\views", "exit", "select 1; -- done", "select ';';",
     "select 1; /* a */", "select $$ ; $$;", 'select 1 as ";";'],
)  # fmt: skip
def test_enter_ends_what_is_whole(text: str) -> None:
    assert is_whole(text)


@pytest.mark.parametrize(
    "text",
    ["select 1", "select ';", "select 1 -- ;", "select /* ;", "select $$ ;", 'select 1 as ";', "select ';'"],
)
def test_enter_goes_on_where_something_is_open(text: str) -> None:
    assert not is_whole(text)
