"""Every interleaving of packing, a run that goes on, and a reader: the protocol that packing must follow.

A packer lists loose folds, writes a pack, commits a record that names what it absorbed, and deletes the
originals; it may be killed anywhere. The run meanwhile publishes a part and a newer fold. A pack counts
only through the highest record; a loose part counts if its number is above the absorbed one, and a newer
fold masks the run in the pack. The reader looks at the record, lists, and looks at the record again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gradetrail.store.layout import Part, trial_sources

OLD, PART, NEW = Part("a", 1, is_fold=True), Part("a", 2), Part("a", 2, is_fold=True)
OTHER = Part("b", 1, is_fold=True)
ROWS = {OLD: {"x": 1, "y": 1}, PART: {"x": 2}, NEW: {"x": 2, "y": 1}, OTHER: {"z": 1}}
"""Segment -> version of each trial."""

Record = frozenset[Part]


@dataclass(frozen=True)
class World:
    files: frozenset[Part] = frozenset({OLD, OTHER})
    has_pack: bool = False
    pack: Record = frozenset()
    """What the pack file holds."""
    record: Record | None = None
    """What the committed pack absorbed."""
    packer: str = "list"
    listed: Record = frozenset()

    def promised(self) -> dict[str, int]:
        return {"x": 2 if {PART, NEW} & self.files else 1, "y": 1, "z": 1}


def steps(world: World) -> Iterator[World]:
    if PART not in world.files and NEW not in world.files:
        yield replace(world, files=world.files | {PART})
    elif NEW not in world.files:
        yield replace(world, files=world.files | {NEW})
    if world.packer in ("list", "write", "commit", "delete"):
        yield replace(world, packer="killed")
    if world.packer == "list":
        folds = frozenset(part for part in world.files if part.is_fold)
        # an older fold is superseded already, and goes with the newer one
        chosen = frozenset(part for part in folds if not (part == OLD and NEW in folds))
        yield replace(world, packer="write", listed=chosen)
    elif world.packer == "write":
        yield replace(world, packer="commit", has_pack=True, pack=world.listed)
    elif world.packer == "commit":
        yield replace(world, packer="delete", record=world.listed)
    elif world.packer == "delete":
        absorbed = {part.run_id: part.number for part in world.listed}
        gone = {part for part in world.files if part.number <= absorbed.get(part.run_id, -1)}
        yield replace(world, packer="done", files=world.files - gone)


def visible(
    files: Record, record: Record | None, has_pack: bool, pack: Record, *, naive: bool
) -> Counter[Any]:
    """Count (trial, version) over all that a reader takes."""
    rows: Counter[Any] = Counter()
    if naive:  # the pack is a file like any other, and hides what the record names
        live = [part for part in files if part not in (record or ())]
        for part in [*live, *(pack if has_pack else ())]:
            rows.update(ROWS[part].items())
        return rows
    absorbed = {part.run_id: part for part in record or ()}
    for run_id in {part.run_id for part in files} | absorbed.keys():
        base = absorbed.get(run_id)
        floor = base.number if base else -1
        above = {part for part in files if part.run_id == run_id and part.number > floor}
        is_masked = any(part.is_fold for part in above)
        sources, _ = trial_sources(above, set())
        trials: dict[str, int] = {}
        for part in [*([base] if base and not is_masked else []), *sources]:
            trials |= ROWS[part]
        rows.update(trials.items())
    return rows


def violations(reads: tuple[str, ...], *, naive: bool = False) -> set[str]:
    found: set[str] = set()
    visited: set[Any] = set()
    stack: list[Any] = [(World(), 0, None, None, None)]
    while stack:
        state = stack.pop()
        if state in visited:
            continue
        visited.add(state)
        world, at, record, listing, promised = state
        stack += [(after, at, record, listing, promised) for after in steps(world)]
        if at < len(reads):
            promised = promised or tuple(world.promised().items())
            if reads[at] == "files":
                listing = (world.files, world.has_pack)
            elif reads[at] == "record":
                record = world.record
            elif record != world.record:  # "record again"
                stack.append((world, 0, None, None, None))
                continue
            stack.append((world, at + 1, record, listing, promised))
            continue
        files, has_pack = listing
        rows = visible(files, record, has_pack, world.pack, naive=naive)
        trials = Counter(trial for trial, _ in rows.elements())
        if max(trials.values(), default=0) > 1:
            found.add("a trial twice")
        versions = dict(rows.keys())
        if any(versions.get(trial, 0) < version for trial, version in promised):
            found.add("a trial missing or old")
    assert len(visited) > 100
    return found


def test_the_packing_protocol_shows_each_trial_once_and_never_an_older_answer() -> None:
    assert violations(("record", "files", "record again")) == set()


@pytest.mark.parametrize(
    ("weakness", "finding"),
    [
        ({"reads": ("record", "files")}, "a trial missing or old"),
        ({"reads": ("files", "record"), "naive": True}, "a trial missing or old"),
        ({"reads": ("record", "files"), "naive": True}, "a trial twice"),
    ],
    ids=["record looked at once", "listing first", "packs visible by themselves"],
)
def test_each_weaker_packing_protocol_is_found_out(weakness: dict[str, Any], finding: str) -> None:
    assert finding in violations(**weakness)
