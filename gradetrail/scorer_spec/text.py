"""Scorers that judge the text of an answer.

Invariant: each class states its rule; its options are all that can change a grade.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from gradetrail.scorer_spec.base import ScorerBase

Normalizer = Literal["strip", "lower", "collapse_whitespace", "nfkc", "punctuation", "articles", "numbers"]


def _version_with(normalize: tuple[Normalizer, ...]) -> int:
    """Give the version of a comparison; that of `numbers` is one more since raised exponents are read."""
    return 2 if "numbers" in normalize else 1


class Normalized(ScorerBase):
    """Options of scorers that normalise whole texts before they compare them."""

    normalize: tuple[Normalizer, ...] = ("strip",)
    """Applied to both sides in the order given."""
    case: bool = True
    """False compares without regard to case: `lower` at the end of `normalize`."""

    @property
    def rule_version(self) -> int:
        """Version of what these options mean."""
        return _version_with(self.normalize)


class Equality(Normalized):
    """Scorers that ask whether whole texts are equal."""


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

    @property
    def rule_version(self) -> int:
        """Version of what these options mean."""
        return _version_with(self.normalize)


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
    `1 234 567` (no-break or thin spaces), `1.5e3`, `2 \times 10^3`, `10⁻³`, `3/4`, `1 1/2`, `\frac{3}{4}`,
    after a sign that does not follow a letter, digit or closing bracket. Currency signs, brackets, quotes,
    markdown and LaTeX around it, and the full stop or comma after it, do not matter. Letters attached to
    it make it no number (`42abc`, `3rd`, `5k`) unless they are one of the units in
    `gradetrail.scoring.numbers.UNITS`; nor are parts of dates, versions and powers (`1/2/2026`, `1.2.3`,
    `x^2`), nor `nan`, `inf` and `1_000`. Numbers are compared exactly, whatever their length; a
    tolerance counts its own edge, and `rel_tol` is relative to the target.
    """

    version: ClassVar[int] = 2
    """2 takes raised exponents, and no number that a raised or lowered digit is attached to."""

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

    version: ClassVar[int] = 2
    """2 takes a first line that is a letter, and a box that holds an option's text."""

    type: Literal["choice"] = "choice"
    match_text: bool = True
    """An answer that is exactly one option's text counts as its letter."""


class F1(ScorerBase):
    """Harmonic mean of precision and recall of the words in common; best of several targets."""

    version: ClassVar[int] = 2
    """2 takes a final sigma as any other."""

    type: Literal["f1"] = "f1"
    rules: Literal["words", "squad"] = "words"
    """What a word is. `words`: a run of letters, digits and `_`. `squad`: what white space separates, without
    punctuation (a number keeps its own) and without the words a, an, the."""

    is_exact: ClassVar[bool] = False


class RougeL(ScorerBase):
    """ROUGE-L: F with beta 1 of the longest common subsequence of words; best of several targets."""

    version: ClassVar[int] = 2
    """2 takes a final sigma as any other."""

    type: Literal["rouge_l"] = "rouge_l"
    rules: Literal["words", "rouge_score"] = "words"
    """What a word is. `words`: a run of letters, digits and `_` of any script. `rouge_score`: as that package
    has it (`gradetrail[text]`): a run of ASCII letters and digits; a text without any scores 0."""
    stem: bool = False
    """For `rouge_score`: compare word stems (Porter)."""

    is_exact: ClassVar[bool] = False

    @property
    def needs(self) -> tuple[str, str] | None:
        """The package whose rules are asked for."""
        return ("rouge_score", "text") if self.rules == "rouge_score" else None

    @model_validator(mode="after")
    def _can_stem(self) -> RougeL:
        if self.stem and self.rules != "rouge_score":
            raise ValueError("`stem` belongs to `rules: rouge_score`")
        return self


class BleuAdd1(ScorerBase):
    """Sentence BLEU-4 with one added to every n-gram count, n = 1 too; best of several targets.

    Kept for tables made with it: texts of one word that share nothing score 0.84 under it.
    """

    version: ClassVar[int] = 2
    """2 takes a final sigma as any other."""

    type: Literal["bleu_add1"] = "bleu_add1"
    is_exact: ClassVar[bool] = False


class Bleu(ScorerBase):
    """Sentence BLEU by sacrebleu, as a share of 1; best of several targets (`gradetrail[text]`).

    Targets are not pooled into one reference. The signature of each grade is in its `detail`.
    """

    type: Literal["bleu"] = "bleu"
    tokenize: Literal["13a", "intl", "char", "zh", "none"] = "13a"
    smooth: Literal["exp", "floor", "add-k", "none"] = "exp"
    smooth_value: float | None = Field(default=None, ge=0)
    """For `floor` and `add-k`; None is sacrebleu's default of 0.1 and 1."""
    max_order: int = Field(default=4, ge=1, le=16)
    effective_order: bool = True
    """Leaves out the orders of n-grams that the answer is too short to have."""
    lowercase: bool = False

    is_exact: ClassVar[bool] = False
    package: ClassVar[tuple[str, str] | None] = ("sacrebleu", "text")


class Chrf(ScorerBase):
    """Sentence chrF by sacrebleu, as a share of 1; best of several targets (`gradetrail[text]`).

    `word_order: 2` is chrF++. The signature of each grade is in its `detail`.
    """

    type: Literal["chrf"] = "chrf"
    char_order: int = Field(default=6, ge=1, le=16)
    word_order: int = Field(default=0, ge=0, le=16)
    beta: int = Field(default=2, ge=1, le=16)
    lowercase: bool = False
    whitespace: bool = False
    """Whether white space counts."""

    is_exact: ClassVar[bool] = False
    package: ClassVar[tuple[str, str] | None] = ("sacrebleu", "text")


class EditDistance(Normalized):
    """Levenshtein distance in characters over the length of the longer text; best of several targets.

    `similarity` is 1 less the distance: 1 for equal texts, 0 for texts without anything in common. Two
    empty texts are equal.
    """

    type: Literal["edit_distance"] = "edit_distance"
    measure: Literal["similarity", "distance"] = "similarity"
    """`distance`: lower is better."""
    unit: Literal["character", "word"] = "character"
    """What is put in, taken out or exchanged; words are separated by white space."""

    is_exact: ClassVar[bool] = False

    @property
    def higher_is_better(self) -> bool:
        """Whether a greater score is a better one: not for distances."""
        return self.measure == "similarity"
