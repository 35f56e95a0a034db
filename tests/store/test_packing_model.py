"""Every interleaving of packers, a run that goes on, and a reader: the protocol that packing follows.

A packer reads the record, lists, writes a pack, publishes a record under the next number, and deletes
what an older record has absorbed; it may be killed anywhere and is followed by another. The run
meanwhile begins again (its next part number comes from the listing and then the record), answers a
trial, and folds. The rules of what counts are the product's own. Each weaker protocol must be found
out, which shows that the search would find a fault in the sound one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gradetrail.store.layout import Part, trial_sources

RUN, OTHER = "a", "b"
Rows = tuple[tuple[str, int], ...]
"""(trial, version of its answer) in key order."""
File = tuple[Part, Rows]
FIRST: Rows = (("x", 1), ("y", 1))


@dataclass(frozen=True)
class Record:
    number: int = 0
    absorbed: tuple[tuple[str, int], ...] = ()
    packs: tuple[tuple[Rows, frozenset[str]], ...] = ()
    """Rows of each pack (trials of run `b` are named z), and the runs that are masked in it."""

    def number_of(self, run_id: str) -> int:
        return dict(self.absorbed).get(run_id, -1)


@dataclass(frozen=True)
class Packer:
    at: str = "idle"
    record: Record = Record()
    listed: frozenset[File] = frozenset()


@dataclass(frozen=True)
class Run:
    at: str = "idle"
    files: frozenset[File] = frozenset()
    next: int = 0
    n_answers: int = 0


@dataclass(frozen=True)
class World:
    files: frozenset[File] = frozenset(
        {(Part(RUN, 1, is_fold=True), FIRST), (Part(OTHER, 1, is_fold=True), (("z", 1),))}
    )
    records: tuple[Record, ...] = (Record(),)
    packers: tuple[Packer, ...] = (Packer(),)
    run: Run = Run()
    version: int = 1
    """Of the answer to x that was promised last."""
    kills: int = 1
    answers: int = 2
    """Times that the run goes on."""
    packings: int = 3


def run_of(trial: str) -> str:
    return OTHER if trial == "z" else RUN


def of_run(files: frozenset[File], run_id: str) -> dict[Part, Rows]:
    return {part: rows for part, rows in files if part.run_id == run_id}


def visible(
    files: frozenset[File], record: Record, *, masks: bool = True, floor: bool = True
) -> Counter[Any]:
    """Count (trial, version) over all that a reader takes."""
    rows: Counter[Any] = Counter()
    merged: set[str] = set()
    for run_id in sorted({part.run_id for part, _ in files}):
        mine = of_run(files, run_id)
        packed = record.number_of(run_id) if floor else -1
        sources, _ = trial_sources(mine, (), packed)
        if not sources:
            continue
        trials: dict[str, int] = {}
        if packed >= 0 and not any(part.is_fold for part in sources):
            for pack, masked in record.packs:
                trials |= {t: v for t, v in pack if run_of(t) == run_id and run_id not in masked}
        for part in sources:
            trials |= dict(mine[part])
        merged.add(run_id)
        rows.update(trials.items())
    for pack, masked in record.packs:
        hidden = (merged | masked) if masks else set()
        rows.update((t, v) for t, v in pack if run_of(t) not in hidden)
    return rows


def run_steps(  # noqa: C901 - a state machine reads best in one piece
    world: World, *, numbers: str = "listing, record", base: bool = True
) -> Iterator[World]:
    run = world.run
    order = ("list", "record") if numbers == "listing, record" else ("record", "list")

    def to(**more: Any) -> World:
        return replace(world, run=replace(run, **more))

    looked = {part.number for part, _ in run.files if part.run_id == RUN}
    if run.at == "idle" and run.n_answers < world.answers:
        if order[0] == "list":
            yield to(at="number", files=world.files)
        else:
            yield to(at="number", next=world.records[-1].number_of(RUN) + 1)
    elif run.at == "number":
        if order[0] == "list":
            known = world.records[-1].number_of(RUN)
            yield to(at="answer", next=max([0, known, *looked]) + 1, files=frozenset())
        else:
            there = {part.number for part, _ in world.files if part.run_id == RUN}
            yield to(at="answer", next=max([run.next, *(n + 1 for n in there)]))
    elif run.at == "answer":
        part, version = Part(RUN, run.next), world.version + 1
        after = to(at="fold: list", n_answers=run.n_answers + 1)
        yield replace(after, files=world.files | {(part, (("x", version),))}, version=version)
    elif run.at == "fold: list":
        yield to(at="fold: record", files=world.files)
    elif run.at == "fold: record":
        record, mine = world.records[-1], of_run(run.files, RUN)
        packed = record.number_of(RUN)
        sources, _ = trial_sources(mine, (), packed)
        trials: dict[str, int] = {}
        if base and packed >= 0 and not any(part.is_fold for part in sources):
            for pack, masked in record.packs:
                trials |= {t: v for t, v in pack if run_of(t) == RUN and RUN not in masked}
        n_pieces = len(sources) + bool(trials)
        for part in sources:
            trials |= dict(mine[part])
        after = to(at="idle", files=frozenset(), next=0)
        if not all(item in world.files for item in run.files if item[0] in sources):
            yield to(at="fold: list", files=frozenset())  # a file vanished: it looks again
        elif n_pieces > 1:
            whole = Part(RUN, sources[-1].number, is_fold=True)
            yield replace(after, files=world.files | {(whole, tuple(sorted(trials.items())))})
        else:
            yield after


def packer_steps(world: World, *, cas: bool = True, busy: bool = True) -> Iterator[World]:
    for place, packer in enumerate(world.packers):

        def to(place: int = place, **more: Any) -> World:
            mine = replace(world.packers[place], **more)
            return replace(world, packers=(*world.packers[:place], mine, *world.packers[place + 1 :]))

        if packer.at != "idle" and world.kills:
            yield replace(to(at="idle", listed=frozenset(), record=Record()), kills=world.kills - 1)
        if packer.at == "idle" and len(world.records) <= world.packings:
            yield to(at="record", record=world.records[-1])
        elif packer.at == "record":
            chosen = set()
            for run_id in (RUN, OTHER):
                mine = of_run(world.files, run_id)
                sources, _ = trial_sources(mine, (), packer.record.number_of(run_id))
                if len(sources) == 1 and sources[0].is_fold:
                    chosen.add((sources[0], mine[sources[0]]))
            yield to(at="commit" if chosen else "delete", listed=frozenset(chosen))
        elif packer.at == "commit":
            is_first = world.records[-1].number == packer.record.number
            if cas and not is_first:
                yield to(at="idle", listed=frozenset(), record=Record())
                continue
            runs = frozenset(part.run_id for part, _ in packer.listed)
            old = tuple((rows, masked | runs) for rows, masked in packer.record.packs)
            new = tuple(sorted(row for _, rows in packer.listed for row in rows))
            absorbed = dict(packer.record.absorbed) | {p.run_id: p.number for p, _ in packer.listed}
            record = Record(
                world.records[-1].number + 1, tuple(sorted(absorbed.items())), (*old, (new, frozenset()))
            )
            yield replace(to(at="delete", listed=frozenset()), records=(*world.records, record))
        elif packer.at == "delete":
            gone = {f for f in world.files if f[0].number <= world.records[-1].number_of(f[0].run_id)}
            yield replace(to(at="idle", record=Record(), listed=frozenset()), files=world.files - gone)


def violations(
    reads: tuple[str, ...] = ("record", "files", "record again"),
    *,
    begin: World = World(),
    run: dict[str, Any] | None = None,
    packer: dict[str, Any] | None = None,
    reader: dict[str, Any] | None = None,
) -> tuple[set[str], int]:
    found: set[str] = set()
    visited: set[Any] = set()
    stack: list[Any] = [(begin, 0, None, None, 0)]
    while stack:
        state = stack.pop()
        if state in visited:
            continue
        visited.add(state)
        world, at, record, listing, promised = state
        follow = (*run_steps(world, **run or {}), *packer_steps(world, **packer or {}))
        stack += [(after, at, record, listing, promised) for after in follow]
        if at < len(reads):
            promised = promised or world.version
            if reads[at] == "files":
                listing = world.files
            elif reads[at] == "record":
                record = world.records[-1]
            elif record != world.records[-1]:  # "record again"
                stack.append((world, 0, None, None, 0))
                continue
            stack.append((world, at + 1, record, listing, promised))
            continue
        rows = visible(listing, record, **reader or {})
        trials = Counter(trial for trial, _ in rows.elements())
        if max(trials.values(), default=0) > 1:
            found.add("a trial twice")
        versions = dict(rows.keys())
        if set(versions) != {"x", "y", "z"} or versions["x"] < promised:
            found.add("a trial missing or old")
    return found, len(visited)


TWO = World(packers=(Packer(), Packer()), answers=1, packings=2, kills=0)


@pytest.mark.parametrize("begin", [World(), TWO], ids=["one packer, killed", "two packers without a lock"])
def test_the_packing_protocol_shows_each_trial_once_and_never_an_older_answer(begin: World) -> None:
    found, n_states = violations(begin=begin)
    assert found == set()
    assert n_states > 1_000


def test_listing_before_the_record_is_sound_too_which_is_how_numbers_and_folds_look() -> None:
    assert violations(("files", "record"))[0] == set()


@pytest.mark.parametrize(
    ("weakness", "finding"),
    [
        ({"reads": ("record", "files")}, "a trial missing or old"),
        ({"reader": {"masks": False}}, "a trial twice"),
        ({"reader": {"floor": False}}, "a trial missing or old"),
        ({"run": {"numbers": "record, listing"}}, "a trial missing or old"),
        ({"run": {"base": False}}, "a trial missing or old"),
        ({"packer": {"cas": False}, "begin": TWO}, "a trial missing or old"),
    ],
    ids=[
        "record looked at once",
        "no masks",
        "absorbed files count",
        "number taken from the record first",
        "folded without what is packed",
        "a packer that commits over another",
    ],
)
def test_each_weaker_packing_protocol_is_found_out(weakness: dict[str, Any], finding: str) -> None:
    assert finding in violations(**weakness)[0]
