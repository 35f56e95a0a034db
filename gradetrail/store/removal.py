"""Removal of a run: its trials, grades and manifest, and if asked the answers that it paid for.

Invariant: what is removed is in no file of the warehouse when this ends: in no pack, no answer that was
asked with it, and nothing that was set aside or left half written. All of it is packed first, so that
one new record makes it vanish at once; then the files that held it are deleted without a grace period,
and a reader that had them looks again. Killed in between, it can be repeated.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradetrail.errors import Fault, StoreError
from gradetrail.store.choosing import Chosen, choose, is_packed
from gradetrail.store.interface import Storage
from gradetrail.store.layout import PARQUET, parse_part, parse_scores
from gradetrail.store.packing import Gone, commit, merged
from gradetrail.store.packs import FOLDER, KEYED, latest, packed_rows, parse_pack, record_numbers
from gradetrail.store.schema import JOURNALED

if TYPE_CHECKING:
    import pyarrow as pa

    from gradetrail.store.packs import Record

PAID = ("responses", "calls")
PLANNED = frozenset(
    {"run_id", "task", "model", "model_id", "prompt", "sample_id", "sample_hash", "dataset_id", "category"}
    | {"cluster", "epoch", "input_hash", "choice_order", "request_key"}
)
"""Columns of a trial that are known before it is asked."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What is to go."""

    run_id: str
    with_answers: bool = False
    kept: frozenset[str] = frozenset()
    """Answers (response_id) of the run that stay, since other runs are pinned to them."""
    ungraded: frozenset[str] = frozenset()
    """Other runs whose grades go too, since they quote answers that go."""
    quoting: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Answers (response_id) of other runs that go too, since they were asked with an answer that goes."""

    def gone(self) -> Gone:
        """Say what goes, by table."""
        mine = frozenset({self.run_id})
        by_table = {"trials": mine, "scores": mine | self.ungraded, "runs": mine}
        if self.with_answers:
            by_table |= dict.fromkeys(PAID, mine)
        return Gone(by_table, {self.run_id: self.kept} if self.kept else {}, self.quoting)

    def others(self) -> frozenset[str]:
        """Name the other runs of which something goes."""
        return self.ungraded | self.quoting.keys()


@dataclass(frozen=True, slots=True)
class Freed:
    """What a removal gave back of the disk."""

    n_now: int
    """Bytes that are free now: none where more was packed with what stays than went."""
    n_later: int
    """Bytes of files that were packed along and stay for readers that began before, until the next
    reclaiming after the grace period."""


def loose_files(storage: Storage, removal: Removal) -> dict[str, int]:
    """Give the files that hold what goes, with their bytes."""
    gone = removal.gone()
    found = [f"runs/{removal.run_id}.json", f"logs/{removal.run_id}.jsonl"]
    for table in ("trials", "scores", *PAID):
        for file in storage.list(table):
            named = parse_scores(file) if table == "scores" else parse_part(file)
            if named is not None and named.run_id in gone.runs(table):
                found.append(f"{table}/{file}")
    return _sizes(storage, found)


def packed_bytes(storage: Storage, record: Record, removal: Removal) -> int:
    """Estimate how many bytes of packs go, by their share of rows."""
    from gradetrail.store.segments import row_groups

    gone, total = removal.gone(), 0.0
    for pack in record.files:
        columns = ["run_id", "response_id"] if pack.table in PAID else ["run_id"]
        for run_id in gone.touched(pack.table):
            if pack.first <= run_id <= pack.last and pack.n_rows:
                groups = row_groups(
                    storage.local(pack.name), pack.table, columns, between=("run_id", run_id, run_id)
                )
                n_rows = sum(_rows_that_go(rows, run_id, gone) for rows in groups)
                total += storage.size(pack.name) * n_rows / pack.n_rows
    return round(total)


def _rows_that_go(rows: pa.Table, run_id: str, gone: Gone) -> int:
    """Count the rows of a run that go; those of a table of answers have `response_id`."""
    runs = rows.column("run_id").to_pylist()
    if "response_id" not in rows.column_names:
        return runs.count(run_id)
    ids = rows.column("response_id").to_pylist()
    mine = [response_id for run, response_id in zip(runs, ids, strict=True) if run == run_id]
    if run_id in gone.drops:
        return sum(response_id in gone.drops[run_id] for response_id in mine)
    return sum(response_id not in gone.keeps.get(run_id, ()) for response_id in mine)


def remove(storage: Storage, removal: Removal, written_by: str, confirm: Callable[[], None]) -> Freed:
    """Remove it for good; say what that frees. The caller holds PACK_LOCK and the run's lock.

    `confirm` raises if there is more to remove than was thought. Raises StoreError, and removes nothing,
    if a file that holds some of it is damaged.
    """
    before = _size(storage)
    held = frozenset({removal.run_id, *removal.others()})
    record = latest(storage)
    chosen = choose(storage, record, held=held)
    if chosen:
        done = merged(storage, record, chosen)
        _commit(storage, record, done, written_by)
        record = done
    known = frozenset(storage.list("scores"))
    confirm()
    gone = removal.gone()
    answers = _answers_that_go(storage, record, removal)
    for name in _partly_gone(storage, removal):
        table, _, file = name.partition("/")
        if not is_packed(record, table, file):
            fix = "gradetrail check --repair, and then again"
            raise StoreError(Fault("cannot be packed, and holds answers that stay", name, fix=fix))
    damaged = [
        pack.name
        for pack in record.files
        if any(pack.first <= run_id <= pack.last for run_id in gone.touched(pack.table))
        and not storage.has(pack.name)
    ]
    if damaged:
        raise StoreError(Fault("missing", damaged[0], fix="gradetrail check --repair"))
    done = merged(storage, record, _nothing(), gone)
    # before the record, or what is loose would count again once no record speaks of it
    for name in [*loose_files(storage, removal), *_partly_gone(storage, removal)]:
        storage.delete(name)
    _commit(storage, record, done, written_by)
    _delete_late(storage, done, known, removal, answers)
    _delete_old(storage, done)
    if removal.with_answers:
        _delete_remains(storage, removal)
    after = _size(storage)
    # what is younger may be what another process has published since the listing
    storage.tidy(60.0)
    return Freed(max(0, before - after), _packed_along(storage, chosen))


def _packed_along(storage: Storage, chosen: Chosen) -> int:
    """Sum the bytes of loose files that were packed and are still there."""
    files = [name for of_table in chosen.files.values() for names in of_table.values() for name in names]
    return sum(_sizes(storage, files).values())


def _answers_that_go(storage: Storage, record: Record, removal: Removal) -> frozenset[str]:
    """Collect the ids of the answers that go."""
    found = frozenset[str]().union(*removal.quoting.values())
    if removal.with_answers:
        for rows in packed_rows(storage, record, "responses", (removal.run_id, ""), ["response_id"]):
            found |= frozenset(map(str, rows.column("response_id").to_pylist()))
    return found - removal.kept


def _delete_late(
    storage: Storage, record: Record, known: frozenset[str], removal: Removal, answers: frozenset[str]
) -> None:
    """Delete scores of what went that were published meanwhile; from now on their writers find out."""
    from gradetrail.store.scores import names_any

    for file in storage.list("scores"):
        score = parse_scores(file)
        if file in known or score is None or record.has_scores(score):
            continue
        with contextlib.suppress(FileNotFoundError):
            if score.run_id == removal.run_id or names_any(storage.local(score.name), answers):
                storage.delete(score.name)


def _partly_gone(storage: Storage, removal: Removal) -> list[str]:
    """List the files of which only some answers go."""
    runs = {*removal.quoting, *({removal.run_id} if removal.kept else ())}
    return [
        f"{table}/{file}"
        for table in PAID
        for file in storage.list(table)
        if (part := parse_part(file)) and part.run_id in runs
    ]


def _delete_remains(storage: Storage, removal: Removal) -> None:
    """Delete what was set aside as damaged or half written, and may hold what went."""
    runs = (removal.run_id, *removal.others())
    for file in storage.list("quarantine"):
        # of a damaged pack nobody can say what is in it
        if file.startswith(tuple(f"{run_id}." for run_id in runs)) or file.partition("-")[0] in KEYED:
            storage.delete(f"quarantine/{file}")
    for run_id in runs:
        for table in ("scores", *JOURNALED):
            storage.delete_temporary(table, f"{run_id}.")
    storage.delete_temporary(FOLDER, "")


def pending(trials: pa.Table, response_ids: frozenset[str]) -> pa.Table:
    """Give the trials that rest on some answers as if they had never been asked."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.array(sorted(response_ids), pa.string())
    mask: Any = pc.is_in(trials.column("response_id"), value_set=wanted)
    rows = trials.filter(mask)
    planned = rows.select([name for name in rows.column_names if name in PLANNED])
    return planned.append_column("status", pa.array(["pending"] * rows.num_rows, pa.string()))


def _nothing() -> Chosen:
    empty: Mapping[str, Mapping[tuple[str, str], int]] = {}
    return Chosen({}, empty, {})


def _commit(storage: Storage, record: Record, done: Record, written_by: str) -> None:
    if not commit(storage, record, done, written_by):
        raise StoreError(Fault("another process packed meanwhile", storage.place(), fix="try again"))


def _delete_old(storage: Storage, record: Record) -> None:
    """Delete every pack and record before the present one but what it names.

    A later one is of a packer that a lapsed lock let in while this process slept.
    """
    needed = record.names()
    for file in storage.list(FOLDER):
        name, found = f"{FOLDER}/{file}", parse_pack(file)
        number = found[1] if found else next(iter(record_numbers([file])), record.number + 1)
        if number <= record.number and name not in needed:
            storage.delete(name)


def _size(storage: Storage) -> int:
    folders = ("runs", "logs", "trials", "scores", *PAID, "samples", FOLDER)
    files = [f"{folder}/{file}" for folder in folders for file in storage.list(folder)]
    return sum(_sizes(storage, [n for n in files if n.endswith((PARQUET, ".json", ".jsonl"))]).values())


def _sizes(storage: Storage, names: Iterable[str]) -> dict[str, int]:
    """Give the bytes of those files that are there: another process may end or pack too."""
    found = {}
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            found[name] = storage.size(name)
    return found
