"""Reclaiming: deletes what nothing needs any more, some time after it ceased to be needed.

Invariant: what is deleted has counted for no look that began within the grace period; a look or a
query that is older begins again. A pack that no record names is deleted only when there is a record of
its number, so a packer that slept cannot name it any more. A manifest is deleted only under its run's
lock and only if it says what the packed one says. Temporary files and locks of dead processes must also
be an hour old.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradetrail.store.choosing import is_packed
from gradetrail.store.interface import Storage
from gradetrail.store.layout import LOCK, highest_scores, parse_part, parse_scores, run_lock
from gradetrail.store.packing import commit
from gradetrail.store.packs import (
    FOLDER,
    KEYED,
    Record,
    bodies,
    decoded,
    latest,
    parse_pack,
    record_name,
    record_numbers,
)
from gradetrail.store.repair import only_copies

GRACE_S = 3600.0
DEAD_AFTER_S = 3600.0
"""Age at which a half-written file or an unlocked lock is taken for that of a dead process."""
FOLDERS = ("journal", "runs", *KEYED, "scorers", "tasks", FOLDER)


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """What was deleted."""

    n_files: int = 0
    n_bytes: int = 0


def reclaim(storage: Storage, written_by: str, grace_s: float = GRACE_S) -> Reclaimed:
    """Delete what is packed, superseded or left over; the caller holds PACK_LOCK."""
    now = storage.now()
    _overtake_sleepers(storage, now - grace_s, written_by)
    n_files = n_bytes = 0
    for name in [*_unneeded(storage, now - grace_s), *_left_over(storage, now - max(grace_s, DEAD_AFTER_S))]:
        try:
            n_bytes += storage.size(name)
        except FileNotFoundError:
            continue
        storage.delete(name)
        n_files += 1
    n_manifests, n_more = _manifests(storage, now - grace_s)
    storage.tidy(max(grace_s, DEAD_AFTER_S))
    return Reclaimed(n_files + n_manifests, n_bytes + n_more)


def due(storage: Storage, before: float) -> Record:
    """Read the highest record that is older than `before`."""
    for number in record_numbers(storage.list(FOLDER)):
        name = record_name(number)
        if _is_old(storage, name, before):
            return decoded(number, storage.read(name))
    return Record()


def _overtake_sleepers(storage: Storage, before: float, written_by: str) -> None:
    """Take the number for which old packs wait, so that a packer which slept can name them no more."""
    record = latest(storage)
    waiting = [
        f"{FOLDER}/{file}"
        for file in storage.list(FOLDER)
        if (found := parse_pack(file)) and found[1] > record.number
    ]
    spared = set(only_copies(storage, record)) if waiting else set()
    if any(name not in spared and _is_old(storage, name, before) for name in waiting):
        commit(storage, record, replace(record, number=record.number + 1), written_by)


def _unneeded(storage: Storage, before: float) -> Iterator[str]:
    record = due(storage, before)
    numbers = record_numbers(storage.list(FOLDER))
    needed: set[str] = set()
    for number in numbers:
        if number >= record.number:
            needed |= decoded(number, storage.read(record_name(number))).names()
        else:
            yield record_name(number)
    # if the record of a pack was lost, the pack may be all there is
    spared = set(only_copies(storage, latest(storage)))
    for file in storage.list(FOLDER):
        name, found = f"{FOLDER}/{file}", parse_pack(file)
        is_past = found is not None and found[1] <= max(numbers, default=0)
        if is_past and name not in needed | spared and _is_old(storage, name, before):
            yield name
    for table in KEYED:
        files = storage.list(table)
        for file in files:
            if is_packed(record, table, file):
                yield f"{table}/{file}"
        if table in ("trials", "scores"):
            yield from _superseded(storage, table, files, record, before)


def _superseded(
    storage: Storage, table: str, files: list[str], record: Record, before: float
) -> Iterator[str]:
    """List parts below a fold, and scores below newer ones, that have been so since before the moment."""
    loose = [file for file in files if not is_packed(record, table, file)]
    if table == "scores":
        scores = [score for file in loose if (score := parse_scores(file))]
        for best in highest_scores(scores):
            if _is_old(storage, best.name, before):
                for score in scores:
                    is_same = (score.run_id, score.scorer12) == (best.run_id, best.scorer12)
                    if is_same and score.number < best.number:
                        yield score.name
        return
    parts = [part for file in loose if (part := parse_part(file))]
    folds: dict[str, int] = {}
    for part in parts:
        if part.is_fold and _is_old(storage, part.segment(table), before):
            folds[part.run_id] = max(part.number, folds.get(part.run_id, -1))
    for part in parts:
        fold = folds.get(part.run_id, -1)
        if part.number < fold or (part.number == fold and not part.is_fold):
            yield part.segment(table)


def _left_over(storage: Storage, before: float) -> Iterator[str]:
    for folder in FOLDERS:
        yield from storage.old_temporary(folder, before)
    for folder in ("journal", "runs"):
        for file in storage.list(folder):
            name = f"{folder}/{file}"
            if file.endswith(LOCK) and _is_old(storage, name, before):
                claim = storage.claim(name)
                if claim is not None:
                    claim.release(delete=True)


def _manifests(storage: Storage, before: float) -> tuple[int, int]:
    packed, record = due(storage, before).manifests, latest(storage)
    if not packed:
        return 0, 0
    texts = bodies(storage, record, "runs")
    n_files = n_bytes = 0
    for file in storage.list("runs"):
        run_id = file.removesuffix(".json")
        name = f"runs/{file}"
        text = texts.get(run_id, "").encode()
        if run_id not in packed or _held(storage, name) != text:
            continue
        claim = storage.claim(run_lock(run_id))
        if claim is None:
            continue
        try:
            if _held(storage, name) == text:
                storage.delete(name)
                n_files, n_bytes = n_files + 1, n_bytes + len(text)
        finally:
            claim.release(delete=True)
    return n_files, n_bytes


def _is_old(storage: Storage, name: str, before: float) -> bool:
    """Say whether a file was written by then; False if it is gone: another process may end or pack too."""
    try:
        return storage.modified(name) <= before
    except FileNotFoundError:
        return False


def _held(storage: Storage, name: str) -> bytes | None:
    """Read a file; None if it is gone, for where locks keep no other packer out."""
    try:
        return storage.read(name)
    except FileNotFoundError:
        return None
