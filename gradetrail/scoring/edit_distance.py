"""How many characters or words must change for an answer to become its target.

Invariant: the distance is Levenshtein's, with a weight of one for each change, over the longer length.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradetrail.scorer_spec import EditDistance
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.normalize import normalized, steps_of
from gradetrail.scoring.rule import Given, Rule, Verdict, one_by_one


def edit_distance_rule(definition: Definition) -> Rule:
    """Give the rule of `edit_distance`."""
    scorer = definition.scorer
    assert isinstance(scorer, EditDistance)
    from rapidfuzz.distance import Levenshtein

    steps = steps_of(scorer.normalize, case=scorer.case)

    def units(text: str) -> Sequence[str]:
        same = normalized(text, steps)
        return same.split() if scorer.unit == "word" else same

    def judge(given: Given) -> Verdict:
        text = units(given.text)
        texts = [units(target) for target in given.targets]
        changes, length = min(
            ((Levenshtein.distance(text, target), max(len(text), len(target))) for target in texts),
            key=lambda pair: pair[0] / (pair[1] or 1),
        )
        distance = changes / (length or 1)
        return Verdict(
            distance if scorer.measure == "distance" else 1 - distance,
            detail=f"{changes} of {length} {scorer.unit}{'' if length == 1 else 's'}",
        )

    return one_by_one(judge)
