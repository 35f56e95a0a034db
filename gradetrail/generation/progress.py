"""What is known of a generation while it goes on; the CLI draws it, the manifest keeps it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from gradetrail.generation.budget import Halt

Answered = Callable[[Sequence[Mapping[str, Any]], str | None, str | None], None]
"""Told of trials that ended (columns of `trials`), with text and tool calls (JSON) of their answer."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean score so far."""

    value: float
    n: int
    """Answers that it is of."""


@dataclass(slots=True)
class Progress:
    """Counts of one command; changed by the engine alone."""

    n_trials: int = 0
    """Trials planned."""
    n_hits: int = 0
    """Trials that need no call: answered in the run already, or by a stored answer."""
    n_requests: int = 0
    """Distinct requests to make; of judges their calls, which unreadable replies add to."""
    n_done: int = 0
    """Those that ended, well or not."""
    n_calls: int = 0
    """Attempts made, with those that failed."""
    errors: Counter[str] = field(default_factory=Counter)
    """Requests that ended in an error, by error_type."""
    retries: Counter[str] = field(default_factory=Counter)
    """Attempts that failed and were tried again, by error_type."""
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    """Spent by this generation so far, as far as prices are known."""
    unpriced: frozenset[str] = frozenset()
    """Models that answered this command at a cost which is not known."""
    halt: Halt | None = None
    """The ceiling that stopped it; None if none did."""
    limit: int = 0
    """Calls that may be in flight now."""
    n_in_flight: int = 0
    stopping: str | None = None
    """Why no further call is started; None as long as calls are."""
    started_at: float = field(default_factory=time.monotonic)
    observe: Callable[[Progress], None] | None = None
    """Called on the engine's thread about ten times a second."""
    answered: Answered | None = None
    """Called on the engine's thread whenever trials have ended; it must be quick."""
    means: Mapping[tuple[str, str], Mean] = field(default_factory=dict)
    """Mean score so far by (model, prompt), where that is known."""

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started_at

    @property
    def eta_s(self) -> float | None:
        """Seconds left at the present rate; None before the first request ended."""
        if self.n_done == 0:
            return None
        return self.elapsed_s / self.n_done * (self.n_requests - self.n_done)

    @property
    def left_usd(self) -> Decimal | None:
        """What the requests left would cost at the mean so far; None before the first one ended."""
        if self.n_done == 0:
            return None
        return self.cost_usd / self.n_done * (self.n_requests - self.n_done)

    def end(self) -> None:
        """Forecast what a ceiling left, now that all calls have ended, and show the last state."""
        if self.halt is not None:
            self.halt = replace(self.halt, left_usd=self.left_usd)
        self.tell()

    def tell(self) -> None:
        """Show the present state to whoever observes."""
        if self.observe is not None:
            self.observe(self)
