r"""What a number is in an answer, and when two of them are equal.

Invariant: a number has one canonical text, so that two numbers are equal if and only if their texts
are. Nothing is rounded, whatever the length.

A number is one of, with ASCII digits and `.` as the decimal mark (or `,`, and `.` for thousands):

    42   -3.14   .5   1,234,567   12,34,567   1 234 567 (no-break, narrow or thin space)   1{,}234   1\,234
    1.5e3   2E-4   10^6   10⁻⁶   2 x 10^3   2 \times 10^{3}   3/4   1 1/2   \frac{3}{4}   1\frac{1}{2}

(also with U+00D7, U+00B7 and U+22C5 as times, and U+2044 as the slash)

- A sign counts (`-`, `+`, U+2212) directly before the digits or their currency sign, unless it follows
  a letter, digit, closing bracket or percent sign: `5-10` are 5 and 10, `COVID-19` is 19.
- Currency signs, brackets, quotes, markdown and LaTeX commands around it do not matter, nor does a
  full stop or comma after it. Commas that do not separate thousands separate numbers: `1,2,3`.
- Letters attached to it make it no number (`42abc`, `3rd`, `5k`, `v2`), unless they are one of UNITS.
  Letters are those of Latin, Greek and Cyrillic, and raised, lowered and other digits (`5₂`) count as such;
  scripts written without spaces may touch it.
- A percent sign or the word `percent` marks it; what that means is the scorer's option.
- No numbers are the parts of versions, longer quotients and dates such as `1/2/2026` and `1.2.3`, of powers,
  indices and roots (`x^2`, `2^10`, `5²`, `a_1`, `\sqrt{2}`, `2\pi`), `1_000`, `nan`, `inf`, a quotient
  by zero, what a per mille sign or a fraction of one character follows (`5‰`, `1 ½`), and what has more than
  1,000 digits, or 4 in its exponent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import gcd

UNITS = (
    "kg", "g", "mg", "lb", "lbs", "oz", "km", "m", "cm", "mm", "mi", "ft", "in", "l", "L", "ml", "mL",
    "h", "hr", "hrs", "min", "mins", "s", "sec", "secs", "ms", "mph", "am", "pm",
)  # fmt: skip
"""Letters that may be attached to a number."""
MAX_DIGITS = 1000
EXPONENT_DIGITS = 4
"""Longest exponent that is read, so the canonical text of a number has no longer one."""
PLAIN_DIGITS = 40
"""Longest canonical text that zeros fill up; an exponent says the rest."""

_WORD = (
    r"\dA-Za-z_\u00aa\u00b2\u00b3\u00b5\u00b9\u00ba\u00bc-\u00be\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af"
    r"\u0370-\u03ff\u0400-\u052f\u1e00-\u1fff\u2070-\u209c\u2150-\u215e"
)
_SIGN = r"[-+\u2212]"
_THIN = r"\u00a0\u2009\u202f"
_SLASH = r"[/\u2044]"
_TIMES = r"(?:[x*\u00d7\u00b7\u22c5]|\\times|\\cdot)"
_RAISED = str.maketrans(
    "\u207a\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u2212", "+-0123456789-", "^{}"
)
"""Signs and digits of an exponent as ASCII."""
_OTHER = "\u2030\u2031\u00bc-\u00be\u2150-\u215e"
"""Signs after a number that make it another one, which is not read: per mille, fractions of one character.

They stand as themselves, since RE2 has no such escapes."""


_PLAIN = re.compile(r"-?[0-9]{1,38}\Z")
"""A text that is one whole number needs no search."""


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a text."""

    text: str
    """Canonical: `-1234.5`, `12e60`, or `1/3` where no decimal is exact."""
    is_percent: bool

    def marked(self) -> str:
        """Give the text with the percent sign, if it had one."""
        return f"{self.text}%" if self.is_percent else self.text


@cache
def number_pattern(decimal: str) -> re.Pattern[str]:
    """Compile the grammar above for a decimal mark, `.` or `,`."""
    is_point = decimal == "."
    point = r"\." if is_point else r"(?:,|\{,\})"
    comma = rf"(?:,|\{{,\}}|\\,|[{_THIN}])" if is_point else rf"(?:\.|\\,|[{_THIN}])"
    bare, other = re.escape(decimal), "," if is_point else r"\."
    start = (
        r"(?=[-+\u2212\\.,0-9])"
        rf"(?<![{_WORD}])(?<![\^_])(?<![\^_]\{{)(?<![\^_][-+\u2212])(?<![\^_]\{{[-+\u2212])(?<![0-9]{bare})"
        rf"(?<![0-9]{_SLASH})(?<![0-9] {_SLASH})(?<![0-9]{_SLASH} )(?<![0-9] {_SLASH} )"
        r"(?<!\}\{)(?<!frac\{)(?<!sqrt\{)(?<!\u221a)"
    )
    money = r"\\?[$\u00a3\u00a5\u20ac\u20b9] ?"
    sign = rf"(?:(?<![{_WORD}\)\]\}}%.\u00b0+\u2212-])(?P<sign>{_SIGN})(?:{money})?)?"
    frac = r"\\[dtc]?frac"
    tex = (
        rf"{frac}(?: ?\{{ ?(?P<up>-?[0-9]{{1,18}}) ?\}} ?\{{ ?(?P<down>[0-9]{{1,18}}) ?\}}"
        r"|(?P<up1>[0-9])(?P<down1>[0-9]))"
    )
    quotient = rf"(?P<over>[0-9]{{1,18}}) ?{_SLASH} ?(?P<under>[0-9]{{1,18}})(?! ?{_SLASH})(?!{bare}[0-9])"
    whole = rf"(?:(?P<whole>[0-9]{{1,18}})(?: ?(?={frac})|[ {_THIN}](?=[0-9])))?"
    fraction = rf"{whole}(?:{tex}|{quotient})"
    grouped = rf"[1-9][0-9]{{0,2}}(?:{comma}[0-9]{{3}})+(?!{other}[0-9])"
    if is_point:
        grouped += r"|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?!,[0-9])"
    digits = (
        rf"(?P<digits>{grouped}|[0-9]+)(?:{point}(?P<part>[0-9]+))?"
        rf"|(?<![.,\)\]\}}]){point}(?P<bare>[0-9]+)"
    )
    exponent = rf"{_SIGN}?[0-9]{{1,{EXPONENT_DIGITS}}}"
    raised = (
        rf"\^{exponent}|\^\{{{exponent}\}}"
        rf"|[\u207a\u207b]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{{1,{EXPONENT_DIGITS}}}"
    )
    power = (
        rf"(?:[eE](?P<e>{exponent})"
        rf"|[ {_THIN}]?{_TIMES}[ {_THIN}]?10(?P<power>{raised}))?"
    )
    units = "|".join(sorted(UNITS, key=len, reverse=True))
    end = (
        rf"(?:(?P<percent>[ {_THIN}]?\\?%|[ {_THIN}](?:percent|per cent)(?![{_WORD}]))"
        rf"|(?:{units})(?![{_WORD}])|(?![{_WORD}]))"
        rf"(?!{bare}[0-9])(?! ?{_SLASH} ?[0-9])(?![ {_THIN}]?[{_OTHER}])"
        rf"(?![ {_THIN}]?{_TIMES}[ {_THIN}]?10[\^\u207a\u207b\u2070\u00b9\u00b2\u00b3\u2074-\u2079])"
        rf"(?! ?\\(?:pi|sqrt))(?!\^(?!\{{?\\circ))"
    )
    return re.compile(rf"{start}{sign}(?:10(?P<ten>{raised})|{fraction}|(?:{digits}){power}){end}")


def plain_number_pattern(decimal: str) -> str:
    """Give an RE2 pattern whose group 1 is the last number of a text, where that number is a plain one.

    It takes only tokens that the grammar reads the same way, and nothing else: no match means that
    `find_number` must look. It is anchored at the end, so that RE2 reads the text from there.
    """
    comma = "," if decimal == "." else r"\."
    before = (
        r"(?:\A|[\t\n\r(\[:=*\"'`~<>|!?;&#@]|(?:\A|[\t\n\r -#%-.0-~]) "
        r"|(?:\A|[\t\n\r -*,.-\[\]-~])\$|\\boxed\{)"
    )
    digits = rf"(?:[1-9][0-9]{{0,2}}(?:{comma}[0-9]{{3}})+|[0-9]+)(?:{re.escape(decimal)}[0-9]+)?"
    word = r"p(?:[^e0-9][^0-9]*|e(?:[^r0-9][^0-9]*)?)?"
    after = rf"(?:[\t\n\r!-$&-/:-@\[\]`{{-~][^0-9]*| (?:[^%\\p0-9{_OTHER}][^0-9]*|{word})?)?"
    return rf"{before}(-?{digits}(?: ?%)?){after}\z"


def find_number(text: str, *, which: str = "last", decimal: str = ".") -> Number | None:
    """Give the first or last number of a text; None if there is none."""
    if _PLAIN.match(text):
        is_negative = text.startswith("-")
        return Number(canonical_decimal(is_negative, text.lstrip("-"), 0), is_percent=False)
    found = None
    for match in number_pattern(decimal).finditer(text):
        number = _number(match)
        if number is None:
            continue
        if which == "first":
            return number
        found = number
    return found


def rewrite_numbers(text: str) -> str:
    """Write every number of a text in its canonical form: `1,000.0` becomes `1000`."""

    def canonical(match: re.Match[str]) -> str:
        number = _number(match)
        return match[0] if number is None else number.marked()

    return number_pattern(".").sub(canonical, text)


def _number(match: re.Match[str]) -> Number | None:
    parts = match.groupdict()
    is_negative = parts["sign"] not in (None, "+")
    is_percent = parts["percent"] is not None
    under = parts["under"] or parts["down"] or parts["down1"]
    if under is not None:
        over = int(parts["over"] or parts["up"] or parts["up1"])
        if int(under) == 0:
            return None
        is_negative, over = is_negative != (over < 0), abs(over)
        return Number(
            canonical_fraction(is_negative, over + int(parts["whole"] or 0) * int(under), int(under)),
            is_percent,
        )
    digits = "1" if parts["ten"] else re.sub(r"[^0-9]", "", parts["digits"] or "")
    part = parts["part"] or parts["bare"] or ""
    if len(digits) + len(part) > MAX_DIGITS:
        return None
    power = (parts["e"] or parts["power"] or parts["ten"] or "0").translate(_RAISED)
    text = canonical_decimal(is_negative, digits + part, int(power) - len(part))
    if len(text.partition("e")[2].removeprefix("-")) > EXPONENT_DIGITS:
        return None
    return Number(text, is_percent)


def canonical_decimal(is_negative: bool, digits: str, exponent: int) -> str:
    """Give the one text of `digits` times ten to the `exponent`."""
    shown = digits.rstrip("0")
    exponent += len(digits) - len(shown)
    shown = shown.lstrip("0")
    sign = "-" if is_negative else ""
    if not shown:
        return "0"
    if -len(shown) < exponent < 0:
        return f"{sign}{shown[:exponent]}.{shown[exponent:]}"
    if exponent and max(len(shown) + exponent, -exponent) > PLAIN_DIGITS:
        return f"{sign}{shown}e{exponent}"
    return sign + (shown + "0" * exponent if exponent >= 0 else f"0.{shown.rjust(-exponent, '0')}")


def canonical_fraction(is_negative: bool, over: int, under: int) -> str:
    """Give the one text of a quotient: a decimal where that is exact, else in lowest terms."""
    shared = gcd(over, under)
    over, under = over // shared, under // shared
    twos, fives, rest = 0, 0, under
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest == 1:
        places = max(twos, fives)
        return canonical_decimal(is_negative, str(over * 10**places // under), -places)
    return f"{'-' if is_negative else ''}{over}/{under}"


def exact_value(text: str) -> Fraction:
    """Turn a canonical text into the number."""
    over, _, under = text.partition("/")
    return Fraction(Decimal(over)) / Fraction(Decimal(under or "1"))


def compared(text: str, *, is_percent: bool, percent: str) -> str:
    """Give the canonical text that counts: a hundredth where percent means a fraction."""
    if not (is_percent and percent == "fraction"):
        return text
    value = exact_value(text) / 100
    return canonical_fraction(value < 0, abs(value.numerator), value.denominator)


def is_within(answer: str, target: str, abs_tol: float, rel_tol: float) -> bool:
    """Compare exactly; the edge of the tolerance counts, and `rel_tol` is relative to the target."""
    given, wanted = exact_value(answer), exact_value(target)
    allowed = max(Fraction(repr(abs_tol)), Fraction(repr(rel_tol)) * abs(wanted))
    return abs(given - wanted) <= allowed
