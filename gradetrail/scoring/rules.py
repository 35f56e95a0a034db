"""The scorers whose rule is a Python function.

Invariant: such a scorer is one model in `gradetrail.scorer_spec`, one function that makes its rule, and
one line here; none of it is imported but this module's own imports until an answer is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gradetrail.scoring.definition import Definition
from gradetrail.scoring.overlap import overlap_rule
from gradetrail.scoring.rule import Rule

RULES: Mapping[str, Callable[[Definition], Rule]] = {
    "f1": overlap_rule,
    "rouge_l": overlap_rule,
    "bleu_add1": overlap_rule,
}
"""How each scorer judges, by its type."""
