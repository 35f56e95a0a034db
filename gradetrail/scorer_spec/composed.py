"""Scorers that stand on others, or on a program of the user's or the model's.

Invariant: each class states its rule; its options are all that can change a grade.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from gradetrail.scorer_spec.base import ScorerBase

if TYPE_CHECKING:
    from gradetrail.scorer_spec import Scorer


class Switch(ScorerBase):
    """Another scorer for each value of a template: for datasets that mix tasks."""

    type: Literal["switch"] = "switch"
    on: str
    """Template over the sample, such as `{{ metric }}`."""
    cases: dict[str, Scorer]
    """Scorer by value; a case without `extract` or `target` takes what the switch would have."""


class CodeExec(ScorerBase):
    """Runs the program that the model wrote, and counts the checks that hold."""

    type: Literal["code_exec"] = "code_exec"
    program: str = "{{ response_code }}"
    """Template of the program; `response_code` is the code in the answer, put in as it stands."""
    checks: str | tuple[str, ...] = ()
    """Templates of boolean expressions or test code over the program's names; `{{ field }}` may be a list."""
    stdin: str | None = None
    """Template of the standard input; None is empty."""
    stdout: str | None = None
    """Template of what the program must print; white space at line ends is not compared. None: not judged."""
    timeout_s: float = Field(default=5.0, gt=0, le=60)
    """Wall-clock and CPU seconds of one program."""
    memory_mb: int = Field(default=512, ge=64)

    uses_extract: ClassVar[bool] = False
    takes_target: ClassVar[bool] = False

    @model_validator(mode="after")
    def _is_judged_by_something(self) -> CodeExec:
        if not self.checks and self.stdout is None and self.program == "{{ response_code }}":
            raise ValueError("code_exec needs `checks`, `stdout`, or a `program` that holds the tests")
        return self
