"""Another grading: `inspect score LOG --scorer rescore.py@last_number --action append`."""

import re

from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState

NUMBER = re.compile(r"(-?\d+)\s*$")


@scorer(metrics=[accuracy(), stderr()])
def last_number() -> Scorer:
    """Compare the number at the end."""

    async def score(state: TaskState, target: Target) -> Score:
        found = NUMBER.search(state.output.completion)
        is_right = found is not None and found[1] == target.text
        return Score(value=CORRECT if is_right else INCORRECT, answer=found[1] if found else None)

    return score
