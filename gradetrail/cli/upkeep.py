"""`compact`: what keeps a warehouse small."""

from __future__ import annotations

from typing import Annotated

import typer

from gradetrail.cli.options import WarehouseOption
from gradetrail.cli.output import say


def compact(
    grace: Annotated[
        float,
        typer.Option(
            "--grace",
            min=0,
            envvar="GRADETRAIL_GRACE",
            help="Seconds for which files that are packed stay, for readers that began before.",
        ),
    ] = 3600.0,
    warehouse: WarehouseOption = None,
) -> None:
    """Pack small files of finished runs into large ones, and delete what nothing needs any more."""
    from gradetrail.cli.query import warehouse_folder
    from gradetrail.errors import Fault, RunLockedError
    from gradetrail.store import Store

    root = warehouse_folder(warehouse)
    Store(root, create=False)
    done = Store(root).compact(grace)
    if done is None:
        raise RunLockedError(Fault("another process packs this warehouse now", str(root), fix="wait for it"))
    packed, reclaimed = done.packed, done.reclaimed
    say(f"packed {packed.n_files:,} files into {packed.n_packs:,}, {packed.n_rows:,} rows")
    say(f"deleted {reclaimed.n_files:,} files, {reclaimed.n_bytes:,} bytes")
