"""What every scorer of a spec has: extraction rules, threshold, bounds.

Invariant: blocks are frozen and refuse unknown keys.
"""

from __future__ import annotations

import difflib
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from gradetrail.model_spec import Block

LARGEST_SCORE = 1e50
"""Magnitude of a score; sums of products of squares of such stay numbers, whatever their count."""


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


RULE_VERSIONS = {"letter": 2, "number": 2, "json": 2}
"""Raised when a rule changes its meaning; in the scorer_id. `letter` 2 takes a letter on the first line,
`number` 2 raised exponents, and no number that a raised or lowered digit is attached to,
`json` 2 no value in which a key stands twice."""

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
    takes_target: ClassVar[bool] = True
    """Whether answers are compared with a target."""
    file_options: ClassVar[tuple[str, ...]] = ()
    """Options that may name a file, whose content is in the scorer_id."""
    package: ClassVar[tuple[str, str] | None] = None
    """Module that grading imports, and the extra of gradetrail that installs it."""

    @property
    def rule_version(self) -> int:
        """Version of what these options mean."""
        return self.version

    @property
    def needs(self) -> tuple[str, str] | None:
        """The module that these options need, and its extra; None if there is none."""
        return self.package

    @property
    def named_files(self) -> list[str]:
        """Paths that the options name."""
        return [
            name for name in (getattr(self, option) for option in self.file_options) if isinstance(name, str)
        ]

    @property
    def higher_is_better(self) -> bool:
        """Whether a greater score is a better one."""
        return True

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Least and greatest score; None where there is none."""
        return self.score_min, self.score_max

    @property
    def threshold(self) -> float | None:
        """Score from which `is_pass` holds; None for an unbounded scorer without one."""
        if self.pass_threshold is not None:
            return self.pass_threshold
        if self.is_exact:
            return 0.999999
        low, high = self.bounds
        return None if low is None or high is None else (low + high) / 2
