"""Turns what a user calls a run into its run_id, before any query.

Invariant: a selector names exactly one run or is refused with the candidates; queries only ever see
run_ids, so that they touch one run's rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gradetrail.errors import Fault, SelectionError, did_you_mean

Manifest = Mapping[str, Any]

_LATEST = re.compile(r"latest(?:~(\d+))?\Z")
SHOWN = 10
"""Candidates that a refusal lists."""


def by_age(manifests: Sequence[Manifest]) -> list[Manifest]:
    """Sort runs from the oldest to the newest."""
    return sorted(manifests, key=lambda m: (str(m.get("started_at") or ""), str(m["run_id"])))


def select_run(manifests: Sequence[Manifest], selector: str, task: str | None = None) -> Manifest:
    """Find the run that a selector names; SelectionError lists the candidates if it is not exactly one.

    Selectors: a run_id, a unique prefix of one, its last 6 hex digits, `latest`, `latest~1` (the run
    before it of the same task), `task@latest`, `task@latest~1`, `task@TAG` (the newest with the tag).
    """
    exact = [m for m in manifests if m["run_id"] == selector]
    if exact:
        return exact[0]
    if not manifests:
        raise SelectionError(
            Fault(f"no run `{selector}`: the warehouse has no runs", fix="gradetrail run SPEC")
        )
    of_task, at, rest = selector.rpartition("@")
    if at:
        return _of_task(manifests, of_task, rest, selector)
    runs = by_age(manifests if task is None else [m for m in manifests if m["task"] == task])
    latest = _LATEST.match(selector)
    if latest:
        return _back(runs, int(latest[1] or 0), selector)
    found = [m for m in runs if m["run_id"].startswith(selector)]
    if not found and re.fullmatch(r"[0-9a-f]{6}", selector):
        found = [m for m in runs if m["run_id"].endswith(f"-{selector}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise SelectionError(Fault(f"`{selector}` names {len(found)} runs", fix=_candidates(found)))
    raise SelectionError(Fault(f"no run `{selector}`", fix=_candidates(runs)))


def names_by_run(manifests: Sequence[Manifest]) -> dict[str, str]:
    """Give what names that move on to newer runs mean: `latest`, `task@latest`, `task@TAG`."""
    found: dict[str, str] = {}
    for run in by_age(manifests):
        names = ["latest", *(str(tag) for tag in run.get("tags") or ())]
        found |= dict.fromkeys(["latest", *(f"{run['task']}@{name}" for name in names)], str(run["run_id"]))
    return found


def _of_task(runs: Sequence[Manifest], task: str, rest: str, selector: str) -> Manifest:
    mine = by_age([m for m in runs if m["task"] == task])
    if not mine:
        known = {str(m["task"]) for m in runs}
        raise SelectionError(Fault(f"no run of task `{task}`", fix=did_you_mean(task, known)))
    latest = _LATEST.match(rest)
    if latest:
        return _back(mine, int(latest[1] or 0), selector)
    tagged = [m for m in mine if rest in (m.get("tags") or ())]
    if tagged:
        return tagged[-1]
    tags = {str(tag) for m in mine for tag in m.get("tags") or ()}
    fix = did_you_mean(rest, tags) if tags else f"no run of `{task}` has a tag; give one with --tag"
    raise SelectionError(Fault(f"no run of `{task}` is tagged `{rest}`", fix=fix))


def _back(runs: Sequence[Manifest], steps: int, selector: str) -> Manifest:
    """Go back from the newest run among those of its task."""
    if not runs:
        raise SelectionError(Fault(f"no run `{selector}`", fix="gradetrail run SPEC"))
    newest = runs[-1]
    same = [m for m in runs if m["task"] == newest["task"]]
    if steps >= len(same):
        reason = f"`{selector}`: task `{newest['task']}` has {len(same)} run{'s' if len(same) > 1 else ''}"
        raise SelectionError(Fault(reason, fix=_candidates(same)))
    return same[-1 - steps]


def _candidates(runs: Sequence[Manifest]) -> str:
    shown = [str(m["run_id"]) for m in reversed(runs)][:SHOWN]
    more = f" and {len(runs) - SHOWN} more" if len(runs) > SHOWN else ""
    return f"candidates, newest first: {', '.join(shown)}{more}"


def successor(manifests: Sequence[Manifest], run: Manifest) -> Manifest:
    """Find the next newer run of the same task."""
    same = by_age([m for m in manifests if m["task"] == run["task"]])
    place = [m["run_id"] for m in same].index(run["run_id"])
    if place + 1 == len(same):
        raise SelectionError(
            Fault(
                f"`{run['run_id']}` is the newest run of `{run['task']}`",
                fix="name the run to compare it with",
            )
        )
    return same[place + 1]
