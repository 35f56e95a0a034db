"""Runs specs: makes the calls that they owe, grades the answers, and says whether the results may be used.

Invariant: a run whose generation was aborted asks no judge: its grades stay pending.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from gradetrail.errors import Fault
from gradetrail.generation.states import states_of
from gradetrail.pipeline.failures import SEE_ERRORS, grading_faults
from gradetrail.pipeline.generating import Invocation, generate_many
from gradetrail.pipeline.grading import score_runs
from gradetrail.pipeline.recorded import Job, SpecLike, as_spec
from gradetrail.pipeline.result import Run
from gradetrail.pipeline.sharing import JudgeCalls
from gradetrail.spec import Spec


def run(
    spec: SpecLike,
    *,
    warehouse: str | os.PathLike[str] | None = None,
    frame: object | None = None,
    invocation: Invocation = Invocation(),
) -> Run:
    """Generate what is missing, grade what is not graded, asking its judges, and give the run."""
    parsed = as_spec(spec, has_frame=frame is not None)
    jobs = [Job(parsed, frame)]
    (done,) = generate_many(jobs, warehouse=warehouse, invocation=invocation, is_judging=True)
    calls = judge_calls([parsed], [done], invocation)
    graded = score_runs(done.root, parsed, [done.run_id], judges=judges_of(done, calls))
    return replace(judged(done, calls), graded=tuple(graded))


def judge_calls(specs: Sequence[Spec], runs: Sequence[Run], invocation: Invocation) -> JudgeCalls | None:
    """Give what the judges of a command share with its generation; None if that was interrupted."""
    if any(done.status == "interrupted" for done in runs):
        return None
    spent = sum((done.progress.cost_usd for done in runs), Decimal(0))
    unpriced = frozenset[str]().union(*(done.progress.unpriced for done in runs))
    told = {warning for done in runs for warning in done.warnings}
    return JudgeCalls(specs, spent, invocation.observe, invocation.tell, told, unpriced)


def judges_of(done: Run, calls: JudgeCalls | None) -> JudgeCalls | None:
    """Give the judges that a run may ask; None if its generation was aborted: its grades stay pending."""
    # a run that an earlier command aborted, and that this one asked nothing more of, may be judged
    is_aborted = done.status == "aborted" and done.progress.stopping is not None
    return None if is_aborted else calls


def judged(done: Run, calls: JudgeCalls | None) -> Run:
    """Give a run with the state in which its judging ended, where that was not to the end."""
    verdicts = [] if calls is None else [v for v in calls.verdicts if v.run_id == done.run_id]
    stopped = next((verdict for verdict in verdicts if verdict.status != "complete"), None)
    if stopped is None or done.status != "complete":
        return done
    reason = f"judge `{stopped.scorer}`: {stopped.reason}"
    return replace(done, status=stopped.status, reason=reason, halt=stopped.progress.halt)


def unusable(root: Path, run_ids: Sequence[str], allow_errors: float, *, must_be_scored: bool) -> list[Fault]:
    """Say why results must not be used: too many errors, or nothing scored."""
    faults: list[Fault] = []
    answered: list[str] = []
    for run_id in run_ids:
        states = states_of(root, run_id)
        if states.n_errors < states.n_trials or allow_errors >= 1 or not states.n_trials:
            answered.append(run_id)
        else:
            fix = f"see `gradetrail show errors {run_id}`"
            faults.append(Fault(f"all {states.n_trials:,} trials ended in an error", run_id, fix=fix))
            continue
        if states.n_trials and states.n_errors / states.n_trials > allow_errors:
            share = f"{states.n_errors / states.n_trials:.1%}"
            reason = f"{states.n_errors:,} of {states.n_trials:,} trials ended in an error ({share})"
            faults.append(Fault(reason, run_id, fix=SEE_ERRORS))
    if not must_be_scored:
        return faults
    found = grading_faults(root, answered, allow_errors)
    return [*faults, *found.unscored, *found.failed]
