"""What a packing takes up: files of finished work that are not packed yet.

Invariant: a number counts only if every file below it was listed. Journals are listed before tables,
and each table twice: numbers come from the first listing, files from the second. Nothing of a run
that is being written is taken, and nothing that is damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import orjson

from gradetrail.errors import Fault
from gradetrail.store.interface import Storage
from gradetrail.store.layout import (
    JOURNAL,
    LOCK,
    PARQUET,
    Part,
    highest_scores,
    parse_part,
    parse_scores,
    run_lock,
    trial_sources,
)
from gradetrail.store.packs import KEYED, Held, Record, bodies, latest
from gradetrail.store.segments import ends_fault

LOOSE_FILES = 64
"""Files of one table that are not packed, beyond which packing starts by itself."""

FaultFinder = Callable[[Storage, str, str], Fault | None]


@dataclass(frozen=True)
class Chosen:
    """What a packing takes up."""

    files: Mapping[str, Mapping[Held, list[str]]]
    """Loose files by table and by what they hold, in the order of their numbers."""
    absorbed: Mapping[str, Mapping[Held, int]]
    manifests: Mapping[str, str]
    """JSON text by run_id."""

    def __bool__(self) -> bool:
        return any(self.files.values()) or bool(self.manifests)


def loose_files(storage: Storage) -> int:
    """Count the files that count and are not packed, of the table that has most."""
    record = latest(storage)
    counts = []
    for table in KEYED:
        files = [file for file in storage.list(table) if not is_packed(record, table, file)]
        if table in ("trials", "scores"):  # of a run (by a scorer) the newest counts
            files = list({file.removesuffix(PARQUET).rpartition(".")[0] for file in files})
        counts.append(len(files))
    return max(counts)


def is_packed(record: Record, table: str, file: str) -> bool:
    """Say whether what a loose file holds is packed."""
    if table == "samples":
        return record.number_of("samples", file.removesuffix(PARQUET)) >= 0
    if table == "scores":
        score = parse_scores(file)
        return score is not None and record.has_scores(score)
    part = parse_part(file)
    return part is not None and record.has_part(table, part)


def ends_only(storage: Storage, _: str, name: str) -> Fault | None:
    """Look at both ends of a file; what is wrong inside comes out when it is read."""
    return ends_fault(storage, name)


def choose(
    storage: Storage,
    record: Record,
    *,
    fault: FaultFinder = ends_only,
    held: frozenset[str] = frozenset(),
) -> Chosen:
    """Find what is finished and not packed: no run that is being written, nothing damaged, all of a run.

    The caller itself holds the runs in `held`.
    """
    journals = storage.list("journal")
    busy = {part.run_id for file in journals if (part := parse_part(file, JOURNAL))}
    busy |= {
        run_id
        for file in journals
        if file.endswith(LOCK) and storage.is_claimed(run_lock(run_id := file.removesuffix(LOCK)))
    }
    busy -= held
    first = {table: storage.list(table) for table in KEYED}
    again = {table: storage.list(table) for table in KEYED}
    files: dict[str, dict[Held, list[str]]] = {}
    absorbed: dict[str, dict[Held, int]] = {}
    for table in KEYED:
        units = _units(table, first[table], again[table], record, busy)
        storage.fetch(name for _, names in units.values() for name in names)
        whole = {
            held: (number, names)
            for held, (number, names) in units.items()
            if not any(fault(storage, table, name) for name in names)
        }
        files[table] = {held: names for held, (_, names) in whole.items()}
        absorbed[table] = {held: number for held, (number, _) in whole.items()}
    return Chosen(files, absorbed, _manifests(storage, record, busy))


def _units(
    table: str, first: list[str], again: list[str], record: Record, busy: set[str]
) -> dict[Held, tuple[int, list[str]]]:
    """Give by what they hold the number and names of the files of a table that may be packed."""
    if table == "samples":
        stems = [file.removesuffix(PARQUET) for file in first if file.endswith(PARQUET)]
        return {
            (stem, ""): (0, [f"samples/{stem}{PARQUET}"])
            for stem in stems
            if record.number_of("samples", stem) < 0
        }
    if table == "scores":
        scores = [score for file in first if (score := parse_scores(file)) and not record.has_scores(score)]
        return {(s.run_id, s.scorer12): (s.number, [s.name]) for s in highest_scores(scores)}
    parts: dict[str, list[Part]] = {}
    for file in again:
        part = parse_part(file)
        if part and not record.has_part(table, part) and part.run_id not in busy:
            parts.setdefault(part.run_id, []).append(part)
    last: dict[str, int] = {}
    for file in first:
        part = parse_part(file)
        if part:
            last[part.run_id] = max(part.number, last.get(part.run_id, -1))
    units = {}
    for run_id, of_run in parts.items():
        if table == "trials":
            of_run, _ = trial_sources(of_run, (), record.number_of("trials", run_id))
            # part 0 has all trials too: a run of stored answers alone is never folded
            if len(of_run) != 1 or not (of_run[0].is_fold or of_run[0].number == 0):
                continue  # unfinished, or a part has come that is not folded yet
        # a listing may miss a file that was made meanwhile, and have a later one: the second has both
        of_run = sorted(part for part in of_run if part.number <= last.get(run_id, -1))
        if of_run:
            units[run_id, ""] = (of_run[-1].number, [part.segment(table) for part in of_run])
    return units


def _manifests(storage: Storage, record: Record, busy: set[str]) -> dict[str, str]:
    """Read the manifests that are not packed, or say something else by now."""
    known = bodies(storage, record, "runs")
    found = {}
    for file in storage.list("runs"):
        run_id = file.removesuffix(".json")
        if not file.endswith(".json") or run_id in busy:
            continue
        try:
            text = storage.read(f"runs/{file}").decode()
            manifest = orjson.loads(text)
        except (FileNotFoundError, UnicodeDecodeError, orjson.JSONDecodeError):
            continue
        if isinstance(manifest, dict) and manifest.get("status") != "running" and known.get(run_id) != text:
            found[run_id] = text
    return found
