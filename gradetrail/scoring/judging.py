"""The questions that a judge is to answer about a run, and the grades that its stored replies come to.

Invariant: this makes no call: replies come from the warehouse alone, whichever run paid for them, and
what was never asked is open. Questions are rendered in batches, so memory does not grow with a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import Fault, SpecError
from gradetrail.prompt import RenderError
from gradetrail.request import KeyMaker
from gradetrail.scorer_spec import Judge
from gradetrail.scoring.ballot import Ask, Ballot, Bench, Reply
from gradetrail.scoring.comparison import has_target
from gradetrail.scoring.confidence import add_confidence
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.judge_prompt import conversation_text
from gradetrail.scoring.regex_process import RegexProcess
from gradetrail.scoring.tables import load_macros, unzipped

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 2_000
FINAL = ("over_context", "filtered")
"""Errors of a call that asking again would meet again."""

Sample = tuple[Mapping[str, Any], Mapping[str, Any]]
"""A dataset row, and the template variables that it gives."""


@dataclass(frozen=True, slots=True)
class Docket:
    """The answers of one run before one judge; the table `judge_answer` holds them."""

    con: duckdb.DuckDBPyConnection
    definition: Definition
    run_id: str
    sample_of: Callable[[str, str | None], Sample]
    """Gives the sample of a sample_id as it was shown in a choice_order."""

    @property
    def n_answers(self) -> int:
        """How many answers there are to judge."""
        return int(sql.run_file(self.con, "scoring/n_judge_answers").fetchall()[0][0])

    @property
    def n_judged(self) -> int:
        """How many of them are not the opponent's own."""
        return int(sql.run_file(self.con, "scoring/n_judge_answers").fetchall()[0][1])

    def ballots(self, *, is_grading: bool) -> Iterator[Ballot]:
        """Yield the ballots as they stand, in the order of the answers.

        When grading, a call that failed came to nothing; otherwise it may be made again, unless its
        error is one that stays. Raises SpecError for an answer about which no question can be rendered.
        """
        bench = self._bench()
        for after in range(0, self.n_answers, BATCH_ROWS):
            params = {"after": after, "size": BATCH_ROWS}
            rows = sql.run_file(self.con, "scoring/judge_answer_rows", params).fetchall()
            ballots = [ballot for row in rows for ballot in self._of_answer(bench, row)]
            self._take_stored(ballots, is_grading=is_grading)
            yield from ballots

    def _bench(self) -> Bench:
        scorer, setup = self.definition.scorer, self.definition.judge
        assert isinstance(scorer, Judge)
        assert setup is not None
        return Bench(scorer, setup, self.definition.judge_prompt(), KeyMaker(setup.shape))

    def _of_answer(self, bench: Bench, row: Sequence[Any]) -> Iterator[Ballot]:
        number, sample_id, order, sample_hash, response, reasoning, messages, targets, opponent, other = row
        sample, values = self.sample_of(sample_id, order)
        told = {"conversation": conversation_text(messages)}
        if bench.setup.file.kind == "preference":
            first = 0 if bench.scorer.swap else _drawn_side(sample_id)
            sides = (0, 1) if bench.scorer.swap else (first,)
            pairs = {0: (response, opponent), 1: (opponent, response)}
            shown = {
                side: {**told, "response_a": pairs[side][0], "response_b": pairs[side][1]} for side in sides
            }
        else:
            shown = {0: {**told, "response": response, "reasoning": reasoning}}
        for side, answer in shown.items():
            try:
                rendered = bench.prompt.messages(values, targets, answer)
            except RenderError as error:
                place = f"run {self.run_id}, sample {sample_id}"
                raise SpecError(Fault(str(error), place, f"scorers.{self.definition.name}.file")) from None
            seen = sample if bench.setup.shape.sees_sample else None
            yield Ballot(bench, number, side, rendered, sample_id, sample_hash, seen, other)

    def _take_stored(self, ballots: Sequence[Ballot], *, is_grading: bool) -> None:
        """Put into ballots what the warehouse knows of their calls."""
        import pyarrow as pa

        places: dict[str, list[tuple[Ballot, Ask]]] = {}
        for ballot in ballots:
            for ask, key in ballot.calls():
                places.setdefault(key, []).append((ballot, ask))
        if not places:
            return
        self.con.register("judge_key", pa.table({"request_key": pa.array(list(places), pa.string())}))
        stored = sql.run_file(self.con, "scoring/judge_replies").fetchall()
        self.con.unregister("judge_key")
        for key, response_id, text, stop_reason, error_type, message in stored:
            for ballot, ask in places[key]:
                if error_type is None:
                    ballot.replies[ask] = Reply(text or "", stop_reason, response_id)
                elif is_grading or error_type in FINAL:
                    ballot.failures[ask] = f"{error_type}: {message}"
                    ballot.is_failure_final &= error_type in FINAL


def _drawn_side(sample_id: str) -> int:
    """Draw the order in which a pair is shown; the same for ever for the same sample."""
    return sha256(f"order:{sample_id}".encode()).digest()[0] % 2


def grade_by_judge(docket: Docket) -> int:
    """Make the table `grade` of the relation `answer` from stored replies.

    Gives the number of ballots that more calls would add to. Columns and outcomes are those of `grade`;
    what was never asked is `pending`. The tables `judge_ballot` and `judge_vote` hold what it rests on.
    """
    con = docket.con
    load_macros(con)
    sql.run_file(con, "scoring/no_grade")
    try:
        sql.run_file(con, "scoring/subject")
        n_open = add_judged(docket)
        with RegexProcess() as process:
            add_confidence(con, docket.definition.confidence, process)
        sql.run_file(con, "scoring/cut_long_texts")
    finally:
        sql.run_file(con, "scoring/drop_grading")
    return n_open


def add_judged(docket: Docket) -> int:
    """Grade the answers in `subject` from stored replies and add them to `grade`; give the open ballots."""
    con, definition = docket.con, docket.definition
    scorer, setup = definition.scorer, definition.judge
    assert isinstance(scorer, Judge)
    assert setup is not None
    n_open, tally = 0, _Tally()
    for ballot in docket.ballots(is_grading=True):
        n_open += tally.add(ballot)
        if tally.n_ballots >= BATCH_ROWS:
            tally.write(con)
            tally = _Tally()
    tally.write(con)
    metrics = list(setup.file.rubric)
    params = {
        "metrics": metrics,
        "weights": [setup.file.rubric[name].weight for name in metrics],
        "is_majority": scorer.aggregate == "majority",
        "n_needed": scorer.n_needed,
        "threshold": definition.threshold(),
        "keeps_confidence": definition.confidence is None,
    }
    sql.run_file(con, "scoring/grade_ballots", params)
    sql.run_file(con, "scoring/grade_unopposed")
    sql.run_file(con, "scoring/no_notes")
    sql.run_file(con, "scoring/grade_rest", {"needs_target": has_target(definition)})
    if metrics:
        sql.run_file(con, "scoring/grade_criteria_rest", params)
    return n_open


BALLOT_LISTS = ("rows", "sides", "opens", "opponents", "responses")
VOTE_LISTS = ("rows", "sides", "votes", "metrics", "scores", "verdicts", "reasons", "confidences", "faults")


@dataclass(slots=True)
class _Tally:
    """Ballots and votes on their way into `judge_ballot` and `judge_vote`."""

    ballots: list[tuple[Any, ...]] = field(default_factory=list)
    votes: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def n_ballots(self) -> int:
        return len(self.ballots)

    def add(self, ballot: Ballot) -> bool:
        """Add a ballot with its votes; say whether more calls would add to it."""
        is_open = bool(ballot.open_votes)
        other, ids = ballot.opponent_response_id, ballot.response_ids()
        self.ballots.append((ballot.row, ballot.side, is_open, other, ids))
        for vote, reading in ballot.votes():
            head = (ballot.row, ballot.side, vote)
            tail = (reading.verdict, reading.reason, reading.confidence, reading.fault)
            if not reading.scores:
                self.votes.append((*head, "score", None, *tail))
            for metric, score in reading.scores.items():
                worth = 1 - score if ballot.side == 1 else score
                self.votes.append((*head, metric, worth, *tail))
        return is_open or not ballot.is_failure_final

    def write(self, con: duckdb.DuckDBPyConnection) -> None:
        """Put them into the tables."""
        if not self.ballots:
            return
        for name, columns, rows in (("ballot", BALLOT_LISTS, self.ballots), ("vote", VOTE_LISTS, self.votes)):
            lists = unzipped(rows, len(columns))
            sql.run_file(con, f"scoring/judge_{name}_rows", dict(zip(columns, lists, strict=True)))
