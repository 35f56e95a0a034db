"""What can be known to be wrong with a judge before anything is paid for, and what a user may want to know.

Invariant: no call is made; every fault names place, field and fix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradetrail.errors import Fault, did_you_mean
from gradetrail.scorer_spec import Judge
from gradetrail.scoring.definition import Definition
from gradetrail.spec import Model, Spec


def judge_faults(spec: Spec, definition: Definition) -> Iterator[Fault]:
    """List what is wrong with a judge, besides its file; nothing for other scorers."""
    scorer = definition.scorer
    place, field = spec.where("scorers", definition.name), f"scorers.{definition.name}"
    for case in definition.cases().values():
        yield from judge_faults(spec, case)
    if not isinstance(scorer, Judge) or definition.judge is None:
        return
    is_preference = definition.judge.file.kind == "preference"
    if is_preference and scorer.against is None:
        fix = "add `against: target`, a model of the spec, or a run such as `task@latest`"
        yield Fault("a preference needs something to compare with", place, f"{field}.against", fix)
    if not is_preference:
        for name in ("against", "swap"):
            if getattr(scorer, name):
                fix = f"`{scorer.file}` is of kind {definition.judge.file.kind}"
                yield Fault(f"only a preference takes `{name}`", place, f"{field}.{name}", fix)
    yield from _opponent_faults(spec, scorer, place, field)


def _opponent_faults(spec: Spec, scorer: Judge, place: str, field: str) -> Iterator[Fault]:
    against = scorer.against
    if against is None or against.run is not None:
        return
    for kind, name, known in (
        ("model", against.model, [model.display for model in spec.models]),
        ("prompt", against.prompt, list(spec.prompts)),
    ):
        if name is not None and name not in known:
            hint = did_you_mean(name, known)
            yield Fault(
                f"no {kind} `{name}` in the spec", place, f"{field}.against",
                f"{hint}; for another run: `against: {{run: task@latest, {kind}: {name}}}`",
            )  # fmt: skip


def judge_warnings(spec: Spec, definition: Definition) -> Iterator[str]:
    """Say where a judge is a model under test, or of the family of one: such judges favour their own."""
    scorer = definition.scorer
    for case in definition.cases().values():
        yield from judge_warnings(spec, case)
    if not isinstance(scorer, Judge):
        return
    judge = scorer.model
    same = [m.display for m in spec.models if (m.provider, m.name) == (judge.provider, judge.name)]
    kin = [m.display for m in spec.models if m.display not in same and _family(m) == _family(judge)]
    told = f"scorer `{definition.name}`: the judge {judge.model}"
    if same:
        yield f"{told} is a model under test ({', '.join(same)}): it grades its own answers"
    if kin:
        yield f"{told} is of the family of {', '.join(kin)}: judges favour their own kind"
    if scorer.votes > 1 and judge.temperature == 0:
        yield f"{told} is asked {scorer.votes} times at temperature 0: the votes will nearly agree"
    yield from (f"{told} {what}" for what in _unsaid(scorer, definition))


def _unsaid(scorer: Judge, definition: Definition) -> Iterator[str]:
    """Say what a prompt of the user's does not tell the judge."""
    assert definition.judge is not None
    prompt, form = definition.judge_prompt(), "grade" if definition.judge.file.reply == "grade" else "json"
    if "reply_format" not in prompt.names and form not in f"{prompt.template}{prompt.system}".lower():
        yield "is not told how to reply: put `{{ reply_format }}` into its prompt, or no reply can be read"
    if scorer.target is not None and not definition.judge_reads_target:
        yield "is not shown the scorer's `target`: put `{{ target }}` into its prompt"


def _family(model: Model) -> str:
    """Name the family of a model: the vendor, or the letters with which its name begins."""
    if model.provider in ("openai", "anthropic"):
        return model.provider
    name = model.name.rpartition("/")[2].lower()
    letters = re.match(r"[a-z]{3,}", name)
    family = letters[0] if letters else name
    return {"gpt": "openai", "claude": "anthropic"}.get(family, family)
