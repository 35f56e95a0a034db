"""What other task formats call post-processing, in the words of `docs/scorers.md`."""

from typing import Any

import pytest

from tests.scoring.grading import graded_one

TEXT = "  Intro \n```python\nprint(1)\n```\nend \n"


def whole(extract: Any, normalize: list[str] | None = None) -> dict[str, Any]:
    return {"type": "exact", "extract": extract, "normalize": normalize or []}


@pytest.mark.parametrize(
    ("scorer", "text", "left"),
    [
        (whole([]), TEXT, TEXT),
        (whole([], ["strip"]), TEXT, TEXT.strip()),
        (whole([], ["lower"]), " A b\n", " a b\n"),
        (whole("letter"), "Answer: C is right", "C"),
        (whole("letter"), "The answer is (B).", "B"),
        (whole("letter"), "**C**", "C"),
        (whole("letter"), "A good answer is C", "C"),
        (whole(["code_block", {"regex": ".+", "flags": ["DOTALL"]}]), TEXT, "print(1)"),
        (whole(["code_block", {"regex": ".+", "flags": ["DOTALL"]}]), " no\n code\n", " no\n code\n"),
        (whole("first_line"), "\n \n  first \nsecond", "first"),
        (whole({"json": "a.b"}), 'So: {"a": {"b": 1.50}}', "1.50"),
        (whole("json"), 'So: {"a": {"b": 1.50}}', '{"a":{"b":1.50}}'),
        (whole({"json": "1.name"}), '[{"name": "x"}, {"name": "y z"}]', "y z"),
    ],
)
def test_each_step_leaves_what_it_says(scorer: Any, text: str, left: str) -> None:
    result = graded_one(scorer, text, left)
    assert (result.score, result.outcome) == (1, "scored")


@pytest.mark.parametrize(("rule", "text"), [("letter", "no letter here"), ("letter", "Apple"), ("json", "{")])
def test_where_a_rule_finds_nothing_the_answer_is_unparsed(rule: str, text: str) -> None:
    assert graded_one(whole(rule), text, "A").outcome == "unparsed"
