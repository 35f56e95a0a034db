"""Says what a comparison compares: two runs, models, prompts, scorers or scorer versions.

Invariant: both sides are resolved to run_ids, names and version numbers before the query; every name
was looked up, and an unknown one is refused with the known ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from gradetrail.errors import Fault, SelectionError, did_you_mean
from gradetrail.warehouse.selection import SHOWN, Manifest, by_age, select_run, successor

_ARGUMENTS = (
    "$a_run, $b_run, a_model := $a_model, b_model := $b_model, a_prompt := $a_prompt, b_prompt := $b_prompt,"
    " a_scorer := $a_scorer, b_scorer := $b_scorer, a_version := $a_version, b_version := $b_version"
)
DIFF = f"from diff({_ARGUMENTS})"
CHANGES = f"{DIFF} where change <> 'same'"
COMPARISON = f"from comparison({_ARGUMENTS})"

_SCORER = re.compile(r"(?P<name>.+?)(?:~(?P<back>\d+))?\Z")


@dataclass(frozen=True, slots=True)
class Dimensions:
    """What was named beside the runs; each with at most two values, and two are compared."""

    models: Sequence[str] = ()
    prompts: Sequence[str] = ()
    scorers: Sequence[str] = ()
    """Scorer names; `strict~1` is the definition before the present one."""

    @property
    def has_pair(self) -> bool:
        """Whether one run is enough, since something else has two values."""
        versioned = any("~" in scorer for scorer in self.scorers)
        return versioned or any(len(values) == 2 for values in (self.models, self.prompts, self.scorers))


def sides(
    manifests: Sequence[Manifest],
    tasks: Sequence[Mapping[str, Any]],
    a: str | None,
    b: str | None,
    dimensions: Dimensions,
    is_graded: Callable[[str, str], bool] = lambda _run_id, _scorer_id: True,
) -> dict[str, str | int | None]:
    """Give the parameters of the macros `diff` and `comparison`.

    Without runs, the newest that has all that is named is compared with the one before it, or with
    itself if a dimension has two values (of a scorer's definitions: the newest that both graded); with
    one run, its successor, or itself. SelectionError names what is not known, and a run that a
    definition did not grade.
    """
    for flag, values in (
        ("--model", dimensions.models),
        ("--prompt", dimensions.prompts),
        ("--scorer", dimensions.scorers),
    ):
        if len(values) > 2:
            raise SelectionError(Fault(f"{len(values)} values; a comparison has two sides", flag))
    eligible = _having(manifests, tasks, dimensions) if a is None and b is None else manifests
    run_a, run_b = _runs(eligible, a, b, dimensions.has_pair)
    a_model, b_model = _names("model", _models(run_a), _models(run_b), dimensions.models)
    a_prompt, b_prompt = _names("prompt", _prompts(run_a), _prompts(run_b), dimensions.prompts)
    a_scorer, b_scorer = _scorers(dimensions.scorers)
    a_version, a_id = _version(tasks, run_a["task"], *a_scorer)
    b_version, b_id = _version(tasks, run_b["task"], *b_scorer)
    if a is None and b is None and a_id and b_id:
        of_task = by_age([run for run in eligible if run["task"] == run_a["task"]])
        both = [run for run in of_task if all(is_graded(run["run_id"], by) for by in (a_id, b_id))]
        run_a = run_b = both[-1] if both else run_a
    faults = [
        _ungraded(run, scorer, [m["run_id"] for m in by_age(manifests) if is_graded(m["run_id"], scorer_id)])
        for run, scorer, scorer_id in ((run_a, a_scorer, a_id), (run_b, b_scorer, b_id))
        if scorer_id and not is_graded(run["run_id"], scorer_id)
    ]
    if faults:
        raise SelectionError(*faults)
    return {
        "a_run": run_a["run_id"],
        "b_run": run_b["run_id"],
        "a_model": a_model,
        "b_model": b_model,
        "a_prompt": a_prompt,
        "b_prompt": b_prompt,
        "a_scorer": a_scorer[0],
        "b_scorer": b_scorer[0],
        "a_version": a_version,
        "b_version": b_version,
    }


def _ungraded(run: Manifest, scorer: Versioned, others: Sequence[str]) -> Fault:
    """Say that a definition did not grade a run, and which runs it did, the newest last."""
    name, back = scorer
    definition = f"{name}~{back}" if back else str(name)
    fix = f"it graded: {', '.join(reversed(others[-SHOWN:]))}" if others else "it graded no run"
    if not back:
        fix = f"grade the run: gradetrail score {run['run_id']}"
    return Fault(f"`{run['run_id']}` is not graded by `{definition}`", "--scorer", fix=fix)


def _having(
    manifests: Sequence[Manifest], tasks: Sequence[Mapping[str, Any]], dimensions: Dimensions
) -> Sequence[Manifest]:
    """Give the runs with every model, prompt and scorer that is named; all runs if there is none."""
    scorers = {str(_versioned(scorer)[0]) for scorer in dimensions.scorers}
    known: dict[str, set[str]] = {}
    for task in tasks:
        known.setdefault(task["task"], set()).update(task.get("scorers", {}))
    having = [
        run
        for run in manifests
        if scorers <= known.get(run["task"], set())
        and set(dimensions.models) <= set(_models(run))
        and set(dimensions.prompts) <= set(_prompts(run))
    ]
    return having or manifests


def _runs(
    manifests: Sequence[Manifest], a: str | None, b: str | None, has_pair: bool
) -> tuple[Manifest, Manifest]:
    if a is None and b is None and not has_pair:
        newest = select_run(manifests, "latest")
        if [run["task"] for run in manifests].count(newest["task"]) == 1:
            fix = "run again after a change, or compare what one run holds: --model M,M2, --scorer S~1"
            reason = f"task `{newest['task']}` has one run; a comparison has two sides"
            raise SelectionError(Fault(reason, "diff", fix=fix))
        return select_run(manifests, "latest~1"), newest
    first = select_run(manifests, a or b or "latest")
    if a is not None and b is not None:
        return first, select_run(manifests, b)
    return first, first if has_pair else successor(manifests, first)


def _models(run: Manifest) -> list[str]:
    return [str(model["model"]) for model in run.get("models") or ()]


def _prompts(run: Manifest) -> list[str]:
    return list(run.get("prompts") or ())


def _names(
    what: str, of_a: Sequence[str], of_b: Sequence[str], given: Sequence[str]
) -> tuple[str | None, str | None]:
    """Give the name on each side; None pairs equal names."""
    if not given:
        # one entrant against one other: there is nothing else that they could be paired with
        is_clear = len(of_a) == len(of_b) == 1 and of_a != of_b
        return (of_a[0], of_b[0]) if is_clear else (None, None)
    wanted = (given[0], given[-1])
    for name, known in zip(wanted, (of_a, of_b), strict=True):
        if name not in known:
            raise SelectionError(
                Fault(f"no {what} `{name}` in the run", f"--{what}", fix=did_you_mean(name, known))
            )
    return wanted


Versioned = tuple[str | None, int | None]
"""Scorer name (None: all) and steps back from its present definition (None: what the run has)."""


def _scorers(given: Sequence[str]) -> tuple[Versioned, Versioned]:
    if not given:
        return (None, None), (None, None)
    first, last = _versioned(given[0]), _versioned(given[-1])
    if len(given) == 1 and first[1]:
        return first, (first[0], 0)
    if len(given) == 2 and first[0] == last[0]:
        return (first[0], first[1] or 0), (last[0], last[1] or 0)
    return first, last


def _versioned(text: str) -> Versioned:
    match = _SCORER.match(text)
    assert match is not None
    return match["name"], int(match["back"]) if match["back"] else None


def _version(
    tasks: Sequence[Mapping[str, Any]], task: str, scorer: str | None, back: int | None
) -> tuple[int | None, str | None]:
    """Count back from the present definition of a scorer; give its number in `definitions`, and its id."""
    if scorer is None:
        return None, None
    history = [t for t in sorted(tasks, key=lambda t: int(t["n"])) if t["task"] == task]
    used = [str(t["scorers"][scorer]) for t in history if scorer in t.get("scorers", {})]
    if not used:
        known = {name for t in history for name in t.get("scorers", {})}
        raise SelectionError(
            Fault(f"task `{task}` has no scorer `{scorer}`", "--scorer", fix=did_you_mean(scorer, known))
        )
    if back is None:
        return None, None
    spans = [scorer_id for scorer_id, _ in groupby(used)]
    if back >= len(spans):
        if len(spans) == 1:
            fix = "change it in the spec and grade again: `gradetrail score SPEC`"
            raise SelectionError(Fault(f"scorer `{scorer}` has 1 definition", "--scorer", fix=fix))
        fix = f"`{scorer}~{len(spans) - 1}` is the oldest"
        raise SelectionError(Fault(f"scorer `{scorer}` has {len(spans)} definitions", "--scorer", fix=fix))
    return _numbered(used).index(spans[-1 - back]) + 1, spans[-1 - back]


def _numbered(used: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(used))
