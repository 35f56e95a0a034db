r"""Which option of a multiple-choice question an answer names.

Invariant: a letter counts only as a whole token, only within the options, and never as the English
words `a` and `I`. Where an answer names several options, or none, nothing is found.

In this order:

1. The whole reply is one letter, in any case and any brackets: `d`, `(B)`, `**C**.`
2. The last marker that names a letter: `Answer: C`, `the correct option is (c)`, `\boxed{C}`; failing
   that, the last letter that is called right: `C is correct`.
3. Where `Answer:` stands without a letter: the option whose text follows it on the line, or the one
   letter on that line; else nothing, wherever else letters stand.
4. A letter with a stop or bracket opens the reply (`C. 12`), or is its whole first line, unless other
   lines open with other letters or, after such a first line, are other letters.
5. The whole reply, or else its last box, is the text of exactly one option, but for case, white space
   and a final stop.
6. The last line that holds letters on their own holds one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from gradetrail.scoring.boxed import find_boxed
from gradetrail.scoring.regex_translation import SPACE

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_JOINED = r"A-Za-z0-9\u00c0-\u024f_'\u2019"
"""What makes a letter part of a word."""
_WRAP = r"[\s*_`\"'\u201c\u201d\u2018\u2019(\[{$.:,)\]}]*"
_WHOLE = re.compile(rf"{_WRAP}([A-Za-z]){_WRAP}\Z")
_SQL_WRAP = rf"[{SPACE}*_`\"'\x{{2018}}\x{{2019}}\x{{201c}}\x{{201d}}(\[{{$.:,)\]}}]*"
WHOLE_REPLY = rf"\A{_SQL_WRAP}([A-Za-z]){_SQL_WRAP}\z"
"""RE2: the whole reply is a letter."""
MARKED_AT_END = r"(?:answer|Answer|ANSWER)(?: is|:| is:)[ *]*\(?([A-Z])\)?\**\.?\**[ \n]*\z"
"""RE2: the reply ends with a marker and its letter."""

_MARKER = re.compile(
    r"answer|antwort|r\u00e9ponse|respuesta|resposta|risposta|antwoord|\u043e\u0442\u0432\u0435\u0442"
    r"|\u7b54\u6848|\u56de\u7b54|\u7b54\u3048|\u6b63\u89e3"
    r"|correct (?:option|choice|letter|one|statement)"
)
"""Words that announce the letter, in lower case."""
_COLON = re.compile(r"[*_`\s]*[:\uff1a]([^\n]*)")
_LINK = r"(?i:\b(?:is|be|are|ist|est|es|\u00e8|\u00e9)\b|[:\uff1a=\u662f\u4e3a\u306f])"
_OPEN = r"(?:[\s*_`\"'\u201c\u2018(\[${]|\\boxed|\\text(?:bf)?|\\mathrm|(?i:\b(?:option|choice|letter)\b))*"
_PRAISE = r"[)\].*_\"']{0,4} is (?:the |clearly |definitely )*(?:correct|right|best|answer)\b"
_ARTICLE = re.compile(r"A[ \t]+(?!(?:is|was|because|since|seems|and|or)\b)[a-z]|I[ \t]+\S")


@dataclass(frozen=True, slots=True)
class _Patterns:
    after: re.Pattern[str]
    """From the end of a marker to its letter."""
    boxed: re.Pattern[str]
    praised: re.Pattern[str]
    opening: re.Pattern[str]
    alone: re.Pattern[str]


@cache
def _patterns(last: str) -> _Patterns:
    """Compile for options up to a letter."""
    upper, lower = f"A-{last}", f"a-{last.lower()}"
    another = rf"\W{{0,3}}(?:or|and|/|&)\W{{1,3}}[{upper}](?![{_JOINED}])"
    token = (
        rf"(?:(?!I[ \t]+[a-z])([{upper}])(?![{_JOINED}-])(?!{another})"
        rf"|(?<=\()([{lower}])(?=\))|([{lower}])(?=[.)*_ ]*(?:\n|\Z)))"
    )
    return _Patterns(
        after=re.compile(rf"[^\n.!?]{{0,60}}?{_LINK}{_OPEN}{token}"),
        boxed=re.compile(rf"\\boxed\s*\{{(?:\\text(?:bf)?\s*\{{|[\s(])*{token}"),
        praised=re.compile(rf"(?<![{_JOINED}-])([{upper}]){_PRAISE}"),
        opening=re.compile(rf"^[ \t*_(\[]*([{upper}])[ \t*_]*[.):\]]", re.MULTILINE),
        alone=re.compile(rf"(?<![{_JOINED}&/+.-])([{upper}])(?![{_JOINED}&/+-])"),
    )


def find_letter(text: str, options: Sequence[str] | None = None, *, match_text: bool = True) -> str | None:
    """Give the letter that an answer names; None if it names none or several.

    `options` are the texts in the order shown; None allows any letter and matches no texts.
    """
    allowed = LETTERS if options is None else LETTERS[: len(options)]
    if not allowed:
        return None
    whole = _WHOLE.match(text)
    if whole is not None:
        return whole[1].upper() if whole[1].upper() in allowed else None
    patterns = _patterns(allowed[-1])
    texts = options if match_text and options is not None else ()
    ends = [marker.end() for marker in _MARKER.finditer(_lower(text))]
    marked = _last_marked(text, ends, patterns)
    if marked is not None:
        return marked
    colon = next((match[1] for end in reversed(ends) if (match := _COLON.match(text, end)) is not None), None)
    if colon is not None:
        return option_letter(colon, texts) or _one_alone(colon, patterns)
    return (
        _opening(text, patterns)
        or _first_line(text, allowed, patterns)
        or option_letter(text, texts)
        or (option_letter(find_boxed(text) or "", texts) if texts else None)
        or _last_alone(text, patterns)
    )


def _lower(text: str) -> str:
    """Lower the case and keep every place: U+0130 alone would become two characters."""
    return text.replace("\u0130", "I").lower()


def option_letter(text: str, options: Sequence[str]) -> str | None:
    """Give the letter of the one option whose text this is; None if there is none or several."""
    wanted = _plain(text)
    if not wanted:
        return None
    same = [letter for letter, option in zip(LETTERS, options, strict=False) if _plain(option) == wanted]
    return same[0] if len(same) == 1 else None


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.strip(" \t\r\n*_`\"'")).rstrip(".").strip().casefold()


def _letter(match: re.Match[str]) -> str:
    return str(match[match.lastindex or 0]).upper()


def _last_marked(text: str, ends: Sequence[int], patterns: _Patterns) -> str | None:
    after = [match for end in ends if (match := patterns.after.match(text, end)) is not None]
    marked = [*after, *patterns.boxed.finditer(text)]
    if marked:
        return _letter(max(marked, key=lambda match: match.start(match.lastindex or 0)))
    praised = patterns.praised.findall(text)
    return str(praised[-1]) if praised else None


def _opening(text: str, patterns: _Patterns) -> str | None:
    first = patterns.opening.match(text.lstrip())
    return first[1] if first is not None and set(patterns.opening.findall(text)) == {first[1]} else None


def _first_line(text: str, allowed: str, patterns: _Patterns) -> str | None:
    """Give the letter that is the whole first line, if no other line says another."""
    matches = [_WHOLE.match(line) for line in text.strip().split("\n")]
    letters = [match[1].upper() if match is not None else None for match in matches]
    said = {letter for letter in letters if letter is not None} | set(patterns.opening.findall(text))
    first = letters[0]
    return first if first is not None and first in allowed and said == {first} else None


def _alone(line: str, patterns: _Patterns) -> set[str]:
    matches = patterns.alone.finditer(line)
    return {match[1] for match in matches if not _ARTICLE.match(line, match.start())}


def _one_alone(line: str, patterns: _Patterns) -> str | None:
    letters = _alone(line, patterns)
    return letters.pop() if len(letters) == 1 else None


def _last_alone(text: str, patterns: _Patterns) -> str | None:
    for line in reversed(text.split("\n")):
        if _alone(line, patterns):
            return _one_alone(line, patterns)
    return None
