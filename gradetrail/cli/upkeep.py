"""`compact`, `check`, `rm`: what keeps a warehouse small, sound, and free of what must go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradetrail.cli.options import WarehouseOption
from gradetrail.cli.output import say

if TYPE_CHECKING:
    from gradetrail.store import Store


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
    from gradetrail.store.places import place_name

    root = warehouse_folder(warehouse)
    Store(root, create=False)
    store = Store(root)
    _bring_in(store)
    done = store.compact(grace)
    if done is None:
        raise RunLockedError(
            Fault("another process packs this warehouse now", place_name(root), fix="wait for it")
        )
    packed, reclaimed = done.packed, done.reclaimed
    say(f"packed {packed.n_files:,} files into {packed.n_packs:,}, {packed.n_rows:,} rows")
    say(f"deleted {reclaimed.n_files:,} files, {reclaimed.n_bytes:,} bytes")


def _bring_in(store: Store) -> None:
    """Publish what killed writers left on this machine, where the warehouse is in an object store."""
    from gradetrail.errors import RunLockedError
    from gradetrail.store.salvage import stranded_runs

    known = {manifest["run_id"] for manifest in store.manifests()}
    for run_id, paths in stranded_runs(store.storage).items():
        if run_id not in known:
            say(f"warning: {run_id} is no run any more; what was answered to it is left in {paths[0]}")
            continue
        try:
            store.writer(run_id).close()
            say(f"{run_id}: brought in what a writer that was killed left on this machine")
        except RunLockedError as error:
            say(f"warning: {run_id}: not brought in: {error}")


def check(
    repair: Annotated[
        bool, typer.Option("--repair", help="Move damaged files to quarantine/ in the warehouse.")
    ] = False,
    warehouse: WarehouseOption = None,
) -> None:
    """Read every file, compute every id again, and look for what contradicts itself; exit 1 if anything."""
    from gradetrail.cli.query import warehouse_folder
    from gradetrail.errors import VerdictError
    from gradetrail.store import Store
    from gradetrail.warehouse.health import examine

    root = warehouse_folder(warehouse)
    found = examine(root)
    say(f"{found.n_files:,} files; ids of {found.n_answers:,} answers and {found.n_samples:,} samples")
    if repair and found.broken:
        for name in Store(root).set_aside(list(found.broken)):
            say(f"moved to quarantine: {name}")
    if found.findings:
        raise VerdictError(*found.findings)
    say("healthy")


def rm(
    run: Annotated[str, typer.Argument(help="Run to remove.", metavar="RUN")],
    yes: Annotated[bool, typer.Option("--yes", help="Remove; without it, only say what would go.")] = False,
    answers: Annotated[
        bool, typer.Option("--answers", help="Remove the answers that the run paid for, too.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Also answers that other runs rest on: their trials become pending."),
    ] = False,
    warehouse: WarehouseOption = None,
) -> None:
    """Remove a run: trials, grades and manifest; paid answers stay for other runs unless --answers."""
    from gradetrail.cli.query import warehouse_folder
    from gradetrail.errors import Fault, SelectionError
    from gradetrail.warehouse.removing import outlook, remove_run

    if force and not answers:
        raise SelectionError(Fault("--force is about answers", fix="give --answers too"))
    root = warehouse_folder(warehouse)
    plan = outlook(root, run, with_answers=answers, force=force)
    run_id = plan.removal.run_id
    kept = len(plan.removal.kept)
    paid = f"{plan.n_answers - kept:,} of {plan.n_answers:,} answers" if answers else "no answers"
    say(f"{run_id}: {plan.n_trials:,} trials, {paid}, about {plan.n_bytes:,} bytes of rows")
    for other, pinned in plan.pinned.items():
        if answers:
            fate = "trials become pending" if force else "answers stay"
            say(f"  {other} rests on {len(pinned):,} of its answers: these {fate}")
            for response_id in sorted(pinned):
                print(f"{other} {response_id}")
    if not yes:
        say("warning: nothing was removed; give --yes to remove it")
        return
    freed = remove_run(root, plan)
    say(f"removed about {plan.n_bytes:,} bytes of rows; {freed.n_now:,} bytes of disk are free now")
    if freed.n_later:
        when = "`gradetrail compact` deletes them once they are an hour old"
        say(f"files of {freed.n_later:,} bytes were packed along and stay for readers for now: {when}")
