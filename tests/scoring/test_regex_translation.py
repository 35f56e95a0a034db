import re
import unicodedata
import warnings
from collections.abc import Callable

import duckdb
import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from gradetrail.scoring.regex_translation import (
    DIGIT,
    SPACE,
    WORD,
    Translation,
    UntranslatableError,
    translate,
)

ATOMS = st.sampled_from(
    r"a b A 1 k s i \d \w \s \D \W \S . [ab] [^a] [\d_] [^\s] [a-c1] [\W1] [^\W_] [^\S\n] [k-s] "
    r"\n \b \B ^ $ \A \Z : "
    "\u00e9 \u0130 \u0131 \u017f \u212a \u00df \u03c3 \u03c2".split()
)
REPEATS = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{,2}", "{0,}", "*?", "+?", "??", "{1,2}?"])
CHARACTERS = st.sampled_from(
    "aabbAB11 2\n\n\t:_-xsSiIkK\u00e9\u00a0\u0130\u0131\u017f\u212a\u00df\u1e9e"
    "\u03c3\u03c2\u03a3\u0663\u00bd\u00b2\u6587\x1c"
)
TEXTS = st.lists(st.text(CHARACTERS, min_size=1, max_size=9), min_size=8, max_size=12)
FLAGS = st.sampled_from([0, re.IGNORECASE, re.MULTILINE, re.DOTALL, re.IGNORECASE | re.MULTILINE])


def compound(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.lists(parts, min_size=1, max_size=3)
    return (
        joined.map("".join)
        | joined.map(lambda items: f"(?:{'|'.join(items)})")
        | parts.map(lambda part: f"({part})")
        | st.builds(lambda part, repeat: f"(?:{part}){repeat}", parts, REPEATS)
        | st.builds(lambda part, repeat: f"({part}){repeat}", parts, REPEATS)
        | parts.map(lambda part: f"(?i:{part})")
    )


PATTERNS = st.recursive(ATOMS, compound, max_leaves=8)


@pytest.fixture(scope="module")
def search() -> Callable[[Translation, list[str]], list[tuple[bool, str, str, list[str]]]]:
    con = duckdb.connect()
    query = """
        select regexp_matches(text, $pattern), regexp_extract(text, $pattern, $group),
            regexp_extract(text, $pattern, $whole), regexp_extract_all(text, $pattern, $group)
        from (select unnest($texts::varchar[]) as text)
    """

    def run(translation: Translation, texts: list[str]) -> list[tuple[bool, str, str, list[str]]]:
        group, whole = translation.group, translation.whole
        params = {"pattern": translation.pattern, "group": group, "whole": whole, "texts": texts}
        return con.execute(query, params).fetchall()

    return run


@settings(max_examples=400)
@given(PATTERNS, FLAGS, TEXTS)
def test_a_translated_pattern_finds_what_python_finds_in_the_same_place(
    search: Callable[..., list[tuple[bool, str, str, list[str] | None]]],
    pattern: str,
    flags: int,
    texts: list[str],
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = re.compile(pattern, flags)
    try:
        translation = translate(pattern, flags)
    except UntranslatableError:
        return
    group = 1 if compiled.groups else 0
    for text, (is_match, captured, whole, every) in zip(texts, search(translation, texts), strict=True):
        if translation.is_ascii_only and not text.isascii():
            continue
        match = compiled.search(text)
        assert is_match == (match is not None)
        if match is not None:
            assert (captured, whole) == (match[group] or "", match[0])
            assert match[group] or not translation.is_never_empty
        if not translation.can_match_empty:
            found = [item[group] or "" for item in compiled.finditer(text)]
            assert [item or "" for item in every or []] == found


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(?<=a)b", "look-ahead or look-behind"),
        (r"a(?!b)", "negative look-ahead or look-behind"),
        (r"(a)\1", "a back-reference"),
        (r"(a)?(?(1)b|c)", "a conditional group"),
        (r"a++", "a possessive repeat"),
        (r"(?>a|ab)c", "an atomic group"),
        (r"a{1001}", "a repeat of more than 1,000"),
        (r"(?:a*)*", "a repeat of what may be empty"),
        (r"a$|b", "`$` before the end of the pattern"),
        (r"(?a)\w", "the ASCII or LOCALE flag"),
    ],
)
def test_what_re2_cannot_express_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(UntranslatableError, match=re.escape(reason)):
        translate(pattern)


def test_a_dollar_leaves_the_final_newline_out_of_the_match() -> None:
    translation = translate(r"A:\s*(.+)$")
    assert (translation.whole, translation.group) == (1, 2)


@pytest.mark.parametrize(
    ("python", "re2"), [(r"\w", f"[{WORD}]"), (r"\d", f"[{DIGIT}]"), (r"\s", f"[{SPACE}]")]
)
def test_a_class_holds_the_same_code_points_but_for_those_too_new_for_this_python(
    python: str, re2: str
) -> None:
    every = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF]
    query = "select regexp_matches(c, $pattern) from (select unnest($every::varchar[]) as c)"
    found = duckdb.connect().execute(query, {"pattern": re2, "every": every}).fetchall()
    differ = [c for c, (held,) in zip(every, found, strict=True) if held != bool(re.match(python, c))]
    assert [c for c in differ if unicodedata.category(c) != "Cn"] == []


@pytest.mark.parametrize(
    "character", ["i", "k", "s", "\u0130", "\u0131", "\u03c3", "\u00df", "\u1c80", "\ua64b"]
)
def test_ignoring_case_matches_the_same_characters_out_of_all(character: str) -> None:
    every = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF]
    pattern = translate(f"[{character}x]", re.IGNORECASE).pattern
    query = "select c from (select unnest($every::varchar[]) as c) where regexp_full_match(c, $pattern)"
    found = duckdb.connect().execute(query, {"pattern": pattern, "every": every}).fetchall()
    expected = [c for c in every if re.fullmatch(f"[{character}x]", c, re.IGNORECASE)]
    assert [c for (c,) in found] == expected
