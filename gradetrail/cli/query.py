"""What commands that read share: finding a warehouse, opening it, printing what a query gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradetrail.cli.output import Format, say, show_rows, tell_damage, write_parquet

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from gradetrail.warehouse import Warehouse
    from gradetrail.warehouse.locked import LockedWarehouse
    from gradetrail.warehouse.user_objects import UserObject

AsOfOption = Annotated[
    str | None,
    typer.Option(
        "--as-of", help="Only runs begun by then: 2026-11-30 (that day included), or a time in UTC."
    ),
]
LimitOption = Annotated[int | None, typer.Option("--limit", min=0, help="Print at most N rows.")]


def warehouse_folder(warehouse: Path | None) -> Path:
    """Give the warehouse's folder: as named, else $GRADETRAIL_WAREHOUSE, else ./warehouse."""
    import os

    return Path(warehouse or os.environ.get("GRADETRAIL_WAREHOUSE") or "warehouse")


def parse_moment(text: str | None) -> datetime | None:
    """Read a date, which means all of that day, or a time; UTC unless it says otherwise. SelectionError."""
    from datetime import UTC, datetime, timedelta

    from gradetrail.errors import Fault, SelectionError

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        fix = "write 2026-11-30 or 2026-11-30T08:30:00Z"
        raise SelectionError(Fault(f"`{text}` is neither a date nor a time", "--as-of", fix=fix)) from None
    if len(text.strip()) <= len("2026-11-30"):
        moment += timedelta(days=1, seconds=-1)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def names_in(text: str | None) -> tuple[str, ...]:
    """Split names at their commas: `M,M2`."""
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else ()


def open_runs(root: Path, *runs: str | None, as_of: datetime | None = None) -> Warehouse:
    """Open a warehouse, with the bundles that are among the names of runs."""
    from gradetrail.cli.locked import bundles_among
    from gradetrail.warehouse import Warehouse

    return Warehouse(root, bundles=bundles_among(runs), as_of=as_of)


def files_of_users(root: Path) -> list[UserObject]:
    """List the user's views and macros, wherever the warehouse is; none if it is not there."""
    from gradetrail.store.places import home_of
    from gradetrail.warehouse.user_objects import user_objects

    return user_objects(home_of(root))


def tell_ignored(users: Iterable[UserObject], text: str) -> None:
    """Name on stderr the files of the user's that a query names and that are not what it reads."""
    from gradetrail.warehouse.user_objects import ignored_in

    for fault in ignored_in(text, users):
        say(f"warning: {fault}")


def print_query(
    opened: Warehouse | LockedWarehouse,
    query: str,
    params: dict[str, Any],
    form: Format,
    output: Path | None,
) -> None:
    """Print what a query gives, row by row where it is asked behind a wall, and name what was left out."""
    from gradetrail.warehouse.locked import LockedWarehouse

    if isinstance(opened, LockedWarehouse):
        from gradetrail.cli import streaming

        streaming.print_query(opened, query, params, form, output)
    elif form is Format.parquet:
        write_parquet(opened.arrow(query, params), output)
    else:
        show_rows(*opened.rows(query, params), form, output)
    tell_damage(opened)
