"""What a text says about which option of a multiple-choice sample is the right one.

Invariant: the option's own text goes before a letter, and a letter before an index; where they differ, a
warning says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def readings(text: str, options: Sequence[str]) -> dict[str, int]:
    """Give the option that a text may mean, as `text`, `letter` and `index`, in the order that counts."""
    found = {}
    same = [index for index, option in enumerate(options) if option.strip() == text]
    if len(same) == 1:
        found["text"] = same[0]
    if len(text) == 1 and text.upper() in LETTERS[: len(options)]:
        found["letter"] = LETTERS.index(text.upper())
    if text.isdecimal() and len(text) < 3 and int(text) < len(options):
        found["index"] = int(text)
    return found


class AnswerWatch:
    """Notices right options that could mean another one: the first, and what the others were read as."""

    def __init__(self) -> None:
        self._unclear: str | None = None
        self._read_as: dict[str, str] = {}

    def look(self, answer: Any, options: Sequence[str], sample_id: str) -> None:
        """Take in the answer of one sample."""
        if not isinstance(answer, str):
            return
        found = readings(answer.strip(), options)
        if found:
            self._read_as.setdefault(next(iter(found)), sample_id)
        if self._unclear is None and len(set(found.values())) > 1:
            meant = ", ".join(f"{LETTERS[index]} as {name}" for name, index in found.items())
            self._unclear = f"`{answer.strip()}` of sample `{sample_id}` may mean {meant}"

    def warnings(self, field: str) -> list[str]:
        """Say, once, that the answers are read in more than one way, if they are and one is unclear."""
        if self._unclear is None:
            return []
        others = [f"{name} (`{sample}`)" for name, sample in self._read_as.items()]
        ways = f"; answers are read as {' and '.join(others)}" if len(others) > 1 else ""
        fix = f"Make `{field}` the 0-based index, as a number, to be sure"
        return [f"choices.answer: {self._unclear}; the first counts{ways}. {fix}"]
