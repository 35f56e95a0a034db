"""Scorers that stand on others, on people, or on a program of the user's or the model's.

Invariant: each class states its rule; its options are all that can change a grade.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from gradetrail.errors import Fault, did_you_mean
from gradetrail.model_spec import hide_headers
from gradetrail.scorer_spec.base import LARGEST_SCORE, ScorerBase
from gradetrail.scorer_spec.judge import Judge

if TYPE_CHECKING:
    from gradetrail.scorer_spec import Scorer


class Switch(ScorerBase):
    """Another scorer for each value of a template: for datasets that mix tasks."""

    type: Literal["switch"] = "switch"
    on: str
    """Template over the sample, such as `{{ metric }}`."""
    cases: dict[str, Scorer]
    """Scorer by value; a case without `extract` or `target` takes what the switch would have."""

    @property
    def named_files(self) -> list[str]:
        """Paths that the options of the cases name."""
        return [name for case in self.cases.values() for name in case.named_files]


def judges_in(scorers: Mapping[str, Scorer]) -> Iterator[tuple[tuple[str, ...], Judge]]:
    """Yield the judges of a spec with their places below `scorers`, those of a switch's cases too."""
    for name, scorer in scorers.items():
        if isinstance(scorer, Judge):
            yield (name,), scorer
        elif isinstance(scorer, Switch):
            yield from (((name, "cases", *place), judge) for place, judge in judges_in(scorer.cases))


def hide_judge_headers(scorers: Mapping[str, Any]) -> None:
    """Take header values out of the models that judge, in scorers as JSON."""
    for scorer in scorers.values():
        if scorer["type"] == "judge":
            hide_headers(scorer["model"])
        hide_judge_headers(scorer.get("cases", {}))


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


def expand_parts(value: Any) -> Any:
    """Turn a list of names into equal weights."""
    if isinstance(value, list | tuple):
        names = [name for name in value if isinstance(name, str)]
        if len(names) < len(value) or len(set(names)) < len(names):
            raise ValueError("a list of different names of scorers, or a mapping of names to weights")
        return dict.fromkeys(names, 1.0)
    return value


class Combine(ScorerBase):
    """One verdict out of those of other scorers of the spec, by name: a panel of judges, a weighted mean.

    Each part counts from 0 (its worst score) to 1 (its best). A part that is missing (no answer, no target,
    a scorer that failed) makes the whole missing. A part that is unanswered counts 0 and fails, or where the
    task says `unanswered: exclude` makes the whole unanswered; if all are, the whole is.
    """

    type: Literal["combine"] = "combine"
    of: Annotated[dict[str, float], BeforeValidator(expand_parts)]
    """Names of other scorers of the spec, as a list, or with the weight of each."""
    by: Literal["mean", "majority", "all", "any", "min", "max"] = "mean"
    """mean, min and max are over scores; majority (half of the weight is 0.5), all and any over passes."""

    uses_extract: ClassVar[bool] = False
    takes_target: ClassVar[bool] = False
    of_passes: ClassVar[tuple[str, ...]] = ("majority", "all", "any")
    """Ways that ask whether a part passes."""

    @property
    def threshold(self) -> float | None:
        """Score from which `is_pass` holds: 0.999999 for a verdict over passes, else 0.5."""
        if self.pass_threshold is not None:
            return self.pass_threshold
        return 0.999999 if self.by in self.of_passes else 0.5

    @model_validator(mode="after")
    def _has_parts(self) -> Combine:
        if not self.of:
            raise ValueError("`of` names the scorers to combine")
        wrong = [name for name, weight in self.of.items() if not (math.isfinite(weight) and weight > 0)]
        if wrong:
            raise ValueError(f"the weight of `{wrong[0]}` must be a number above 0")
        # so that no product or sum of weights and scores overflows or vanishes
        extreme = [
            name for name, weight in self.of.items() if not 1 / LARGEST_SCORE <= weight <= LARGEST_SCORE
        ]
        if extreme:
            least = 1 / LARGEST_SCORE
            raise ValueError(f"the weight of `{extreme[0]}` must be between {least:g} and {LARGEST_SCORE:g}")
        if self.by in ("all", "any", "min", "max") and len(set(self.of.values())) > 1:
            raise ValueError(f"`by: {self.by}` takes no weights")
        return self


def part_faults(scorers: Mapping[str, Any]) -> Iterator[Fault]:
    """Find parts of combinations that are no scorers of the spec, and combinations that need themselves."""
    combined = {name: scorer for name, scorer in scorers.items() if isinstance(scorer, Combine)}
    for name, scorer in scorers.items():
        for key, case in getattr(scorer, "cases", {}).items():
            if isinstance(case, Combine):
                yield Fault(
                    "a combination inside a switch",
                    field=f"scorers.{name}.cases.{key}",
                    fix="combine switches",
                )
    for name, scorer in combined.items():
        for part in scorer.of:
            if part not in scorers:
                others = [other for other in scorers if other != name]
                yield Fault(f"no scorer `{part}`", field=f"scorers.{name}.of", fix=did_you_mean(part, others))
        chain = _way_back(name, combined)
        if chain:
            yield Fault(
                f"needs itself: {' -> '.join(chain)}",
                field=f"scorers.{name}.of",
                fix="take it out of its parts",
            )


def _way_back(name: str, combined: Mapping[str, Combine]) -> list[str]:
    """Give the shortest way from a combination back to itself; empty if there is none."""
    ways, seen = [[name]], set()
    while ways:
        way = ways.pop(0)
        for part in combined[way[-1]].of:
            if part == name:
                return [*way, name]
            if part in combined and part not in seen:
                seen.add(part)
                ways.append([*way, part])
    return []


class Scaled(ScorerBase):
    """Scores on a scale that the spec states."""

    scale: tuple[float, float] | None = (0.0, 1.0)
    """Least and greatest score; null: there is none, and unanswered trials are left out."""
    lower_is_better: bool = False

    takes_target: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Least and greatest score."""
        return self.scale if self.scale is not None else (None, None)

    @property
    def higher_is_better(self) -> bool:
        """Whether a greater score is a better one."""
        return not self.lower_is_better

    @model_validator(mode="after")
    def _is_a_scale(self) -> Scaled:
        if self.scale is not None and not self.scale[0] < self.scale[1]:
            raise ValueError("`scale` is [least, greatest], such as [1, 5]")
        if self.scale is not None and max(map(abs, self.scale)) > LARGEST_SCORE:
            raise ValueError(f"`scale` reaches beyond {LARGEST_SCORE:g}; `scale: null` is without bounds")
        return self


class Label(Scaled):
    """What people said of the answers: from a file, or from a field of the sample."""

    type: Literal["label"] = "label"
    file: str | None = None
    """CSV, JSONL, Parquet, ... with `sample_id` and `score`, and if wanted `model`, `prompt`, `epoch`, `run`
    (which answers it is about), `reason` and `rater`; others are refused, but for those of exports. The rows
    that say most exactly which answer they are about count; of several raters, the mean."""
    field: str | None = None
    """Dotted path in the sample, in place of a file."""
    rater: str | None = None
    """Only the labels of this rater."""

    uses_extract: ClassVar[bool] = False
    file_options: ClassVar[tuple[str, ...]] = ("file",)

    @property
    def template(self) -> str | None:
        """Template of a label in the sample, blank where there is none; None for a file."""
        if self.field is None:
            return None
        names = self.field.split(".")
        paths = [".".join(names[: length + 1]) for length in range(len(names))]
        is_there = " and ".join(f"{path} is defined and {path} is not none" for path in paths)
        return f"{{% if {is_there} %}}{{{{ {self.field} }}}}{{% endif %}}"

    @model_validator(mode="after")
    def _has_one_source(self) -> Label:
        if (self.file is None) == (self.field is None):
            raise ValueError("`label` needs `file`, or `field` (a path in the sample)")
        if self.field is not None and not re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", self.field):
            raise ValueError(f"`{self.field}` is no dotted path in a sample, such as `human.score`")
        if self.field is not None and self.rater is not None:
            raise ValueError("`rater` belongs to a file")
        return self


class Sql(Scaled):
    """One scalar SQL expression over each answer.

    It sees the answer's columns (`text`, without reasoning; `response`, as it came; `extracted`, `target`,
    `stop_reason`, `tool_calls`, ...) and the dataset's columns, as text. It gives a boolean, a number, or a
    struct of `score`, `extracted` and `detail`; NULL is unparsed.
    """

    type: Literal["sql"] = "sql"
    sql: str
    """Such as `text ilike '%' || answer || '%'`."""


class Python(Scaled):
    """A function of the user's over a Polars frame with one row for each answer.

    It has the columns that `sql` sees. It gives a Series of numbers or booleans, or a frame with `score` and,
    if wanted, `extracted`, `detail` and further columns of numbers, which are metrics; a null is unparsed. It
    is the user's own code and runs without a sandbox.
    """

    type: Literal["python"] = "python"
    path: str
    """Source file, whose content is in the scorer_id; it may import only what is installed."""
    function: str = "grade"

    file_options: ClassVar[tuple[str, ...]] = ("path",)
