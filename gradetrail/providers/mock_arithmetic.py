"""Exact arithmetic on the text of a question: finds an expression and evaluates it.

Invariant: the work is linear in the text and the result bounded, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?")
_WORDS = (
    (r"divided by|\u00f7", "/"),
    (r"multiplied by|times|\u00d7", "*"),
    (r"plus", "+"),
    (r"minus|\u2212", "-"),
)
_TOKEN = re.compile(r"(?<!\w)\d+(?:,\d{3})*(?:\.\d+)?|\*\*|[-+*/^%()]|(?<!\w)x(?!\w)|\S")
_SIGNS = frozenset(["**", *"-+*/^%()x"])
MAX_TOKENS = 200
"""Tokens of an expression; a longer one is no question."""
MAX_DIGITS = 30
MAX_BITS = 1000
"""Size of a result; a larger one is not written out."""


def arithmetic(question: str) -> str | None:
    """Evaluate the first expression of two numbers or more; None if there is none."""
    value = value_of_expression(question)
    return None if value is None else shown(value)


def value_of_expression(question: str) -> Fraction | None:
    """Give the exact value of the first expression; None if there is none, or none with a value."""
    text = question
    for said, sign in _WORDS:
        text = re.sub(rf"\s*(?:{said})\s*", f" {sign} ", text, flags=re.IGNORECASE)
    for tokens in _expressions(text):
        try:
            value = _Parser(tokens).parse()
        except (ValueError, ZeroDivisionError):
            continue
        if max(value.numerator.bit_length(), value.denominator.bit_length()) <= MAX_BITS:
            return value
    return None


def _expressions(text: str) -> Iterator[list[str]]:
    """Yield runs of numbers and signs that can be expressions."""
    run: list[str] = []
    for match in [*_TOKEN.finditer(text), None]:
        token = match[0] if match else ""
        is_number = token[:1].isdecimal() and len(token) <= MAX_DIGITS
        if is_number or token in _SIGNS:
            run.append(token)
            continue
        tokens, run = _trimmed(run), []
        if sum(one[0].isdecimal() for one in tokens) >= 2 and len(tokens) <= MAX_TOKENS:
            yield tokens


def _trimmed(run: list[str]) -> list[str]:
    """Take signs off the ends that belong to the sentence around an expression."""
    start, stop = 0, len(run)
    spare = run.count("(") - run.count(")")
    while start < stop and (
        run[start] in "*/^%+x)" or run[start] == "**" or (run[start] == "(" and spare > 0)
    ):
        spare -= run[start] == "("
        start += 1
    while stop > start and not run[stop - 1][0].isdecimal() and (run[stop - 1] != ")" or spare < 0):
        spare += run[stop - 1] == ")"
        stop -= 1
    return run[start:stop]


class _Parser:
    """Sums of products of powers, by recursive descent."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = list(tokens)

    def parse(self) -> Fraction:
        value = self._sum()
        if self._tokens:
            raise ValueError(self._tokens[0])
        return value

    def _next(self, *signs: str) -> str | None:
        return self._tokens.pop(0) if self._tokens and self._tokens[0] in signs else None

    def _sum(self) -> Fraction:
        value = self._product()
        while sign := self._next("+", "-"):
            value = value + self._product() if sign == "+" else value - self._product()
        return value

    def _product(self) -> Fraction:
        value = self._power()
        while sign := self._next("*", "x", "/", "%"):
            other = self._power()
            value = value / other if sign == "/" else value % other if sign == "%" else value * other
        return value

    def _power(self) -> Fraction:
        value = self._atom()
        if self._next("**", "^"):
            exponent = self._power()
            if exponent.denominator != 1:
                raise ValueError("exponent")
            if max(value.numerator.bit_length(), value.denominator.bit_length()) * abs(exponent) > MAX_BITS:
                raise ValueError("size")
            value **= int(exponent)
        return value

    def _atom(self) -> Fraction:
        if self._next("-"):
            return -self._power()
        if self._next("("):
            value = self._sum()
            if not self._next(")"):
                raise ValueError(")")
            return value
        if not self._tokens or not self._tokens[0][0].isdigit():
            raise ValueError("no number")
        return Fraction(self._tokens.pop(0).replace(",", ""))


def shown(value: Fraction) -> str:
    """Write a number in plain digits, six decimals at most."""
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.6f}".rstrip("0").rstrip(".")
