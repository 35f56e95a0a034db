"""A model that grades: what a spec says of it, and what a judge file holds.

Invariant: whatever can change what a judge is asked, or how its replies are read, stands here.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from gradetrail.model_spec import Block, Model, expand_model
from gradetrail.scorer_spec.base import ScorerBase

GRADES = {"C": 1.0, "P": 0.5, "I": 0.0}
"""What letters are worth where a judge file takes grades and says no more."""
WIN = 0.500001
"""Score from which a preference passes: more than the 0.5 of a tie, less than any vote more."""


class Opponent(Block):
    """The answer that a preference compares with; one field at least."""

    model: str | None = None
    """Display name of a model; of the same run unless `run` names another."""
    run: str | None = None
    """Another run: its id, a prefix, `task@latest`, ... The same sample and epoch are compared."""
    prompt: str | None = None
    """Name of the opponent's prompt; None is the same as the answer's own, or the only one."""
    target: bool = False
    """Compare with the sample's target."""

    @model_validator(mode="after")
    def _is_something(self) -> Opponent:
        if self.target and (self.model or self.run or self.prompt):
            raise ValueError("`target: true` excludes `model`, `run` and `prompt`")
        if not (self.target or self.model or self.run):
            raise ValueError("an opponent is `target: true`, a `model` or a `run`")
        return self


RUN = re.compile(r"latest(~\d+)?\Z|.*@|\d{8}T\d{6}Z-", re.DOTALL)
"""How a text begins that names a run rather than a model."""


def expand_opponent(value: Any) -> Any:
    """Turn `target`, a run (`task@latest`, a run id) or a model's name into the full form."""
    if not isinstance(value, str):
        return value
    if value == "target":
        return {"target": True}
    return {"run": value} if RUN.match(value) else {"model": value}


class Judge(ScorerBase):
    """A model grades the answer, by the template and protocol of a judge file."""

    type: Literal["judge"] = "judge"
    file: str
    """YAML file that holds kind, version, prompt and criteria."""
    model: Annotated[Model, BeforeValidator(expand_model)]
    """Model that grades, as under `models`; takes nothing from the spec's `request`."""
    votes: int = Field(default=1, gt=0, le=101)
    """How often the judge is asked about each answer."""
    aggregate: Literal["mean", "majority"] = "mean"
    """What several votes come to; a majority that is shared is the mean of those who share it."""
    min_votes: int | None = Field(default=None, gt=0)
    """Votes that must be readable; None is all of them. With fewer the grade is a `judge_error`."""
    against: Annotated[Opponent, BeforeValidator(expand_opponent)] | None = None
    """For a preference: `target`, a model of the spec, or a run such as `task@latest`."""
    swap: bool = False
    """For a preference: ask in both orders; where they disagree it is a tie."""

    uses_extract: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False
    takes_target: ClassVar[bool] = False
    file_options: ClassVar[tuple[str, ...]] = ("file",)

    @model_validator(mode="after")
    def _can_be_reached(self) -> Judge:
        if self.min_votes is not None and self.min_votes > self.votes:
            raise ValueError(f"min_votes {self.min_votes} is more than the {self.votes} votes")
        return self

    @property
    def named_files(self) -> list[str]:
        """Paths that the options and the model name."""
        model = (self.model.path, self.model.tools, self.model.response_format)
        return [self.file, *(name for name in model if isinstance(name, str))]

    @property
    def n_needed(self) -> int:
        """Votes that must be readable."""
        return self.votes if self.min_votes is None else self.min_votes


def _levels(value: Any) -> Any:
    """Turn a list of numbers into levels without a description."""
    return dict.fromkeys(value, "") if isinstance(value, list) else value


Levels = Annotated[dict[float, str], BeforeValidator(_levels)]


class Criterion(Block):
    """One criterion of a rubric: a metric of its own."""

    description: str = ""
    levels: Levels = Field(default_factory=dict)
    """Description by score; empty takes the file's `levels`."""
    weight: float = Field(default=1, gt=0)
    """Share in the metric `score`, the weighted mean."""


def _criteria(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: {"description": item} if isinstance(item, str) else item for name, item in value.items()}


class JudgeFile(Block):
    """A judge file: what the judge is told, and how it replies."""

    kind: Literal["binary", "score_0_1", "rubric", "preference"]
    """binary: 0 or 1. score_0_1: any number between. rubric: a level a criterion. preference: A, B or tie."""
    version: int = Field(ge=1)
    """Raised by whoever changes the file's meaning."""
    name: str | None = None
    system: str | None = None
    """Template of a system message."""
    prompt: str | None = None
    """Template of the question; None takes that of the kind."""
    criteria: Annotated[str | dict[str, Criterion], BeforeValidator(_criteria)] | None = None
    """What to look at: a text, or for a rubric a mapping of names."""
    levels: Levels = Field(default_factory=dict)
    """For a rubric: levels of the criteria that have none of their own."""
    examples: tuple[dict[str, Any], ...] = ()
    """Graded answers to go by: each a mapping, shown as it stands."""
    strict: bool = False
    """Tells the judge to be strict: whatever is in doubt is wrong."""
    reply: Literal["json", "grade"] = "json"
    """json: an object with `score` and `reason`. grade: a text that ends with `GRADE: C`."""
    grades: dict[str, float] = Field(default_factory=lambda: dict(GRADES))
    """Worth of each letter or word where `reply` is `grade`."""
    nudge: str | None = None
    """Put after the prompt where a reply could not be read; None takes that of the reply's form."""

    @model_validator(mode="before")
    @classmethod
    def _older_form(cls, value: Any) -> Any:
        """Take `output`, as the older form calls it, for `kind`."""
        if isinstance(value, dict) and "output" in value and "kind" not in value:
            return {("kind" if key == "output" else key): item for key, item in value.items()}
        return value

    @model_validator(mode="after")
    def _is_whole(self) -> JudgeFile:
        if (self.kind == "rubric") != isinstance(self.criteria, dict):
            raise ValueError(
                "a rubric, and only a rubric, has `criteria` by name: {accuracy: ..., tone: ...}"
            )
        if self.kind == "rubric":
            _check_rubric(self)
        elif self.levels:
            raise ValueError("only a rubric has `levels`")
        if self.reply == "grade":
            _check_grades(self)
        return self

    @property
    def rubric(self) -> dict[str, Criterion]:
        """Criteria by name, each with its levels; empty for other kinds."""
        if not isinstance(self.criteria, dict):
            return {}
        return {
            name: item if item.levels else item.model_copy(update={"levels": self.levels})
            for name, item in self.criteria.items()
        }

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest score; a rubric's are those of its levels."""
        levels = [level for item in self.rubric.values() for level in item.levels]
        return (min(levels), max(levels)) if levels else (0.0, 1.0)

    @property
    def threshold(self) -> float:
        """Score from which a grade passes: the middle of the bounds; for a preference just above, a win."""
        return WIN if self.kind == "preference" else sum(self.bounds) / 2

    @property
    def rule_version(self) -> int:
        """Version of what a grade means, in the scorer_id.

        One more for preferences (no tie passes) and for `reply: grade` (the last marker decides, or none).
        """
        return 3 if self.kind == "preference" or self.reply == "grade" else 2

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, `score` first."""
        return ("score", *self.rubric)


def _check_rubric(file: JudgeFile) -> None:
    if not file.rubric:
        raise ValueError("a rubric needs `criteria`")
    if "score" in file.rubric:
        raise ValueError("a criterion cannot be called `score`: that is the metric of all of them together")
    if file.reply != "json":
        raise ValueError("the judge of a rubric replies in JSON")
    scales = {}
    for name, item in file.rubric.items():
        if len(item.levels) < 2:
            raise ValueError(f"criterion `{name}` needs two levels or more: `levels: {{1: poor, 5: good}}`")
        scales[name] = (min(item.levels), max(item.levels))
    if len(set(scales.values())) > 1:
        told = ", ".join(f"{name} {low:g}..{high:g}" for name, (low, high) in scales.items())
        raise ValueError(
            f"criteria have different scales ({told}): give all the same lowest and highest level"
        )


def _check_grades(file: JudgeFile) -> None:
    if file.kind not in ("binary", "score_0_1"):
        raise ValueError(f"the judge of a {file.kind} replies in JSON")
    wrong = [name for name, worth in file.grades.items() if not 0 <= worth <= 1 or not name.isalnum()]
    if wrong or not file.grades:
        raise ValueError("`grades` are letters or words, each worth 0 to 1: {C: 1, I: 0}")
