"""Tells damage from a mistake in a query.

Invariant: a query that DuckDB refused for what it says is never taken for damage; everything else is
worth a look at the files.
"""

from __future__ import annotations

from collections.abc import Sequence


def may_be_damage(error: BaseException) -> bool:
    """Say whether an error can come from a damaged or vanished file."""
    import duckdb

    mistakes = (
        duckdb.BinderException,
        duckdb.CatalogException,
        duckdb.ConstraintException,
        duckdb.ConversionException,
        duckdb.InterruptException,
        duckdb.NotImplementedException,
        duckdb.OutOfMemoryException,
        duckdb.OutOfRangeException,
        duckdb.ParserException,
        duckdb.PermissionException,
        duckdb.SyntaxException,
        duckdb.TypeMismatchException,
    )
    return not isinstance(error, mistakes)


def named_files(message: str, files: Sequence[str]) -> list[str]:
    """List the files that an error message names."""
    return [file for file in files if file in message]
