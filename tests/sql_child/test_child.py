"""SQL of others in a process of its own: it gets its rows or a reason, and takes nothing with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gradetrail.errors import InterruptError, QueryError
from gradetrail.sql_child import ChildLostError, Limits, SqlChild

LIMITS = Limits(wall_s=30, cpu_s=20, memory_mb=400, result_mb=5)


@pytest.fixture(scope="module")
def child() -> Iterator[SqlChild]:
    with SqlChild(LIMITS) as opened:
        opened.put("answer", pa.table({"row": [1, 2, 3], "text": ["a", "b", None]}))
        yield opened


def test_it_answers_about_the_tables_that_it_was_given(child: SqlChild) -> None:
    found = child.query("select row, text || '!' as said from answer where row >= $least", {"least": 2})
    assert found.to_pylist() == [{"row": 2, "said": "b!"}, {"row": 3, "said": None}]


def test_a_table_takes_the_place_of_the_one_before(child: SqlChild) -> None:
    for number in (1, 2):
        child.put("again", pa.table({"n": [number]}))
        assert child.query("select n from again").to_pylist() == [{"n": number}]


def test_it_reads_the_files_that_it_was_given_and_no_other(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine.parquet", tmp_path / "other.parquet"
    for file in (mine, other):
        pq.write_table(pa.table({"n": [7]}), file)
    with SqlChild(LIMITS, files=[str(mine)]) as opened:
        assert opened.query(f"select n from '{mine}'").to_pylist() == [{"n": 7}]
        with pytest.raises(QueryError, match="Permission"):
            opened.query(f"select n from '{other}'")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("select nothing", "nothing"),
        ("select 1; select 2", "one SELECT"),
        ("set threads = 1", "one SELECT"),
        ("copy (select 1) to 'x.csv'", "one SELECT"),
        ("explain analyze copy (select 1) to 'x.csv'", "one SELECT"),
        ("select * from read_text('/etc/passwd')", "Permission"),
        ("select * from read_csv('http://127.0.0.1/x.csv')", "Permission|disabled|extension"),
        ("select repeat('a', 4000000000)", "more than 400 MB of memory"),
        ("select len(range(1, 400000000))", "more than 400 MB of memory"),
        ("from range(2000000)", "larger than 5 MB"),
        ("select $x", "x"),
    ],
)
def test_what_it_refuses_it_survives(child: SqlChild, text: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        child.query(text)
    assert child.query("select 1 as n").to_pylist() == [{"n": 1}]


def test_it_sees_no_secret(child: SqlChild, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with SqlChild(LIMITS) as opened:
        environment = Path(f"/proc/{opened.pid}/environ").read_bytes()
    assert b"secret" not in environment
    assert b"PATH=" in environment


def test_a_statement_that_sleeps_ends_at_the_wall_limit() -> None:
    opened = SqlChild(Limits(wall_s=0.2))
    with pytest.raises(ChildLostError, match=r"more than 0\.2 s"):
        opened.query("select sleep_ms(60000)")
    assert is_gone(opened.pid)


def test_a_statement_that_computes_ends_at_its_processor_time() -> None:
    opened = SqlChild(Limits(wall_s=60, cpu_s=1))
    with pytest.raises(ChildLostError, match="more than 1 s of processor time"):
        opened.query("select count(*) from range(1000000000000) as t(i) where hash(i) = 3")
    assert is_gone(opened.pid)


def test_each_statement_has_processor_time_of_its_own() -> None:
    with SqlChild(Limits(wall_s=60, cpu_s=1)) as opened:
        while processor_seconds(opened.pid) < 3:
            opened.query("select sum(hash(i)) from range(5000000) as t(i)")


def test_a_process_that_is_killed_is_told(child: SqlChild) -> None:
    opened = SqlChild(LIMITS)
    os.kill(opened.pid, signal.SIGKILL)
    with pytest.raises(ChildLostError, match="SIGKILL"):
        opened.query("select 1")
    assert child.query("select 1 as n").to_pylist() == [{"n": 1}]


def test_ctrl_c_stops_it_at_once() -> None:
    opened = SqlChild(LIMITS)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    began = time.monotonic()
    with pytest.raises(InterruptError):
        opened.query("select sleep_ms(60000)")
    assert time.monotonic() - began < 10
    assert is_gone(opened.pid)


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    said = tmp_path / "pid"
    program = (
        "import sys, pathlib, os\n"
        "from gradetrail.sql_child import SqlChild\n"
        "child = SqlChild()\n"
        f"pathlib.Path({str(said)!r}).write_text(str(child.pid))\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    pid = int(said.read_text())
    deadline = time.monotonic() + 30
    while not is_gone(pid):
        assert time.monotonic() < deadline, "the child outlived its parent"


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"
