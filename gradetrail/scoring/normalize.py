"""What two texts must share to count as equal.

Invariant: both sides of a comparison go through the same steps in the same order. `strip`, `lower` and
`collapse_whitespace` mean the same here as in the SQL macros `strip_text`, `lower_text`, `collapse_text`.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import get_args

from gradetrail.scorer_spec import Normalizer
from gradetrail.scoring.numbers import rewrite_numbers

SQL_STEPS = frozenset({"strip", "lower", "collapse_whitespace"})
"""Steps that SQL takes; their order among themselves does not matter."""

_ARTICLE = re.compile(r"(?<!\S)(?:an?|the)(?!\S)\s*", re.IGNORECASE)
_NUMERIC = re.compile(r"(?P<before>\W*?)(?P<number>[-+\u2212]?(?:[0-9][0-9,]*)?\.?[0-9]+)(?P<after>\W*)\Z")


def lower(text: str) -> str:
    """Lower the case; a final sigma counts as any other."""
    return text.lower().replace("\u03c2", "\u03c3")


def collapse_whitespace(text: str) -> str:
    """Make every run of white space one space."""
    return re.sub(r"\s+", " ", text)


def nfkc(text: str) -> str:
    """Give the compatibility composition, in which full-width and ligature forms are plain."""
    return unicodedata.normalize("NFKC", text)


@cache
def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")


def punctuation(text: str) -> str:
    """Take out punctuation; of a word that is a number only around it, so that 3.14 stays 3.14."""
    return re.sub(r"\S+", lambda match: _without_punctuation(match[0]), text)


def _without_punctuation(word: str) -> str:
    number = _NUMERIC.match(word)
    if number is not None:
        return number["number"]
    return "".join(character for character in word if not _is_punctuation(character))


def articles(text: str) -> str:
    """Take out the words a, an and the, with the white space after them."""
    return _ARTICLE.sub("", text)


STEPS: dict[str, Callable[[str], str]] = {
    "strip": str.strip,
    "lower": lower,
    "collapse_whitespace": collapse_whitespace,
    "nfkc": nfkc,
    "punctuation": punctuation,
    "articles": articles,
    "numbers": rewrite_numbers,
}
assert set(STEPS) == set(get_args(Normalizer))


def normalized(text: str, steps: Sequence[str]) -> str:
    """Take the steps in the order given."""
    for step in steps:
        text = STEPS[step](text)
    return text


def steps_of(steps: Sequence[str], *, case: bool) -> tuple[str, ...]:
    """List the steps that are taken; without regard to case, `lower` is the last."""
    return tuple(steps) if case else (*steps, "lower")
