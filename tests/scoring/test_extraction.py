from typing import Any

import pytest

from gradetrail.scoring.boxed import find_boxed
from gradetrail.scoring.code_block import last_code_block
from gradetrail.scoring.json_value import last_json
from tests.scoring.grading import answer, graded, graded_one


def extracted(text: str, *rules: Any, scorer: Any = "exact") -> tuple[str | None, str | None]:
    result = graded_one(scorer, text, "x", extract=list(rules))
    return result.extracted, result.extracted_by


def test_the_first_rule_that_finds_something_says_what_the_answer_is() -> None:
    chain = [{"regex": r"A:\s*(.+)", "which": "last"}, "boxed", "number"]
    rows = [answer(text, "2") for text in ("A: 1\nA: 2\n\\boxed{3}", r"\boxed{2} 3", "so 2", "none")]
    results = graded("numeric", rows, extract=chain)
    assert [result.extracted for result in results] == ["2", "2", "2", None]
    assert [result.extracted_by for result in results] == ["regex", "boxed", "number", None]


def test_several_regex_rules_say_which_one_it_was() -> None:
    chain = [r"Final: (\d+)", "boxed", r"Answer: (\d+)"]
    assert extracted("Final: 1", *chain) == ("1", "regex 1")
    assert extracted("Answer: 2", *chain) == ("2", "regex 3")


def test_a_scorers_own_chain_wins_and_an_empty_one_switches_extraction_off() -> None:
    own = {"type": "exact", "extract": [r"B: (\w+)"]}
    assert extracted("A: a B: b", r"A: (\w+)", scorer=own) == ("b", "regex")
    assert extracted("A: a", r"A: (\w+)", scorer={"type": "exact", "extract": []}) == ("A: a", "text")


def test_multiline_is_on_in_extraction() -> None:
    assert extracted("x\nA: 1\ny", r"^A: (.+)$") == ("1", "regex")


def test_blank_matches_are_passed_over() -> None:
    assert extracted("A: 5\nA:  \nA:", {"regex": r"A:(.*)", "which": "last"}) == ("5", "regex")
    assert extracted("A:\n\nA: 5", {"regex": r"A:(.*)", "which": "first"}) == ("5", "regex")
    assert extracted("abc", r"(\d*)") == (None, None)
    assert extracted("b", r"(a)?b") == (None, None)


def test_the_whole_match_counts_where_there_is_no_group() -> None:
    assert extracted("it is 42.", r"\d+") == ("42", "regex")


def test_flags_of_a_rule() -> None:
    assert extracted("ANSWER: x\ny", {"regex": r"answer: (.+)", "flags": ["IGNORECASE", "DOTALL"]}) == (
        "x\ny",
        "regex",
    )


def test_numbers_come_out_canonical() -> None:
    assert extracted("It costs $1,234.50", "number") == ("1234.5", "number")
    assert extracted("1 then 2", {"number": None, "which": "first"}) == ("1", "number")
    assert extracted("about 35%", "number") == ("35%", "number")


def test_the_first_line_is_stripped() -> None:
    assert extracted(" \n\t Paris \r\nbecause", "first_line") == ("Paris", "first_line")


def test_the_text_of_an_option_is_its_letter() -> None:
    row = answer("The Moon.", "B", choices=["the sun", "the moon"])
    (result,) = graded("exact", [row], extract="choice_text")
    assert (result.extracted, result.extracted_by) == ("B", "choice_text")


@pytest.mark.parametrize(
    ("text", "which", "content"),
    [
        (r"\boxed{1} and \boxed{\frac{1}{2}}", "last", r"\frac{1}{2}"),
        (r"\boxed{1} and \boxed{2}", "first", "1"),
        (r"\boxed{x = \boxed{5}}", "last", "5"),
        (r"\fbox{7}", "last", "7"),
        (r"\boxed {7}", "last", "7"),
        (r"\boxed{\text{Yes}}", "last", "Yes"),
        (r"\boxed{\{1, 2\}}", "last", r"\{1, 2\}"),
        (r"\boxed{a}b\boxed{}", "last", "a"),
        (r"\boxed{3} so \boxed{4", "last", "3"),
        (r"\boxed{4", "last", None),
        ("boxed{4}", "last", None),
        (r"} \boxed{4}", "last", "4"),
    ],
)
def test_which_box_counts(text: str, which: str, content: str | None) -> None:
    assert find_boxed(text, which=which) == content
    result = graded_one("exact", text, "x", extract={"boxed": None, "which": which})
    assert result.extracted == content


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\na\n```\nthen\n```py\nb\n```", "b"),
        ("```python\na\n```\nprints\n```\nb\n```", "a"),
        ("```sql\nselect 1\n```", "select 1"),
        ("~~~\na\n```\nb\n~~~", "a\n```\nb"),
        ("````\n```\na\n```\n````", "```\na\n```"),
        ("a\n```\n", "a"),
        ("```python\na", None),
        ("a", None),
    ],
)
def test_which_block_is_the_code(text: str, code: str | None) -> None:
    assert last_code_block(text) == code


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ('so {"answer": 1.50} then', "answer", "1.50"),
        ('{"answer": 1} {"answer": 2}', "answer", "2"),
        ('{"answer": 1} {"note": 2}', "answer", "1"),
        ('```json\n{"a": {"b": [10, "x"]}}\n```', "a.b.1", "x"),
        ('{"a": {"b": [10, true, null]}}', "a", '{"b":[10,true,null]}'),
        ('{"a": true}', "a", "true"),
        ('{"a": null}', "a", None),
        ('{"a": 1', "a", None),
        ('"x"', None, "x"),
        ("```\n[1, 2.0]\n```", None, "[1,2.0]"),
        ("NaN", None, None),
        ('{"a": "\\u00e9 {"}', None, '{"a":"\u00e9 {"}'),
        ("no json {here}", None, None),
    ],
)
def test_which_json_value_counts(text: str, path: str | None, value: str | None) -> None:
    assert last_json(text, path) == value
    result = graded_one({"type": "exact", "normalize": []}, text, "x", extract={"json": path})
    assert result.extracted == value


def test_hostile_texts_take_no_time() -> None:
    for text in (
        "{" * 50_000,
        "[" * 50_000,
        "[1," * 30_000,
        '{"a":' * 20_000,
        r"\boxed{" * 20_000,
        "```\n" * 20_000,
    ):
        last_json(text)
        find_boxed(text)
        last_code_block(text)
