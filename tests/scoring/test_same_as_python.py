"""The SQL of grading against a few lines of plain Python, on random Unicode text."""

import re
from collections import Counter
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from gradetrail.scoring.boxed import find_boxed
from gradetrail.scoring.grade import grade
from gradetrail.scoring.letters import find_letter
from gradetrail.scoring.numbers import find_number
from tests.scoring.grading import Graded, answer, connection, definition, graded, grades_of

WORDS = (
    "Answer A: B C a I is the answer per percent (B) C. ** * . , ; : ! ? ) ( [ ] ' \" ` { } "
    "42 -3.14 1,234 1,2,3 .5 5kg 42abc 1/2 1.2.3 35% $ $29.00 - + \u2212 5e3 x^2 10^3 1{,}234 "
    "\\frac{1}{2} \\boxed{ \\text{ \\% \u0130 \u0131 \u03a3 \u03c2 \u03c3 \u212a \u017f \u00df \ufb01 "
    "\uff14\uff12 \u0664 \u4e2d\u6587 \u00e9 e\u0301 "
    "<think> </think> <THINKING> </thinking> <reasoning> </Reasoning>"
).split(" ")
SPACES = [
    " ",
    "  ",
    "\n",
    "\t",
    "\r\n",
    "\x0b",
    "\x1c",
    "\x85",
    "\xa0",
    "\u2009",
    "\u2028",
    "\u202f",
    "\u3000",
]
FRAGMENTS = st.sampled_from(WORDS) | st.sampled_from(SPACES)
TEXTS = st.lists(FRAGMENTS | st.characters(exclude_categories=["Cs"]), max_size=14).map("".join)
MANY_TEXTS = st.lists(TEXTS, min_size=1, max_size=25)

TAG = r"(?:think|thinking|reasoning)"
FEW = settings(max_examples=30)
"""Each example grades a list of texts."""


def final(text: str) -> str:
    flags = re.ASCII | re.IGNORECASE | re.DOTALL
    text = re.sub(
        r"<think>.*?</think>|<thinking>.*?</thinking>|<reasoning>.*?</reasoning>", "", text, flags=flags
    )
    text = re.sub(rf"\A.*</{TAG}>", "", text, flags=flags)
    return "" if re.search(rf"<{TAG}>", text, flags=flags) else text


def results(scorer: Any, texts: list[str], target: Any, **blocks: Any) -> list[Graded]:
    return graded(scorer, [answer(text, target) for text in texts], **blocks)


def is_empty(text: str) -> bool:
    return not final(text).strip()


@FEW
@given(
    MANY_TEXTS,
    st.lists(TEXTS, min_size=1, max_size=3),
    st.sets(st.sampled_from(["strip", "lower", "collapse_whitespace"])),
)
def test_exact_is_equality_after_the_same_steps(
    texts: list[str], targets: list[str], steps: set[str]
) -> None:
    def normal(text: str) -> str:
        text = text.lower().replace("\u03c2", "\u03c3") if "lower" in steps else text
        text = re.sub(r"\s+", " ", text) if "collapse_whitespace" in steps else text
        return text.strip() if "strip" in steps else text

    scorer = {"type": "exact", "normalize": sorted(steps)}
    wanted = [*targets, final(texts[0])]
    for text, result in zip(texts, results(scorer, texts, wanted), strict=True):
        if is_empty(text):
            assert result.outcome == "empty"
        else:
            assert result.score == float(normal(final(text)) in [normal(target) for target in wanted])


@FEW
@given(MANY_TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.booleans(), st.booleans())
def test_includes_is_a_substring_and_a_blank_target_is_in_nothing(
    texts: list[str], targets: list[str], is_all: bool, case: bool
) -> None:
    def normal(text: str) -> str:
        return text if case else text.lower().replace("\u03c2", "\u03c3")

    wanted = [*targets, final(texts[0])[1:4]]
    scorer = {"type": "includes", "all": is_all, "case": case}
    for text, result in zip(texts, results(scorer, texts, wanted), strict=True):
        held = [bool(target.strip()) and normal(target) in normal(final(text)) for target in wanted]
        if is_empty(text):
            assert result.outcome == "empty"
        else:
            assert result.score == float(all(held) if is_all else any(held))


PATTERNS = st.sampled_from(
    [
        r"A:\s*(.+)", r"(\w+)\s*$", r"\d+", r"(?i)answer\s*(\S*)", r"\b\w\b", r"(?<=A: ).", r"(.)\1",
        r"(\d*)\D", r"x*", r"[^\W\d]+", r"^(\S+)", r"(a|b|)c?", r"(?s)A(.*)C", r"[\u0130i]\w?", r"(?i)[k-s]+",
        r"\s(\s*)\S", r"(?:(\d)|\w)+",
    ]
)  # fmt: skip


@FEW
@given(MANY_TEXTS, PATTERNS, st.sampled_from(["first", "last"]))
@example(["A: \nA: 1"], r"A:\s*(.+)", "last")
def test_extraction_finds_what_finditer_finds(texts: list[str], pattern: str, which: str) -> None:
    extract = [{"regex": pattern, "which": which}]
    for text, result in zip(
        texts, results({"type": "exact", "normalize": []}, texts, "x", extract=extract), strict=True
    ):
        matches = list(re.finditer(pattern, final(text), re.MULTILINE))
        found = [match[1 if match.re.groups else 0] or "" for match in matches]
        found = [item for item in found if item.strip()]
        assert result.extracted == (found[0 if which == "first" else -1] if found else None)
        assert result.extracted_by == ("regex" if found else None)


@FEW
@given(MANY_TEXTS, PATTERNS, st.sampled_from([(), ("IGNORECASE",), ("MULTILINE", "DOTALL")]))
def test_a_regex_scorer_without_a_target_is_re_search(
    texts: list[str], pattern: str, flags: tuple[str, ...]
) -> None:
    scorer = {"type": "regex", "pattern": pattern, "flags": flags}
    bits = sum(getattr(re, flag) for flag in flags)
    for text, result in zip(texts, graded(scorer, map(answer, texts), target=None), strict=True):
        if is_empty(text):
            assert result.outcome == "empty"
        else:
            assert result.score == float(re.search(pattern, final(text), bits) is not None)


@FEW
@given(st.lists(st.tuples(TEXTS, PATTERNS), min_size=1, max_size=25))
def test_a_pattern_for_each_sample_is_re_search_too(pairs: list[tuple[str, str]]) -> None:
    scorer = {"type": "regex", "pattern": "{{ pattern }}", "flags": ["MULTILINE"]}
    rows = [answer(text, pattern=pattern) for text, pattern in pairs]
    for (text, pattern), result in zip(pairs, graded(scorer, rows, target=None), strict=True):
        match = re.search(pattern, final(text), re.MULTILINE)
        if is_empty(text):
            assert result.outcome == "empty"
        else:
            assert result.score == float(match is not None)
            said = (result.detail or "").removeprefix("engine=python").removeprefix("; ")
            assert said == (match[0] if match else pattern)


@settings(max_examples=80)
@given(MANY_TEXTS, st.sampled_from(["first", "last"]), st.sampled_from([".", ","]))
@example([r"\frac 22", r"-$\frac 22"], "last", ".")
@example(
    [
        "-$5",
        "$ 5",
        "5 %",
        "1 1/2",
        "3 / 4",
        "- 5",
        "(5)",
        "x^2",
        "x^ 2",
        "5 per cent",
        "5 pens",
        "1,23",
        "5\\%",
    ],
    "last",
    ".",
)
@example(["1.234,5", "0,5 %", "1.5", "1.234.567"], "last", ",")
def test_numbers_in_sql_are_the_numbers_of_the_grammar(texts: list[str], which: str, decimal: str) -> None:
    scorer = {"type": "numeric", "which": which, "decimal": decimal}
    for text, result in zip(texts, results(scorer, texts, "1"), strict=True):
        number = find_number(final(text), which=which, decimal=decimal)
        assert result.extracted == (number.text if number else None), text
        assert result.score == (float(number.text == "1") if number else None)


@settings(max_examples=50)
@given(MANY_TEXTS, st.integers(min_value=1, max_value=26))
def test_letters_in_sql_are_the_letters_of_the_rule(texts: list[str], n_options: int) -> None:
    options = [f"option {number}" for number in range(n_options)]
    rows = [answer(text, "A", choices=options) for text in texts]
    blocks = {"target": None, "choices": {"from": "c", "answer": "a"}}
    for text, result in zip(texts, graded("choice", rows, **blocks), strict=True):
        letter = find_letter(final(text), options)
        assert result.extracted == letter
        assert result.score == (float(letter == "A") if letter else None)


@FEW
@given(MANY_TEXTS)
def test_boxes_in_sql_are_the_boxes_of_the_rule(texts: list[str]) -> None:
    for text, result in zip(texts, results("exact", texts, "x", extract="boxed"), strict=True):
        assert result.extracted == find_boxed(final(text))


@FEW
@given(MANY_TEXTS)
def test_the_first_line_is_the_first_that_is_not_blank(texts: list[str]) -> None:
    for text, result in zip(texts, results("exact", texts, "x", extract="first_line"), strict=True):
        lines = [line.strip() for line in final(text).split("\n") if line.strip()]
        assert result.extracted == (lines[0] if lines else None)


@FEW
@given(MANY_TEXTS, st.lists(TEXTS, min_size=1, max_size=2))
def test_f1_is_the_overlap_of_multisets_of_words(texts: list[str], targets: list[str]) -> None:
    def f1(one: str, other: str) -> float:
        given, wanted = (
            Counter(re.findall(r"\w+", side.lower().replace("\u03c2", "\u03c3"))) for side in (one, other)
        )
        shared = sum(min(count, wanted[word]) for word, count in given.items())
        if not given or not wanted:
            return float(given == wanted)
        return 0.0 if not shared else 2 * shared / (given.total() + wanted.total())

    for text, result in zip(texts, results("f1", texts, targets), strict=True):
        if is_empty(text):
            assert result.outcome == "empty"
        else:
            assert result.score == pytest.approx(
                max(f1(final(text), target) for target in targets), abs=1e-12
            )


def test_lower_case_is_pythons_for_every_character_but_the_final_sigma() -> None:
    every = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF]
    con = connection([])
    grade(con, definition("exact"))
    rows = con.execute(
        "select lower_text(c), is_blank(c), strip_text(c || 'x' || c) from (select unnest($c) as c)",
        {"c": every},
    )
    for character, (lower, is_blank, stripped) in zip(every, rows.fetchall(), strict=True):
        assert lower == character.lower().replace("\u03c2", "\u03c3")
        assert is_blank == character.isspace()
        assert stripped == f"{character}x{character}".strip()


@settings(max_examples=8)
@given(st.lists(TEXTS, min_size=6, max_size=25), st.integers(min_value=3, max_value=9), st.randoms())
def test_grades_do_not_depend_on_order_batches_or_threads(texts: list[str], size: int, random: Any) -> None:
    chain = [{"regex": r"(?<=A: )\d+"}, {"regex": r"A:\s*(\S+)"}, "boxed", "number"]
    scorer = definition("numeric", extract=chain)
    rows = [answer(text, "42", row=number) for number, text in enumerate(texts)]

    def grades(part: list[Any], threads: int) -> list[Graded]:
        con = connection(part, threads)
        grade(con, scorer)
        return grades_of(con)

    together = grades(rows, 2)
    shuffled = random.sample(rows, len(rows))
    apart = [g for start in range(0, len(rows), size) for g in grades(shuffled[start : start + size], 1)]
    assert sorted(apart, key=lambda g: g.row) == together


@FEW
@given(
    MANY_TEXTS,
    PATTERNS,
    st.lists(TEXTS | st.sampled_from(["A", "42", "A: B", "B C"]), min_size=1, max_size=2),
    st.sampled_from([(), ("IGNORECASE",), ("MULTILINE",)]),
)
@example(["a1 b2", "b2", "b1"], r"(?:(\d)|\w)+", ["b2"], ())
@example(["A: \nA: 1", "A: 1"], r"A:[ ]*(.*)", ["A: 1", "A:"], ())
def test_a_regex_scorer_with_a_target_compares_the_first_match_that_captures_something(
    texts: list[str], pattern: str, targets: list[str], flags: tuple[str, ...]
) -> None:
    bits = sum(getattr(re, flag) for flag in flags)
    wanted = {target.strip() for target in targets} - {""}
    scorer = {"type": "regex", "pattern": pattern, "flags": flags}
    for text, result in zip(texts, results(scorer, texts, targets), strict=True):
        matches = re.finditer(pattern, final(text), bits)
        found = [match for match in matches if (match[1 if match.re.groups else 0] or "").strip()]
        if is_empty(text):
            assert result.outcome == "empty"
        elif not found:
            assert result.outcome == "unparsed"
        else:
            captured = found[0][1 if found[0].re.groups else 0]
            assert result.score == float(bool({captured.strip(), found[0][0].strip()} & wanted))
            assert (result.extracted or "").strip() in {captured.strip(), found[0][0].strip()}
