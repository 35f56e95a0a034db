"""Finds what is wrong with a scorer's definition before any call is made.

Invariant: every fault is found at once, with its place in the spec and what to do about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.util import find_spec

from gradetrail.errors import Fault
from gradetrail.scorer_spec import Choice, ExtractRule, Includes, JsonSchema, Normalized, Regex, Switch
from gradetrail.scoring.definition import Definition, compiled, have_targets
from gradetrail.scoring.json_schema import schema_of, validator_of
from gradetrail.scoring.own_check import own_faults
from gradetrail.spec import Confidence

ORDERED_RULES = ("regex", "number", "boxed")
"""Rules that can take the first of several."""


def check(definition: Definition, place: str) -> list[Fault]:
    """Find what is wrong with a definition before any call; `place` is `file:line` of the scorer."""
    return list(_faults(definition, place, f"scorers.{definition.name}"))


def _faults(definition: Definition, place: str, field: str) -> Iterator[Fault]:
    scorer = definition.scorer
    yield from definition.faults
    yield from own_faults(definition, place, field)
    yield from _chain_faults(
        definition.extract, place, "extract" if scorer.extract is None else f"{field}.extract"
    )
    if isinstance(scorer, Regex):
        pattern = (
            re.sub(r"\{\{.*?\}\}", "0", scorer.pattern, flags=re.DOTALL)
            if scorer.is_templated
            else scorer.pattern
        )
        yield from _pattern_faults(pattern, scorer.flags, place, f"{field}.pattern")
    if isinstance(scorer, Switch):
        yield from _switch_faults(definition, scorer, place, field)
    elif definition.needs_target and definition.target is None and not definition.has_choices:
        yield Fault(
            f"`{scorer.type}` needs a target", place, field, 'add `target: "{{ answer }}"` to the spec'
        )
    if isinstance(scorer, Choice) and not definition.has_choices:
        yield Fault(
            "`choice` needs options",
            place,
            field,
            "add `choices: {from: ..., answer: ...}` to the spec",
        )
    if isinstance(scorer, Normalized | Includes) and len(set(scorer.normalize)) < len(scorer.normalize):
        yield Fault("a step of `normalize` stands twice", place, f"{field}.normalize", "name each step once")
    if isinstance(scorer, JsonSchema):
        try:
            validator_of(schema_of(definition))
        except ValueError as error:
            yield Fault(str(error), place, f"{field}.schema", "a path resolves against the spec's folder")
    if scorer.needs is not None and find_spec(scorer.needs[0]) is None:
        module, extra = scorer.needs
        yield Fault(
            f"`{scorer.type}` needs the package {module.replace('_', '-')}", place, field,
            f"pip install 'gradetrail[{extra}]'",
        )  # fmt: skip
    yield from _confidence_faults(definition.confidence, place)


def _chain_faults(chain: Iterable[ExtractRule], place: str, field: str) -> Iterator[Fault]:
    for number, rule in enumerate(chain):
        here = f"{field}.{number}"
        if rule.rule == "regex":
            if rule.pattern is None:
                yield Fault("`regex` needs a pattern", place, here, "write `regex: 'A:\\s*(.+)'`")
            else:
                yield from _pattern_faults(rule.pattern, rule.flags, place, here)
            if rule.pattern is not None and "{{" in rule.pattern:
                yield Fault(
                    "`extract` takes no templates",
                    place,
                    here,
                    "compare with the target in the scorer instead",
                )
        elif rule.pattern is not None or rule.flags:
            yield Fault(f"`{rule.rule}` takes no pattern or flags", place, here, "`regex` takes them")
        if rule.which == "first" and rule.rule not in ORDERED_RULES:
            yield Fault(f"`{rule.rule}` takes no `which`", place, here, "leave `which` out")
        if rule.path is not None and rule.rule != "json":
            yield Fault(f"`{rule.rule}` takes no path", place, here, "`path` belongs to `json`")


def _pattern_faults(pattern: str, flags: Iterable[str], place: str, field: str) -> Iterator[Fault]:
    try:
        compiled(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        yield Fault(
            f"not a regular expression: {error} in `{pattern}`",
            place,
            field,
            "use the syntax of Python's `re`",
        )


def _switch_faults(definition: Definition, scorer: Switch, place: str, field: str) -> Iterator[Fault]:
    if not scorer.cases:
        yield Fault("a switch without cases", place, f"{field}.cases", "name a scorer for each value of `on`")
    if isinstance(definition.target, list) and have_targets(scorer, has_choices=definition.has_choices):
        yield Fault(
            "cases have targets of their own and the spec has a list of targets", place, f"{field}.cases",
            "give either all of them one template or the spec the list for all",
        )  # fmt: skip
    if scorer.pass_threshold is not None:
        yield Fault("a switch takes no pass_threshold", place, field, "give it to the cases")
    for key, case in definition.cases().items():
        if isinstance(case.scorer, Switch):
            yield Fault(
                "a switch inside a switch", place, f"{field}.cases.{key}", "put its cases beside the others"
            )
        elif not case.scorer.higher_is_better:
            yield Fault(
                "lower is better in this case, and not in a switch", place, f"{field}.cases.{key}",
                "measure similarity instead",
            )  # fmt: skip
        elif isinstance(case.scorer.target, list):
            yield Fault(
                "the target of a case is one template", place, f"{field}.cases.{key}.target",
                "give a list of targets to the spec, for all cases",
            )  # fmt: skip
        else:
            yield from _faults(case, place, f"{field}.cases.{key}")


def _confidence_faults(rule: Confidence | None, place: str) -> Iterator[Fault]:
    if rule is None:
        return
    if rule.from_ == "text" and rule.regex is None:
        yield Fault("a confidence from text needs a regex", place, "confidence", "or say `from: provider`")
    elif rule.from_ != "text" and rule.regex is not None:
        yield Fault(
            f"a confidence from {rule.from_} takes no regex", place, "confidence.regex", "leave it out"
        )
    elif rule.regex is not None:
        yield from _pattern_faults(rule.regex, (), place, "confidence.regex")
