"""The votes of one judge on one question: what was replied, and what is to be asked next.

Invariant: no vote waits for another, so what is asked and what comes of it follows from no order of
replies; an unreadable reply is followed by exactly one nudge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradetrail.request import KeyMaker, Request, canonical_messages
from gradetrail.scorer_spec import Judge
from gradetrail.scoring.judge_prompt import JudgePrompt
from gradetrail.scoring.judge_reply import Reading, read_reply
from gradetrail.scoring.judge_setup import JudgeSetup


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of a ballot."""

    vote: int
    """From 1; the epoch of the request."""
    is_nudge: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call brought."""

    text: str
    stop_reason: str | None
    response_id: str | None = None
    """None while it is not stored."""


@dataclass(frozen=True, slots=True)
class Bench:
    """One judge with its rules: what all of its ballots share."""

    scorer: Judge
    setup: JudgeSetup
    prompt: JudgePrompt
    maker: KeyMaker


@dataclass(slots=True)
class Ballot:
    """The votes on one rendered question."""

    bench: Bench
    row: int
    """Answer that is graded."""
    side: int
    """0 where the answer is shown as A, or alone; 1 where it is B."""
    messages: Sequence[Mapping[str, str]]
    sample_id: str
    sample_hash: str
    sample: Mapping[str, Any] | None
    """The dataset row, for judges that see it; None otherwise."""
    opponent_response_id: str | None = None
    replies: dict[Ask, Reply] = field(default_factory=dict)
    failures: dict[Ask, str] = field(default_factory=dict)
    """Why a call brought nothing."""
    is_failure_final: bool = True
    """Whether calls that failed would fail again."""

    def messages_of(self, ask: Ask) -> Sequence[Mapping[str, str]]:
        """Give the messages of a call."""
        return self.bench.prompt.nudged(self.messages) if ask.is_nudge else self.messages

    def request(self, ask: Ask) -> tuple[Request, bytes]:
        """Give a call, and its messages as canonical JSON."""
        messages = self.messages_of(ask)
        encoded = canonical_messages(messages)
        maker = self.bench.maker
        key = maker.key(encoded, ask.vote, self.sample_hash, self.sample_id)
        request = Request(maker.shape, messages, ask.vote, key, self.sample_id, self.sample, self.sample_hash)
        return request, encoded

    def calls(self) -> Iterator[tuple[Ask, str]]:
        """Yield every call that may be made, with its request_key."""
        maker = self.bench.maker
        for is_nudge in (False, True):
            encoded = canonical_messages(self.messages_of(Ask(1, is_nudge)))
            for vote in range(1, self.bench.scorer.votes + 1):
                yield Ask(vote, is_nudge), maker.key(encoded, vote, self.sample_hash, self.sample_id)

    def next_of(self, vote: int) -> Ask | None:
        """Say what is to be asked next for a vote; None if that has come to its end."""
        for is_nudge in (False, True):
            ask = Ask(vote, is_nudge)
            if ask in self.failures:
                return None
            if ask not in self.replies:
                return ask
            if self.read(ask).fault is None:
                return None
        return None

    @property
    def open_votes(self) -> list[int]:
        """List the votes still to be asked about: a call each, if every reply to come can be read."""
        return [vote for vote in range(1, self.bench.scorer.votes + 1) if self.next_of(vote) is not None]

    def read(self, ask: Ask) -> Reading:
        """Read the reply to a call."""
        reply = self.replies[ask]
        return read_reply(self.bench.setup.file, reply.text, reply.stop_reason)

    def votes(self) -> Iterator[tuple[int, Reading]]:
        """Yield each vote that was cast, in order; one that came to nothing has a fault."""
        for vote in range(1, self.bench.scorer.votes + 1):
            asks = [Ask(vote, is_nudge) for is_nudge in (False, True)]
            failed = next((self.failures[ask] for ask in asks if ask in self.failures), None)
            readings = [self.read(ask) for ask in asks if ask in self.replies]
            good = next((reading for reading in readings if reading.fault is None), None)
            if good is not None:
                yield vote, good
            elif failed is not None:
                yield vote, Reading({}, fault=failed)
            elif len(readings) == len(asks):
                yield vote, readings[-1]

    def response_ids(self) -> list[str]:
        """List the stored replies in the order in which they were asked for, unreadable ones included."""
        order = sorted(self.replies, key=lambda ask: (ask.vote, ask.is_nudge))
        return [reply.response_id for ask in order if (reply := self.replies[ask]).response_id is not None]
