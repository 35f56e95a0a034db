"""Packing: many small files of finished work become few large ones, beside readers and writers.

Invariant: nothing that counts is lost or there twice, wherever the packer is killed. It lists journals
before tables and each table twice (a number counts only if all below it were listed), writes packs
that no record names yet, and publishes the record by link under the number after the one that it
read: whoever comes second has done nothing. The lock only spares two packers the same work.
"""

from __future__ import annotations

import heapq
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from gradetrail.errors import Fault, StoreError
from gradetrail.store.choosing import Chosen, FaultFinder, choose, ends_only
from gradetrail.store.digests import DIGEST, ZEROS, DigestingSink
from gradetrail.store.interface import Storage
from gradetrail.store.layout import (
    ScoreFile,
)
from gradetrail.store.packs import (
    KEYED,
    Held,
    PackFile,
    Record,
    Removed,
    bodies,
    encoded,
    latest,
    pack_name,
    record_name,
)
from gradetrail.store.schema import FACT_ROW_GROUP, ROW_GROUP
from gradetrail.store.segments import content_fault, row_groups, writing

if TYPE_CHECKING:
    import pyarrow as pa

PACK_ROWS = 1_000_000
"""A pack is closed at the end of the run with which it has so many rows."""
MOST_MASKED = 64
"""Runs that are masked in a pack, beyond which it is written again."""
SAMPLED = 32
"""Files whose rows are counted, to estimate those of all."""
MERGED_AT_ONCE = 8
"""Packs that are written again in one packing: each has a row group in memory."""


PAID = ("responses", "calls")
"""Tables whose rows belong to the run that paid."""


class Chunk(NamedTuple):
    """Rows of one run (of one run by one scorer) that come one after the other."""

    held: Held
    rank: int
    """Order among the sources of one run."""
    rows: Iterator[pa.Table]


@dataclass(frozen=True)
class Gone:
    """What is to be in no pack any more."""

    by_table: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Runs, by table; `runs` for their manifests."""
    keeps: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Answers (response_id) of such a run that stay, with the calls that brought them."""
    drops: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Answers (response_id) that go of a run which stays otherwise, with their calls."""

    def touched(self, table: str) -> frozenset[str]:
        """Give the runs of which rows of a table go, be it a few."""
        return self.runs(table) | self.drops.keys() if table in PAID else self.runs(table)

    def runs(self, table: str) -> frozenset[str]:
        """Give the runs of which rows of a table go."""
        return self.by_table.get(table, frozenset())

    def removed(self, number: int) -> dict[str, Removed]:
        """Say how runs go with the record of a number."""
        return {run: Removed(number, run in self.runs("responses")) for run in self.runs("runs")}

    def has_body(self, kind: str, name: str) -> bool:
        """Say whether a packed text goes."""
        return name in self.runs("runs") if kind == "runs" else name.rsplit(".", 2)[0] in self.runs("scores")

    def filtered(self, table: str, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Leave out what goes."""
        for chunk in chunks:
            run_id = chunk.held[0]
            if run_id not in self.runs(table):
                is_cut = table in PAID and run_id in self.drops
                yield (
                    chunk._replace(rows=_answers(chunk.rows, self.drops[run_id], is_there=False))
                    if is_cut
                    else chunk
                )
            elif table in PAID and run_id in self.keeps:
                yield chunk._replace(rows=_answers(chunk.rows, self.keeps[run_id], is_there=True))


def _answers(
    tables: Iterable[pa.Table], response_ids: frozenset[str], *, is_there: bool
) -> Iterator[pa.Table]:
    """Give the rows whose answer is, or is not, among some."""
    import pyarrow as pa
    import pyarrow.compute as pc

    named = pa.array(sorted(response_ids), pa.string())
    for rows in tables:
        mask: Any = pc.is_in(rows.column("response_id"), value_set=named)
        yield rows.filter(mask if is_there else pc.invert(mask))


@dataclass(frozen=True, slots=True)
class Packed:
    """What a packing did."""

    n_files: int
    """Loose files that are in packs now, manifests included."""
    n_packs: int
    n_rows: int


def pack(storage: Storage, written_by: str) -> Packed | None:
    """Pack all that is finished; None if another packer was faster. The caller holds PACK_LOCK."""
    import pyarrow as pa

    record = latest(storage)
    chosen = choose(storage, record)
    if not chosen:
        return Packed(0, 0, 0)
    try:
        done = merged(storage, record, chosen)
    except (StoreError, pa.ArrowException, OSError):
        # something is damaged inside: leave it out, so that the damage stays in sight
        chosen = choose(storage, record, fault=content_fault)
        done = merged(storage, record, chosen, fault=content_fault)
    if not commit(storage, record, done, written_by):
        return None
    before = record.names()
    new = [pack for pack in done.files if pack.name not in before]
    n_files = sum(len(names) for table in chosen.files.values() for names in table.values())
    return Packed(n_files + len(chosen.manifests), len(new), sum(pack.n_rows for pack in new))


def commit(storage: Storage, record: Record, done: Record, written_by: str) -> bool:
    """Publish a record that follows another; False if that has a follower already."""
    name = record_name(done.number)
    if storage.create(name, lambda sink: sink.write(encoded(done, written_by))):
        return True
    for made in done.names() - record.names() - {name}:
        storage.delete(made)
    return False


def merged(
    storage: Storage,
    record: Record,
    chosen: Chosen,
    gone: Gone | None = None,
    *,
    fault: FaultFinder = ends_only,
) -> Record:
    """Write packs of what was chosen together with small ones there are; give the record that names them.

    What is `gone` is left out, and every pack that may have it is written again.
    """
    gone = gone or Gone()
    number, token = record.number + 1, secrets.token_hex(4)
    files: list[PackFile] = []
    for table in KEYED:
        fresh = chosen.files.get(table, {})
        olds = [masked_by(pack, fresh) for pack in record.files if pack.table == table]
        again = [
            old
            for old in _to_merge(olds, fresh, storage, gone.touched(table))
            if not fault(storage, table, old.name)
        ]
        files += [old for old in olds if old not in again]
        if fresh or again:
            chunks = heapq.merge(
                *(_of_pack(storage, old, rank) for rank, old in enumerate(again)),
                _of_files(storage, table, fresh, len(again)),
                key=lambda chunk: (chunk.held, chunk.rank),
            )
            kept = gone.filtered(table, chunks)
            files += _written(storage, table, kept, number, token)
    texts = {kind: bodies(storage, record, kind) for kind in ("runs", "notes")}
    changed = {"runs": dict(chosen.manifests), "notes": _notes(storage, chosen)}
    packs = dict(record.bodies)
    for kind, known in texts.items():
        after = {
            name: body for name, body in (known | changed[kind]).items() if not gone.has_body(kind, name)
        }
        if kind == "notes":
            after = _current_notes(after, record, chosen)
        if after != known:
            packs[kind] = pack_name(kind, number, 0, token)
            storage.create(packs[kind], _writing_bodies(after))
    absorbed = {
        table: {
            held: n
            for held, n in {**record.absorbed[table], **chosen.absorbed.get(table, {})}.items()
            if held[0] not in gone.runs(table) or (held[0] in gone.keeps and table in PAID)
        }
        for table in KEYED
    }
    manifests = (record.manifests | chosen.manifests.keys()) - gone.runs("runs")
    removed = {**record.removed, **gone.removed(number)}
    return Record(number, tuple(files), packs, absorbed, frozenset(manifests), removed)


def masked_by(pack: PackFile, fresh: Iterable[Held]) -> PackFile:
    """Mask what a later pack has anew; answers and calls are added to, and mask nothing."""
    if pack.table not in ("trials", "scores"):
        return pack
    anew = {held for held in fresh if pack.first <= held[0] <= pack.last}
    return replace(pack, masked=pack.masked | anew) if anew else pack


def _to_merge(
    packs: list[PackFile], fresh: Mapping[Held, list[str]], storage: Storage, gone: frozenset[str]
) -> list[PackFile]:
    """Choose the packs that are written again: small ones, and those of which much is masked.

    They are of about the size of what comes at most, so that each row is written a few times only.
    """
    import pyarrow.parquet as pq

    wanted = [pack for pack in packs if any(pack.first <= key <= pack.last for key in gone)]
    if fresh:
        names = [name for names in fresh.values() for name in names]
        some = names[:: -(-len(names) // SAMPLED)]
        counted = sum(pq.read_metadata(storage.local(name)).num_rows for name in some)
        n_rows = counted * len(names) // len(some)
        for pack in sorted(packs, key=lambda pack: pack.n_rows):
            if len(wanted) >= MERGED_AT_ONCE or pack in wanted:
                continue
            if len(pack.masked) > MOST_MASKED or pack.n_rows < min(2 * n_rows, PACK_ROWS):
                wanted.append(pack)
                n_rows += pack.n_rows
    return [pack for pack in packs if pack in wanted]


def _of_files(storage: Storage, table: str, files: Mapping[Held, list[str]], rank: int) -> Iterator[Chunk]:
    for held in sorted(files):
        for name in files[held]:
            yield Chunk(held, rank, _of_file(storage, table, name, held))


def _of_file(storage: Storage, table: str, name: str, held: Held) -> Iterator[pa.Table]:
    for rows in row_groups(storage.local(name), table, verified=True):
        if rows.num_rows and rows.column(KEYED[table])[0].as_py() != held[0]:
            raise StoreError(Fault(f"holds something else than {held[0]}", name))
        yield rows


def _of_pack(storage: Storage, pack: PackFile, rank: int) -> Iterator[Chunk]:
    """Yield what a pack holds, run by run; a run that goes over several row groups comes in pieces."""
    import pyarrow.compute as pc

    compute: Any = pc  # newer than the stubs
    column = KEYED[pack.table]
    for group in row_groups(storage.local(pack.name), pack.table, verified=True):
        keys: Any = group.column(column)
        if pack.table == "scores":
            scorers: Any = pc.utf8_slice_codeunits(group.column("scorer_id"), 0, 12)
            keys = pc.binary_join_element_wise(keys, scorers, "/")
        ends = compute.run_end_encode(keys.combine_chunks())
        start = 0
        for key, end in zip(ends.values.to_pylist(), ends.run_ends.to_pylist(), strict=True):
            name, _, scorer12 = key.partition("/")
            held = (name, scorer12)
            if held not in pack.masked:
                yield Chunk(held, rank, iter([group.slice(start, end - start)]))
            start = end


def _written(
    storage: Storage, table: str, chunks: Iterator[Chunk], number: int, token: str
) -> Iterator[PackFile]:
    """Write chunks, which come in order, as packs of about PACK_ROWS."""
    runs = groupby(chunks, key=lambda chunk: chunk.held[0])
    following = next(runs, None)
    place = 0
    while following is not None:
        batch = _Batch(runs, following)
        name = pack_name(table, number, place, token)
        storage.create(name, writing(table, _grouped(batch.rows(), ROW_GROUP.get(table, FACT_ROW_GROUP))))
        yield PackFile(name, table, batch.n_rows, batch.first, batch.last)
        following = batch.following
        place += 1


Run = tuple[str, Iterator[Chunk]]


class _Batch:
    """The runs of one pack; tells what it gave when it was read to its end."""

    def __init__(self, runs: Iterator[Run], following: Run) -> None:
        self._runs = runs
        self.following: Run | None = following
        self.n_rows = 0
        self.first = self.last = following[0]

    def rows(self) -> Iterator[pa.Table]:
        while self.following is not None and self.n_rows < PACK_ROWS:
            self.last, chunks = self.following
            for chunk in chunks:
                for piece in chunk.rows:
                    self.n_rows += piece.num_rows
                    yield piece
            self.following = next(self._runs, None)


def _grouped(pieces: Iterable[pa.Table], n_rows: int) -> Iterator[pa.Table]:
    """Join small pieces into tables of one row group each."""
    import pyarrow as pa

    waiting: list[pa.Table] = []
    size = 0
    for piece in pieces:
        while piece.num_rows:
            part = piece.slice(0, n_rows - size)
            piece = piece.slice(part.num_rows)
            waiting.append(part)
            size += part.num_rows
            if size == n_rows:
                yield pa.concat_tables(waiting)
                waiting, size = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def _notes(storage: Storage, chosen: Chosen) -> dict[str, str]:
    """Give the metadata of score files as JSON, by stem."""
    import pyarrow.parquet as pq

    found = {}
    for (run_id, scorer12), number in chosen.absorbed.get("scores", {}).items():
        score = ScoreFile(run_id, scorer12, number)
        known = pq.read_metadata(storage.local(score.name)).metadata or {}
        notes = {
            k.decode(): v.decode() for k, v in known.items() if k.decode() not in ("ARROW:schema", DIGEST)
        }
        found[score.stem] = orjson.dumps(notes).decode()
    return found


def _current_notes(notes: dict[str, str], record: Record, chosen: Chosen) -> dict[str, str]:
    """Leave out what was noted of grades that were packed anew."""
    anew = chosen.absorbed.get("scores", {}).items()
    past = {
        ScoreFile(*held, record.number_of("scores", *held)).stem
        for held, number in anew
        if record.number_of("scores", *held) != number
    }
    return {stem: text for stem, text in notes.items() if stem not in past}


def _writing_bodies(texts: Mapping[str, str]) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = sorted(texts)
    rows = pa.table({"name": names, "body": [texts[name] for name in names]})

    def write(sink: Any) -> None:
        digesting: Any = DigestingSink(sink)
        with pq.ParquetWriter(
            digesting, rows.schema, compression="zstd", write_page_checksum=True, use_dictionary=False
        ) as writer:
            writer.write_table(rows)
            writer.add_key_value_metadata({DIGEST: ZEROS})
        digesting.certify()

    return write
