"""When a failed call is tried again, after how long, and when it is given up.

Invariant: the number of attempts of one request is bounded by `max_retries` for faults of its own
(timeouts, 5xx) and by `retry_for_s` for faults that all requests share (limits, overload, network).
It is the same where waiting is switched off: a wait that is left out is spent all the same.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field

from gradetrail.errors import ProviderError

BACKOFF_BASE_S = 0.5
BACKOFF_CAP_S = 20.0
SHARED = frozenset({"rate_limit", "overloaded", "connection"})
"""Faults of the server or the way to it: they pause everybody and use no attempt up."""
TOO_MUCH = frozenset({"rate_limit", "overloaded"})
"""Faults by which the server says that fewer calls should be in flight."""
OWN = frozenset({"timeout", "server", "bad_reply"})
"""Faults that may be this request's own: they use up `max_retries`."""
RETRIED = SHARED | OWN
FINAL = frozenset({"over_context", "filtered"})
"""Errors that asking again cannot mend; `run` does not ask again and fail-fast ignores them."""

NO_WAITING = "GRADETRAIL_NO_WAITING"
"""Environment variable that leaves every wait before another attempt out, for tests."""


@dataclass(slots=True)
class Retry:
    """The retry state of one request."""

    max_retries: int
    retry_for_s: float
    random: random.Random
    own_failures: int = 0
    shared_failures: int = 0
    _first_failure_at: float | None = field(default=None)
    _left_out_s: float = 0.0

    def wait_s(self, error: ProviderError, now: float, *, is_reached: bool) -> float | None:
        """Give the seconds to wait before the next attempt; None if there is none.

        `now` is a monotonic time in seconds; `is_reached` says whether the server has ever replied.
        """
        if error.is_final:
            return None
        if self._first_failure_at is None:
            self._first_failure_at = now
        if error.error_type in OWN:
            self.own_failures += 1
            if self.own_failures > self.max_retries:
                return None
            return self._spent(self._from_now(error, self._jitter(self.own_failures)))
        if error.error_type not in SHARED or (error.is_unreachable and not is_reached):
            return None
        self.shared_failures += 1
        left = self.retry_for_s - (now - self._first_failure_at) - self._left_out_s
        wait = self._from_now(error, self._jitter(self.shared_failures))
        return self._spent(wait) if wait <= left else None

    def _spent(self, wait: float) -> float:
        """Give the wait, or none where waiting is switched off; either way it counts as spent."""
        if os.environ.get(NO_WAITING, "") in ("", "0"):
            return wait
        self._left_out_s += wait
        return 0.0

    def _jitter(self, failures: int) -> float:
        """Full jitter: uniform between 0 and the doubled, capped backoff."""
        exponent = min(failures - 1, 30)
        return self.random.uniform(0, min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2**exponent))

    @staticmethod
    def _from_now(error: ProviderError, wait: float) -> float:
        # a little later than stated, or all would come back at the same instant
        return error.retry_after_s + wait * 0.1 if error.retry_after_s is not None else wait
