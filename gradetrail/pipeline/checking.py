"""What can be wrong with a spec beyond its form: scorers, judges, and the files of models.

Invariant: no call is made and nothing is written. A fault of one stage hides none of another that can be
found without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradetrail.dataset import missing_files
from gradetrail.errors import Fault, SpecError
from gradetrail.prompt import Renderer, example_faults, syntax_fault
from gradetrail.providers import check_model
from gradetrail.scorer_spec import Switch
from gradetrail.scoring.grade import Definition, check, columns, definitions
from gradetrail.scoring.judge_check import judge_faults
from gradetrail.spec import Spec
from gradetrail.spec_faults import in_order

LOCAL = ("python", "replay", "mock")
"""Providers that need no key: what is wrong with them is wrong whether they are asked or not."""


def checked_definitions(spec: Spec) -> list[Definition]:
    """Give the spec's scorers; SpecError with every fault of their options."""
    found = definitions(spec)
    faults = _definition_faults(spec, found)
    if faults:
        raise SpecError(*in_order(faults))
    return found


def definitions_to_run(
    spec: Spec, models: Sequence[str] = (), *, has_frame: bool = False
) -> list[Definition]:
    """Give the spec's scorers; SpecError with every fault that can be known before a sample is read.

    `models` are those that are asked for; none means all. With a frame the dataset's file is not read.
    """
    found = definitions(spec)
    faults = _definition_faults(spec, found)
    templates = [*Renderer(spec, with_examples=False).faults(), *_template_faults(spec, found)]
    if faults or templates:
        more = [*_model_faults(spec, models), *_file_faults(spec, has_frame)]
        raise SpecError(*in_order([*faults, *templates, *more]))
    return found


def with_draft(error: SpecError) -> SpecError:
    """Add to the faults of a spec's form what else is wrong with it."""
    if not isinstance(error.draft, Spec):
        return error
    try:
        definitions_to_run(error.draft, has_frame=error.draft.dataset.path is None)
        more = _file_faults(error.draft, error.draft.dataset.path is None)
        more += _model_faults(error.draft)
    except SpecError as further:
        more = list(further.faults)
    return SpecError(*in_order([*error.faults, *error.own_faults(more)]))


def _file_faults(spec: Spec, has_frame: bool) -> list[Fault]:
    return [*([] if has_frame else missing_files(spec)), *example_faults(spec)]


def _template_faults(spec: Spec, found: Sequence[Definition]) -> Iterator[Fault]:
    """Check the syntax of the templates that scorers have of their own."""
    for each in found:
        for field, text in _own_templates(each):
            fault = syntax_fault(text, spec.where("scorers", each.name), field)
            if fault is not None:
                yield _at_its_option(spec, each.name, fault)


def _own_templates(definition: Definition) -> Iterator[tuple[str, str]]:
    """Yield field and text of each template of a scorer, those of a switch's cases one by one."""
    if isinstance(definition.scorer, Switch):
        yield f"scorers.{definition.name}.on", definition.scorer.on
    for case in definition.cases().values() or [definition]:
        target = case.scorer.target
        for text in target if isinstance(target, list) else [target]:
            if text is not None:
                yield f"scorers.{case.name}.target", text
        for text in columns(case).values():
            yield f"scorers.{case.name}", text


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
