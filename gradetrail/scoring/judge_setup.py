"""A judge as it is defined: its file, read and checked, and the shape of the calls that it makes.

Invariant: nothing but the file's content and the shape decides what a judge is asked; a fault in the
file names its own line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gradetrail.errors import Fault, SpecError
from gradetrail.prompt import syntax_fault
from gradetrail.providers import call_shape
from gradetrail.request import CallShape
from gradetrail.scorer_spec import Judge, JudgeFile
from gradetrail.spec import RequestParams, Spec
from gradetrail.spec_faults import faults_of
from gradetrail.yaml_source import Source


@dataclass(frozen=True, slots=True)
class JudgeSetup:
    """What a judge is told and who it is."""

    file: JudgeFile
    shape: CallShape
    path: str
    """The file as the spec names it, for messages."""

    def identity(self) -> dict[str, Any]:
        """Give what identifies the model that judges: all of its calls but messages and vote."""
        return {key: value for key, value in self.shape.identity(1).items() if key != "epoch"}


def judge_spec(spec: Spec) -> Spec:
    """Give the spec as its judges see it: the parameters of `request` are those of the models under test."""
    return spec.model_copy(update={"request": RequestParams()})


def judge_setup(
    spec: Spec, place: tuple[str, ...], scorer: Judge, content: bytes | None
) -> tuple[JudgeSetup | None, tuple[Fault, ...]]:
    """Read the file of a judge and give the shape of its calls, or everything that is wrong with them.

    `place` is where it stands below `scorers`.
    """
    where, field = spec.where("scorers", *place), ".".join(("scorers", *place))
    faults: list[Fault] = []
    file = shape = None
    if content is None:
        fix = f"there is none at {spec.path(scorer.file)}; `gradetrail init judge` writes one to start from"
        faults.append(Fault(f"no judge file `{scorer.file}`", where, f"{field}.file", fix))
    else:
        try:
            file = read_judge_file(spec.path(scorer.file), content)
        except SpecError as error:
            faults += error.faults
    try:
        shape = call_shape(judge_spec(spec), scorer.model)
    except SpecError as error:
        faults += error.faults
    if file is None or shape is None:
        return None, tuple(faults)
    return JudgeSetup(file, shape, scorer.file), tuple(faults)


def read_judge_file(path: Path, content: bytes) -> JudgeFile:
    """Parse a judge file; SpecError with every fault, each with file, line and field."""
    try:
        source = Source(path, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SpecError(Fault(f"not UTF-8 (byte {error.start})", str(path), fix="save as UTF-8")) from None
    if not isinstance(source.value, dict):
        fix = "kind: binary, version: 1, prompt: ..."
        raise SpecError(Fault("a judge file is a mapping", f"{path}:1", fix=fix))
    try:
        file = JudgeFile.model_validate(source.value)
    except ValidationError as error:
        faults = [
            replace(fault, where=source.where(_place(fault.field))) for fault in faults_of(error, JudgeFile)
        ]
        raise SpecError(*faults) from None
    templates = {"prompt": file.prompt, "system": file.system}
    found = [syntax_fault(text, source.where((name,)), name) for name, text in templates.items() if text]
    if any(found):
        raise SpecError(*(fault for fault in found if fault is not None))
    return file


def _place(field: str) -> tuple[str | int, ...]:
    return tuple(int(part) if part.isdigit() else part for part in field.split(".") if part)
