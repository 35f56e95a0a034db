"""The scorers whose rule is a Python function.

Invariant: such a scorer is one model in `gradetrail.scorer_spec`, one function that makes its rule, and
one line here; none of it is imported but this module's own imports until an answer is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gradetrail.scoring.definition import Definition
from gradetrail.scoring.edit_distance import edit_distance_rule
from gradetrail.scoring.json_fields import json_match_rule
from gradetrail.scoring.json_schema import json_schema_rule
from gradetrail.scoring.mathematics import math_rule
from gradetrail.scoring.overlap import overlap_rule
from gradetrail.scoring.rule import Rule
from gradetrail.scoring.tool_calls import tool_calls_rule
from gradetrail.scoring.translation import bleu_rule, chrf_rule

RULES: Mapping[str, Callable[[Definition], Rule]] = {
    "f1": overlap_rule,
    "rouge_l": overlap_rule,
    "bleu_add1": overlap_rule,
    "bleu": bleu_rule,
    "chrf": chrf_rule,
    "edit_distance": edit_distance_rule,
    "json_match": json_match_rule,
    "json_schema": json_schema_rule,
    "tool_calls": tool_calls_rule,
    "math": math_rule,
}
"""How each scorer judges, by its type."""
