"""Everything that reads: a warehouse opened as one DuckDB connection on which every view works."""

from gradetrail.warehouse.warehouse import Warehouse

__all__ = ["Warehouse"]
