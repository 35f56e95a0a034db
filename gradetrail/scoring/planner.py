"""Which grades are missing, and how they are published: whole files, one for each (run, scorer).

Invariant: the grades of a (run, scorer) are published at once or not at all; nothing here calls a
model; grades of older definitions stay.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gradetrail.scorer_spec import hide_judge_headers
from gradetrail.scoring.answers import Share, answer_parts
from gradetrail.scoring.combination import part_ids, parts_first
from gradetrail.scoring.grade import Definition
from gradetrail.scoring.in_place import InPlaceGrader
from gradetrail.scoring.judging import Docket
from gradetrail.scoring.opponents import opponent_run
from gradetrail.scoring.program_runner import ProgramRunner
from gradetrail.scoring.provisions import parts_state
from gradetrail.scoring.run_grader import RunGrader
from gradetrail.spec import Spec
from gradetrail.store import Store
from gradetrail.store.spool import Spool
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

GRADING_KEYS = ("target", "extract", "confidence", "scorers", "unanswered", "choices")
"""Blocks of a spec that decide grades: kept with the task, so that a run can be graded without its file."""
MEMORY_LIMIT = "300MB"
"""What DuckDB may hold meanwhile; the rest of its work is on disk."""
REPEATED = (
    "run_id", "task", "scorer", "scorer_id", "metric", "model", "model_id", "prompt", "outcome",
    "extracted_by", "confidence_source",
)  # fmt: skip
"""Columns of scores with few values."""


Fresh = Generator[tuple[Definition, Spool, int], None, None]
"""Scores by each definition, and how many of its ballots more calls to a judge would add to."""


@dataclass(frozen=True, slots=True)
class Graded:
    """What was done for one (run, scorer)."""

    run_id: str
    scorer: str
    scorer_id: str
    n_rows: int
    """Answers graded; 0 if the stored grades were up to date."""
    counts: Mapping[str, int]
    """Answers by outcome."""


def grading_of(spec: Spec) -> dict[str, Any]:
    """Give the part of a spec that decides grades, as JSON."""
    whole = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    hide_judge_headers(whole["scorers"])
    return {key: whole[key] for key in GRADING_KEYS if key in whole}


def task_record(spec: Spec, definitions: Sequence[Definition]) -> dict[str, Any]:
    """Give what is kept of a task's grading."""
    files = spec.kept(name for scorer in spec.scorers.values() for name in scorer.named_files)
    return {
        "scorers": {definition.name: definition.scorer_id() for definition in definitions},
        "primary": definitions[0].name,
        "unanswered": spec.unanswered,
        "grading": grading_of(spec),
        **({"files": files} if files else {}),
    }


def publish_task(store: Store, spec: Spec, definitions: Sequence[Definition]) -> int:
    """Make the spec's scorers the current ones of its task; give the task's version."""
    for definition in definitions:
        store.publish_scorer(definition.scorer_id(), definition.record())
    return store.publish_task(spec.name, task_record(spec, definitions))


def owed(
    warehouse: Warehouse, run_id: str, definitions: Sequence[Definition], *, force: bool = False
) -> list[Definition]:
    """List the definitions by which a run is to be graded, parts before what combines them.

    They are those by which it is not graded as it stands, with what combines these; all of them with `force`.
    Of scorers with one definition, whose grades are the same, the first is listed.
    """
    missing = ungraded(warehouse, run_id, definitions, force=force)
    wanted: dict[str, Definition] = {}
    for definition in parts_first(definitions):
        if definition in missing or any(part.scorer_id() in wanted for part in definition.parts):
            wanted.setdefault(definition.scorer_id(), definition)
    return list(wanted.values())


def published(
    warehouse: Warehouse, store: Store, run_id: str, definitions: Sequence[Definition], fresh: Fresh
) -> list[Graded]:
    """Publish grades of a run as they come, one file for each definition; say what was done for each."""
    done = {d.name: Graded(run_id, d.name, d.scorer_id(), 0, {}) for d in definitions}
    numbers: dict[str, int] = {}
    seen = warehouse.live.record  # before anything is graded: the warehouse may look again
    with contextlib.closing(fresh):
        for definition, scores, n_open in fresh:
            state = grading_state(warehouse, run_id, definition, numbers)
            metadata = {**state, "scored_at": datetime.now(UTC).isoformat(), OPEN: str(n_open)}
            number = store.publish_scores(run_id, definition.scorer_id(), scores, metadata, seen=seen)
            numbers[definition.scorer_id()] = number
            counts = _by_outcome(scores)
            scores.close()
            done[definition.name] = Graded(
                run_id, definition.name, definition.scorer_id(), sum(counts.values()), counts
            )
    return [done[definition.name] for definition in definitions]


def grades(
    warehouse: Warehouse,
    spec: Spec,
    run_id: str,
    wanted: Sequence[Definition],
    *,
    runner: ProgramRunner,
    copies_programs: bool,
    share: Share | None = None,
) -> Fresh:
    """Yield the scores by each definition, and how many of its ballots are open; of a share, of that."""
    others: list[Definition] = []
    combined = part_ids(wanted)
    with contextlib.closing(InPlaceGrader(warehouse, spec, run_id)) as grader:
        for definition in wanted:
            # the grades of a combination's parts are needed beside it
            is_alone = share is None and definition.scorer_id() not in combined
            scores = grader.scores(definition) if is_alone else None
            if scores is None:
                others.append(definition)
            else:
                yield definition, scores, 0
    if others:
        yield from _grades_of_parts(
            warehouse, spec, run_id, others, runner=runner, copies_programs=copies_programs, share=share
        )


def _grades_of_parts(
    warehouse: Warehouse,
    spec: Spec,
    run_id: str,
    wanted: Sequence[Definition],
    *,
    runner: ProgramRunner,
    copies_programs: bool,
    share: Share | None = None,
) -> Fresh:
    """Yield what `grades` does; the answers are read in parts, so that no more are in memory at a time."""
    con = warehouse.connection("macros", "base", "graded")
    found = {definition.name: Spool() for definition in wanted}
    n_open = Counter[str]()
    combined = part_ids(wanted)
    with contextlib.closing(answer_parts(con, run_id, share)) as parts:
        for answers in parts:
            grader = RunGrader(
                warehouse, spec, run_id,
                runner=runner, copies_programs=copies_programs, answers=answers, combined=combined,
            )  # fmt: skip
            try:
                for definition in wanted:
                    found[definition.name].add(_encoded(grader.scores(definition)))
                    n_open[definition.name] += grader.n_open
            finally:
                grader.close()
    for definition in wanted:
        yield definition, found.pop(definition.name), n_open[definition.name]


def dockets(
    warehouse: Warehouse, spec: Spec, run_id: str, definition: Definition, judge: Definition
) -> Generator[Docket, None, None]:
    """Yield the answers of a run that a judge of a definition may be asked about, part by part."""
    con = warehouse.connection("macros", "base", "graded")
    with contextlib.closing(answer_parts(con, run_id)) as parts:
        for answers in parts:
            grader = RunGrader(warehouse, spec, run_id, answers=answers)
            try:
                yield grader.docket(definition, judge)
            finally:
                grader.close()


def _encoded(scores: pa.Table) -> pa.Table:
    """Copy text that repeats into dictionaries, and the rest out of DuckDB's wider buffers."""
    for number, name in enumerate(scores.column_names):
        column = scores.column(name)
        compact = column.dictionary_encode() if name in REPEATED else column.combine_chunks()
        scores = scores.set_column(number, name, compact)
    return scores


def _by_outcome(scores: Spool) -> dict[str, int]:
    """Count answers, each once whatever the number of metrics."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = Counter[str]()
    for rows in scores.pieces():
        is_counted: Any = pc.equal(rows.column("metric").cast(pa.string()), pa.scalar("score"))
        found: Any = pc.value_counts(rows.column("outcome").filter(is_counted))
        counts.update({str(each["values"]): int(each["counts"]) for each in found.to_pylist()})
    return dict(counts)


def trials_version(warehouse: Warehouse, run_id: str) -> str | None:
    """Name the fold that holds all trials of a run, or would; None while they are still in parts.

    A run of stored answers alone is its plan, which is never folded but in packs.
    """
    number = warehouse.live.numbers["trials"].get((run_id, ""))
    return None if number is None else f"{run_id}.{number}f"


def ungraded(
    warehouse: Warehouse, run_id: str, definitions: Sequence[Definition], *, force: bool = False
) -> list[Definition]:
    """List the definitions by which a run is not graded as it stands; all of them with `force`."""
    return [d for d in definitions if force or not is_current(warehouse, run_id, d)]


def is_current(warehouse: Warehouse, run_id: str, definition: Definition) -> bool:
    """Say whether the stored grades of a (run, scorer) cover its trials as they stand."""
    state = grading_state(warehouse, run_id, definition)
    metadata = warehouse.scores_metadata(run_id, definition.scorer_id()) if state[TRIALS] else None
    if metadata is None or metadata.get(OPEN, "0") != "0":
        return False
    return all(metadata.get(name) == value for name, value in state.items())


TRIALS, OPPONENTS, OPEN = "trials", "opponents", "open"
"""Metadata of stored scores: the trials that were graded, those compared with, and how many ballots of a
judge more calls would add to."""


def grading_state(
    warehouse: Warehouse,
    run_id: str,
    definition: Definition,
    published: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, str]:
    """Name the files that grades follow from; an empty name where trials are still in parts.

    `published` are numbers of scores, by scorer_id, that are newer than the warehouse.
    """
    state = {TRIALS: trials_version(warehouse, run_id) or ""}
    state |= parts_state(warehouse, run_id, definition, published)
    others = [other for judge in definition.judges() if (other := opponent_run(warehouse, run_id, judge))]
    versions = [trials_version(warehouse, other) or other for other in others]
    return {**state, OPPONENTS: " ".join(versions)} if versions else state
