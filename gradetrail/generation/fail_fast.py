"""When to stop asking because the errors will not end.

Invariant: each model is watched by itself, so that one that answers does not hide another that
cannot; whether a server was ever reached is known for each server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gradetrail.errors import ProviderError
from gradetrail.generation.retry import FINAL
from gradetrail.request import CallShape

SAME_FATAL_LIMIT = 5
IN_A_ROW_LIMIT = 20
_UNCOUNTED = FINAL | {"no_answer"}
_VOLATILE = re.compile(r"\b(?:req|request)[-_ ]?(?:id)?[-_:= ]*[\w-]{6,}|\b[0-9a-f]{8,}\b|\d+", re.IGNORECASE)
"""What differs between two equal errors: request ids, numbers."""


@dataclass(slots=True)
class Record:
    """How the requests to one model ended so far."""

    any_success: bool = False
    same: dict[str, int] = field(default_factory=dict)
    """Errors before the first success, by their text."""
    in_a_row: int = 0


class FailFast:
    """Watches for errors that will not end."""

    def __init__(self) -> None:
        self._reached: set[tuple[str, str | None]] = set()
        self._records: dict[tuple[str, str, str | None], Record] = {}

    def reach(self, shape: CallShape) -> None:
        """Note that a server replied, whatever it said."""
        self._reached.add((shape.provider, shape.base_url))

    def is_reached(self, shape: CallShape) -> bool:
        """Say whether the server of a model has ever replied."""
        return (shape.provider, shape.base_url) in self._reached

    def succeed(self, shape: CallShape) -> None:
        """Count an answer."""
        record = self._record(shape)
        record.any_success, record.in_a_row = True, 0
        record.same.clear()

    def fail(self, shape: CallShape, error: ProviderError) -> str | None:
        """Count a request that is given up; give the reason to stop, if there is one now."""
        if error.is_unreachable and not self.is_reached(shape):
            return f"the server of {shape.provider}/{shape.model} cannot be reached: {error}"
        if error.error_type in _UNCOUNTED:
            return None
        record = self._record(shape)
        record.in_a_row += 1
        if not record.any_success:
            text = _VOLATILE.sub("#", f"{error.error_type}: {error}")
            record.same[text] = record.same.get(text, 0) + 1
            if record.same[text] >= SAME_FATAL_LIMIT:
                return f"{SAME_FATAL_LIMIT} requests failed in the same way and none succeeded: {error}"
        if record.in_a_row >= IN_A_ROW_LIMIT:
            return f"{IN_A_ROW_LIMIT} requests failed in a row; the last: {error}"
        return None

    def _record(self, shape: CallShape) -> Record:
        return self._records.setdefault((shape.provider, shape.model, shape.base_url), Record())
