r"""Compares mathematics by math-verify, in a worker.

Invariant: an answer is wrong only if both sides were read and compared; what cannot be read is unparsed,
and what fails or takes too long is no wrong answer.

math-verify reads formulas between dollar signs and in boxes. A text that is nothing but a formula is put
between dollar signs first; plain notation (`sqrt(2)`, `2**3`, `74°`) is written as LaTeX.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from gradetrail.scorer_spec import Math
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.rule import Given, Rule, Verdict
from gradetrail.scoring.rule_process import Judgement
from gradetrail.scoring.worker import Failure

TINY = 1e-3
"""Below this, numbers that differ by more than this share of them are different."""
_ANCHOR = re.compile(r"\$|\\\(|\\\[|\\(?:boxed|fbox)\b|\\begin\{(?:equation|align|math|displaymath)")
_MATRIX = re.compile(r"\\begin\{([a-z]*matrix\*?|array|cases)\}.*?\\end\{\1\}", re.DOTALL)
_REPEATING = re.compile(r"([0-9]*)\.([0-9]*)\\(?:overline|bar)\s*\{([0-9]+)\}")
_COMMAND = re.compile(
    r"\\(?:begin|end)\s*\{[^{}]*\}|\\(?:text|mathrm|mathbf|operatorname)\s*\{[^{}]*\}|\\[A-Za-z]+"
)
_WORD = re.compile(r"[^\W\d_]{3,}|[^\W\d_]{2,}(?=\s+[^\W\d_]{2,})")
_FUNCTIONS = frozenset(
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log exp sqrt min max gcd lcm mod".split()
)
_CALLED = re.compile(r"(?<![\\A-Za-z])sqrt\s*\(|\^\s*\(")


def math_rule(definition: Definition) -> Rule:
    """Give the rule of `math`."""
    scorer = definition.scorer
    assert isinstance(scorer, Math)
    options = {"decimals": scorer.decimals, "strict": scorer.strict}
    judgement = Judgement(__name__, options, scorer.timeout_s)

    def judge(batch: Sequence[Given]) -> list[Verdict]:
        replies = judgement.replies([[given.text, list(given.targets)] for given in batch])
        return [_verdict(reply) for reply in replies]

    return Rule(judge)


def _verdict(reply: Any) -> Verdict:
    if isinstance(reply, Failure):
        return Verdict(None, fault=f"the comparison failed: {reply.reason}")
    return Verdict(
        reply["score"],
        reply["extracted"],
        "math" if reply["extracted"] else None,
        reply["detail"],
        reply["fault"],
    )


def judge_of(options: dict[str, Any]) -> Callable[[list[Any]], dict[str, Any]]:
    """Give the function that judges [answer, targets]; for the worker."""
    from math_verify import verify

    logging.disable(logging.CRITICAL)  # what cannot be read is said in the grade
    read_target = lru_cache(maxsize=4096)(read)

    def is_equal(given: Any, wanted: Any) -> bool:
        is_same = verify(
            wanted,
            given,
            float_rounding=options["decimals"],
            strict=options["strict"],
            timeout_seconds=None,
            raise_on_error=True,
        )
        return bool(is_same) and not _are_tiny_and_different(given, wanted)

    is_equal(read("1")[0], read("2")[0])  # what is made at first use takes none of an answer's time

    def judge(item: list[Any]) -> dict[str, Any]:
        text, targets = item
        given = read(text)
        reply = {"score": None, "extracted": _shown(given), "detail": None, "fault": None}
        wanted = [read_target(target) for target in targets]
        if text.strip() in (target.strip() for target in targets):
            return {**reply, "score": 1.0}
        if not given:
            return {**reply, "detail": "nothing that reads as mathematics"}
        errors: list[Exception] = []
        for one, other in ((one, other) for each in wanted for other in each for one in given):
            try:
                if is_equal(one, other):
                    return {**reply, "score": 1.0}
            except Exception as error:  # another pair may be equal all the same
                errors.append(error)
        unread = [target for target, each in zip(targets, wanted, strict=True) if not _is_read(each)]
        if unread:
            return {**reply, "fault": f"the target `{unread[0][:100]}` does not read as mathematics"}
        if not _is_read(given):
            return {**reply, "extracted": None, "detail": f"`{_shown(given)}` does not read as mathematics"}
        if errors:
            return {**reply, "fault": f"the comparison failed: {type(errors[0]).__name__}: {errors[0]}"[:300]}
        return {**reply, "score": 0.0}

    return judge


def _are_tiny_and_different(given: Any, wanted: Any) -> bool:
    """Tell numbers apart that the same decimal places round to zero: 1e-9 is not 2e-9."""
    if not (getattr(given, "is_number", False) and getattr(wanted, "is_number", False)):
        return False
    one, other = given.doit().evalf(), wanted.doit().evalf()
    largest = max(abs(one), abs(other))
    return bool(largest < TINY and abs(one - other) > TINY * largest)


def _is_read(found: Sequence[Any]) -> bool:
    return any(not isinstance(one, str) for one in found)


def _shown(found: Sequence[Any]) -> str | None:
    """Give the text that was read, or what it was read as."""
    return next((one for one in found if isinstance(one, str)), str(found[0])) if found else None


def read(text: str) -> list[Any]:
    """Read an expression, followed by its text; the text alone where it cannot be read, or nothing."""
    from math_verify import parse

    text = as_latex(text)
    if not _ANCHOR.search(text):
        if not _has_words(text):
            found: list[Any] = parse(f"${text}$", parsing_timeout=None)
            # what is no formula may hold one number that is; part of a formula is not the whole
            if _is_read(found) or "\\" in text:
                return found
        text = _MATRIX.sub(lambda match: f"${match[0]}$", text)
    return list(parse(text, parsing_timeout=None))


def _has_words(text: str) -> bool:
    words = _WORD.findall(_COMMAND.sub(" ", text))
    return any(word.lower() not in _FUNCTIONS for word in words)


def as_latex(text: str) -> str:
    """Write plain notation as LaTeX does: powers, roots, degrees, repeating decimals."""
    text = _REPEATING.sub(_fraction, text)
    text = text.replace(r"\beginboxed{", r"\boxed{").replace("°", r"^\circ").replace("**", "^")
    while (call := _CALLED.search(text)) is not None:
        end = _closing(text, call.end())
        if end is None:
            break
        opening = "^{" if call[0].startswith("^") else r"\sqrt{"
        text = f"{text[: call.start()]}{opening}{text[call.end() : end]}}}{text[end + 1 :]}"
    return text


def _fraction(match: re.Match[str]) -> str:
    whole, fixed, repeated = match.groups()
    over = int(whole + fixed + repeated) - int(f"0{whole}{fixed}")
    return rf"\frac{{{over}}}{{{'9' * len(repeated)}{'0' * len(fixed)}}}"


def _closing(text: str, start: int) -> int | None:
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return None
