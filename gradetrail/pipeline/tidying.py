"""Packing that starts by itself after a command has added runs or grades.

Invariant: it never makes a command fail: nothing is lost where it cannot be done, and the next tries again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gradetrail.errors import StoreError
from gradetrail.store import Store


def tidy(root: Path, tell: Callable[[str], None] | None = None) -> None:
    """Pack a warehouse that has many small files; `tell` hears of what hindered it."""
    try:
        Store(root).compact_if_many()
    except StoreError as error:
        if tell is not None:
            tell(f"warning: the warehouse was not packed: {error}")
