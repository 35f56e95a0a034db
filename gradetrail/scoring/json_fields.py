"""Compares the JSON in an answer with the target's, field by field.

Invariant: each field of the target matches or does not; the score is the share that matches, of all
fields and, where extra ones count, of those too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gradetrail.scorer_spec import FieldRule, JsonMatch
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.json_likeness import Likeness
from gradetrail.scoring.json_value import ABSENT, encoded_json, last_value, parsed_json, value_at
from gradetrail.scoring.normalize import steps_of
from gradetrail.scoring.rule import Given, Measure, Rule, Verdict

SHOWN = 80
"""Characters of a value that `detail` shows."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A part of the target."""

    name: str
    """Dotted path; empty for a target that is no object."""
    wanted: Any
    given: Any
    likeness: Likeness

    @property
    def metric(self) -> str:
        return metric_name(self.name)

    def is_match(self, *, absent_is_null: bool) -> bool:
        wanted, given = self.wanted, self.given
        if absent_is_null:
            wanted, given = (None if value is ABSENT else value for value in (wanted, given))
        if wanted is ABSENT or given is ABSENT:
            return wanted is given
        return self.likeness.is_equal(given, wanted)


def metric_name(field: str) -> str:
    """Name the metric of a field; `score` is taken."""
    return "$.score" if field == "score" else field


def json_match_rule(definition: Definition) -> Rule:
    """Give the rule of `json_match`."""
    scorer = definition.scorer
    assert isinstance(scorer, JsonMatch)
    comparison = _Comparison(scorer)

    def judge(batch: Sequence[Given]) -> list[Verdict]:
        return [comparison.verdict(given) for given in batch]

    return Rule(judge, comparison.metrics)


class _Comparison:
    """A scorer's options, ready to compare with."""

    def __init__(self, scorer: JsonMatch) -> None:
        self.scorer = scorer
        self.default = self._likeness(FieldRule())
        self.own = {path: self._likeness(rule) for path, rule in (scorer.fields or {}).items()}

    def _likeness(self, rule: FieldRule) -> Likeness:
        scorer = self.scorer
        steps = scorer.normalize if rule.normalize is None else rule.normalize
        return Likeness(
            abs_tol=scorer.abs_tol if rule.abs_tol is None else rule.abs_tol,
            rel_tol=scorer.rel_tol if rule.rel_tol is None else rule.rel_tol,
            steps=steps_of(steps, case=scorer.case if rule.case is None else rule.case),
            is_any_order=(rule.order or scorer.order) == "any",
            ignores_extra=scorer.extra == "ignore",
            reads_numbers=scorer.numbers == "text",
        )

    def metrics(self, targets: Sequence[str]) -> list[str]:
        """Name the fields of the first target; none where it is no JSON object."""
        if self.own:
            return [metric_name(path) for path in self.own]
        try:
            wanted = parsed_json(targets[0])
        except (ValueError, IndexError):
            return []
        return [metric_name(dotted(keys)) for keys, _ in leaves(wanted) if keys]

    def verdict(self, given: Given) -> Verdict:
        found = last_value(given.text, self.scorer.path)
        if found is ABSENT:
            where = f" with a value at `{self.scorer.path}`" if self.scorer.path else ""
            return Verdict(None, detail=f"no JSON value{where}")
        try:
            wanted = [parsed_json(target) for target in given.targets]
        except ValueError as error:
            return Verdict(None, fault=f"the target is no JSON: {error}")
        return max((self._compared(found, value) for value in wanted), key=lambda one: one.score or 0.0)

    def _compared(self, found: Any, wanted: Any) -> Verdict:
        fields = list(self._fields(found, wanted))
        absent_is_null = self.scorer.missing == "null"
        matches = [field.is_match(absent_is_null=absent_is_null) for field in fields]
        extra = _extra(found, wanted) if self.scorer.extra == "wrong" else []
        wrong = [field for field, is_match in zip(fields, matches, strict=True) if not is_match]
        return Verdict(
            sum(matches) / (len(fields) + len(extra)),
            encoded_json(found),
            "json",
            _detail(sum(matches), len(fields), wrong, extra),
            measures=tuple(
                Measure(
                    field.metric,
                    float(is_match),
                    None if field.given is ABSENT else encoded_json(field.given),
                    None if is_match else _difference(field),
                )
                for field, is_match in zip(fields, matches, strict=True)
                if field.name
            ),
        )

    def _fields(self, found: Any, wanted: Any) -> Iterator[_Field]:
        if self.own:
            for path, likeness in self.own.items():
                yield _Field(path, value_at(wanted, path), value_at(found, path), likeness)
        else:
            for keys, value in leaves(wanted):
                yield _Field(dotted(keys), value, _followed(found, keys), self.default)


def leaves(value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the parts that hold no named parts, with the keys that lead there; the whole if it is one."""
    todo: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while todo:
        keys, here = todo.pop()
        if isinstance(here, dict) and here:
            todo += [((*keys, key), part) for key, part in reversed(here.items())]
        else:
            yield keys, here


def dotted(keys: Sequence[str]) -> str:
    """Join keys into a path; one that could be taken for something else stands in quotes."""
    return ".".join(
        json.dumps(key, ensure_ascii=False) if key in ("", "$") or "." in key else key for key in keys
    )


def _followed(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return ABSENT
        value = value[key]
    return value


def _extra(found: Any, wanted: Any) -> list[str]:
    """List the leaves of the answer at places where an object of the target has nothing."""
    return [dotted(keys) for keys, _ in leaves(found) if _is_extra(keys, wanted)]


def _is_extra(keys: Sequence[str], wanted: Any) -> bool:
    for key in keys:
        if not isinstance(wanted, dict) or not wanted:
            return False
        if key not in wanted:
            return True
        wanted = wanted[key]
    return False


def _difference(field: _Field) -> str:
    if field.given is ABSENT:
        return f"missing, expected {_shown(field.wanted)}"
    wanted = "nothing" if field.wanted is ABSENT else _shown(field.wanted)
    return f"expected {wanted}, found {_shown(field.given)}"


def _shown(value: Any) -> str:
    text = encoded_json(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _detail(n_matches: int, n_fields: int, wrong: Sequence[_Field], extra: Sequence[str]) -> str:
    parts = [f"{n_matches} of {n_fields} fields"]
    parts += [f"{field.name or 'value'}: {_difference(field)}" for field in wrong]
    if extra:
        parts.append(f"extra: {', '.join(extra)}")
    return "; ".join(parts)
