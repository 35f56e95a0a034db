"""Damage: finds every file that is not what was written, and moves it out of the way.

Invariant: nothing is deleted, and what is moved is in `quarantine/`. A pack that goes is struck from
the record first, together with the runs that only it held, so that loose files count again where they
are still there, and what is lost is asked or graded again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gradetrail.errors import Fault, StoreError
from gradetrail.store.digests import digest_fault
from gradetrail.store.interface import Storage
from gradetrail.store.journal import parse
from gradetrail.store.layout import FORMAT_FILE, JOURNAL, PARQUET
from gradetrail.store.packing import commit
from gradetrail.store.packs import (
    FOLDER,
    KEYED,
    Held,
    Record,
    decoded,
    latest,
    missing,
    parse_pack,
    record_name,
    record_numbers,
)
from gradetrail.store.segments import DAMAGE_FIX, row_groups

JSON_FOLDERS = ("runs", "scorers", "tasks", FOLDER)


def damaged(storage: Storage) -> Iterator[tuple[str, Fault]]:
    """Yield name and fault of every file that is not what was written, or is no file of ours."""
    names = [FORMAT_FILE]
    for folder in (*KEYED, *JSON_FOLDERS):
        suffixes = (PARQUET,) if folder in KEYED else (".json", PARQUET)
        names += [f"{folder}/{file}" for file in storage.list(folder) if file.endswith(suffixes)]
    for name in names:
        try:
            why = digest_fault(storage.local(name, afresh=True))
        except FileNotFoundError:
            continue  # packed or sealed meanwhile
        if why is not None:
            yield name, Fault(f"damaged: {why}", storage.place(name), fix=DAMAGE_FIX)
    yield from _missing(storage)
    for file in storage.list("journal"):
        name = f"journal/{file}"
        if file.endswith(JOURNAL):
            try:
                faults = parse(storage.read(name), storage.place(name)).faults
            except FileNotFoundError:
                continue
            yield from ((name, fault) for fault in faults)


def _missing(storage: Storage) -> Iterator[tuple[str, Fault]]:
    record = latest(storage, [])
    for name in [*(pack.name for pack in record.files), *record.bodies.values()]:
        if not storage.has(name):
            yield name, missing(storage, name)


def only_copies(storage: Storage, record: Record) -> Iterator[str]:
    """Name the packs that no record names, and that hold what nothing else does: their record is gone.

    A packer that was killed leaves packs too, but of files that are still there.
    """
    named = record.names()
    for number in record_numbers(storage.list(FOLDER)):
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, FileNotFoundError):
            named |= decoded(number, storage.read(record_name(number))).names()
    for file in storage.list(FOLDER):
        name, kind = f"{FOLDER}/{file}", (parse_pack(file) or ("", 0))[0]
        if kind in KEYED and name not in named and _is_only_copy(storage, record, kind, name):
            yield name


def _is_only_copy(storage: Storage, record: Record, table: str, name: str) -> bool:
    import pyarrow as pa

    known = {held[0] for held in record.absorbed[table]}
    known |= {file.removesuffix(PARQUET) for file in storage.list(table)} if table == "samples" else set()
    loose = [file for file in storage.list(table) if file.endswith(PARQUET)]
    try:
        for rows in row_groups(storage.local(name), table, [KEYED[table]]):
            keys: Any = rows.column(KEYED[table]).unique()
            for key in keys.to_pylist():
                if key not in known and not any(file.startswith(f"{key}.") for file in loose):
                    return True
    except (OSError, pa.ArrowException):
        return False  # half gone or damaged, which is told apart from this
    return False


def set_aside(storage: Storage, names: list[str], written_by: str) -> list[str]:
    """Move damaged files to `quarantine/`; give what was moved. The caller holds PACK_LOCK.

    The format file stays: to restore it by hand is safer. A journal part stays too: the run's next
    writer takes up its good lines.
    """
    records = {f"{FOLDER}/{number}.json" for number in record_numbers(storage.list(FOLDER))}
    moved = []
    for name in names:
        if name in records and storage.has(name):
            storage.move(name, "quarantine")
            moved.append(name)
    packs = {name for name in names if parse_pack(name.partition("/")[2])}
    record = latest(storage)
    if packs & record.names() and not commit(storage, record, without(storage, record, packs), written_by):
        raise StoreError(Fault("another process packed meanwhile", storage.place(), fix="try again"))
    for name in names:
        is_kept = name == FORMAT_FILE or name.endswith(JOURNAL) or name in records
        if not is_kept and storage.has(name) and not _is_whole_by_now(storage, name):
            storage.move(name, "quarantine")
            moved.append(name)
    return moved


def _is_whole_by_now(storage: Storage, name: str) -> bool:
    """Say whether a manifest was replaced by its run since it was found damaged; other files never change."""
    return name.startswith("runs/") and digest_fault(storage.local(name, afresh=True)) is None


def without(storage: Storage, record: Record, packs: set[str]) -> Record:
    """Give the record that follows when some packs are gone."""
    files = tuple(pack for pack in record.files if pack.name not in packs)
    absorbed = {table: dict(record.absorbed[table]) for table in KEYED}
    for table in KEYED:
        gone = [pack for pack in record.files if pack.table == table and pack.name in packs]
        if gone:
            kept = _held(storage, replace(record, files=files), table)
            for held in record.absorbed[table]:
                # what a run has in other packs alone would look whole
                if held not in kept and any(pack.may_hold(held) for pack in gone):
                    del absorbed[table][held]
    bodies = {kind: name for kind, name in record.bodies.items() if name not in packs}
    manifests = record.manifests if "runs" in bodies else frozenset()
    return Record(record.number + 1, files, bodies, absorbed, manifests, record.removed)


def _held(storage: Storage, record: Record, table: str) -> set[Held]:
    """Collect what the packs of a table hold that counts."""
    columns = [KEYED[table], *(["scorer_id"] if table == "scores" else [])]
    found: set[Held] = set()
    for pack in record.files:
        if pack.table == table:
            for rows in row_groups(storage.local(pack.name), table, columns):
                unique: Any = rows.group_by(columns).aggregate([])
                keys = unique.column(columns[0]).to_pylist()
                scorers = unique.column("scorer_id").to_pylist() if table == "scores" else [""] * len(keys)
                pairs = {(key, scorer[:12]) for key, scorer in zip(keys, scorers, strict=True)}
                found |= pairs - pack.masked
    return found
