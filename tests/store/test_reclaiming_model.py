"""Every interleaving of two packers that write, publish, reclaim, sleep and die: which packs are there.

A pack is written under the number after the record that was read, and the record is published under that
number if it is free; there is no lock. Reclaiming deletes packs that no record names, but for those whose
number is still free: it takes that number first, by publishing the record once more. Grace is none: any
sleep may be longer. Each weaker rule must be found out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

Pack = tuple[int, int]
"""(number in its name, token)"""


@dataclass(frozen=True)
class Record:
    number: int
    packs: frozenset[Pack]


@dataclass(frozen=True)
class Packer:
    at: str = "idle"
    record: Record = Record(0, frozenset())
    written: frozenset[Pack] = frozenset()
    doomed: frozenset[Pack] = frozenset()


@dataclass(frozen=True)
class World:
    packs: frozenset[Pack] = frozenset()
    records: tuple[Record, ...] = (Record(0, frozenset()),)
    packers: tuple[Packer, ...] = (Packer(), Packer())
    tokens: int = 0
    kills: int = 1


MOST_PACKS = 3


def steps(  # noqa: C901 - a state machine reads best in one piece
    world: World, *, is_past: bool = True, cas: bool = True
) -> Iterator[World]:
    for place, packer in enumerate(world.packers):
        latest = world.records[-1]

        def to(at: str, place: int = place, **more: Any) -> World:
            own = {name: more.pop(name) for name in ("record", "written", "doomed") if name in more}
            packers = list(world.packers)
            packers[place] = replace(packers[place], at=at, **own)
            return replace(world, packers=tuple(packers), **more)

        if packer.at != "idle" and world.kills:
            yield replace(to("idle", written=frozenset(), doomed=frozenset()), kills=world.kills - 1)
        if packer.at == "idle":
            if world.tokens < MOST_PACKS:
                yield to("write", record=latest)
            yield to("fence")
        elif packer.at == "write":
            made = (packer.record.number + 1, world.tokens)
            yield to(
                "publish", written=frozenset({made}), packs=world.packs | {made}, tokens=world.tokens + 1
            )
        elif packer.at == "publish":
            is_free = latest.number == packer.record.number
            done = Record(packer.record.number + 1, frozenset(packer.written))  # all is packed anew
            if is_free or not cas:
                yield to("fence", records=(*world.records, done), written=frozenset())
            else:
                yield to("idle", packs=world.packs - packer.written, written=frozenset())
        elif packer.at == "fence":
            yield to("look", record=latest)
        elif packer.at == "look":
            waiting = {pack for pack in world.packs if pack[0] > packer.record.number}
            if waiting and latest.number == packer.record.number:
                again = Record(latest.number + 1, latest.packs)
                yield to("list", record=again, records=(*world.records, again))
            yield to("list", record=latest)
        elif packer.at == "list":
            # records are listed before packs, so a record may have come since
            named = frozenset[Pack]().union(*(record.packs for record in world.records))
            yield to("delete", record=latest, doomed=named)
        elif packer.at == "delete":
            doomed = {
                pack for pack in world.packs - packer.doomed if pack[0] <= packer.record.number or not is_past
            }
            yield to("idle", packs=world.packs - doomed, doomed=frozenset())


def violations(**rules: bool) -> tuple[set[str], int]:
    found: set[str] = set()
    visited: set[World] = set()
    stack = [World()]
    while stack:
        world = stack.pop()
        if world in visited or len(world.records) > MOST_PACKS + 3:
            continue
        visited.add(world)
        if not world.records[-1].packs <= world.packs:
            found.add("a pack is missing that the highest record names")
        stack += steps(world, **rules)
    return found, len(visited)


def test_what_the_highest_record_names_is_there_in_every_interleaving() -> None:
    found, n_states = violations()
    assert found == set()
    assert n_states > 10_000


def test_packs_of_a_number_that_was_never_published_are_deleted_in_the_end() -> None:
    world = World(packs=frozenset({(1, 7)}))  # of a packer that was killed
    for at in ("idle", "fence", "look", "list", "delete"):
        (world,) = [
            after
            for after in steps(replace(world, kills=0, tokens=MOST_PACKS))
            if after.packers[1] == world.packers[1] and after.packers[0].at != at
        ][:1]
    assert world.packs == frozenset()


@pytest.mark.parametrize("weakness", [{"is_past": False}, {"cas": False}], ids=["no fence", "over another"])
def test_each_weaker_rule_is_found_out(weakness: dict[str, bool]) -> None:
    assert violations(**weakness)[0]
