"""What a warehouse itself knows of a run: enough to grade it or go on with it without the spec's file.

Invariant: a run is rebuilt from its manifest and its stored samples alone; files that the spec names
come from the manifest where they are gone from the disk.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gradetrail import sql
from gradetrail.dataset import Selection, parse_row
from gradetrail.errors import Fault, SelectionError, SpecError
from gradetrail.pipeline.checking import with_draft
from gradetrail.spec import DIGEST, Spec, kept_bytes, load_spec, spec_from
from gradetrail.store.places import is_warehouse, place_name
from gradetrail.warehouse import Warehouse

SpecLike = Spec | str | os.PathLike[str] | Mapping[str, Any]
"""A spec file, a mapping as YAML would give it, or a loaded spec."""


def warehouse_root(path: str | os.PathLike[str] | None = None) -> Path:
    """Give the warehouse's folder: as named, else $GRADETRAIL_WAREHOUSE, else ./warehouse."""
    return Path(path or os.environ.get("GRADETRAIL_WAREHOUSE") or "warehouse")


def as_spec(spec: SpecLike, *, has_frame: bool = False) -> Spec:
    """Load a spec file, or validate a mapping; a Spec stays as it is.

    A mapping needs no `dataset` where a frame takes its place.
    """
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, Mapping):
        mapping = {"dataset": {}, **spec} if has_frame else spec
        return _whole(lambda: spec_from(mapping))
    path: object = spec
    if not isinstance(path, str | os.PathLike):
        fix = "give a path, a mapping as YAML would give it, or a Spec"
        raise SpecError(Fault(f"a {type(path).__name__} is no spec", fix=fix))
    return _whole(lambda: load_spec(path))


def _whole(load: Callable[[], Spec]) -> Spec:
    """Load a spec; SpecError with what is wrong with its content too, where only its name is wrong."""
    try:
        return load()
    except SpecError as error:
        raise with_draft(error) from None


def is_run_name(name: object) -> bool:
    """Tell a run's name from a spec's path."""
    return isinstance(name, str) and Path(name).suffix not in (".yaml", ".yml") and not Path(name).exists()


@dataclass(frozen=True, slots=True)
class Job:
    """A spec to run, and what is fixed about how."""

    spec: Spec
    frame: object | None = None
    """Samples in place of the spec's dataset file."""
    selection: Selection | None = None
    """Selection of the run to go on with; None takes that of the invocation."""
    run_id: str | None = None
    """Run to go on with; None for the newest that fits."""


def job_of(root: Path, name: str, knobs: Mapping[str, Any] = MappingProxyType({})) -> Job:
    """Load a spec file, or rebuild from the warehouse the run that is named instead.

    `knobs` are fields of the spec's `run` block that win over what it says.
    """
    if not is_run_name(name):
        return Job(turned(as_spec(name), knobs))
    if not is_warehouse(root):
        fix = f"a spec is a file; a run needs its warehouse, and {place_name(root)} is none: --warehouse DIR"
        raise SelectionError(Fault(f"`{name}` is neither a spec file nor a run", fix=fix))
    with Warehouse(root) as warehouse:
        manifest = _manifest(warehouse, warehouse.run_id(name))
        spec = recorded_spec(warehouse, manifest["run_id"], grading=False)
        rows = sql.run_file(
            warehouse.connection("samples"), "generation/dataset_rows", {"dataset_id": manifest["dataset_id"]}
        ).fetchall()
    # ids come out again as they were: they stand in the rows, or follow from their content and order
    frame = [parse_row(content) for (content,) in rows] if rows else None
    chosen = manifest["selection"]
    selection = Selection(
        limit=chosen["limit"],
        sample=chosen["sample"],
        seed=chosen["seed"],
        cases=tuple(chosen["cases"]),
        where=chosen["where"],
    )
    return Job(turned(spec, knobs), frame, selection, manifest["run_id"])


def turned(spec: Spec, knobs: Mapping[str, Any]) -> Spec:
    """Give a spec with other fields of its `run` block."""
    return spec.model_copy(update={"run": spec.run.model_copy(update=dict(knobs))}) if knobs else spec


def recorded_spec(warehouse: Warehouse, run_id: str, *, grading: bool = True) -> Spec:
    """Rebuild the spec of a run from its manifest; `grading` takes the task's present scorers."""
    manifest = _manifest(warehouse, run_id)
    task = (warehouse.task_definition(manifest["task"]) or {}) if grading else {}
    try:
        files = {**manifest.get("files", {}), **task.get("files", {})}
        spec = spec_from({**manifest["spec"], **task.get("grading", {})}, base=_base(manifest, files))
        if faults := list(_lost_faults(spec, task.get("files", {}))):
            raise SpecError(*faults)
        return spec
    except SpecError as error:
        raise SpecError(*(replace(fault, where=f"manifest of {run_id}") for fault in error.faults)) from None


def _manifest(warehouse: Warehouse, run_id: str) -> dict[str, Any]:
    manifest = next((m for m in warehouse.manifests() if m["run_id"] == run_id), None)
    if manifest is None:
        raise SelectionError(Fault(f"no run `{run_id}`"))
    return manifest


def _base(manifest: Mapping[str, Any], files: Mapping[str, str]) -> Path:
    """Give a folder in which the files that the spec names can be read, as they were."""
    base = Path(manifest.get("base", "."))
    if all(_is_same(base / name, text) for name, text in files.items()):
        return base
    folder = Path(tempfile.mkdtemp(prefix="gradetrail-"))
    for name, text in files.items():
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        data = kept_bytes(text)
        if data is not None:
            path.write_bytes(data)
        elif (base / name).is_file():  # too large to be kept: that it is the same is for the caller to see
            path.symlink_to((base / name).resolve())
    return folder


def _is_same(path: Path, text: str) -> bool:
    data = kept_bytes(text)
    try:
        return data is None or path.read_bytes() == data
    except OSError:
        return False


def _lost_faults(spec: Spec, files: Mapping[str, str]) -> Iterator[Fault]:
    """Find files of scorers that are too large to be kept, and are gone or changed."""
    for name in (name for scorer in spec.scorers.values() for name in scorer.named_files):
        digest = files.get(name, "")
        if kept_bytes(digest) is not None:
            continue
        path = spec.path(name)
        if not path.is_file() or f"{DIGEST}{hashlib.sha256(path.read_bytes()).hexdigest()}" != digest:
            state = "has changed since" if path.is_file() else "is not there any more"
            message = f"`{name}` is too large to be kept with the task, and {state}"
            yield Fault(message, fix="put it back as it was, or grade by a spec: gradetrail score SPEC")
