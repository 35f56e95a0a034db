"""The record of packs: which files hold merged rows, which loose files they stand for, and which rows count.

Invariant: a pack counts only through the highest `packs/<n>.json`, which alone is read. A loose file
whose number is not above the one that was absorbed is in a pack, and is ignored; a newer one of trials
or scores masks what the packs have of that run. Rows of a pack that a later pack has anew stay masked
in the record until that pack is written again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from gradetrail.errors import Fault, StoreError
from gradetrail.store.digests import certified
from gradetrail.store.interface import Storage
from gradetrail.store.layout import PARQUET, Part, ScoreFile
from gradetrail.store.manifests import PackedManifest

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "packs"
PACK_LOCK = f"{FOLDER}/lock"
KEYED = {"responses": "run_id", "calls": "run_id", "trials": "run_id", "scores": "run_id"} | {
    "samples": "dataset_id"
}
"""Tables, each with the column by which packs are sorted."""
BODIES = {"runs": "manifests of packed runs", "notes": "what was noted of packed grades"}
"""Kinds of packs that hold texts by name: (name, body)."""

_RECORD = re.compile(r"(0|[1-9][0-9]{0,17})\.json\Z")
_PACK = re.compile(r"([a-z]+)-([0-9]+)-([0-9]+)-[0-9a-f]{8}\.parquet\Z")

Held = tuple[str, str]
"""What a pack holds as a whole: (run_id or dataset_id, first 12 digits of the scorer_id or "")."""


@dataclass(frozen=True, slots=True)
class PackFile:
    """One Parquet file of merged rows, sorted by run."""

    name: str
    """Name in the warehouse."""
    table: str
    n_rows: int
    first: str
    last: str
    """Least and greatest key (run_id, or dataset_id of samples)."""
    masked: frozenset[Held] = frozenset()
    """Rows that do not count: a later pack has them anew."""

    def may_hold(self, held: Held) -> bool:
        """Say whether rows that count can be in it."""
        return self.first <= held[0] <= self.last and held not in self.masked


class Removed(NamedTuple):
    """How a run was removed."""

    number: int
    """Of the record that is without it."""
    has_answers: bool
    """True if the answers that it paid for went too."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is packed, as of one number."""

    number: int = 0
    """0 if nothing was ever packed."""
    files: tuple[PackFile, ...] = ()
    bodies: Mapping[str, str] = field(default_factory=dict)
    """The one pack of each of BODIES, by kind."""
    absorbed: Mapping[str, Mapping[Held, int]] = field(default_factory=lambda: {t: {} for t in KEYED})
    """By table: the highest number of what is packed; 0 for a dataset."""
    manifests: frozenset[str] = frozenset()
    """Runs whose manifest is packed; one in `runs/` is newer."""
    removed: Mapping[str, Removed] = field(default_factory=dict)
    """Runs that were removed, each as it was last."""

    def number_of(self, table: str, key: str, scorer12: str = "") -> int:
        """Give the number up to which rows are packed; -1 if there are none."""
        return self.absorbed[table].get((key, scorer12), -1)

    def holders(self, table: str, held: Held) -> list[PackFile]:
        """List the packs that may have rows which count."""
        return [pack for pack in self.files if pack.table == table and pack.may_hold(held)]

    def names(self) -> set[str]:
        """List every file that the record names, itself included."""
        return {pack.name for pack in self.files} | set(self.bodies.values()) | {record_name(self.number)}

    def has_part(self, table: str, part: Part) -> bool:
        """Say whether a segment, or a journal part's rows in a table, are packed."""
        return part.number <= self.number_of(table, part.run_id)

    def has_scores(self, score: ScoreFile) -> bool:
        """Say whether a score file, or a newer one, is packed."""
        return score.number <= self.number_of("scores", score.run_id, score.scorer12)

    def next_part(self, run_id: str) -> int:
        """Give the highest part number of a run that was packed; 0 if none was."""
        return max(0, *(self.number_of(table, run_id) for table in ("responses", "calls", "trials")))


def record_name(number: int) -> str:
    """Name the record of a number."""
    return f"{FOLDER}/{number}.json"


def record_numbers(files: Iterable[str]) -> list[int]:
    """List the numbers of records among file names, the highest first."""
    return sorted((int(found[1]) for file in files if (found := _RECORD.match(file))), reverse=True)


def pack_name(kind: str, number: int, place: int, token: str) -> str:
    """Name a pack; the token keeps what a killed packer left from standing in the way."""
    return f"{FOLDER}/{kind}-{number}-{place}-{token}{PARQUET}"


def parse_pack(file: str) -> tuple[str, int] | None:
    """Read kind and number out of a pack's file name; None for any other file."""
    found = _PACK.match(file)
    return (found[1], int(found[2])) if found else None


def table_of(name: str) -> str:
    """Name the table whose rows a file in the warehouse holds."""
    folder, _, file = name.partition("/")
    found = parse_pack(file) if folder == FOLDER else None
    return found[0] if found else folder


def encoded(record: Record, written_by: str) -> bytes:
    """Write a record as JSON; numbers stand by run, in the order of the tables."""
    tables = list(KEYED)
    by_run: dict[str, list[Any]] = {}
    for column, table in enumerate(tables):
        for (key, scorer12), number in record.absorbed[table].items():
            entry = by_run.setdefault(key, [-1] * len(tables))
            if table == "scores":
                if entry[column] == -1:
                    entry[column] = {}
                entry[column][scorer12] = number
            else:
                entry[column] = number
    body = {
        "written_by": written_by,
        "files": [
            {
                "name": pack.name, "table": pack.table, "rows": pack.n_rows, "first": pack.first,
                "last": pack.last, "masked": sorted(pack.masked),
            }
            for pack in record.files
        ],
        "bodies": dict(record.bodies),
        "manifests": sorted(record.manifests),
        "tables": tables,
        "absorbed": by_run,
        "removed": {run_id: list(how) for run_id, how in record.removed.items()},
    }  # fmt: skip
    return certified(body)


def decoded(number: int, data: bytes) -> Record:
    """Read a record; ValueError, TypeError or KeyError if it is damaged."""
    body = orjson.loads(data)
    absorbed: dict[str, dict[Held, int]] = {table: {} for table in KEYED}
    for key, entry in body["absorbed"].items():
        for table, value in zip(body["tables"], entry, strict=True):
            if isinstance(value, dict):
                absorbed[table] |= {(key, scorer12): int(n) for scorer12, n in value.items()}
            elif value >= 0:
                absorbed[table][key, ""] = int(value)
    files = tuple(
        PackFile(
            str(pack["name"]), str(pack["table"]), int(pack["rows"]), str(pack["first"]), str(pack["last"]),
            frozenset((str(key), str(scorer12)) for key, scorer12 in pack["masked"]),
        )
        for pack in body["files"]
    )  # fmt: skip
    removed = {
        str(run_id): Removed(int(n), bool(paid)) for run_id, (n, paid) in body.get("removed", {}).items()
    }
    return Record(number, files, dict(body["bodies"]), absorbed, frozenset(body["manifests"]), removed)


def latest(storage: Storage, faults: list[Fault] | None = None) -> Record:
    """Read the highest record; a damaged one is added to `faults`, and the one before it is taken.

    Without `faults` it is a StoreError: to write on from an older record would lose rows.
    """
    passed: set[int] = set()
    while True:
        numbers = [n for n in record_numbers(storage.list(FOLDER)) if n not in passed]
        if not numbers:
            return Record()
        name = record_name(numbers[0])
        try:
            return decoded(numbers[0], storage.read(name))
        except FileNotFoundError:
            continue  # a newer one is there by now
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            passed.add(numbers[0])
            fix = "restore the file from a copy of the warehouse, or `gradetrail check --repair`"
            fault = Fault(f"damaged: {error!r}", storage.place(name), fix=fix)
            if faults is None:
                raise StoreError(fault) from None
            faults.append(fault)


def highest(storage: Storage) -> int:
    """Give the number of the highest record; 0 if there is none."""
    return max(record_numbers(storage.list(FOLDER)), default=0)


def missing(storage: Storage, name: str) -> Fault:
    """Say that a file is not there which the highest record names."""
    fix = "restore it from a copy of the warehouse, or `gradetrail check --repair` strikes it from the record"
    return Fault("missing: the record of packs names it", storage.place(name), fix=fix)


def packed_rows(
    storage: Storage, record: Record, table: str, held: Held, columns: Iterable[str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows that packs have of a run (of a run by a scorer), in order; checksums are compared."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from gradetrail.store.segments import row_groups

    wanted = None if columns is None else list(columns)
    read = None if wanted is None else [*wanted, KEYED[table], *(["scorer_id"] if held[1] else [])]
    for pack in record.holders(table, held):
        groups = row_groups(
            storage.local(pack.name), table, read, verified=True, encoded=True,
            between=(KEYED[table], held[0], held[0]),
        )  # fmt: skip
        for rows in groups:
            mask: Any = pc.equal(rows.column(KEYED[table]).cast(pa.string()), pa.scalar(held[0]))
            if held[1]:
                mask = pc.and_(mask, pc.starts_with(rows.column("scorer_id").cast(pa.string()), held[1]))
            found = rows.filter(mask)
            if found.num_rows:
                yield found if wanted is None else found.select(wanted)


def bodies(storage: Storage, record: Record, kind: str) -> dict[str, str]:
    """Read all texts of a kind by name, without pyarrow, which takes longer to import than this."""
    return dict(_read(storage, record.bodies.get(kind), "warehouse/bodies"))


def manifests(storage: Storage, record: Record) -> list[PackedManifest]:
    """Read the packed manifests; QueryError if one is no JSON."""
    rows = _read(storage, record.bodies.get("runs"), "warehouse/packed_manifests")
    return [PackedManifest(name, body, *known) for name, body, known in rows]


def _read(storage: Storage, name: str | None, query: str) -> list[Any]:
    """Ask a pack of texts; nothing where there is none."""
    if name is None:
        return []
    from gradetrail import sql

    with sql.connect() as con:
        return sql.run_file(con, query, {"file": str(storage.local(name))}).fetchall()
