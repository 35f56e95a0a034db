"""What can be wrong with a spec beyond its form: scorers, judges, and the files of models.

Invariant: no call is made and nothing is written. A fault of one stage hides none of another that can be
found without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradetrail.errors import Fault, SpecError
from gradetrail.providers.check import check_model
from gradetrail.scoring.grade import Definition, check, definitions
from gradetrail.scoring.judge_check import judge_faults
from gradetrail.spec import Spec

LOCAL = ("python", "replay", "mock")
"""Providers that need no key: what is wrong with them is wrong whether they are asked or not."""


def checked_definitions(spec: Spec) -> list[Definition]:
    """Give the spec's scorers; SpecError with every fault of their options."""
    found = definitions(spec)
    faults = _definition_faults(spec, found)
    if faults:
        raise SpecError(*faults)
    return found


def definitions_to_run(spec: Spec, models: Sequence[str] = ()) -> list[Definition]:
    """Give the spec's scorers; where one is at fault, SpecError also has the faults of the models' files.

    `models` are those that are asked for; none means all.
    """
    try:
        return checked_definitions(spec)
    except SpecError as error:
        raise SpecError(*error.faults, *_model_faults(spec, models)) from None


def with_draft(error: SpecError) -> SpecError:
    """Add to the faults of a spec that has only a bad name what else is wrong with it."""
    if not isinstance(error.draft, Spec):
        return error
    spec = error.draft
    faults = [*_definition_faults(spec, definitions(spec)), *_model_faults(spec)]
    return SpecError(*error.faults, *faults)


def _definition_faults(spec: Spec, found: Sequence[Definition]) -> list[Fault]:
    faults = [
        _at_its_option(spec, each.name, fault)
        for each in found
        for fault in check(each, spec.where("scorers", each.name))
    ]
    # what scorers share is at fault once
    return list(dict.fromkeys(faults)) + [fault for each in found for fault in judge_faults(spec, each)]


def _at_its_option(spec: Spec, name: str, fault: Fault) -> Fault:
    """Place a fault at the line of the option that it names, which may stand outside the scorer."""
    if fault.where != spec.where("scorers", name):
        return fault
    own = f"scorers.{name}"
    is_own = fault.field == own or fault.field.startswith(f"{own}.")
    start = ("scorers", name) if is_own else ()
    rest = fault.field.removeprefix(own) if is_own else fault.field
    keys = (int(key) if key.isdigit() else key for key in rest.split(".") if key)
    return replace(fault, where=spec.where(*start, *keys))


def _model_faults(spec: Spec, models: Sequence[str] = ()) -> list[Fault]:
    return [
        fault
        for number, model in enumerate(spec.models)
        if model.provider in LOCAL and (not models or model.display in models)
        for fault in check_model(spec, model, f"models.{number}")
    ]
