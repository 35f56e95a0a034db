"""What decides a grade: one definition for each named scorer of a spec, and its identity.

Invariant: two definitions with equal `scorer_id` give equal grades to equal answers; the name and the
policy for unanswered trials are not in it.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gradetrail.errors import Fault
from gradetrail.request import content_id
from gradetrail.scorer_spec import (
    Choice,
    CodeExec,
    Combine,
    ExtractRule,
    Judge,
    Label,
    Regex,
    Scorer,
    Switch,
    judges_in,
)
from gradetrail.scorer_spec.base import RULE_VERSIONS
from gradetrail.scoring.judge_prompt import JudgePrompt
from gradetrail.scoring.judge_setup import JudgeSetup, judge_setup
from gradetrail.scoring.programs import program_columns
from gradetrail.spec import Confidence, Spec

SCORER_TAG = "gradetrail.scorer.v1"
PATTERN_FLAGS = {"IGNORECASE": re.IGNORECASE, "MULTILINE": re.MULTILINE, "DOTALL": re.DOTALL}


@dataclass(frozen=True, slots=True)
class Definition:
    """Everything that decides a grade."""

    name: str
    """Name of the scorer in the task; not in the id."""
    scorer: Scorer
    extract: tuple[ExtractRule, ...]
    """Chain of extraction rules; empty where there is none or the scorer takes none."""
    confidence: Confidence | None
    """None takes the confidence that the provider gave."""
    target: str | list[str] | None
    """Template of the target; a list means any of; None: the right option, or no target at all."""
    has_choices: bool
    """Whether samples have options, so that the right option is the target where no template is given."""
    files: tuple[tuple[str, bytes], ...] = ()
    """Content of each file that the options name, by the option; `case.option` for those of a switch."""
    judge: JudgeSetup | None = None
    """Who judges, and by what file; None for other scorers, or where that is at fault."""
    case: str | None = None
    """For a case of a switch: its value; not in the id."""
    case_judges: tuple[tuple[str, JudgeSetup], ...] = ()
    """Who judges the cases of a switch, by the case."""
    faults: tuple[Fault, ...] = ()
    """What is wrong with the files that the options name."""
    parts: tuple[Definition, ...] = ()
    """The scorers that a `combine` stands on, in the order given."""
    leaves_unanswered_out: bool = False
    """For a `combine`: whether an unanswered part makes the whole unanswered, as the task excludes them."""

    def scorer_id(self) -> str:
        """Hash the whole definition: 64 lower-case hex digits."""
        return content_id(SCORER_TAG, self.content())

    def content(self) -> dict[str, Any]:
        """Give what the id covers as JSON; options that keep their default are left out."""
        scorer = self.scorer
        named = {name for name, _ in self.files} | ({"file", "model"} if isinstance(scorer, Judge) else set())
        options = scorer.model_dump(
            mode="json", exclude_defaults=True, exclude={"type", "extract", "target", "cases", "of", *named}
        )
        confidence = self.confidence and self.confidence.model_dump(
            mode="json", by_alias=True, exclude_defaults=True
        )
        content = {
            "type": scorer.type,
            "version": self.judge.file.rule_version if self.judge is not None else scorer.rule_version,
            "options": options,
            "extract": [_rule_content(rule) for rule in self.extract],
            "confidence": confidence,
            "target": self.target,
            "has_choices": self.has_choices,
            "files": {name: hashlib.sha256(data).hexdigest() for name, data in self.files if "." not in name},
            "judge": self.judge.identity() if self.judge else None,
            # what a case's own id covers already; here it tells whose prices are needed
            "case_judges": {key: setup.identity() for key, setup in self.case_judges},
            "cases": {key: case.scorer_id() for key, case in self.cases().items()},
            "parts": sorted([part.scorer_id(), self.weight(part)] for part in self.parts),
            "leaves_unanswered_out": self.leaves_unanswered_out,
        }
        return {name: value for name, value in content.items() if value}

    def record(self) -> dict[str, Any]:
        """Give the JSON that is kept as `scorers/<scorer_id>.json`."""
        low, high = self.bounds()
        return {
            "scorer_id": self.scorer_id(),
            "definition": self.content(),
            "score_min": low,
            "score_max": high,
            "higher_is_better": self.scorer.higher_is_better,
            "pass_threshold": self.threshold(),
        }

    def bounds(self) -> tuple[float | None, float | None]:
        """Give the least and the greatest score; None where there is none."""
        if self.judge is not None:
            return self.judge.file.bounds
        bounds = [case.bounds() for case in self.cases().values()] or [self.scorer.bounds]
        lows, highs = [low for low, _ in bounds], [high for _, high in bounds]
        return (
            None if None in lows else min(low for low in lows if low is not None),
            None if None in highs else max(high for high in highs if high is not None),
        )

    def threshold(self) -> float | None:
        """Give the score from which a grade passes; None if there is none.

        A switch has the lowest of its cases, each of which keeps its own: no worst score reaches it.
        """
        if self.judge is not None and self.scorer.pass_threshold is None:
            return self.judge.file.threshold
        found = [case.threshold() for case in self.cases().values()] or [self.scorer.threshold]
        return None if None in found else min(each for each in found if each is not None)

    def weight(self, part: Definition) -> float:
        """Give the weight of a part of a `combine`."""
        assert isinstance(self.scorer, Combine)
        return self.scorer.of[part.name]

    def cases(self) -> dict[str, Definition]:
        """Give the definition behind each case of a `switch`; empty for other scorers."""
        if not isinstance(self.scorer, Switch):
            return {}
        judges = dict(self.case_judges)
        return {
            key: replace(
                self,
                name=f"{self.name}.cases.{key}",
                scorer=case,
                extract=_chain(case, self.extract),
                target=self._case_target(key, case),
                files=tuple(
                    (name.removeprefix(f"{key}."), data)
                    for name, data in self.files
                    if name.startswith(f"{key}.")
                ),
                judge=judges.get(key),
                faults=(),
                case=key,
                case_judges=(),
            )
            for key, case in self.scorer.cases.items()
        }

    def judges(self) -> list[Definition]:
        """List what asks a judge: the definition itself, or cases of a switch."""
        return [each for each in self.cases().values() or [self] if each.judge is not None]

    def _case_target(self, key: str, case: Scorer) -> str | list[str] | None:
        if case.target is not None:
            return case.target
        is_joined = isinstance(self.target, str) and self.target.startswith(JOINED)
        return None if is_joined and _branch(key) not in str(self.target) else self.target

    @property
    def needs_target(self) -> bool:
        """Whether an answer cannot be graded without a target."""
        if isinstance(self.scorer, Judge):
            against = self.scorer.against
            return self.judge_reads_target or (against is not None and against.target)
        return self.scorer.takes_target and not isinstance(self.scorer, Regex | Switch)

    def judge_prompt(self) -> JudgePrompt:
        """Give what renders the questions of the judge, which this definition must have."""
        assert self.judge is not None
        return JudgePrompt(self.judge.file, has_target=self.target is not None or self.has_choices)

    @property
    def judge_reads_target(self) -> bool:
        """Whether there are targets and the judge is shown them."""
        has_target = self.target is not None or self.has_choices
        return has_target and self.judge is not None and "target" in self.judge_prompt().names


def _rule_content(rule: ExtractRule) -> dict[str, Any]:
    version = RULE_VERSIONS.get(rule.rule)
    content = rule.model_dump(mode="json", exclude_defaults=True)
    return content if version is None else {**content, "version": version}


def definitions(spec: Spec) -> list[Definition]:
    """Give the definition of each scorer of a spec, in the order given."""
    return [_definition(spec, name, scorer) for name, scorer in spec.scorers.items()]


def _definition(spec: Spec, name: str, scorer: Scorer) -> Definition:
    files = tuple(_contents(spec, scorer))
    judges, faults = dict[tuple[str, ...], JudgeSetup](), list[Fault]()
    for place, judge in judges_in({name: scorer}):
        content = dict(files).get(".".join((*place[2:], "file")))
        setup, found = judge_setup(spec, place, judge, content)
        faults += found
        if setup is not None:
            judges[place] = setup
    return Definition(
        name=name,
        scorer=scorer,
        extract=_chain(scorer, spec.extract),
        confidence=spec.confidence,
        target=_target(scorer, spec.target, has_choices=spec.choices is not None),
        has_choices=spec.choices is not None,
        files=files,
        judge=judges.get((name,)),
        case_judges=tuple((place[-1], setup) for place, setup in judges.items() if len(place) > 1),
        faults=tuple(faults),
        parts=tuple(
            _definition(spec, part, spec.scorers[part])
            for part in (scorer.of if isinstance(scorer, Combine) else ())
        ),
        leaves_unanswered_out=isinstance(scorer, Combine) and spec.unanswered == "exclude",
    )


def _chain(scorer: Scorer, inherited: tuple[ExtractRule, ...]) -> tuple[ExtractRule, ...]:
    if not scorer.uses_extract:
        return ()
    return scorer.extract if scorer.extract is not None else inherited


def _target(
    scorer: Scorer, inherited: str | list[str] | None, *, has_choices: bool
) -> str | list[str] | None:
    """Give the target's template; for a switch whose cases have their own, one that picks among them.

    A choice is compared with the option that `choices.answer` names, which alone knows the order shown,
    unless the scorer itself has a target.
    """
    own = scorer.target
    if own is None and not (has_choices and isinstance(scorer, Choice)):
        own = inherited
    if not isinstance(scorer, Switch) or isinstance(own, list):
        return own
    cases = {key: _case_target(case, has_choices=has_choices) for key, case in scorer.cases.items()}
    if all(target is None for target in cases.values()):
        return own
    joined = {key: target if target is not None else own for key, target in cases.items()}
    return _by_case(scorer.on, {key: target for key, target in joined.items() if isinstance(target, str)})


def _case_target(case: Scorer, *, has_choices: bool) -> str | list[str] | None:
    if case.target is None and has_choices and isinstance(case, Choice):
        return "{{ answer_letter }}"
    return case.target


def have_targets(scorer: Switch, *, has_choices: bool) -> bool:
    """Say whether any case of a switch has a target of its own."""
    return any(_case_target(case, has_choices=has_choices) is not None for case in scorer.cases.values())


def _contents(spec: Spec, scorer: Scorer) -> Iterator[tuple[str, bytes]]:
    for option in scorer.file_options:
        name = getattr(scorer, option)
        if isinstance(name, str) and spec.path(name).is_file():
            yield option, spec.path(name).read_bytes()
    if isinstance(scorer, Switch):
        for key, case in scorer.cases.items():
            yield from ((f"{key}.{option}", data) for option, data in _contents(spec, case))


def columns(definition: Definition) -> dict[str, str]:
    """Give the templates to be rendered for each sample before grading, by the column of `answer`.

    What holds no template is not in it. The cases of a `switch` share the columns: theirs is one
    template that asks for the switch's value itself.
    """
    scorer = definition.scorer
    if isinstance(scorer, Switch):
        found = {"switch": scorer.on}
        cases = {key: columns(case) for key, case in definition.cases().items()}
        for column in dict.fromkeys(name for templates in cases.values() for name in templates):
            found[column] = _by_case(scorer.on, {key: t[column] for key, t in cases.items() if column in t})
        return found
    if isinstance(scorer, CodeExec):
        return program_columns(scorer)
    if isinstance(scorer, Regex) and scorer.is_templated:
        return {"pattern": scorer.pattern}
    if isinstance(scorer, Label) and scorer.template is not None:
        return {"label": scorer.template}
    return {}


def _by_case(on: str, templates: Mapping[str, str]) -> str:
    """Join templates into one that picks by the value of `on`; empty for other values."""
    branches = "{% else %}".join(_branch(key) + template for key, template in templates.items())
    return JOINED + on + "{% endset %}" + branches + "{% endif %}" * len(templates)


JOINED = "{% set case_key %}"
"""How a template begins that `_by_case` made."""


def _branch(key: str) -> str:
    return "{% if case_key == " + json.dumps(key) + " %}"


def compiled(pattern: str, flags: Iterable[str]) -> re.Pattern[str]:
    """Compile in Python's meaning, with the flags that are named."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `[[` is legal today; what it may mean one day is no fault of a spec
        return re.compile(pattern, flag_bits(flags))


def flag_bits(flags: Iterable[str]) -> int:
    """Turn names such as IGNORECASE into the bits of `re`."""
    bits = 0
    for flag in flags:
        bits |= PATTERN_FLAGS[flag]
    return int(bits)
