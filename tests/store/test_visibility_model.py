"""Every interleaving of a writer that may be killed, its successor, and a reader, over a small run.

The model steps through the protocol one visible change at a time; the rules that decide what a reader
takes are the product's own (`unsealed`, `trial_sources`). Each unsound variant must be found out,
which shows that the search would find a fault in the sound one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gradetrail.store.layout import Part, trial_sources, unsealed

RUN = "run"
READS = ("journals", "trials", "responses")
"""Order of the product's listings."""
PLAN, FIRST, ADDED, SECOND = (Part(RUN, number) for number in range(4))
LINES = {FIRST: {"x": "1x"}, SECOND: {"x": "3x", "y": "3y"}}
"""What the journal parts answer: trial -> response. The second answers `x` again."""
HIT = {"x": "2x"}
"""What the segment ADDED holds, which is published without a journal; its response was stored before."""


def content_of(segment: Part) -> dict[str, str | None]:
    """Trials of a segment: each with its response, None while pending."""
    whole: dict[str, str | None] = {"x": None, "y": None}
    if segment == PLAN:
        return whole
    for part, content in {FIRST: LINES[FIRST], ADDED: HIT, SECOND: LINES[SECOND]}.items():
        if segment == part:
            return dict(content)
        if segment.is_fold and part.number <= segment.number:
            whole |= content
    return whole


@dataclass(frozen=True)
class Disk:
    journals: frozenset[Part] = frozenset()
    trials: frozenset[Part] = frozenset({PLAN})
    responses: frozenset[Part] = frozenset()
    written: frozenset[Part] = frozenset()
    """Parts that were ever written."""

    def answers(self) -> dict[str, str | None]:
        """What was promised so far."""
        truth: dict[str, str | None] = {"x": None, "y": None}
        for part in sorted(self.written):
            truth |= HIT if part == ADDED else LINES[part]
        return truth


def writer_steps(disk: Disk, order: str) -> Iterator[tuple[str, Disk]]:
    """Offer every next step. They follow from the disk alone, so a killed writer's successor has them too."""
    unwritten = [part for part in (FIRST, ADDED, SECOND) if part not in disk.written]
    if unwritten and unwritten[0] == ADDED:  # also while earlier parts still wait to be sealed
        yield "add", replace(disk, trials=disk.trials | {ADDED}, written=disk.written | {ADDED})
    elif unwritten:
        part = unwritten[0]
        yield (
            f"write {part.stem}",
            replace(disk, journals=disk.journals | {part}, written=disk.written | {part}),
        )
    if disk.journals:
        part = min(disk.journals)
        tables = ("responses", "trials") if order == "responses first" else ("trials", "responses")
        missing = [table for table in tables if part not in getattr(disk, table)]
        if missing:
            table = missing[0]
            yield f"publish {table}", replace(disk, **{table: getattr(disk, table) | {part}})
        else:
            yield "delete journal", replace(disk, journals=disk.journals - {part})
    elif disk.written:
        fold = replace(max(disk.written), is_fold=True)
        if fold not in disk.trials:
            yield "fold", replace(disk, trials=disk.trials | {fold})


@dataclass(frozen=True)
class Seen:
    """What a reader knows so far; it takes the listings in the order of its protocol."""

    at: int = 0
    journals: frozenset[Part] = frozenset()
    trials: frozenset[Part] = frozenset()
    responses: frozenset[Part] = frozenset()
    promised: tuple[tuple[str, str | None], ...] = ()


Rule = Callable[[Collection[Part], Collection[Part]], tuple[list[Part], list[Part]]]


def all_of_both(segments: Collection[Part], journals: Collection[Part]) -> tuple[list[Part], list[Part]]:
    """Take every segment and every journal, whatever hides what: an unsound rule."""
    return sorted(segments), sorted(journals)


def journals_last(parts: list[Part]) -> list[Part]:
    """Let what is still a journal win over segments, whatever their numbers: an unsound order."""
    return parts


def highest_first(parts: list[Part]) -> list[Part]:
    """Let lower parts win: an unsound order."""
    return sorted(parts, reverse=True)


def problems(
    seen: Seen, response_rule: Rule, trial_rule: Rule, weigh: Callable[[list[Part]], list[Part]]
) -> Iterator[str]:
    segments, journals = response_rule(seen.responses, seen.journals)
    answers = [text for part in [*segments, *journals] for text in LINES[part].values()]
    if len(answers) != len(set(answers)):
        yield "an answer twice"
    sources, loose = trial_rule(seen.trials, seen.journals)
    trials: dict[str, str | None] = {}
    for part in weigh([*sources, *loose]):
        trials |= content_of(part)
    for trial, promised in seen.promised:
        if (trials.get(trial) or "") < (promised or ""):
            yield "an answer that was promised is missing"
        if trials.get(trial) is not None and trials[trial] not in [*answers, *HIT.values()]:
            yield "a trial whose answer is missing"


def violations(
    reads: tuple[str, ...],
    *,
    order: str = "responses first",
    response_rule: Rule = lambda segments, journals: (sorted(segments), unsealed(journals, segments)),
    trial_rule: Rule = trial_sources,
    weigh: Callable[[list[Part]], list[Part]] = sorted,
) -> set[str]:
    """Search all interleavings for a reader that lists in the order of `reads`."""
    found: set[str] = set()
    visited: set[tuple[Disk, Seen]] = set()
    stack = [(Disk(), Seen())]
    while stack:
        state = stack.pop()
        if state in visited:
            continue
        visited.add(state)
        disk, seen = state
        stack += [(after, seen) for _, after in writer_steps(disk, order)]
        if seen.at < len(reads):
            listed = replace(seen, at=seen.at + 1, **{reads[seen.at]: getattr(disk, reads[seen.at])})
            if seen.at == 0:
                listed = replace(listed, promised=tuple(disk.answers().items()))
            stack.append((disk, listed))
            continue
        needed = {
            *response_rule(seen.responses, seen.journals)[1],
            *trial_rule(seen.trials, seen.journals)[1],
        }
        if not needed <= disk.journals:
            stack.append((disk, Seen()))  # a journal part vanished: the look begins again
            continue
        found |= set(problems(seen, response_rule, trial_rule, weigh))
    assert len(visited) > 100
    return found


def test_a_reader_sees_each_promised_answer_exactly_once_in_every_interleaving() -> None:
    assert violations(READS) == set()


@pytest.mark.parametrize(
    ("weakness", "finding"),
    [
        ({"reads": ("trials", "responses", "journals")}, "an answer that was promised is missing"),
        ({"reads": ("journals", "responses", "trials")}, "a trial whose answer is missing"),
        ({"reads": READS, "order": "trials first"}, "a trial whose answer is missing"),
        ({"reads": READS, "response_rule": all_of_both}, "an answer twice"),
        ({"reads": READS, "weigh": highest_first}, "an answer that was promised is missing"),
        ({"reads": READS, "weigh": journals_last}, "an answer that was promised is missing"),
    ],
    ids=[
        "tables before journals",
        "answers before trials",
        "trials sealed first",
        "no hiding",
        "old over new",
        "journals over segments",
    ],
)
def test_each_weaker_protocol_is_found_out(weakness: dict[str, Any], finding: str) -> None:
    assert finding in violations(**weakness)


def test_a_part_that_is_sealed_after_a_higher_fold_is_lost_which_is_why_folding_needs_the_lock() -> None:
    sources, _ = trial_sources({PLAN, FIRST, SECOND, Part(RUN, 3, is_fold=True)}, set())
    assert FIRST not in sources
