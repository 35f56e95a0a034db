"""One conversation to have: what to ask next, and which trials wait for the last answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradetrail.errors import ProviderError
from gradetrail.providers import Provider
from gradetrail.request import Request


@dataclass(frozen=True, slots=True)
class Turn:
    """One exact call of a conversation; most have a single turn."""

    request: Request
    messages: bytes
    """Canonical JSON of its messages."""
    number: int
    """From 1."""
    is_last: bool
    """Whether its answer is the one that the trials wait for."""
    role: str = "subject"
    """Whom it is put to: `subject`, or `judge`."""
    purpose: str | None = None
    """`vote` or `nudge` of a judge; None is `answer` or `turn`, as `is_last` says."""
    canonical: bytes | None = None
    """The hashed canonical JSON without messages; None is that of the conversation."""


@dataclass(frozen=True, slots=True)
class Work:
    """A conversation to have, and the trials that wait for its last answer."""

    provider: Provider
    trials: Sequence[dict[str, Any]]
    """Planned columns of each trial with this request_key."""
    canonical: bytes
    """The hashed canonical JSON without messages."""
    turn: Callable[[Sequence[str]], Turn | None]
    """Makes the turn that follows these answers; None if there is none."""
    answers: list[str] = field(default_factory=list)
    """Answers so far: those stored before, then those that come."""
    keep_raw: bool = False
    keep_logprobs: bool = False
    forgive: Callable[[ProviderError], None] | None = None
    """Told of a call that failed, after which the next turn is asked; None: the conversation ends with it."""

    counts_turns: bool = False
    """Whether progress counts each turn as a request; else the conversation is one."""

    def next_turn(self) -> Turn | None:
        """Give the first turn without an answer; None if nothing is left to ask."""
        return self.turn(self.answers)
