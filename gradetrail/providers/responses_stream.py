"""Streamed answers of the Responses API, which at their end hold the whole response.

Invariant: a response is whole once an event says that it is completed, incomplete or failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LAST = frozenset({"response.completed", "response.incomplete", "response.failed"})


class ResponsesStream:
    """Takes the response out of the last event."""

    def __init__(self) -> None:
        self.has_token = False
        self.is_complete = False
        self._response: dict[str, Any] = {}
        self._items: list[Any] = []

    def add(self, event: Mapping[str, Any]) -> None:
        """Take the next event."""
        kind = str(event.get("type"))
        if kind.endswith(".delta") and event.get("delta"):
            self.has_token = True
        elif kind == "response.output_item.done":
            self._items.append(event["item"])
        elif kind in LAST:
            self._response = dict(event["response"])
            self.is_complete = True

    def end(self) -> None:
        """Take a last word that this API does not need."""

    def body(self) -> dict[str, Any]:
        """Give the response; some servers leave its output to the events before."""
        return {**self._response, "output": self._response.get("output") or self._items}
