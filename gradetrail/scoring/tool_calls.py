"""Compares the tool calls of a reply with those that the target asks for.

Invariant: names are compared exactly and argument values as JSON, whoever wrote the JSON and however.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gradetrail.scorer_spec import ToolCalls
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.json_likeness import Likeness, paired
from gradetrail.scoring.json_value import encoded_json, parsed_json
from gradetrail.scoring.rule import Given, Measure, Rule, Verdict

METRICS = ("name", "arguments")
UNREADABLE: Any = object()
"""What stands for arguments that are no JSON."""
_EXACT = Likeness()


@dataclass(frozen=True, slots=True)
class Call:
    """One call."""

    name: str
    arguments: Any
    """Values as `json_value` reads them; None in a target that does not say."""

    def text(self) -> str:
        """Write it as JSON."""
        arguments = "null" if self.arguments is UNREADABLE else encoded_json(self.arguments)
        return f'{{"name":{encoded_json(self.name)},"arguments":{arguments}}}'


def read_call(value: Any) -> Call:
    """Read a call of a target or a stored one; ValueError if it is none."""
    own = value.get("function") if isinstance(value, dict) and "name" not in value else value
    if not isinstance(own, dict) or not isinstance(own.get("name"), str):
        raise ValueError("a call is `{name, arguments}`")
    arguments = own.get("arguments", own.get("input"))
    if isinstance(arguments, str):
        try:
            arguments = parsed_json(arguments) if arguments.strip() else {}
        except ValueError:
            arguments = UNREADABLE
    return Call(own["name"], arguments)


def wanted_calls(targets: Sequence[str]) -> list[list[Call]]:
    """Read the lists of calls of which any will do; ValueError if a target is no call and no list of calls.

    Targets that are single calls are one list together; one that is a list of lists is several targets.
    """
    parsed = [parsed_json(target) for target in targets]
    values = [each for value in parsed for each in (value if _are_lists(value) else [value])]
    lists = [value if isinstance(value, list) else [value] for value in values]
    if not any(isinstance(value, list) for value in values):
        lists = [values]
    wanted = [[read_call(item) for item in items] for items in lists]
    if any(call.arguments is UNREADABLE for calls in wanted for call in calls):
        raise ValueError("the arguments of a call are no JSON")
    return wanted


def _are_lists(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, list) for item in value)


def tool_calls_rule(definition: Definition) -> Rule:
    """Give the rule of `tool_calls`."""
    scorer = definition.scorer
    assert isinstance(scorer, ToolCalls)

    def judge(batch: Sequence[Given]) -> list[Verdict]:
        return [_verdict(scorer, given) for given in batch]

    return Rule(judge, lambda _: METRICS, reads_calls=True)


def _verdict(scorer: ToolCalls, given: Given) -> Verdict:
    try:
        wanted = wanted_calls(given.targets)
    except ValueError as error:
        return Verdict(None, fault=f"the target is no list of tool calls: {error}")
    stored = parsed_json(given.tool_calls) if given.tool_calls else []
    calls = [read_call(item) for item in stored]
    return max((_compared(scorer, calls, each) for each in wanted), key=_worth)


def _worth(verdict: Verdict) -> tuple[float, ...]:
    return (verdict.score or 0.0, *(measure.score for measure in reversed(verdict.measures)))


def _compared(scorer: ToolCalls, calls: Sequence[Call], wanted: Sequence[Call]) -> Verdict:
    n_all = len(wanted) if scorer.extra == "ignore" else max(len(wanted), len(calls))
    shares = []
    pairs: dict[int, int] = {}
    for is_equal in (_has_name, _likes(scorer)):
        pairs = _paired(scorer, calls, wanted, is_equal)
        shares.append(len(pairs) / n_all if n_all else 1.0)
    shown = "[" + ",".join(call.text() for call in calls) + "]"
    return Verdict(
        float(shares[1] == 1),
        shown,
        "tool_calls",
        _detail(scorer, calls, wanted, pairs),
        measures=tuple(Measure(metric, share, shown) for metric, share in zip(METRICS, shares, strict=True)),
    )


def _has_name(call: Call, wanted: Call) -> bool:
    return call.name == wanted.name


def _likes(scorer: ToolCalls) -> Callable[[Call, Call], bool]:
    def is_equal(call: Call, wanted: Call) -> bool:
        if call.name != wanted.name:
            return False
        if scorer.arguments == "ignore" or wanted.arguments is None:
            return True
        given = {} if call.arguments is None else call.arguments
        if scorer.arguments == "subset" and isinstance(wanted.arguments, dict) and isinstance(given, dict):
            given = {key: value for key, value in given.items() if key in wanted.arguments}
        return given is not UNREADABLE and _EXACT.is_equal(given, wanted.arguments)

    return is_equal


def _paired(
    scorer: ToolCalls,
    calls: Sequence[Call],
    wanted: Sequence[Call],
    is_equal: Callable[[Call, Call], bool],
) -> dict[int, int]:
    """Pair calls, the place among the reply's by that among the target's; in their order if that counts."""
    if scorer.order == "any":
        return paired(calls, wanted, is_equal)
    return _in_order([[is_equal(call, want) for call in calls] for want in wanted])


def _in_order(likes: Sequence[Sequence[bool]]) -> dict[int, int]:
    """Pair as many as possible without a crossing, as the longest common subsequence does."""
    n_calls = len(likes[0]) if likes else 0
    longest = [[0] * (n_calls + 1) for _ in range(len(likes) + 1)]
    for want in reversed(range(len(likes))):
        for call in reversed(range(n_calls)):
            longest[want][call] = max(
                longest[want + 1][call],
                longest[want][call + 1],
                longest[want + 1][call + 1] + 1 if likes[want][call] else 0,
            )
    pairs: dict[int, int] = {}
    want = call = 0
    while want < len(likes) and call < n_calls:
        if likes[want][call] and longest[want][call] == longest[want + 1][call + 1] + 1:
            pairs[want] = call
            want, call = want + 1, call + 1
        elif longest[want + 1][call] >= longest[want][call + 1]:
            want += 1
        else:
            call += 1
    return pairs


def _detail(
    scorer: ToolCalls, calls: Sequence[Call], wanted: Sequence[Call], pairs: dict[int, int]
) -> str | None:
    parts = []
    missed = [want.text() for place, want in enumerate(wanted) if place not in pairs]
    spare = [call.text() for place, call in enumerate(calls) if place not in pairs.values()]
    if missed:
        parts.append(f"expected {', '.join(missed)}")
        parts.append("no call" if not calls else f"found {', '.join(spare) or 'nothing else'}")
    elif spare and scorer.extra == "wrong":
        parts.append(f"extra {', '.join(spare)}")
    parts += [f"the arguments of {call.name} are no JSON" for call in calls if call.arguments is UNREADABLE]
    return "; ".join(parts) or None
