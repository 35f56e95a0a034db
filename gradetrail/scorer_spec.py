"""The scorers a spec can name, one frozen model each: type, options, defaults, bounds.

Invariant: everything here enters the scorer_id; nothing that is not here can change a grade.
"""

from __future__ import annotations

import difflib
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator


class Block(BaseModel):
    """A frozen block of a spec; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, coerce_numbers_to_str=False)


class ExtractRule(Block):
    """One rule of an extraction chain."""

    rule: Literal["regex", "boxed", "number", "letter", "code_block", "first_line", "json", "choice_text"]
    """What to look for."""
    pattern: str | None = None
    """For `regex`: Python syntax; group 1 if there is one, else the whole match. re.MULTILINE is on."""
    which: Literal["first", "last"] = "last"
    """Which of several matches counts."""
    flags: tuple[Literal["IGNORECASE", "MULTILINE", "DOTALL"], ...] = ()
    path: str | None = None
    """For `json`: dotted path inside the object."""


def expand_extract(value: Any) -> Any:
    """Turn the short forms of `extract` into a list of rules."""
    if value is None:
        return ()
    items = value if isinstance(value, list | tuple) else [value]
    return [_expand_rule(item) for item in items]


NAMED_RULES = ("boxed", "number", "letter", "code_block", "first_line", "json", "choice_text")


def _expand_rule(item: Any) -> Any:
    if isinstance(item, str):
        near = difflib.get_close_matches(item, NAMED_RULES, n=1, cutoff=0.75) if item.isidentifier() else []
        if near and item not in NAMED_RULES:
            raise ValueError(
                f"`{item}` is no rule; did you mean `{near[0]}`? A pattern is `{{regex: '{item}'}}`"
            )
        return {"rule": item} if item in NAMED_RULES else {"rule": "regex", "pattern": item}
    if isinstance(item, dict) and "rule" not in item:
        if "regex" in item:
            return {
                "rule": "regex",
                "pattern": item["regex"],
                **{k: v for k, v in item.items() if k != "regex"},
            }
        for name in NAMED_RULES:
            if name in item:
                rest = {k: v for k, v in item.items() if k != name}
                own = {"path": item[name]} if name == "json" and item[name] is not None else {}
                return {"rule": name, **own, **rest}
    return item


Extract = Annotated[tuple[ExtractRule, ...], BeforeValidator(expand_extract)]


class ScorerBase(Block):
    """Options that every text scorer has."""

    extract: Extract | None = None
    """Overrides the spec's `extract`; an empty list switches it off."""
    target: str | list[str] | None = None
    """Overrides the spec's `target`."""
    pass_threshold: float | None = None
    """Score from which a grade passes; None takes the type's default."""

    version: ClassVar[int] = 1
    """Raised when the rule changes its meaning; in the scorer_id."""
    uses_extract: ClassVar[bool] = True
    is_exact: ClassVar[bool] = True
    """Exact types pass at 0.999999; the others at the middle of their bounds."""
    score_min: ClassVar[float | None] = 0.0
    score_max: ClassVar[float | None] = 1.0
    higher_is_better: ClassVar[bool] = True
    file_options: ClassVar[tuple[str, ...]] = ()
    """Options that name a file, whose content is in the scorer_id."""

    @property
    def threshold(self) -> float | None:
        """Score from which `is_pass` holds; None for an unbounded scorer without one."""
        if self.pass_threshold is not None:
            return self.pass_threshold
        if self.is_exact:
            return 0.999999
        if self.score_min is None or self.score_max is None:
            return None
        return (self.score_min + self.score_max) / 2


Normalizer = Literal["strip", "lower", "collapse_whitespace", "nfkc", "punctuation", "articles", "numbers"]


class Equality(ScorerBase):
    """Options of scorers that compare whole texts."""

    normalize: tuple[Normalizer, ...] = ("strip",)
    """Applied to both sides in the order given."""
    case: bool = True
    """False compares without regard to case: `lower` at the end of `normalize`."""


class Exact(Equality):
    """Equal to the target, or to any of several, after normalising both sides."""

    type: Literal["exact"] = "exact"


class Accuracy(Equality):
    """`exact` under the name that some task files use."""

    type: Literal["accuracy"] = "accuracy"


class Includes(ScorerBase):
    """The target stands somewhere in the answer."""

    type: Literal["includes"] = "includes"
    all: bool = False
    """Of several targets all must stand in the answer; otherwise one is enough."""
    normalize: tuple[Normalizer, ...] = ()
    case: bool = True


class Regex(ScorerBase):
    """`re.search` in Python's meaning; a templated pattern is rendered for each sample.

    A pattern with `{{` is right if it matches. Another is right if group 1, or else the whole match,
    equals a target but for white space at its ends; without a target, if it matches.
    """

    type: Literal["regex"] = "regex"
    pattern: str
    flags: tuple[Literal["IGNORECASE", "MULTILINE", "DOTALL"], ...] = ()

    @property
    def is_templated(self) -> bool:
        """Whether the pattern is rendered for each sample."""
        return "{{" in self.pattern


class Numeric(ScorerBase):
    r"""The number in the answer equals the target's within the tolerance.

    A number is a token of ASCII digits with at most one decimal mark: `42`, `-3.14`, `.5`, `1,234,567`,
    `1 234 567` (no-break or thin spaces), `1.5e3`, `2 \times 10^3`, `3/4`, `1 1/2`, `\frac{3}{4}`, after a
    sign that does not follow a letter, digit or closing bracket. Currency signs, brackets, quotes,
    markdown and LaTeX around it, and the full stop or comma after it, do not matter. Letters attached to
    it make it no number (`42abc`, `3rd`, `5k`) unless they are one of the units in
    `gradetrail.scoring.numbers.UNITS`; nor are parts of dates, versions and powers (`1/2/2026`, `1.2.3`,
    `x^2`), nor `nan`, `inf` and `1_000`. Numbers are compared exactly, whatever their length; a
    tolerance counts its own edge, and `rel_tol` is relative to the target.
    """

    type: Literal["numeric"] = "numeric"
    abs_tol: float = Field(default=0.0, ge=0)
    rel_tol: float = Field(default=0.0, ge=0)
    percent: Literal["ignore", "fraction"] = "ignore"
    """`ignore`: 35% is 35. `fraction`: 35% is 0.35."""
    decimal: Literal[".", ","] = "."
    """Decimal mark; the other of the two separates thousands."""
    which: Literal["first", "last"] = "last"
    """Which number counts of the answer, or of what `extract` found."""


class Choice(ScorerBase):
    """The letter of the option that the answer names."""

    type: Literal["choice"] = "choice"
    match_text: bool = True
    """An answer that is exactly one option's text counts as its letter."""


class F1(ScorerBase):
    """Harmonic mean of precision and recall of the words in common; best of several targets."""

    type: Literal["f1"] = "f1"
    is_exact: ClassVar[bool] = False


class RougeL(ScorerBase):
    """ROUGE-L: F with beta 1 of the longest common subsequence of words; best of several targets."""

    type: Literal["rouge_l"] = "rouge_l"
    is_exact: ClassVar[bool] = False


class BleuAdd1(ScorerBase):
    """Sentence BLEU-4 with one added to every n-gram count, n = 1 too; best of several targets.

    Kept for tables made with it: texts of one word that share nothing score 0.84 under it.
    """

    type: Literal["bleu_add1"] = "bleu_add1"
    is_exact: ClassVar[bool] = False


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

    @model_validator(mode="after")
    def _is_judged_by_something(self) -> CodeExec:
        if not self.checks and self.stdout is None and self.program == "{{ response_code }}":
            raise ValueError("code_exec needs `checks`, `stdout`, or a `program` that holds the tests")
        return self


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
    | Annotated[CodeExec, Tag("code_exec")]
    | Annotated[Switch, Tag("switch")],
    Discriminator(_kind),
    BeforeValidator(expand_scorer),
]
"""Any scorer, by its `type`."""
Switch.model_rebuild()
