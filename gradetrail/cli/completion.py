"""What the shell's Tab key knows: views, tables, macros, columns, parameters and the shell's own words.

Invariant: after `from` and `join` stand relations only; elsewhere the columns of what the query reads
come first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from gradetrail import sql
from gradetrail.warehouse.locked import LockedWarehouse

KEYWORDS = (
    "all and any_value as asc avg between by case count cross cast date desc describe distinct else "
    "end except exists filter first from full group having ilike in inner interval is join lateral "
    "left like limit max median min not null offset on or order outer over partition pivot qualify "
    "quantile_cont right round sample select semi stddev sum then timestamp true false union unnest "
    "unpivot using values when where window with"
).split()
WORDS = {"exit": "\\q", "quit": "\\q", "\\exit": "\\q", "\\quit": "\\q", "help": "\\help"}
"""What people type who do not know the commands, each with the command that is meant."""
_WORD = re.compile(r"[$\\]?\w*$")
_READS = re.compile(r"\b(?:from|join)\s+[$\\]?\w*$", re.IGNORECASE)
_PIECE = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(\$[a-z_]*\$).*?\1|/\*|\$\$|.", re.DOTALL
)


def is_whole(text: str) -> bool:
    r"""Tell whether Enter ends what was typed: a query up to its `;`, a command, `exit`, or nothing."""
    if not text.strip() or text.lstrip().startswith(("\\", ".")) or text.strip().lower() in WORDS:
        return True
    last = ""
    for found in _PIECE.finditer(text):
        piece = found[0]
        if piece in ("'", '"', "/*", "$$"):
            return False
        if piece.strip() and not piece.startswith(("--", "/*")):
            last = piece
    return last == ";"


@dataclass(frozen=True, slots=True)
class Names:
    """What a warehouse's queries may name."""

    columns: dict[str, list[str]] = field(default_factory=dict)
    """By view or table."""
    macros: list[str] = field(default_factory=list)
    table_macros: list[str] = field(default_factory=list)


def names_in(opened: LockedWarehouse) -> Names:
    """Look up every name of a warehouse's catalog, the user's included."""
    views = list(opened.views())
    known = {stem for layer in ("macros", "views") for stem in sql.names(layer)}
    wanted = {"relations": views, "macros": sorted(known | set(views))}
    found = Names({view: [] for view in views})
    for kind, name, column in opened.file_rows("commands/completions", wanted)[1]:
        if kind == "column":
            found.columns[name].append(column)
        elif kind in ("macro", "table_macro"):
            (found.macros if kind == "macro" else found.table_macros).append(name)
            # the user's macros are listed beside views
            if not found.columns.get(name):
                found.columns.pop(name, None)
    return found


class SqlCompleter(Completer):
    """Completes names of one warehouse, which are looked up at the first Tab."""

    def __init__(
        self,
        look: Callable[[], Names],
        commands: Iterable[str],
        formats: Iterable[str],
        params: Iterable[str],
    ) -> None:
        self._look = look
        self._commands, self._formats = sorted(commands), sorted(formats)
        self._params = sorted(f"${name}" for name in params)

    @cached_property
    def _names(self) -> Names:
        return self._look()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002
        """Yield what may stand at the cursor."""
        before = document.text_before_cursor
        match = _WORD.search(before)
        word = match[0] if match else ""
        for name, kind in self._fitting(before, document.text):
            if name.lower().startswith(word.lower()):
                yield Completion(name, start_position=-len(word), display_meta=kind)

    def _fitting(self, before: str, text: str) -> Iterator[tuple[str, str]]:
        if before.startswith("\\"):
            command, space, _ = before.partition(" ")
            choices = {"\\format": self._formats, "\\d": sorted(self._names.columns)}
            yield from ((name, "") for name in (choices.get(command, []) if space else self._commands))
            return
        if _READS.search(before):
            yield from self._relations()
            return
        words = set(re.findall(r"\w+", text.lower()))
        read = [view for view in self._names.columns if view in words] or list(self._names.columns)
        seen = dict.fromkeys(column for view in read for column in self._names.columns[view])
        yield from ((name, "column") for name in sorted(seen))
        yield from self._relations()
        yield from ((f"{name}(", "macro") for name in self._names.macros)
        yield from ((name, "parameter") for name in self._params)
        yield from ((word, "") for word in KEYWORDS)

    def _relations(self) -> Iterator[tuple[str, str]]:
        yield from ((name, "view") for name in sorted(self._names.columns))
        yield from ((f"{name}(", "view") for name in self._names.table_macros)
