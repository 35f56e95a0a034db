"""The shell of `gradetrail sql`, driven through a real pseudo-terminal."""

from __future__ import annotations

import os
import re
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.cli.command import gradetrail

READY = "\x1b[?2004h"
"""What a prompt begins with, once: it asks the terminal to mark what is pasted."""
CONTINUED = "->"
ENDLESS = "select count(*) from range(1000000000000);"
DEAF = "select list_sum(list_transform(range(12000000 + i), lambda x: x * x)) from range(1) t(i);"
"""A single call, which does not look whether it should stop."""
ASLEEP = "select sleep_ms(60000);"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shell")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert gradetrail("demo", "ten_tasks").code == 0
    own = folder / "warehouse" / "sql"
    own.mkdir()
    (own / "best.sql").write_text("-- Mine.\ncreate view best as select model, mean from leaderboard limit 1")
    return folder / "warehouse"


class Terminal:
    """A terminal with the shell in it."""

    def __init__(self, warehouse: Path, home: Path, *arguments: str, **environment: str) -> None:
        kept = {name: value for name, value in os.environ.items() if name != "PAGER"}
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "gradetrail", "sql", *arguments],
            cwd=str(warehouse.parent),
            env={
                **kept,
                "PROMPT_TOOLKIT_NO_CPR": "1",
                "TERM": "xterm",
                "XDG_STATE_HOME": str(home),
                **environment,
            },
            dimensions=(30, 160),
            encoding="utf-8",
            timeout=60,
        )
        self.child.delaybeforesend = None
        self.child.expect_exact(READY)

    def said(self) -> str:
        """Wait for the next prompt; give what was printed before it."""
        self.child.expect_exact(READY)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", str(self.child.before))

    def ask(self, text: str) -> str:
        self.child.send(text + "\r")
        return self.said()

    def stop(self, query: str) -> None:
        """Interrupt a query that runs, and wait until the shell says so."""
        said = 1
        while said:
            self.child.send(query + "\r")
            self.child.expect_exact("\x1b[?2004l")
            # Ctrl-C is a signal, and no key any more, once the prompt has given the terminal back
            while not termios.tcgetattr(self.child.fileno())[3] & termios.ISIG:
                self.child.expect_exact([pexpect.TIMEOUT], timeout=0.02)
            said = 2
            while said == 2:
                self.child.sendintr()
                # one that comes while the prompt ends is lost, and one before the query begins drops it
                said = self.child.expect_exact(["the query was stopped", READY, pexpect.TIMEOUT], timeout=5)
        self.said()

    def leave(self) -> int:
        self.child.sendeof()
        self.child.expect(pexpect.EOF)
        self.child.close()
        return int(self.child.exitstatus)


@pytest.fixture
def terminal(warehouse: Path, tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(warehouse, tmp_path, "--param", "x=3")
    yield opened
    opened.child.close(force=True)


def test_a_query_is_answered_and_ctrl_d_leaves(terminal: Terminal) -> None:
    said = terminal.ask("select model, n from leaderboard order by model;")
    assert re.search(r"biased +10\r\nnoisy +10\r\nrule_based +10\r\n3 rows in \d", said)
    assert terminal.leave() == 0


@pytest.mark.parametrize("word", ["\\q", "exit", "quit", "QUIT;", "\\quit", "\\exit"])
def test_words_that_leave(terminal: Terminal, word: str) -> None:
    terminal.child.send(word + "\r")
    terminal.child.expect(pexpect.EOF)
    terminal.child.close()
    assert terminal.child.exitstatus == 0


@pytest.mark.parametrize("word", ["help", "help;", "\\help", "\\?"])
def test_words_that_help(terminal: Terminal, word: str) -> None:
    assert re.search(r"\\timeout SECONDS +how long", terminal.ask(word))


def test_a_command_of_another_shell_is_answered_at_once(terminal: Terminal) -> None:
    for word in (".help", ".tables", ".quit"):
        said = terminal.ask(word)
        assert f"no command `{word}`" in said
        assert "commands begin with `\\`: \\help" in said
    assert "no view" in terminal.ask("\\columns")


def test_a_query_goes_on_until_its_semicolon(terminal: Terminal) -> None:
    terminal.child.send("select 40 +\r")
    terminal.child.expect_exact(CONTINUED)
    terminal.child.send("$x::int as y, ';'\r")
    terminal.child.expect_exact(CONTINUED)
    assert "43" in terminal.ask(";")


def test_several_queries_in_one_entry_are_all_answered(terminal: Terminal) -> None:
    said = terminal.ask("select 'first' as a; select 'second' as b;")
    assert said.count("1 row in") == 2


def test_no_error_ends_it(terminal: Terminal) -> None:
    assert "syntax error" in terminal.ask("selec 1;")
    assert "did you mean `leaderboard`" in terminal.ask("from leaderbord;")
    assert "a query is one SELECT; this has: drop" in terminal.ask("drop view runs;")
    assert "no value for $y" in terminal.ask("select $y;")
    assert "no command `\\nope`" in terminal.ask("\\nope")
    assert "no format `xml`" in terminal.ask("\\format xml")
    assert "did you mean `history`" in terminal.ask("\\d histori")
    assert "Parquet is no text" in (terminal.ask("\\format parquet") + terminal.ask("select 1;"))
    terminal.ask("\\format csv")
    assert "42\r\n" in terminal.ask("select 42 as y;")


@pytest.mark.parametrize("query", [ENDLESS, DEAF, ASLEEP], ids=["endless", "deaf", "asleep"])
def test_ctrl_c_stops_the_query_and_not_the_shell(terminal: Terminal, query: str) -> None:
    terminal.stop(query)
    assert "42" in terminal.ask("select 42;")
    assert terminal.leave() == 0


def test_what_was_set_before_ctrl_c_is_still_set(terminal: Terminal) -> None:
    terminal.ask("\\format csv")
    terminal.stop(DEAF)
    assert "4,3\r\n" in terminal.ask("select 4 as a, $x as b;")
    terminal.child.send("select mean_answ\t")
    terminal.child.expect_exact("ered")
    assert "3 rows" in terminal.ask(" from leaderboard;")


def test_a_query_that_meets_a_limit_does_not_end_the_shell(warehouse: Path, tmp_path: Path) -> None:
    opened = Terminal(warehouse, tmp_path, "--timeout", "1", "--memory", "256MB")
    assert "it took more than 1 s" in opened.ask(ASLEEP)
    assert "it needs more than 256 MB of memory" in opened.ask("select length(repeat('a', 4000000000));")
    assert "42" in opened.ask("select 42;")
    assert opened.leave() == 0


def test_the_time_of_a_query_is_set_in_the_shell(terminal: Terminal) -> None:
    terminal.ask("\\timeout 1")
    said = terminal.ask(ASLEEP)
    assert "it took more than 1 s" in said
    assert "`\\timeout 2` gives it twice as long" in said
    assert "it took more than 1 s" in terminal.ask(ASLEEP)
    for text in ("", "soon", "0", "nan"):
        assert "is no time" in terminal.ask(f"\\timeout {text}")
    assert "4,3\r\n" in terminal.ask("\\format csv") + terminal.ask("select 4 as a, $x as b;")


def test_the_memory_of_a_query_is_set_in_the_shell(terminal: Terminal) -> None:
    terminal.ask("\\memory 256MB")
    said = terminal.ask("select length(repeat('a', 4000000000));")
    assert "it needs more than 256 MB of memory" in said
    assert "`\\memory 512MB` gives it twice as much" in said
    assert "no size" in terminal.ask("\\memory")
    for text in ("lots", "5MB"):
        assert f"`{text}` is no size of memory" in terminal.ask(f"\\memory {text}")
    # what is refused changes nothing
    assert "it needs more than 256 MB" in terminal.ask("select length(repeat('a', 4000000000));")
    assert "4,3\r\n" in terminal.ask("\\format csv") + terminal.ask("select 4 as a, $x as b;")


def test_wide_tables_are_cut_until_told_not_to(warehouse: Path, tmp_path: Path) -> None:
    opened = Terminal(warehouse, tmp_path, PAGER="cat")
    query = "select repeat('ab', 150) as x;"
    assert "…" in opened.ask(query)
    assert "nothing is cut" in opened.ask("\\wide")
    assert "ab" * 150 in opened.ask(query).replace("\r\n", "")
    opened.ask("\\wide")
    assert "…" in opened.ask(query)
    assert opened.leave() == 0


def cpu_ticks(pid: int) -> int:
    """Give the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.parametrize("query", [ENDLESS, ASLEEP], ids=["endless", "asleep"])
def test_ctrl_c_ends_a_single_query(warehouse: Path, tmp_path: Path, query: str) -> None:
    said = tmp_path / "err"
    child = pexpect.spawn(
        "/bin/sh",
        ["-c", f'exec "{sys.executable}" -m gradetrail sql "$0" --format csv 2> "{said}"', query[:-1]],
        cwd=str(warehouse.parent),
        encoding="utf-8",
        timeout=60,
    )
    # what waits for an answer uses no processor time
    used = [-1]
    while len(used) < 5 or used[-5:] != used[-1:] * 5 or used[-1] < 5:
        child.expect_exact([pexpect.TIMEOUT], timeout=0.1)
        used.append(cpu_ticks(child.pid))
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    # not from the terminal, which drops what it has not shown yet at Ctrl-C
    assert said.read_text() in ("error: the query was stopped\n", "interrupted\n")


def test_ctrl_c_at_the_prompt_drops_what_was_typed(terminal: Terminal) -> None:
    terminal.child.send("select 'dropped")
    terminal.child.expect_exact("dropped")
    terminal.child.sendintr()
    terminal.said()
    assert "42" in terminal.ask("select 42;")


def test_tab_completes_a_column_of_what_is_read(terminal: Terminal) -> None:
    terminal.child.send("select mean_answ\t")
    terminal.child.expect_exact("ered")
    assert "3 rows" in terminal.ask(" from leaderboard;")


def test_it_lists_views_and_says_their_columns(terminal: Terminal) -> None:
    terminal.child.send("\\views\r")
    terminal.child.expect_exact("Grades that are worth a second look")
    terminal.child.send("q")
    terminal.said()
    said = terminal.ask("\\d reliability_bins")
    assert "One row per (run_id, model, prompt, scorer, metric, binning, bin)" in said
    assert re.search(r"gap +DOUBLE +mean_confidence minus accuracy", said)


def test_text_longer_than_the_screen_goes_through_the_pager(warehouse: Path, tmp_path: Path) -> None:
    opened = Terminal(warehouse, tmp_path, PAGER="wc -l")
    assert re.search(r"^102\r$", opened.ask("from range(100);"), re.MULTILINE)
    assert "wc" not in opened.ask("from range(3);")
    opened.leave()


def test_ten_million_rows_are_cut_where_no_one_would_read_on(warehouse: Path, tmp_path: Path) -> None:
    opened = Terminal(warehouse, tmp_path, PAGER="tail -n 1")
    assert re.search(r"9,?999\r\nthe first 10,000 rows in", opened.ask("from range(10000000);"))
    opened.leave()


def test_what_a_model_wrote_cannot_drive_the_terminal(terminal: Terminal) -> None:
    said = terminal.ask("\\format csv") + terminal.ask("select 'a' || chr(27) || ']0;owned' as c;")
    assert "a\\u001b]0;owned" in said


def test_history_is_kept_for_the_next_time(warehouse: Path, tmp_path: Path) -> None:
    first = Terminal(warehouse, tmp_path)
    first.ask("select 'remembered' as r;")
    first.leave()
    path = tmp_path / "gradetrail" / "sql_history"
    assert "+select 'remembered' as r;" in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
    second = Terminal(warehouse, tmp_path)
    second.child.send("\x1b[A")
    second.child.expect_exact("remembered")
    assert "1 row in" in second.ask("")
    second.leave()


def test_a_state_folder_that_cannot_be_made_is_no_reason_to_refuse(warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    opened = Terminal(warehouse, tmp_path / "file")
    assert "42" in opened.ask("select 42;")
    opened.leave()


def test_results_go_to_the_file_that_was_named(warehouse: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    opened = Terminal(warehouse, tmp_path, "--format", "csv", "--output", str(target))
    assert "20,000 rows in" in opened.ask("from range(20000);")
    assert len(target.read_text().splitlines()) == 20_001
    opened.leave()


def test_a_new_run_is_seen_after_refresh(warehouse: Path, tmp_path: Path) -> None:
    count = "select count(*) || ' runs' as c from runs;"
    opened = Terminal(warehouse, tmp_path)
    before = int(re.findall(r"(\d+) runs", opened.ask(count))[-1])
    spec = warehouse.parent / "specs" / "ten_tasks" / "ten_tasks.yaml"
    assert gradetrail("run", spec, "--new", "--warehouse", warehouse).code == 0
    assert f"{before} runs" in opened.ask(count)
    opened.ask("\\refresh")
    assert f"{before + 1} runs" in opened.ask(count)
    opened.leave()


def test_without_a_terminal_nothing_is_asked(warehouse: Path) -> None:
    done = gradetrail("sql", "--format", "csv", "--warehouse", warehouse, stdin="select 42 as y")
    assert (done.code, done.out) == (0, "y\n42\n")
