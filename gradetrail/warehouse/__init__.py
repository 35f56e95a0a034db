"""Everything that reads: a warehouse opened as one DuckDB connection on which every view works.

What only asks a warehouse in another process needs none of it, so `Warehouse` is loaded when it is first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradetrail.warehouse.warehouse import Warehouse

__all__ = ["Warehouse"]


def __getattr__(name: str) -> object:
    if name != "Warehouse":
        raise AttributeError(f"module `gradetrail.warehouse` has no attribute `{name}`")
    from gradetrail.warehouse.warehouse import Warehouse

    globals()[name] = Warehouse
    return Warehouse
