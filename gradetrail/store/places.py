"""Which kind of place a warehouse is in, from how it is named.

Invariant: nothing but this module tells kinds of places apart.
"""

from __future__ import annotations

import os
from pathlib import Path

from gradetrail.store.interface import Storage
from gradetrail.store.layout import FORMAT_FILE
from gradetrail.store.storage import LocalStorage


def storage_at(root: str | os.PathLike[str]) -> Storage:
    """Give the storage of a warehouse; nothing is opened or made yet."""
    return LocalStorage(Path(root).absolute())


def is_warehouse(root: str | os.PathLike[str]) -> bool:
    """Say whether there is a warehouse."""
    return storage_at(root).has(FORMAT_FILE)
