"""A warehouse that is asked from another process answers like one that is not, and outlives its process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradetrail.errors import LimitError, QueryError, SelectionError, StoreError, UnusableError
from gradetrail.sql_child import ChildLostError
from gradetrail.warehouse import Warehouse
from gradetrail.warehouse.locked import LockedWarehouse, limits_of
from tests.warehouse.conftest import NEW, OLD, OTHER

READ = "select run_id from responses where text <> ''"
TEXTS = "select distinct run_id from responses where text <> '' order by all"


def damage(path: Path) -> None:
    """Turn over every bit of its first pages."""
    data = path.read_bytes()
    path.write_bytes(data[:4] + bytes(byte ^ 0xFF for byte in data[4:400]) + data[400:])


@pytest.fixture
def opened(root: Path) -> Iterator[LockedWarehouse]:
    with LockedWarehouse(root, limits=limits_of(60, 512)) as warehouse:
        yield warehouse


def test_it_answers_like_a_warehouse_in_this_process(root: Path, opened: LockedWarehouse) -> None:
    with Warehouse(root) as near:
        for text in ("from leaderboard", "from runs", "from trials order by all", "describe graded"):
            assert opened.rows(text) == near.rows(text)
        assert opened.views() == near.views()
        assert opened.run_id("t@latest") == near.run_id("t@latest")


def test_a_damaged_page_is_named_and_left_out(root: Path, opened: LockedWarehouse) -> None:
    path = root / "responses" / f"{OLD}.1.parquet"
    damage(path)
    assert opened.rows(TEXTS)[1] == [(NEW,), (OTHER,)]
    assert [fault.where for fault in opened.damaged] == [str(path)]


def test_rows_after_the_last_beginning_are_whole(root: Path, opened: LockedWarehouse) -> None:
    damage(root / "responses" / f"{OLD}.1.parquet")
    seen: list[list[tuple[object, ...]]] = []
    query = f"select i::varchar as t from range(200000) s(i) union all ({READ})"
    opened.each(query, {}, lambda _: seen.append([]), lambda rows: seen[-1].extend(rows))  # noqa: PLW0108
    assert len(seen[-1]) == 200_000 + len(opened.rows(READ)[1])


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (lambda opened: opened.rows("select nope"), QueryError),
        (lambda opened: opened.rows("select $x"), QueryError),
        (lambda opened: opened.run_id("no such run"), SelectionError),
        (lambda opened: opened.check_view("no such view"), SelectionError),
        (lambda opened: opened.rows("select length(repeat('a', 4000000000))"), LimitError),
    ],
)
def test_what_is_refused_there_is_the_same_error_here(opened: LockedWarehouse, ask, kind) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(kind) as caught:
        ask(opened)
    assert type(caught.value) is kind
    assert opened.rows("select 1")[1] == [(1,)]


def test_a_folder_that_is_no_warehouse_is_refused_as_everywhere(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as near:
        Warehouse(tmp_path / "none")
    with pytest.raises(StoreError) as far:
        LockedWarehouse(tmp_path / "none")
    assert str(far.value) == str(near.value)


def test_a_process_that_was_killed_is_replaced_at_the_next_question(opened: LockedWarehouse) -> None:
    before = opened.pid
    os.kill(before, signal.SIGKILL)
    for _ in range(2):
        try:
            assert opened.rows("select count(*) from trials")[1] == [(20,)]
        except ChildLostError:
            continue
    assert opened.pid != before


def test_a_reader_that_fails_does_not_leave_the_next_one_its_rows(opened: LockedWarehouse) -> None:
    def fail(_: object) -> None:
        raise UnusableError("enough")

    with pytest.raises(UnusableError):
        opened.each("from range(1000000)", {}, lambda _: None, fail)
    assert opened.rows("select 7")[1] == [(7,)]


def test_its_temporary_folder_goes_with_it(root: Path) -> None:
    with LockedWarehouse(root) as opened:
        environment = Path(f"/proc/{opened.pid}/environ").read_bytes().split(b"\0")
        (scratch,) = [Path(os.fsdecode(one[7:])) for one in environment if one.startswith(b"TMPDIR=")]
        assert scratch.is_dir()
        opened.rows("select 1")
    assert not scratch.exists()


def test_it_sees_no_secret(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with LockedWarehouse(root) as opened:
        assert b"secret" not in Path(f"/proc/{opened.pid}/environ").read_bytes()
