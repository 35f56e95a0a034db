"""Asks judges what they have not been asked yet: the one place where grading makes calls.

Invariant: a judge's call is an ordinary request, kept in the journal of the run that is graded, and
paid once whoever asks again; everything that can be known to be wrong is said before the first call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradetrail.errors import Fault, ProviderError, SelectionError, SpecError
from gradetrail.generation.drive import Providers, breaking_off, drive_work
from gradetrail.generation.engine import Ending, Engine, Shared
from gradetrail.generation.log import RunLog, secrets_of
from gradetrail.generation.progress import Progress
from gradetrail.generation.work import Turn, Work
from gradetrail.pipeline.sharing import JudgeCalls, Verdict, with_judge
from gradetrail.providers import Provider, check_model
from gradetrail.scorer_spec import Judge, judges_in
from gradetrail.scoring.ballot import Ask, Ballot, Reply
from gradetrail.scoring.grade import Definition
from gradetrail.scoring.judge_check import judge_warnings
from gradetrail.scoring.judging import Docket
from gradetrail.scoring.planner import dockets, ungraded
from gradetrail.spec import Model, Spec
from gradetrail.store import Store
from gradetrail.store.places import is_warehouse, place_name
from gradetrail.store.writer import RunWriter
from gradetrail.warehouse import Warehouse


def check_opponents(root: Path, definitions: Sequence[Definition]) -> None:
    """Raise SelectionError for a run that a judge compares with and that is not there."""
    scorers = [scorer for d in definitions for _, scorer in judges_in({d.name: d.scorer})]
    named = {scorer.against.run for scorer in scorers if scorer.against is not None and scorer.against.run}
    if not named:
        return
    if not is_warehouse(root):
        fix = f"there is no warehouse at {place_name(root)} yet"
        raise SelectionError(*(Fault(f"no run `{name}`", field="against", fix=fix) for name in sorted(named)))
    with Warehouse(root) as warehouse:
        for name in sorted(named):
            warehouse.run_id(name)


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Calls of one judge about one run; equal questions count once."""

    n_answers: int
    """Answers that it grades."""
    n_stored: int
    """Calls that stored replies serve."""
    n_open: int
    """Calls still to be made, if every reply to come can be read."""


def call_counts(parts: Iterable[Docket]) -> CallCounts:
    """Count the calls of a judge."""
    seen: set[str] = set()
    n_answers = n_stored = n_open = 0
    for docket in parts:
        n_answers += docket.n_judged
        for ballot in docket.ballots(is_grading=False):
            _, key = next(ballot.calls())
            if key in seen:
                continue
            seen.add(key)
            n_stored += len(ballot.replies)
            n_open += len(ballot.open_votes)
    return CallCounts(n_answers, n_stored, n_open)


def open_ballots(parts: Iterable[Docket]) -> Iterator[Ballot]:
    """Yield what a judge is still to be asked; equal questions once."""
    seen: set[str] = set()
    for docket in parts:
        for ballot in docket.ballots(is_grading=False):
            if not ballot.open_votes:
                continue
            key = ballot.request(Ask(1, is_nudge=False))[0].key
            if key not in seen:
                seen.add(key)
                yield ballot


def ask_judges(
    root: Path,
    spec: Spec,
    run_id: str,
    definitions: Sequence[Definition],
    calls: JudgeCalls,
    *,
    force: bool = False,
) -> None:
    """Make the calls that the judges of a run still owe; failures of calls are rows.

    Raises SpecError before the first call if a key is missing, an answer cannot be rendered, or a
    ceiling cannot hold; RunLockedError where another process is at work on the run.
    """
    judges = [definition for definition in definitions if definition.judges()]
    if not judges or calls.is_stopped:
        return
    with Warehouse(root) as warehouse:
        due = [
            (definition, judge)
            for definition in ungraded(warehouse, run_id, judges, force=force)
            for judge in definition.judges()
            if call_counts(dockets(warehouse, spec, run_id, definition, judge)).n_open
        ]
    if not due:
        return
    check_judges(spec, [judge for _, judge in due])
    shared = calls.shared(root)
    for _, judge in due:
        calls.warn(judge_warnings(spec, judge))
    with Store(root).writer(run_id) as writer, breaking_off(run_id):
        for definition, judge in due:
            verdict = _ask(root, spec, writer, definition, judge, shared, calls)
            calls.verdicts.append(verdict)
            if verdict.status != "complete":
                break
        writer.finish()


def check_judges(spec: Spec, definitions: Sequence[Definition]) -> None:
    """Check keys and files of the models that judge; raise SpecError with all faults."""
    faults: list[Fault] = []
    for judge in (judge for definition in definitions for judge in definition.judges()):
        model = _model(judge)
        faults += check_model(with_judge(spec, model), model, f"scorers.{judge.name}.model")
    if faults:
        raise SpecError(*dict.fromkeys(faults))


def _model(definition: Definition) -> Model:
    assert isinstance(definition.scorer, Judge)
    return definition.scorer.model


def _ask(
    root: Path,
    spec: Spec,
    writer: RunWriter,
    definition: Definition,
    judge: Definition,
    shared: Shared,
    calls: JudgeCalls,
) -> Verdict:
    """Ask one judge about one run; replies that another judge of the run got just now are seen."""
    model = _model(judge)
    own = with_judge(spec, model)
    log = RunLog(Store(root).home, writer.run_id, secrets_of(own))
    writer.flush()
    with Warehouse(root) as warehouse, contextlib.closing(log):
        counts = call_counts(dockets(warehouse, spec, writer.run_id, definition, judge))
        progress = Progress(n_hits=counts.n_stored, n_requests=counts.n_open, observe=calls.observe)
        engine = Engine(writer.run_id, own.run, shared, writer, progress, log)
        # a generation that is stopped leaves its parts half read
        with contextlib.closing(dockets(warehouse, spec, writer.run_id, definition, judge)) as parts:
            ending = drive_work(engine, own, lambda providers: _work(parts, model, providers, progress))
    return _verdict(writer.run_id, judge.name, ending, progress)


def _verdict(run_id: str, scorer: str, ending: Ending, progress: Progress) -> Verdict:
    # a ceiling that the last reply reaches, or a Ctrl-C after it, stopped nothing
    status = "complete" if progress.n_done == progress.n_requests else ending.status
    return Verdict(run_id, scorer, status, None if status == "complete" else ending.reason, progress)


def _work(parts: Iterable[Docket], model: Model, providers: Providers, progress: Progress) -> Iterator[Work]:
    for ballot in open_ballots(parts):
        provider = providers.of(model, ballot.bench.setup.shape)
        for vote in ballot.open_votes:
            yield _conversation(ballot, vote, provider, model, progress)


def _conversation(ballot: Ballot, vote: int, provider: Provider, model: Model, progress: Progress) -> Work:
    """Put one vote of a ballot to its judge; an unreadable reply is followed by a nudge."""
    asked: list[Ask] = []
    maker = ballot.bench.maker

    def turn(answers: Sequence[str]) -> Turn | None:
        if asked and asked[-1] not in ballot.failures:
            ballot.replies[asked[-1]] = Reply(answers[-1], None)
        ask = ballot.next_of(vote)
        if ask is None:
            return None
        # a nudge is one call more than was counted
        progress.n_requests += bool(asked)
        asked.append(ask)
        request, encoded = ballot.request(ask)
        return Turn(
            request, encoded, vote, is_last=False, role="judge",
            purpose="nudge" if ask.is_nudge else "vote",
            canonical=maker.without_messages(vote, ballot.sample_hash, ballot.sample_id),
        )  # fmt: skip

    def forgive(error: ProviderError) -> None:
        ballot.failures[asked[-1]] = str(error)

    return Work(
        provider, [], b"", turn, keep_raw=model.keep_raw, keep_logprobs=bool(model.logprobs),
        forgive=forgive, counts_turns=True,
    )  # fmt: skip
