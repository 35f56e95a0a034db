from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from gradetrail import sql
from gradetrail.scoring.numbers import (
    UNITS,
    canonical_decimal,
    canonical_fraction,
    compared,
    exact_value,
    find_number,
    is_within,
    plain_number_pattern,
    rewrite_numbers,
)
from tests.scoring.grading import answer, definition, graded, graded_one


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234,567.50", "1234567.5"),
        ("1\u00a0234\u00a0567", "1234567"),
        ("1\u2009234", "1234"),
        ("12,34,567", "1234567"),
        ("1{,}234", "1234"),
        (r"\$1\,234", "1234"),
        ("1,2,3", "3"),
        ("1,23", "23"),
        ("007", "7"),
        ("0.00", "0"),
        ("-0", "0"),
        (".5", "0.5"),
        ("x=.5", "0.5"),
        ("5.", "5"),
        ("1.5e3", "1500"),
        ("2E-4", "0.0002"),
        ("1e400", "1e400"),
        ("2 \u00d7 10^3", "2000"),
        (r"6.02 \times 10^{23}", "602000000000000000000000"),
        ("10^-6", "0.000001"),
        ("6.02\u00d710\u00b2\u00b3", "602000000000000000000000"),
        ("3 \u22c5 10^8", "300000000"),
        ("3\u00b710\u2078", "300000000"),
        ("5 \u00d7 10\u207b\u00b3", "0.005"),
        ("5\u2009\u00d7\u200910\u207a\u00b3", "5000"),
        ("5 \\times 10\u207b\u00b9\u2070", "0.0000000005"),
        ("10\u00b2", "100"),
        ("-10\u207b\u00b2", "-0.01"),
        ("2\u20443", "2/3"),
        ("1 3\u20444", "1.75"),
        ("3 \u2044 4 of it", "0.75"),
        ("5 m\u00b2", "5"),
        ("4 \u00d7 2", "2"),
        ("3/4", "0.75"),
        ("3 / 4", "0.75"),
        ("1/3", "1/3"),
        ("4/6", "2/3"),
        ("-1 1/2", "-1.5"),
        (r"\frac{3}{4}", "0.75"),
        (r"-\dfrac{1}{3}", "-1/3"),
        (r"\frac{-1}{3}", "-1/3"),
        (r"2\frac{1}{2}", "2.5"),
        (r"\frac12", "0.5"),
        (r"\boxed{\text{42 km}}", "42"),
        ("-5", "-5"),
        ("\u22125", "-5"),
        ("+5", "5"),
        ("-$5", "-5"),
        ("$-5", "-5"),
        (r"-\$5.00", "-5"),
        ("- 5", "5"),
        ("5-10", "10"),
        ("(3)-4", "4"),
        ("COVID-19", "19"),
        ("It costs 5\u20ac.", "5"),
        ("5kg", "5"),
        ("5km/h", "5"),
        ("25 cm^2", "25"),
        ("45^\\circ", "45"),
        ("90\u00b0", "90"),
        ("12:30", "30"),
        ("\u7b54\u6848\u662f5\u4e2a", "5"),
        ("|5|", "5"),
        ("`5`", "5"),
        ("<b>5</b>", "5"),
    ],
)
def test_what_a_number_is(text: str, number: str) -> None:
    found = find_number(text)
    assert found is not None
    assert found.text == number
    assert graded_one("numeric", text, number).score == 1


@pytest.mark.parametrize(
    "text",
    [
        "42abc", "3rd", "5k", "v2", "1_000", "nan", "inf", "Infinity", "1/2/2026", "1.2.3", "x^2",
        "2^10", "x^{2}",
        "a_1", r"\sqrt{2}", r"2\pi", "3/0", "1.5/2", "5\u00b2", "2\u00bd", "1 \u00bd",
        "4\uff12", "5\u2082", "4\u0662", "\uff124", "5\u2030", "5 \u2030", "5\u00a0\u2031", "10\u207b",
        "2\u207b\u00b3",
        "3 \u00d7 10\u00b9\u00b9\u00b9\u00b9\u00b9", "1\u20442\u20442026", "1.5\u20442", "3\u20440",
        "2\u207f", "3 x 10^99999", "\uff14\uff12", "\u0664",
        "5\u03c0", ",", ".", "-", "1" * 1001,
    ],
)  # fmt: skip
def test_what_no_number_is(text: str) -> None:
    assert find_number(text) is None
    assert graded_one("numeric", text, "1").outcome == "unparsed"


@pytest.mark.parametrize("unit", UNITS)
def test_units_may_be_attached_and_other_letters_may_not(unit: str) -> None:
    assert graded_one("numeric", f"it is 5{unit}.", "5").score == 1
    assert graded_one("numeric", f"it is 5{unit}x.", "5").score is None


def test_the_decimal_mark_can_be_a_comma() -> None:
    scorer = {"type": "numeric", "decimal": ","}
    rows = [
        answer("1.234,5", "1234,50"),
        answer("0,5 %", "0,5"),
        answer("1,5", "1,5"),
        answer("1.234.567", "1234567"),
    ]
    assert [result.score for result in graded(scorer, rows)] == [1, 1, 1, 1]
    assert [result.extracted for result in graded(scorer, rows)] == ["1234.5", "0.5", "1.5", "1234567"]


def test_the_first_or_the_last_number_counts() -> None:
    text = "2 + 3 = 5"
    assert graded_one("numeric", text, "5").score == 1
    assert graded_one({"type": "numeric", "which": "first"}, text, "2").score == 1
    assert graded_one({"type": "numeric", "which": "first"}, "A: 2 + 3", "2", extract="A: (.+)").score == 1


def test_numbers_of_any_length_are_compared_to_the_last_digit() -> None:
    digits = "12345678901234567890123456789012345678"
    for number in (digits, f"{digits}0000", f"0.{digits}", digits * 20):
        assert graded_one("numeric", f"it is {number}", number).score == 1
        assert graded_one("numeric", f"it is {number}1", number).score == 0
    assert graded_one("numeric", "9007199254740993", "9007199254740992").score == 0


@pytest.mark.parametrize(
    ("text", "target", "tolerance", "score"),
    [
        ("42.4", "42", {"abs_tol": 0.5}, 1),
        ("42.5", "42", {"abs_tol": 0.5}, 1),
        ("43", "42", {"abs_tol": 0.5}, 0),
        ("0.4", "0.3", {"abs_tol": 0.1}, 1),
        ("0.40000000000000001", "0.3", {"abs_tol": 0.1}, 0),
        ("101", "100", {"rel_tol": 0.02}, 1),
        ("102", "100", {"rel_tol": 0.02}, 1),
        ("103", "100", {"rel_tol": 0.02}, 0),
        ("-98", "-100", {"rel_tol": 0.02}, 1),
        ("0.1", "0", {"rel_tol": 0.1}, 0),
        ("1/3", "0.333", {"abs_tol": 0.001}, 1),
        ("1e400", "1.1e400", {"rel_tol": 0.1}, 1),
        ("1e400", "2e400", {"rel_tol": 0.1}, 0),
        ("34%", "0.35", {"abs_tol": 0.01, "percent": "fraction"}, 1),
    ],
)
def test_the_edge_of_a_tolerance_is_inside(
    text: str, target: str, tolerance: dict[str, float], score: float
) -> None:
    assert graded_one({"type": "numeric", **tolerance}, text, target).score == score


def test_one_of_several_targets_is_enough() -> None:
    rows = [answer(text, ["1/3", "0.333"]) for text in ("0.333", "2/6", "0.3333")]
    assert [result.score for result in graded("numeric", rows)] == [1, 1, 0]
    assert [result.score for result in graded({"type": "numeric", "abs_tol": 0.001}, rows)] == [1, 1, 1]


def test_percent_means_the_same_on_both_sides() -> None:
    for option in ("ignore", "fraction"):
        scorer = {"type": "numeric", "percent": option}
        assert graded_one(scorer, "35 %", "35%").score == 1
        assert graded_one(scorer, "35 percent", "35%").extracted == "35%"
        assert graded_one(scorer, "1/3%", "1/3%").score == 1
    assert compared("12.5", is_percent=True, percent="fraction") == "0.125"


DIGITS = st.text("0123456789", min_size=1, max_size=45)


@given(st.booleans(), DIGITS, st.integers(-60, 60))
def test_a_canonical_decimal_is_the_same_number(is_negative: bool, digits: str, exponent: int) -> None:
    text = canonical_decimal(is_negative, digits, exponent)
    assert exact_value(text) == (-1 if is_negative else 1) * int(digits) * Fraction(10) ** exponent


@given(st.integers(0, 10**18), st.integers(1, 10**18), st.integers(1, 50))
def test_equal_quotients_have_one_text_and_other_ones_another(over: int, under: int, factor: int) -> None:
    text = canonical_fraction(False, over, under)
    assert exact_value(text) == Fraction(over, under)
    assert canonical_fraction(False, over * factor, under * factor) == text
    assert canonical_fraction(False, over + 1, under) != text


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6))
def test_a_decimal_and_its_quotient_have_one_text(value: object) -> None:
    exact = Fraction(str(value))
    number = find_number(f"it is {value:f}")
    assert number is not None
    assert number.text == canonical_fraction(exact < 0, abs(exact.numerator), exact.denominator)


def test_a_tolerance_is_the_decimal_that_was_written() -> None:
    assert is_within("0.8", "0.1", 0.7, 0)
    assert not is_within("0.80000000000000000001", "0.1", 0.7, 0)


def test_numbers_in_a_text_are_rewritten_in_place() -> None:
    assert rewrite_numbers("From 1,000.0 to $2.50, 42abc and 3/4") == "From 1000 to $2.5, 42abc and 0.75"


def test_hostile_texts_take_no_time() -> None:
    for text in ("1" * 50_000, "1," * 25_000, "1/" * 25_000, "- " * 25_000, "1.2." * 12_000, "{" * 50_000):
        find_number(text)


@given(
    st.booleans(),
    st.from_regex(r"[0-9]{1,30}(\.[0-9]{1,30})?", fullmatch=True),
    st.integers(-9999, 9999),
)
def test_a_canonical_text_is_read_as_itself_whatever_the_exponent(
    is_negative: bool, digits: str, exponent: int
) -> None:
    found = find_number(f"{'-' * is_negative}{digits}e{exponent}")
    if found is not None:
        again = find_number(found.text)
        assert again is not None
        assert again.text == found.text


def test_exponents_of_four_digits_are_read_and_longer_ones_make_no_number() -> None:
    assert number_of("1.5e-999") == "15e-1000"
    assert number_of("15e-1000") == "15e-1000"
    assert number_of("1.5e-9999") is None
    assert number_of("2e10000") is None


SIGNS = "0123456789.,-+/^{} %$=:x*eE_()[]`\\~|\n"
OTHERS = "\u2009\u00a0\u00d7\u22c5\u00b7\u2044\u00b2\u2078\u207b\u2082\u2030\u00bd\uff12\u0662\u2212"
WORDS = "10,12,percent,per,p,kg,is ,\\times,\\pi,\\sqrt{,\\frac,\\boxed{,\u7b54"
PIECES = st.lists(st.sampled_from([*SIGNS, *OTHERS, *WORDS.split(",")]), max_size=14).map("".join)


@settings(max_examples=60)
@given(st.lists(PIECES, min_size=50, max_size=50), st.sampled_from([".", ","]))
@example(["5 \u2030", "it is 5 \u2030", "1 \u00bd", "it is 4 \u2031."], ".")
def test_what_sql_takes_for_a_plain_number_is_the_last_one_of_the_grammar(
    texts: list[str], decimal: str
) -> None:
    found = sql.connect(threads=1).execute(
        "select t, regexp_extract(t, $pattern, 1) from (select unnest($texts) as t)",
        {"pattern": plain_number_pattern(decimal), "texts": texts},
    )
    for text, plain in found.fetchall():
        if plain:
            assert find_number(text, decimal=decimal) == find_number(plain, decimal=decimal)


def test_a_changed_meaning_of_numbers_is_in_the_ids_of_what_reads_them() -> None:
    assert definition("numeric").content()["version"] == 2
    assert definition({"type": "exact", "normalize": ["numbers"]}).content()["version"] == 2
    assert definition({"type": "includes", "normalize": ["numbers"]}).content()["version"] == 2
    assert definition("exact").content()["version"] == 1
    assert definition("exact", extract=["number"]).content()["extract"] == [{"rule": "number", "version": 2}]


def number_of(text: str) -> str | None:
    found = find_number(text)
    return None if found is None else found.text
