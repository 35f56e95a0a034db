"""Writes a long history: runs of twenty tasks and four models, two scorers, as the store keeps them.

Invariant: one run of each task is made by the pipeline itself, and paid for the answers; the rest are copies
of it under other ids, each with a twentieth of the scores turned round, and the first run is taken away.
Loose files go through the store's writer. Packs go through the packer's own: to write ten thousand runs as
loose files first, and to read them all again, takes longer than anything that is measured.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    import pyarrow as pa

    from gradetrail.store.packing import Chunk
    from gradetrail.store.packs import PackFile

TASKS = 20
MODELS = ("a", "b", "c", "d")
SCORERS = {"strict": "numeric", "lenient": "includes"}
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Size:
    """How much history is made."""

    runs: int
    scores: int

    @property
    def samples(self) -> int:
        """Samples of each task."""
        return max(1, self.scores // self.runs // len(MODELS) // len(SCORERS))


@dataclass(frozen=True)
class Source:
    """The run of a task that the others are copies of."""

    task: str
    run_id: str
    manifest: dict[str, Any]


@dataclass(frozen=True)
class Copy:
    """A run to be."""

    run_id: str
    source: Source
    moment: datetime

    @property
    def manifest(self) -> dict[str, Any]:
        """Its manifest."""
        moment = self.moment.isoformat()
        return {**self.source.manifest, "run_id": self.run_id, "started_at": moment, "ended_at": moment}


def make(root: Path, size: Size, *, is_packed: bool) -> None:
    """Write the whole history, and say how long it took."""
    from gradetrail.store import Store

    begun = monotonic()
    sources = [first_run(root, f"t{n:02}", size) for n in range(TASKS)]
    each = size.runs // TASKS
    copies = [
        copy_of(source, FIRST + timedelta(minutes=n * each + number))
        for n, source in enumerate(sources)
        for number in range(each)
    ]
    print(f"first runs made in {monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    begun = monotonic()
    (write_packs if is_packed else write_files)(root, copies)
    take_away(root, sources)
    if is_packed:
        Store(root).compact(0.0)
    print(f"written in {monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


def first_run(root: Path, task: str, size: Size) -> Source:
    """Make a run of a task, of answers that a mock gives."""
    import gradetrail as gt
    from gradetrail.store import Store

    spec = {
        "name": task,
        "dataset": {"category": "kind"},
        "prompt": "{{ question }}",
        "target": "{{ answer }}",
        "scorers": SCORERS,
        "models": [{"model": "mock/rule_based", "as": name, "seed": n} for n, name in enumerate(MODELS)],
    }
    rows = [{"question": f"What is {n} + {n}?", "answer": 2 * n, "kind": n % 5} for n in range(size.samples)]
    run_id = gt.run(spec, frame=rows, warehouse=root).run_id
    return Source(task, run_id, Store(root).manifest(run_id))


def copy_of(source: Source, moment: datetime) -> Copy:
    """Plan a copy that began at a moment."""
    return Copy(f"{moment:%Y%m%dT%H%M%SZ}-{source.task}-{secrets.token_hex(3)}", source, moment)


def take_away(root: Path, sources: list[Source]) -> None:
    """Delete the first runs; their answers stay, as `rm` leaves what other runs are pinned to."""
    for source in sources:
        for folder in ("runs", "trials", "scores"):
            for path in (root / folder).glob(f"{source.run_id}.*"):
                path.unlink()


def trials_of(root: Path, source: Source) -> pa.Table:
    """Read the trials of a first run."""
    from gradetrail.store import Store

    return Store(root).trials(source.run_id)


def scores_of(root: Path, source: Source) -> list[pa.Table]:
    """Read the grades of a first run, by scorer, in the order of scorer_id."""
    from gradetrail.store.segments import read

    tables = [read(path, "scores") for path in sorted((root / "scores").glob(f"{source.run_id}.*"))]
    return sorted(tables, key=lambda rows: str(rows["scorer_id"][0]))


def write_files(root: Path, copies: list[Copy]) -> None:
    """Write copies as loose files."""
    from gradetrail.store import Store
    from gradetrail.store.layout import Part

    store, draw = Store(root), drawn()
    for copy in copies:
        store.publish("trials", f"{Part(copy.run_id, 0).stem}f", renamed(trials_of(root, copy.source), copy))
        for scores in scores_of(root, copy.source):
            store.publish_scores(
                copy.run_id, scores["scorer_id"][0].as_py(), turned(scores, copy, draw),
                {"scored_at": copy.moment.isoformat()},
            )  # fmt: skip
        store.write_manifest(copy.run_id, copy.manifest)


def write_packs(root: Path, copies: list[Copy]) -> None:
    """Write copies as packs, a core for each table, and the record that names them."""
    from gradetrail.store import Store
    from gradetrail.store.layout import ScoreFile
    from gradetrail.store.packing import _writing_bodies, commit
    from gradetrail.store.packs import KEYED, Record, pack_name

    token, storage = secrets.token_hex(4), Store(root).storage
    held = {
        source.run_id: scorers(scores_of(root, source))
        for source in {c.source.task: c.source for c in copies}.values()
    }
    with ProcessPoolExecutor(2) as workers:
        tables = ("scores", "trials")
        files = [
            file for found in workers.map(partial(packs_of, root, copies, token), tables) for file in found
        ]
    graded = [(copy, scorer12) for copy in copies for scorer12 in held[copy.source.run_id]]
    bodies = {
        "runs": {copy.run_id: orjson.dumps(copy.manifest).decode() for copy in copies},
        "notes": {
            ScoreFile(copy.run_id, scorer12, 1).stem: orjson.dumps(
                {"scored_at": copy.moment.isoformat()}
            ).decode()
            for copy, scorer12 in graded
        },
    }
    names = {kind: pack_name(kind, 1, 0, token) for kind in bodies}
    for kind, texts in bodies.items():
        storage.create(names[kind], _writing_bodies(texts))
    absorbed: dict[str, dict[tuple[str, str], int]] = {table: {} for table in KEYED}
    absorbed["trials"] = {(copy.run_id, ""): 0 for copy in copies}
    absorbed["scores"] = {(copy.run_id, scorer12): 1 for copy, scorer12 in graded}
    record = Record(1, tuple(files), names, absorbed, frozenset(copy.run_id for copy in copies))
    assert commit(storage, Record(), record, "bench"), "there are packs already"


def packs_of(root: Path, copies: list[Copy], token: str, table: str) -> list[PackFile]:
    """Write the packs of a table."""
    from gradetrail.store import Store
    from gradetrail.store.packing import _written

    chunks = (trial_chunks if table == "trials" else score_chunks)(root, copies)
    return list(_written(Store(root).storage, table, chunks, 1, token))


def trial_chunks(root: Path, copies: list[Copy]) -> Iterator[Chunk]:
    """Yield the trials of copies, which come task by task."""
    from gradetrail.store.packing import Chunk

    known: dict[str, pa.Table] = {}
    for copy in copies:
        if copy.source.task not in known:
            known = {copy.source.task: trials_of(root, copy.source)}
        yield Chunk((copy.run_id, ""), 0, iter([renamed(known[copy.source.task], copy)]))


def score_chunks(root: Path, copies: list[Copy]) -> Iterator[Chunk]:
    """Yield the grades of copies, which come task by task."""
    from gradetrail.store.packing import Chunk

    known: dict[str, list[pa.Table]] = {}
    draw = drawn()
    for copy in copies:
        if copy.source.task not in known:
            known = {copy.source.task: scores_of(root, copy.source)}
        tables = known[copy.source.task]
        for scorer12, scores in zip(scorers(tables), tables, strict=True):
            yield Chunk((copy.run_id, scorer12), 0, iter([turned(scores, copy, draw)]))


def scorers(tables: list[pa.Table]) -> list[str]:
    """Name the scorers of tables of grades, as files do."""
    return [str(rows["scorer_id"][0])[:12] for rows in tables]


def drawn() -> Any:
    """Give a source of chance that gives the same each time."""
    import numpy as np

    return np.random.default_rng(7)


def turned(scores: pa.Table, copy: Copy, draw: Any) -> pa.Table:
    """Give grades as a copy's, a twentieth of them turned round."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_other = pa.array(draw.random(scores.num_rows) < 0.05)
    rows = renamed(scores, copy)
    for column, other in (
        ("score", pc.subtract(1.0, scores["score"])),
        ("is_pass", pc.invert(scores["is_pass"])),
    ):
        place = rows.schema.get_field_index(column)
        rows = rows.set_column(place, rows.schema.field(place), pc.if_else(is_other, other, scores[column]))
    return rows


def renamed(rows: pa.Table, copy: Copy) -> pa.Table:
    """Give rows as a copy's."""
    import pyarrow as pa

    place = rows.schema.get_field_index("run_id")
    return rows.set_column(
        place, rows.schema.field(place), pa.repeat(pa.scalar(copy.run_id, pa.string()), rows.num_rows)
    )
