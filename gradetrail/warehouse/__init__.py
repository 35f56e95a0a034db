"""Everything that reads: a warehouse opened as one DuckDB connection on which every view works.

What only asks a warehouse in another process needs none of it, so `Warehouse` is loaded when it is first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradetrail import lazy

if TYPE_CHECKING:
    from gradetrail.warehouse.warehouse import Warehouse

__all__ = ["Warehouse"]

__getattr__ = lazy.on_first_use(__name__, {"Warehouse": "gradetrail.warehouse.warehouse"})
