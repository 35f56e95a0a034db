r"""`gradetrail sql` on a terminal: a prompt that asks one warehouse until it is left.

Invariant: no error ends it, and Ctrl-C stops a query, not the shell; only `\q`, `exit` and Ctrl-D leave.
What is typed runs in a process of its own; where that had to be ended, the next query starts another.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from gradetrail.cli.completion import WORDS, SqlCompleter, is_whole, names_in
from gradetrail.cli.manner import MANNER
from gradetrail.cli.output import Format, formatted, say, screen_width, tell_damage
from gradetrail.cli.pager import page
from gradetrail.cli.streaming import print_query
from gradetrail.cli.views import prose_table, view_rows
from gradetrail.errors import Fault, GradetrailError, LimitError, SelectionError, did_you_mean

if TYPE_CHECKING:
    from gradetrail.warehouse.locked import LockedWarehouse

MOST_ROWS = 10_000
"""Rows that are shown; a file gets all of them."""
COMMANDS = {
    "\\views": "every view and table, and what it says",
    "\\d VIEW": "the columns of a view",
    "\\format FORMAT": f"how results are printed: {', '.join(Format)}",
    "\\timeout SECONDS": "how long a query may take",
    "\\memory SIZE": "what a query may use: 512MB, 8GB",
    "\\wide": "cut nothing of a table, or cut again; the pager scrolls to the side",
    "\\refresh": "read what was stored since",
    "\\help": "this",
    "\\q": "leave, as Ctrl-D does",
}
GREETING = (
    "A query ends with `;`. \\views lists what there is, \\help the commands; Tab completes, Ctrl-D leaves."
)


@dataclass(frozen=True, slots=True)
class Setup:
    """What the shell was started with."""

    reopen: Callable[[float | None, str | None], LockedWarehouse]
    """Open the warehouse as it is now, with the seconds and memory a query may take; None is the usual."""
    params: Callable[[LockedWarehouse], Mapping[str, Any]]
    """Values for `$name`, which may depend on what is there now."""
    form: Format
    timeout_s: float | None
    memory: str | None
    output: Path | None
    """File that each result is written to, instead of the screen."""


def history_file() -> Path:
    """Name the file of what was typed: in $XDG_STATE_HOME, else ~/.local/state."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "gradetrail" / "sql_history"


def _history() -> History:
    path = history_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


class Shell:
    """Asks one warehouse; a context manager that closes it."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._form = setup.form
        self._timeout_s, self._memory = setup.timeout_s, setup.memory
        self._opened = setup.reopen(self._timeout_s, self._memory)
        self._params = setup.params(self._opened)
        is_open = Condition(lambda: not is_whole(get_app().current_buffer.text))
        self._session: PromptSession[str] = PromptSession(
            "gradetrail> ",
            history=_history(),
            multiline=is_open,
            prompt_continuation=lambda width, _line, _wrapped: "-> ".rjust(width),
            complete_while_typing=False,
            completer=self._completer(),
        )

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def _completer(self) -> ThreadedCompleter:
        words = [command.partition(" ")[0] for command in COMMANDS]
        opened = self._opened
        return ThreadedCompleter(SqlCompleter(lambda: names_in(opened), words, Format, self._params))

    def talk(self) -> None:
        """Answer what is typed, until the user leaves."""
        say(GREETING)
        while True:
            try:
                text = self._session.prompt().strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            word = text.rstrip(";").strip().lower()
            text = WORDS.get(word, text)
            if text.rstrip(";").strip() == "\\q":
                return
            self._answer_safely(text)

    def _answer_safely(self, text: str) -> None:
        try:
            self._answer(text)
        except LimitError as error:
            say(f"error: {error}".replace("`--timeout ", "`\\timeout ").replace("`--memory ", "`\\memory "))
        except GradetrailError as error:
            say(f"error: {error}")
        except KeyboardInterrupt:
            say("stopped")
        except Exception as error:
            if os.environ.get("GRADETRAIL_DEBUG"):
                import traceback

                say(traceback.format_exc())
            say(f"internal error: {type(error).__name__}: {error}")

    def _answer(self, text: str) -> None:
        if text.startswith("\\"):
            self._obey(*re.match(r"(\S+)\s*(.*)", text.rstrip("; "), re.DOTALL).groups())  # type: ignore[union-attr]
            return
        if text.startswith("."):
            raise SelectionError(Fault(f"no command `{text}`", fix="commands begin with `\\`: \\help"))
        for query in self._opened.statements(text):
            self._ask(query)

    def _ask(self, query: str) -> None:
        opened, output = self._opened, self._setup.output
        begun = monotonic()
        if output is not None or self._form is Format.parquet:
            n_rows = print_query(opened, query, self._params, self._form, output)
            say(f"{_count(n_rows)} in {monotonic() - begun:.2f} s")
        else:
            # one more than is shown, to know whether there are more
            names, rows = opened.rows(query, self._params, most=MOST_ROWS + 1)
            asked_s = monotonic() - begun
            page(formatted(names, rows[:MOST_ROWS], self._form))
            is_cut = len(rows) > MOST_ROWS
            say(f"{f'the first {MOST_ROWS:,} rows' if is_cut else _count(len(rows))} in {asked_s:.2f} s")
        tell_damage(opened)

    def _obey(self, command: str, rest: str) -> None:
        if command == "\\views":
            page(prose_table(*view_rows(self._opened.root, None), screen_width()))
        elif command in ("\\d", "\\columns"):
            if not rest:
                raise SelectionError(Fault("no view", "\\d", fix="\\d leaderboard; \\views lists them"))
            page(prose_table(*view_rows(self._opened.root, rest), screen_width()))
        elif command == "\\format":
            if rest not in list(Format):
                raise SelectionError(Fault(f"no format `{rest}`", "\\format", fix=did_you_mean(rest, Format)))
            self._form = Format(rest)
        elif command == "\\timeout":
            self._refresh(_seconds(rest), self._memory)
        elif command == "\\memory":
            self._refresh(self._timeout_s, _size(rest))
        elif command == "\\wide":
            MANNER.is_wide = not MANNER.is_wide
            say("nothing is cut" if MANNER.is_wide else "tables are cut to the terminal")
        elif command == "\\refresh":
            self._refresh(self._timeout_s, self._memory)
        elif command in ("\\help", "\\h", "\\?"):
            say("\n".join(f"{name:<16} {what}" for name, what in COMMANDS.items()))
        else:
            known = [name.partition(" ")[0] for name in COMMANDS]
            raise SelectionError(Fault(f"no command `{command}`", fix=did_you_mean(command, known)))

    def _refresh(self, timeout_s: float | None, memory: str | None) -> None:
        """Ask the warehouse as it is now, within new limits; what cannot be opened changes nothing."""
        opened = self._setup.reopen(timeout_s, memory)
        try:
            params = self._setup.params(opened)
        except BaseException:
            opened.close()
            raise
        self._opened.close()
        self._opened, self._params = opened, params
        self._timeout_s, self._memory = timeout_s, memory
        self._session.completer = self._completer()


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds < float("inf"):
        raise SelectionError(Fault(f"`{text}` is no time", "\\timeout", fix="write \\timeout 60"))
    return seconds


def _size(text: str) -> str:
    if not text:
        raise SelectionError(Fault("no size", "\\memory", fix="write \\memory 512MB"))
    return text


def _count(n: int) -> str:
    return f"{n:,} row" if n == 1 else f"{n:,} rows"
