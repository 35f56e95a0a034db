"""Searches with Python's `re` in a worker process, for patterns that RE2 cannot take.

Invariant: a search ends. A text on which the pattern runs too long, or kills its process, gets a reason
in place of a result, and the texts after it are searched all the same, unless that happens so often that
the pattern is given up.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gradetrail.scoring.worker import Failure, Worker

MATCH_SECONDS = 1.0
"""Processor time that one pattern may take on one text."""
BATCH_CHARACTERS = 1_000_000

Mode = Literal["first", "last", "search"]


@dataclass(frozen=True, slots=True)
class Match:
    """What a search found in one text."""

    group: str
    """Group 1, or the whole match where the pattern has none."""
    whole: str


class RegexProcess(Worker):
    """One worker for any number of patterns."""

    def __init__(self) -> None:
        super().__init__("the pattern killed the process that searched this answer")

    def command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        """Start without site packages, in a hundredth of a second."""
        worker = Path(__file__).with_name("regex_worker.py")
        return [sys.executable, "-I", "-S", str(worker), str(MATCH_SECONDS)], {}

    def search(
        self, pattern: str, flags: int, mode: Mode, texts: Sequence[str], source: str | None = None
    ) -> list[Match | Failure | None]:
        """Search each text; None means no match.

        `first` and `last` take the first or last match whose group is not blank; `search` the first
        match as it is, whole. `source` is what the pattern was made of, by which it is given up after too
        many failures; None is the pattern itself.
        """
        named = pattern if source is None else source
        question = {"pattern": pattern, "flags": flags, "mode": mode, "source": named}
        return [
            Match(*reply) if isinstance(reply, list) else reply
            for reply in self.ask(question, texts, BATCH_CHARACTERS)
        ]
