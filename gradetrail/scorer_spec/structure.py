"""Scorers that judge what an answer is made of: JSON, tool calls, mathematics.

Invariant: each class states its rule; its options are all that can change a grade.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from gradetrail.model_spec import Block
from gradetrail.scorer_spec.base import ScorerBase
from gradetrail.scorer_spec.text import Normalizer


class FieldRule(Block):
    """How one field is compared; what is not given is taken from the scorer."""

    abs_tol: float | None = Field(default=None, ge=0)
    rel_tol: float | None = Field(default=None, ge=0)
    normalize: tuple[Normalizer, ...] | None = None
    case: bool | None = None
    order: Literal["strict", "any"] | None = None


def expand_fields(value: Any) -> Any:
    """Turn a list of paths into a mapping of paths to rules, and an empty rule into one without options."""
    if isinstance(value, list | tuple):
        return {path: {} if isinstance(path, str) else path for path in value}
    if isinstance(value, dict):
        return {path: {} if rule is None else rule for path, rule in value.items()}
    return value


class JsonMatch(ScorerBase):
    """The share of the target's fields that the JSON in the answer has, with equal values.

    The answer's JSON is its last object or list. Fields are the leaves of the target, named by their
    dotted path; a list is one field. Numbers are compared as numbers, strings character by character, and
    the order of keys never matters. Each field is a metric of its own.
    """

    version: ClassVar[int] = 2
    """2 takes no value in which a key stands twice."""

    type: Literal["json_match"] = "json_match"
    path: str | None = None
    """Dotted path of the value inside the answer's JSON."""
    fields: Annotated[dict[str, FieldRule] | None, BeforeValidator(expand_fields)] = None
    """The fields that count, by their path in the target, each with its own rule; default: all."""
    abs_tol: float = Field(default=0.0, ge=0)
    rel_tol: float = Field(default=0.0, ge=0)
    """Relative to the target's number; the larger of the two tolerances counts."""
    normalize: tuple[Normalizer, ...] = ()
    """Applied to strings on both sides in the order given."""
    case: bool = True
    order: Literal["strict", "any"] = "strict"
    """`any`: the order of lists does not matter."""
    extra: Literal["ignore", "wrong"] = "ignore"
    """`wrong`: each field that the target has not counts as one that does not match."""
    numbers: Literal["strict", "text"] = "strict"
    """`text`: a string that is a JSON number equals that number."""
    missing: Literal["wrong", "null"] = "wrong"
    """`null`: a field that the answer has not equals null."""


class JsonSchema(ScorerBase):
    """The JSON in the answer is valid by a JSON Schema; takes no target.

    The answer's JSON is its last object or list, or the whole answer if that is a single value. Formats
    are notes, as the standard has it. References lead inside the schema; nothing is fetched.
    """

    model_config = ConfigDict(populate_by_name=True)

    version: ClassVar[int] = 2
    """2 takes no value in which a key stands twice."""

    type: Literal["json_schema"] = "json_schema"
    schema_: str | dict[str, Any] | bool = Field(alias="schema")
    """JSON file, or the schema itself."""
    path: str | None = None
    """Dotted path of the value inside the answer's JSON."""
    timeout_s: float = Field(default=5.0, gt=0, le=600)
    """Processor time for one answer."""

    takes_target: ClassVar[bool] = False
    file_options: ClassVar[tuple[str, ...]] = ("schema_",)


class ToolCalls(ScorerBase):
    """The tool calls of the reply are those of the target; 0 or 1, with shares as metrics.

    A target is a list of `{name, arguments}`; of a list of such lists any will do, and `[]` as text means
    that no call should be made. Argument values are compared as JSON. `name` is the share of calls with
    the right name, `arguments` that of calls with the right name and arguments.
    """

    version: ClassVar[int] = 2
    """2 takes several lists in one text."""

    type: Literal["tool_calls"] = "tool_calls"
    order: Literal["any", "strict"] = "any"
    arguments: Literal["exact", "subset", "ignore"] = "exact"
    """`subset`: further arguments are allowed. `ignore`: names alone count."""
    extra: Literal["wrong", "ignore"] = "wrong"
    """`ignore`: further calls are allowed."""

    uses_extract: ClassVar[bool] = False


class Math(ScorerBase):
    r"""The mathematics in the answer equals the target's, by math-verify (`pip install 'gradetrail[math]'`).

    Of the answer counts the last `\boxed{}`, else the last formula, else the last number or expression.
    Fractions, roots, sets, intervals, tuples, matrices, equations, percent and units are understood.
    """

    type: Literal["math"] = "math"
    decimals: int = Field(default=6, ge=0, le=100)
    """Decimal places that are compared where values are not exact."""
    strict: bool = True
    """False: variables may have other names, and sets may be tuples."""
    timeout_s: float = Field(default=5.0, gt=0, le=600)
    """Processor time for one answer; a scorer_error beyond."""

    package: ClassVar[tuple[str, str] | None] = ("math_verify", "math")
