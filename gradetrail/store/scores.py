"""Publishes scores: under the next number, with what another process published meanwhile, without what went.

Invariant: of two rows of one trial the one that grades the trial's present answer stays; if both do,
the one that was published first, unless it says that there is no grade yet. No row stays that names an
answer which was removed while it was graded: a removal leaves a record of its own, which is looked for
after the scores are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail.errors import StoreError
from gradetrail.store.folding import folded, match, piece_of
from gradetrail.store.interface import Storage
from gradetrail.store.layout import ScoreFile
from gradetrail.store.packs import Record, latest
from gradetrail.store.schema import SCORE_KEY, TRIAL_KEY
from gradetrail.store.segments import conformed, holds, ordered, read, row_groups, writing
from gradetrail.store.spool import Spool

if TYPE_CHECKING:
    import pyarrow as pa

    from gradetrail.store.reading import Look

UNGRADED = ("pending", "provider_error", "judge_error", "scorer_error", "skipped")
"""Outcomes that another attempt may turn into a grade."""
NAMING = ("response_id", "opponent_response_id", "judge_response_ids")
"""Columns that name answers."""


def publish_scores(
    storage: Storage,
    look: Look,
    held: tuple[str, str],
    rows: pa.Table | Spool,
    metadata: Mapping[str, Any],
    *,
    over: int | None,
    seen: Record | None,
) -> int:
    """Do what `Store.publish_scores` says, for (run_id, first 12 digits of scorer_id)."""
    run_id, scorer12 = held
    n_rows = rows.num_rows
    removed = (seen or latest(storage)).removed
    while True:
        now = latest(storage).removed
        if now != removed:
            rows, removed = resting(look, run_id, _whole(rows)), now
        live, taken = look.scores(run_id, scorer12)
        if live is not None:
            try:
                packed = look.score_rows(live)
                if over is not None and live.number > over:
                    theirs = read(storage.local(live.name), "scores") if packed is None else packed
                    rows = added(theirs, conformed("scores", _whole(rows)), look.trials(run_id))
                if _is_stored(storage, live, packed, rows):
                    return live.number
            except FileNotFoundError:
                continue  # packed by now
        over = live.number if live else 0
        if n_rows and not rows.num_rows:
            return over
        score = ScoreFile(run_id, scorer12, taken + 1)
        try:
            is_made = storage.create(score.name, writing("scores", _batches(rows), metadata))
        except StoreError:
            if latest(storage).removed == removed:
                raise
            continue  # what was half written went too
        if is_made:
            record = latest(storage)
            if not record.has_scores(score) and record.removed == removed:
                return score.number
            # others published and packed this number while this process slept, and it hides the new file;
            # or something was removed, which the rows may quote
            storage.delete(score.name)


def _whole(rows: pa.Table | Spool) -> pa.Table:
    return rows.table() if isinstance(rows, Spool) else rows


def _batches(rows: pa.Table | Spool) -> Iterator[pa.Table]:
    return rows.batches() if isinstance(rows, Spool) else ordered("scores", rows)


def _is_stored(storage: Storage, live: ScoreFile, packed: pa.Table | None, rows: pa.Table | Spool) -> bool:
    import pyarrow as pa

    fresh = _batches(rows)
    if packed is None:
        return holds(storage.local(live.name), "scores", fresh)
    return bool(packed.equals(pa.concat_tables(fresh)))


def resting(look: Look, run_id: str, scores: pa.Table) -> pa.Table:
    """Leave out the scores that name an answer which is not stored, and all of a run that is not there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    scores = conformed("scores", scores)
    if not look.trials(run_id).num_rows:
        return scores.slice(0, 0)
    named: Any = pa.chunked_array([part for _, part in _named(scores)])
    wanted = pc.drop_null(named).unique()
    gone = pa.array(sorted(set(wanted.to_pylist()) - _stored(look, wanted)), pa.string())
    bad = [rows.filter(pc.is_in(ids, value_set=gone)) for rows, ids in _named(scores)]
    places: Any = pa.array(range(scores.num_rows), pa.int64())
    return scores.filter(pc.invert(pc.is_in(places, value_set=pa.chunked_array(bad))))


def names_any(path: Path, answers: frozenset[str]) -> bool:
    """Say whether a file of scores names any of some answers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.array(sorted(answers), pa.string())
    return any(
        pc.any(pc.is_in(ids, value_set=wanted)).as_py()
        for rows in row_groups(path, "scores", NAMING)
        for _, ids in _named(rows)
    )


def _named(scores: pa.Table) -> Iterator[tuple[Any, Any]]:
    """Yield the answers that scores name, column by column: places of rows, and response_ids."""
    import pyarrow as pa
    import pyarrow.compute as pc

    compute: Any = pc
    for name in NAMING:
        ids: Any = scores.column(name).combine_chunks()
        rows: Any = pa.array(range(len(ids)), pa.int64())
        if pa.types.is_list(ids.type):
            rows, ids = compute.list_parent_indices(ids), compute.list_flatten(ids)
        yield rows, ids


def _stored(look: Look, wanted: pa.Array[Any]) -> set[str]:
    """Say which of some answers are stored."""
    import pyarrow.compute as pc

    live = look.live()
    found: set[str] = set()
    files = [*live.files["responses"], *live.partly.get("responses", ())]
    stored = (rows for file in files for rows in row_groups(Path(file), "responses", ["response_id"]))
    for rows in chain(stored, [live.loose["responses"]] if "responses" in live.loose else ()):
        ids: Any = rows.column("response_id")
        found.update(ids.filter(pc.is_in(ids, value_set=wanted)).to_pylist())
    return found


def added(theirs: pa.Table, mine: pa.Table, trials: pa.Table) -> pa.Table:
    """Merge two whole sets of scores of one run by one scorer; `theirs` was published first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sides = [(rows, _grades_present_answer(rows, trials), _is_graded(rows)) for rows in (mine, theirs)]
    pieces = [
        piece_of(
            rows.filter(
                pc.and_(pc.equal(current, pa.scalar(is_current)), pc.equal(graded, pa.scalar(is_graded)))
            )
        )
        for is_current in (False, True)
        for is_graded in (False, True)
        for rows, current, graded in sides
    ]
    return pa.concat_tables([theirs.slice(0, 0), *folded(pieces, SCORE_KEY)])


def _is_graded(scores: pa.Table) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.invert(pc.is_in(scores.column("outcome"), value_set=pa.array(UNGRADED)))


def _grades_present_answer(scores: pa.Table, trials: pa.Table) -> Any:
    import pyarrow.compute as pc

    answer: Any = scores.column("response_id")
    present: Any = trials.column("response_id").take(match(scores, trials, TRIAL_KEY))
    is_same: Any = pc.fill_null(pc.equal(answer, present), False)
    return pc.or_(is_same, pc.and_(pc.is_null(answer), pc.is_null(present)))
