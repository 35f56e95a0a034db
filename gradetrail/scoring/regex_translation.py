"""Turns a pattern of Python's `re` into one of RE2 with the same matches, groups and order of preference.

Invariant: what is translated finds in every text what Python finds, in the same place; what cannot be
is refused with the reason, and runs in Python. Code points that Unicode gained after the tables of the
running Python are the one exception: the two engines know different ones.

The pattern is read by Python's own parser, so that every shorthand means what it means there.
"""

from __future__ import annotations

import re
import re._constants as op  # type: ignore[import-not-found]  # `re` itself does not give the parse tree
import re._parser as parser  # type: ignore[import-not-found]
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

WORD = r"\p{L}\p{N}_"
DIGIT = r"\p{Nd}"
SPACE = r"\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
SPACES = (
    *range(9, 14),
    *range(28, 33),
    0x85,
    0xA0,
    0x1680,
    *range(0x2000, 0x200B),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
)
MAX_REPEAT = 1000
"""RE2 refuses more."""
LAST_CASED = 0x1E943
"""No code point beyond it has two cases."""

Node = tuple[Any, Any]


class UntranslatableError(ValueError):
    """A pattern that RE2 cannot express; says which part."""


@dataclass(frozen=True, slots=True)
class Translation:
    """An RE2 pattern and how to read its matches."""

    pattern: str
    whole: int
    """Number of the RE2 group that is Python's whole match."""
    group: int
    """Number of the RE2 group that is Python's group 1, or the whole match where there is none."""
    is_ascii_only: bool
    r"""Equal to Python's on plain ASCII text alone: `\b` means another thing elsewhere."""
    is_never_empty: bool
    """Whether `group` takes part in every match and is never empty, so that '' means no match."""
    can_match_empty: bool
    """Whether the whole match can be empty; then the engines walk through a text differently."""


@lru_cache(maxsize=4096)
def translate(pattern: str, flags: int = 0) -> Translation:
    """Translate; raises UntranslatableError, and re.error where Python does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parser.parse(pattern, flags)
    bits = tree.state.flags
    if bits & (re.ASCII | re.LOCALE):
        raise UntranslatableError("the ASCII or LOCALE flag")
    items = list(tree)
    writer = _Writer()
    ends_in_dollar = bool(items) and items[-1] == (op.AT, op.AT_END) and not bits & re.MULTILINE
    body = writer.sequence(items[:-1] if ends_in_dollar else items, bits)
    text = rf"({body})\n?\z" if ends_in_dollar else body
    shift = int(ends_in_dollar)
    n_groups = tree.state.groups - 1
    width = tree.getwidth()[0]
    is_never_empty = _is_never_empty(items) if n_groups else width > 0
    return Translation(
        pattern=text,
        whole=shift,
        group=shift + 1 if n_groups else shift,
        is_ascii_only=writer.is_ascii_only,
        is_never_empty=is_never_empty,
        can_match_empty=width == 0,
    )


def _is_never_empty(items: Sequence[Node]) -> bool:
    """Say whether group 1 stands on every way through a pattern and takes at least one character."""
    for kind, argument in items:
        if kind is op.SUBPATTERN:
            group, _, _, inner = argument
            if group == 1:
                return bool(inner.getwidth()[0] > 0)
            if _is_never_empty(list(inner)):
                return True
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT) and argument[0] and _is_never_empty(list(argument[2])):
            return True
    return False


def _literal(code: int) -> str:
    if 0xD800 <= code <= 0xDFFF:
        raise UntranslatableError("a lone surrogate")
    return rf"\x{{{code:x}}}"


class _Writer:
    """Writes the parse tree as RE2; notes what holds on ASCII text alone."""

    def __init__(self) -> None:
        self.is_ascii_only = False

    def sequence(self, items: Sequence[Node], flags: int) -> str:
        return "".join(self.node(kind, argument, flags) for kind, argument in items)

    def node(self, kind: Any, argument: Any, flags: int) -> str:
        if kind is op.LITERAL or kind is op.NOT_LITERAL:
            body = _literal(argument)
            if flags & re.IGNORECASE:
                body = "".join(map(_literal, _same_but_for_case(argument)))
            if kind is op.LITERAL and body.count("\\") == 1:
                return body
            return f"[^{body}]" if kind is op.NOT_LITERAL else f"[{body}]"
        if kind is op.ANY:
            return "(?s:.)" if flags & re.DOTALL else r"[^\n]"
        if kind is op.IN:
            return _class(argument, bool(flags & re.IGNORECASE))
        if kind is op.BRANCH:
            return "(?:" + "|".join(self.sequence(list(item), flags) for item in argument[1]) + ")"
        if kind is op.SUBPATTERN:
            group, added, removed, inner = argument
            text = self.sequence(list(inner), (flags | added) & ~removed)
            return f"({'' if group is not None else '?:'}{text})"
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            return self.repeat(argument, flags, is_lazy=kind is op.MIN_REPEAT)
        if kind is op.AT:
            return self.position(argument, flags)
        raise UntranslatableError(_NAMES.get(kind, str(kind).lower()))

    def repeat(self, argument: Any, flags: int, *, is_lazy: bool) -> str:
        low, high, inner = argument
        unbounded = high is op.MAXREPEAT
        if low > MAX_REPEAT or (not unbounded and high > MAX_REPEAT):
            raise UntranslatableError("a repeat of more than 1,000")
        if (unbounded or high > 1) and inner.getwidth()[0] == 0:
            raise UntranslatableError("a repeat of what may be empty")
        count = {(0, True): "*", (1, True): "+"}.get((low, unbounded))
        if count is None:
            count = "?" if (low, high) == (0, 1) else f"{{{low},{'' if unbounded else high}}}"
        return f"(?:{self.sequence(list(inner), flags)}){count}{'?' if is_lazy else ''}"

    def position(self, argument: Any, flags: int) -> str:
        if argument is op.AT_BEGINNING:
            return "(?m:^)" if flags & re.MULTILINE else r"\A"
        if argument is op.AT_BEGINNING_STRING:
            return r"\A"
        if argument is op.AT_END_STRING:
            return r"\z"
        if argument is op.AT_END:
            if not flags & re.MULTILINE:
                raise UntranslatableError("`$` before the end of the pattern")
            return "(?m:$)"
        self.is_ascii_only = True
        return r"\b" if argument is op.AT_BOUNDARY else r"\B"


_NAMES = {
    op.ASSERT: "look-ahead or look-behind",
    op.ASSERT_NOT: "negative look-ahead or look-behind",
    op.GROUPREF: "a back-reference",
    op.GROUPREF_EXISTS: "a conditional group",
    op.FAILURE: "a part that never matches",
    op.ATOMIC_GROUP: "an atomic group",
    op.POSSESSIVE_REPEAT: "a possessive repeat",
}

_CATEGORIES = {
    op.CATEGORY_WORD: ("w", False),
    op.CATEGORY_NOT_WORD: ("w", True),
    op.CATEGORY_DIGIT: ("d", False),
    op.CATEGORY_NOT_DIGIT: ("d", True),
    op.CATEGORY_SPACE: ("s", False),
    op.CATEGORY_NOT_SPACE: ("s", True),
}
_BODIES = {"w": WORD, "d": DIGIT, "s": SPACE}


def _class(items: Sequence[Node], ignores_case: bool) -> str:
    """Write `[...]`; a negated class that holds a negated category is a difference of sets."""
    is_negated = any(kind is op.NEGATE for kind, _ in items)
    members = [(kind, argument) for kind, argument in items if kind is not op.NEGATE]
    codes: list[str] = []
    without: list[str] = []
    for kind, argument in members:
        if kind is op.LITERAL:
            codes.append(_literal(argument))
        elif kind is op.RANGE:
            codes.append(f"{_literal(argument[0])}-{_literal(argument[1])}")
        else:
            name, is_complement = _CATEGORIES[argument]
            (without if is_complement else codes).append(name if is_complement else _BODIES[name])
    if ignores_case:
        codes.extend(_literal(code) for code in _cased_members(_source(members)))
    if not without:
        return f"[{'^' if is_negated else ''}{''.join(codes)}]"
    if is_negated:
        return _difference(without, members)
    parts = [f"[{''.join(codes)}]"] if codes else []
    return "(?:" + "|".join(parts + [f"[^{_BODIES[name]}]" for name in without]) + ")"


def _difference(without: Sequence[str], members: Sequence[Node]) -> str:
    r"""Write `[^\S...]` and `[^\W...]`: white space or word characters but for what else is named."""
    rest = [item for item in members if item[0] is not op.CATEGORY or not _CATEGORIES[item[1]][1]]
    if list(without) == ["s"]:
        excluded = re.compile(_source(rest)) if rest else None
        kept = [code for code in SPACES if excluded is None or not excluded.match(chr(code))]
        if kept:
            return "[" + "".join(map(_literal, kept)) + "]"
    elif list(without) == ["w"]:
        digits, underscore = (op.CATEGORY, op.CATEGORY_DIGIT), (op.LITERAL, ord("_"))
        if all(item in (digits, underscore) for item in rest):
            numbers = r"\p{Nl}\p{No}" if digits in rest else r"\p{N}"
            return rf"[\p{{L}}{numbers}{'' if underscore in rest else '_'}]"
    raise UntranslatableError("a negated class that holds a negated category")


def _source(members: Sequence[Node]) -> str:
    """Write members of a class as Python's own syntax again."""
    parts = []
    for kind, argument in members:
        if kind is op.LITERAL:
            parts.append(f"\\U{argument:08x}")
        elif kind is op.RANGE:
            parts.append(f"\\U{argument[0]:08x}-\\U{argument[1]:08x}")
        else:
            name, is_complement = _CATEGORIES[argument]
            parts.append("\\" + (name.upper() if is_complement else name))
    return f"[{''.join(parts)}]"


@cache
def _cased() -> str:
    """List every character that has another case."""
    codes = (code for code in range(LAST_CASED + 1) if not 0xD800 <= code <= 0xDFFF)
    characters = map(chr, codes)
    return "".join(c for c in characters if c.lower() != c or c.upper() != c)


@lru_cache(maxsize=1024)
def _cased_members(source: str) -> tuple[int, ...]:
    """List the cased characters that a class matches under IGNORECASE, by asking Python."""
    return tuple(map(ord, re.findall(source, _cased(), re.IGNORECASE)))


@lru_cache(maxsize=1024)
def _same_but_for_case(code: int) -> tuple[int, ...]:
    """List the characters that a literal matches under IGNORECASE, itself first."""
    others = _cased_members(f"[\\U{code:08x}]")
    return (code, *(other for other in others if other != code))
