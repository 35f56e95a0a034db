"""The manifest of a run: everything needed to say what was done, and to go on with it later.

Invariant: it inlines the spec and every file that the spec names, and holds no results: views
compute those. It is replaced atomically, and its `status` is the last thing to change.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from gradetrail.generation.plan import PLAN_VERSION, Entrant, Plan
from gradetrail.model_spec import hide_headers
from gradetrail.request import content_id
from gradetrail.scorer_spec import hide_judge_headers
from gradetrail.spec import Spec

VERSIONED = ("gradetrail", "duckdb", "pyarrow", "polars", "anthropic", "openai")


def new_manifest(
    run_id: str,
    plan: Plan,
    *,
    scorers: Mapping[str, str],
    spec_id: str,
    started_at: datetime,
    tags: Sequence[str] = (),
    refresh: bool = False,
) -> dict[str, Any]:
    """Describe a run that is about to start; `scorers` maps scorer names to scorer_ids."""
    spec, selection = plan.spec, plan.selection
    return {
        "run_id": run_id,
        "task": spec.name,
        "name": spec.name,
        "description": spec.description,
        "tags": list(tags),
        "status": "running",
        "aborted_reason": None,
        "spec_id": spec_id,
        "plan_id": plan.plan_id,
        "plan_version": PLAN_VERSION,
        "dataset_id": plan.samples.dataset_id,
        "models": model_records(plan.entrants),
        "prompts": {entrant.prompt: entrant.prompt_id for entrant in plan.entrants},
        "scorers": dict(scorers),
        "primary": next(iter(spec.scorers)),
        "unanswered": spec.unanswered,
        "epochs": plan.epochs,
        "seed": selection.seed,
        "selection": selection_record(plan),
        "is_limited": bool(selection.limit or selection.sample or selection.cases or selection.where),
        "n_samples": plan.samples.chosen.num_rows,
        "n_selected_of": plan.samples.index.num_rows,
        "n_trials": plan.trials.num_rows,
        "started_at": started_at.isoformat(),
        "ended_at": None,
        "elapsed_s": 0.0,
        "versions": versions(),
        "git": git_state(spec.base),
        "refresh": refresh,
        "spec": stored_spec(spec),
        "files": dict(named_files(spec)),
        "base": str(spec.base.resolve()),
        "host": socket.gethostname(),
        "pid": os.getpid(),
    }


def selection_record(plan: Plan) -> dict[str, Any]:
    """Say which samples were asked for, by flags and by the spec."""
    selection, dataset = plan.selection, plan.spec.dataset
    return {
        "limit": selection.limit,
        "sample": selection.sample,
        "seed": selection.seed,
        "cases": list(selection.cases),
        "where": selection.where,
        "shuffle_seed": dataset.shuffle_seed,
        "spec_limit": dataset.limit,
        "spec_where": dataset.where,
        "query": dataset.query,
    }


def stored_spec(spec: Spec) -> dict[str, Any]:
    """Give a spec as it is kept: no header value, but `${NAME}` and beta headers."""
    whole = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for model in whole["models"]:
        hide_headers(model)
    hide_judge_headers(whole["scorers"])
    return whole


def model_records(entrants: Sequence[Entrant]) -> list[dict[str, Any]]:
    """List the models of a run with what identifies them; header values and keys are left out."""
    records = {
        entrant.model.display: {
            "model": entrant.model.display,
            "model_id": entrant.model_id,
            "provider": entrant.shape.provider,
            "name": entrant.shape.model,
            "params": dict(entrant.shape.params),
            "revision": entrant.shape.revision,
            "endpoint": entrant.shape.endpoint,
            "base_url": entrant.shape.base_url,
        }
        for entrant in entrants
    }
    return list(records.values())


def spec_identity(spec: Spec, plan: Plan, scorers: Mapping[str, str]) -> str:
    """Hash everything that can change a number; name, description, paths and knobs are left out."""
    return content_id(
        "gradetrail.spec.v1",
        {
            "plan_id": plan.plan_id,
            "dataset_id": plan.samples.dataset_id,
            "models": sorted(entrant.model_id for entrant in plan.entrants),
            "scorers": dict(scorers),
            "epochs": plan.epochs,
            "unanswered": spec.unanswered,
        },
    )


def versions() -> dict[str, str]:
    """Name the versions of Python and of the packages that can matter."""
    found = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def git_state(folder: Path) -> dict[str, Any] | None:
    """Give {sha, is_dirty} of the checkout that holds the spec; None if it is in none."""
    try:
        sha = _git(folder, "rev-parse", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return {"sha": sha, "is_dirty": bool(changed)}


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder.resolve()), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)  # noqa: S603 - fixed words
    return done.stdout.strip()


def named_files(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield (path as written, content) of the files that a spec names, except dataset and answers.

    A file that is no short text is given as `sha256:<hex>`.
    """
    names: list[str | None] = [spec.few_shot.path if spec.few_shot else None]
    for block in (spec.request, *spec.models):
        names += [value for value in (block.tools, block.response_format) if isinstance(value, str)]
    names += [model.path for model in spec.models]
    names += [name for scorer in spec.scorers.values() for name in scorer.named_files]
    yield from spec.inlined(name for name in names if name is not None).items()
