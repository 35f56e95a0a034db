"""The scorers a spec can name, one frozen model each: type, options, defaults, bounds.

Invariant: everything here enters the scorer_id; nothing that is not here can change a grade.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag

from gradetrail.model_spec import Block
from gradetrail.scorer_spec.base import (
    NAMED_RULES,
    Extract,
    ExtractRule,
    ScorerBase,
)
from gradetrail.scorer_spec.composed import (
    CodeExec,
    Combine,
    Label,
    Python,
    Sql,
    Switch,
    hide_judge_headers,
    judges_in,
    part_faults,
)
from gradetrail.scorer_spec.judge import Criterion, Judge, JudgeFile, Opponent
from gradetrail.scorer_spec.structure import FieldRule, JsonMatch, JsonSchema, Math, ToolCalls
from gradetrail.scorer_spec.text import (
    F1,
    Accuracy,
    Bleu,
    BleuAdd1,
    Choice,
    Chrf,
    EditDistance,
    Equality,
    Exact,
    Includes,
    Normalized,
    Normalizer,
    Numeric,
    Regex,
    RougeL,
)

__all__ = [
    "F1",
    "NAMED_RULES",
    "Accuracy",
    "Bleu",
    "BleuAdd1",
    "Block",
    "Choice",
    "Chrf",
    "CodeExec",
    "Combine",
    "Criterion",
    "EditDistance",
    "Equality",
    "Exact",
    "Extract",
    "ExtractRule",
    "FieldRule",
    "Includes",
    "JsonMatch",
    "JsonSchema",
    "Judge",
    "JudgeFile",
    "Label",
    "Math",
    "Normalized",
    "Normalizer",
    "Numeric",
    "Opponent",
    "Python",
    "Regex",
    "RougeL",
    "Scorer",
    "ScorerBase",
    "Sql",
    "Switch",
    "ToolCalls",
    "hide_judge_headers",
    "judges_in",
    "part_faults",
]


def expand_scorer(value: Any) -> Any:
    """Turn `numeric` into `{type: numeric}`."""
    return {"type": value} if isinstance(value, str) else value


def _kind(value: Any) -> Any:
    return value.get("type") if isinstance(value, dict) else getattr(value, "type", None)


Scorer = Annotated[
    Annotated[Exact, Tag("exact")]
    | Annotated[Accuracy, Tag("accuracy")]
    | Annotated[Includes, Tag("includes")]
    | Annotated[Regex, Tag("regex")]
    | Annotated[Numeric, Tag("numeric")]
    | Annotated[Choice, Tag("choice")]
    | Annotated[F1, Tag("f1")]
    | Annotated[RougeL, Tag("rouge_l")]
    | Annotated[BleuAdd1, Tag("bleu_add1")]
    | Annotated[Bleu, Tag("bleu")]
    | Annotated[Chrf, Tag("chrf")]
    | Annotated[EditDistance, Tag("edit_distance")]
    | Annotated[JsonMatch, Tag("json_match")]
    | Annotated[JsonSchema, Tag("json_schema")]
    | Annotated[ToolCalls, Tag("tool_calls")]
    | Annotated[Math, Tag("math")]
    | Annotated[CodeExec, Tag("code_exec")]
    | Annotated[Judge, Tag("judge")]
    | Annotated[Combine, Tag("combine")]
    | Annotated[Label, Tag("label")]
    | Annotated[Sql, Tag("sql")]
    | Annotated[Python, Tag("python")]
    | Annotated[Switch, Tag("switch")],
    Discriminator(_kind),
    BeforeValidator(expand_scorer),
]
"""Any scorer, by its `type`."""
Switch.model_rebuild(_types_namespace={"Scorer": Scorer})
