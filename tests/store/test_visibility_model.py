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
PLAN, FIRST, SECOND = Part(RUN, 0), Part(RUN, 1), Part(RUN, 2)
LINES = {FIRST: {"x": "x1"}, SECOND: {"x": "x2", "y": "y2"}}
"""What the journal parts answer: trial -> response. The second part answers `x` again."""


def content_of(segment: Part) -> dict[str, str | None]:
    """Trials of a segment: each with its response, None while pending."""
    whole: dict[str, str | None] = {"x": None, "y": None}
    if segment == PLAN:
        return whole
    for part in (FIRST, SECOND):
        if segment == part:
            return dict(LINES[part])
        if segment.is_fold and part.number <= segment.number:
            whole |= LINES[part]
    return whole


@dataclass(frozen=True)
class Disk:
    journals: frozenset[Part] = frozenset()
    trials: frozenset[Part] = frozenset({PLAN})
    responses: frozenset[Part] = frozenset()
    written: frozenset[Part] = frozenset()
    """Journal parts that were ever written."""

    def answers(self) -> dict[str, str | None]:
        """What was promised so far."""
        truth: dict[str, str | None] = {"x": None, "y": None}
        for part in sorted(self.written):
            truth |= LINES[part]
        return truth


def writer_steps(disk: Disk, order: str) -> Iterator[tuple[str, Disk]]:
    """Offer every next step. They follow from the disk alone, so a killed writer's successor has them too."""
    unwritten = [part for part in (FIRST, SECOND) if part not in disk.written]
    if unwritten:  # also while earlier parts still wait to be sealed
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


def no_superseding(segments: Collection[Part], journals: Collection[Part]) -> tuple[list[Part], list[Part]]:
    """Let lower parts win over a fold: an unsound rule."""
    return sorted(segments, key=lambda part: -part.number), unsealed(journals, segments)


def problems(seen: Seen, disk: Disk, response_rule: Rule, trial_rule: Rule) -> Iterator[str]:
    segments, journals = response_rule(seen.responses, seen.journals)
    answers = [text for part in [*segments, *journals] for text in LINES[part].values()]
    if len(answers) != len(set(answers)):
        yield "an answer twice"
    sources, loose = trial_rule(seen.trials, seen.journals)
    trials: dict[str, str | None] = {}
    for part in sources:
        trials |= content_of(part)
    for part in loose:
        trials |= LINES[part]
    for trial, promised in seen.promised:
        if (trials.get(trial) or "") < (promised or ""):
            yield "an answer that was promised is missing"
        if trials.get(trial) is not None and trials[trial] not in answers:
            yield "a trial whose answer is missing"


def violations(
    reads: tuple[str, ...],
    *,
    order: str = "responses first",
    response_rule: Rule = lambda segments, journals: (sorted(segments), unsealed(journals, segments)),
    trial_rule: Rule = trial_sources,
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
        found |= set(problems(seen, disk, response_rule, trial_rule))
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
        ({"reads": READS, "trial_rule": no_superseding}, "an answer that was promised is missing"),
    ],
    ids=[
        "tables before journals",
        "answers before trials",
        "trials sealed first",
        "no hiding",
        "old over new",
    ],
)
def test_each_weaker_protocol_is_found_out(weakness: dict[str, Any], finding: str) -> None:
    assert finding in violations(**weakness)


def test_a_part_that_is_sealed_after_a_higher_fold_is_lost_which_is_why_folding_needs_the_lock() -> None:
    sources, _ = trial_sources({PLAN, FIRST, SECOND, Part(RUN, 2, is_fold=True)}, set())
    assert FIRST not in sources
