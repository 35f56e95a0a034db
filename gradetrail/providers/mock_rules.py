"""Answers from rules on the text of a prompt: arithmetic, letters, code, labels, summaries.

Invariant: an answer depends on the question's text alone, so it is the same in any order and on
every machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from gradetrail.providers.mock_arithmetic import MAX_DIGITS, NUMBER, arithmetic, shown, value_of_expression

_OPTION = re.compile(r"(?<![\w])\(?([A-J])[.):]\s+(.+?)(?=\s+\(?[A-J][.):]\s|\n|\Z)")
_SIGNATURE = re.compile(r"\b([A-Za-z_]\w*)\(([^()]*)\)")
_LABELLED = re.compile(r"\b([A-Z][\w ]{0,20}):\s*<[^>\n]+>")
"""An instruction such as `End with a line "A: <number>"`."""
_NEEDS_MORE = re.compile(
    r"\(?A[.):]\s|answer\b|choose\b|end\b|finish\b|give\b|reply\b|respond\b|review:|text:|think\b",
    re.IGNORECASE,
)
"""How a paragraph begins that belongs to the question before it."""
_POSITIVE = frozenset(
    "amazing best brilliant charming delightful enjoyed excellent fantastic good great happy love loved "
    "perfect superb wonderful".split()
)
_NEGATIVE = frozenset(
    "awful bad bland boring broke broken disappointing dreadful dull hate hated horrible poor sad "
    "terrible waste worst".split()
)
_EITHER = re.compile(
    r"\b(positive|negative)\b[\s,/]+(?:\w+[\s,/]+){0,2}?(positive|negative)\b", re.IGNORECASE
)
_FACTS = (
    (("closest", "sun"), "mercury"),
    (("largest", "planet"), "jupiter"),
    (("red", "planet"), "mars"),
    (("capital", "france"), "paris"),
    (("capital", "japan"), "tokyo"),
    (("boil", "water"), "100"),
    (("chemical", "water"), "h2o"),
)
_BODIES = (
    (r"even", "{0} % 2 == 0"),
    (r"odd", "{0} % 2 == 1"),
    (r"palindrome", "{0} == {0}[::-1]"),
    (r"revers", "{0}[::-1]"),
    (r"factorial", "1 if {0} < 2 else {0} * {name}({0} - 1)"),
    (r"fib", "{0} if {0} < 2 else {name}({0} - 1) + {name}({0} - 2)"),
    (r"largest|max", "max({all})"),
    (r"smallest|min(?!us)", "min({all})"),
    (r"square", "{0} ** 2"),
    (r"subtract|difference", "{0} - {1}"),
    (r"multipl|product", "{0} * {1}"),
    (r"divi", "{0} / {1}"),
    (r"\badd|sum\b|total", "{0} + {1}"),
    (r"length|count", "len({0})"),
)


def question_of(text: str) -> str:
    """Give the question at the end of a prompt, without examples that stand before it."""
    spaced = re.sub(r"[^\S\n]+", " ", text.strip())
    blocks = [block for block in re.split(r"\n\s*\n", spaced) if block.strip()]
    if not blocks:
        return ""
    start = len(blocks) - 1
    while start > 0 and _NEEDS_MORE.match(blocks[start].strip()):
        start -= 1
    return "\n\n".join(blocks[start:])


def answer(text: str) -> str:
    """Answer a prompt by the first rule that fits it."""
    question = question_of(text)
    said = next(found for rule in RULES if (found := rule(question)) is not None)
    label = _LABELLED.search(question)
    return f"{label[1]}: {said}" if label else said


def options_of(question: str) -> list[tuple[str, str]]:
    """List the options of a multiple-choice question as (letter, text); empty if it has none."""
    found = [(match[1], match[2].split(". ")[0].strip(" .")) for match in _OPTION.finditer(question)]
    in_order = [option for number, option in enumerate(found) if option[0] == chr(ord("A") + number)]
    return in_order if len(in_order) >= 2 else []


def choice(question: str) -> str | None:
    """Give the letter of an option; None if the question has no options."""
    options = options_of(question)
    if not options:
        return None
    asked = question[: question.index(options[0][1])].lower()
    return next(
        (letter for test in _TESTS for letter, text in options if test(asked, text, options)), options[0][0]
    )


def _is_result(asked: str, option: str, _: Sequence[tuple[str, str]]) -> bool:
    value = value_of_expression(asked)
    return value is not None and shown(value) == option.replace(",", "")


def _is_known(asked: str, option: str, _: Sequence[tuple[str, str]]) -> bool:
    return any(all(word in asked for word in words) and fact in option.lower() for words, fact in _FACTS)


def _has_property(asked: str, option: str, options: Sequence[tuple[str, str]]) -> bool:
    numbers = [int(text) for _, text in options if text.isdecimal() and len(text) < 10]
    if len(numbers) < len(options):
        return False
    number = int(option)
    if "prime" in asked:
        return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))
    if re.search(r"largest|greatest|biggest|highest", asked):
        return number == max(numbers)
    if re.search(r"smallest|least|lowest", asked):
        return number == min(numbers)
    parity = {"even": 0, "odd": 1}
    return any(re.search(rf"\b{word}\b", asked) and number % 2 == rest for word, rest in parity.items())


def _is_longest(_: str, option: str, options: Sequence[tuple[str, str]]) -> bool:
    return len(option) == max(len(text) for _, text in options)


_TESTS = (_is_known, _has_property, _is_result, _is_longest)


def code(question: str) -> str | None:
    """Write a Python function; None if the question asks for none."""
    signature = _SIGNATURE.search(question)
    if signature is None or not re.search(r"\b(function|def|python|code)\b", question, re.IGNORECASE):
        return None
    name = signature[1]
    names = [re.split(r"[:=]", part)[0].strip(" *") for part in signature[2].split(",") if part.strip()]
    described = (name, question)
    forms = (form for text in described for words, form in _BODIES if re.search(words, text, re.IGNORECASE))
    form = next(forms, "{0}" if names else "None")
    if len(names) == 1:
        form = {"{0} + {1}": "sum({0})"}.get(form, form)
    padded = [*names, *(["0"] * 2)]
    body = form.format(*padded, name=name, all=", ".join(names))
    return f"```python\ndef {name}({', '.join(names)}):\n    return {body}\n```"


def label(question: str) -> str | None:
    """Give a label; None if the question asks for none."""
    found = _EITHER.search(question)
    if found is None:
        return _one_of_the_labels(question)
    rest = (question[: found.start()] + question[found.end() :]).lower()
    words = re.findall(r"\w+", rest)
    wanted = (
        "positive" if sum(w in _POSITIVE for w in words) > sum(w in _NEGATIVE for w in words) else "negative"
    )
    return (
        next(one for one in found.groups() if one.lower() == wanted)
        if found[1].lower() != found[2].lower()
        else found[1]
    )


def _one_of_the_labels(question: str) -> str | None:
    found = re.search(r"\bclassify\b[^.:]*?\b(?:as|into|one of)\b:?\s+([^.:?\n]+)", question, re.IGNORECASE)
    if found is None:
        return None
    labels = [part.strip(" \"'`") for part in re.split(r",|\bor\b", found[1]) if part.strip()]
    rest = question[found.end() :].lower()
    return next((one for one in labels if one.lower() in rest), labels[0]) if labels else None


def summary(question: str) -> str | None:
    """Give the first sentence of the passage; None if no summary is asked for."""
    asked = re.search(r"\b(summar\w+|tl;?dr|headline)\b", question, re.IGNORECASE)
    if asked is None:
        return None
    rest = question[asked.end() :]
    passage = rest.partition(":")[2] or rest
    sentence = re.match(r"\s*(.+?[.!?])(?=\s|\Z)", passage, re.DOTALL)
    return " ".join((sentence[1] if sentence else passage).split())


def story(question: str) -> str | None:
    """Combine the numbers of a story; None if it has none."""
    found = [text for text in NUMBER.findall(question) if len(text) <= MAX_DIGITS]
    numbers = [Fraction(text.replace(",", "")) for text in found]
    if not numbers:
        return None
    if re.search(r"\b(each|every|per|times)\b", question, re.IGNORECASE) and len(numbers) > 1:
        return shown(numbers[0] * numbers[1])
    if re.search(r"\b(left|remain\w*|fewer|less|gave|lost|spent)\b", question, re.IGNORECASE):
        return shown(numbers[0] - sum(numbers[1:]))
    return shown(sum(numbers, Fraction(0)))


def words(question: str) -> str:
    """Say something short where no rule fits."""
    return (
        "yes"
        if re.match(r"\s*(is|are|was|were|do|does|did|can|has|have)\b", question, re.I)
        else "I do not know."
    )


RULES: tuple[Callable[[str], str | None], ...] = (code, choice, label, summary, arithmetic, story, words)
"""In the order in which they are tried; the last always answers."""


def vocabulary(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case."""
    return (match[0] for match in re.finditer(r"\w+", text.lower()))
