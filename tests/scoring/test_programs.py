from typing import Any

import pytest

from gradetrail.prompt import render
from gradetrail.scoring.definition import columns
from gradetrail.scoring.grade import grade
from tests.scoring.grading import COLUMNS, Graded, answer, connection, definition, grades_of

PARTS = {"program": "varchar", "checks": "varchar", "stdin": "varchar", "stdout": "varchar"}
RIGHT, WRONG = "```python\ndef f():\n    return 1\n```", "```python\ndef f():\n    return 2\n```"


def run(options: dict[str, Any], texts: list[str], sample: dict[str, Any]) -> list[Graded]:
    """Render the scorer's templates for one sample and grade its answers."""
    scorer = definition({"type": "code_exec", **options}, target=None)
    parts = {name: render(template, sample) for name, template in columns(scorer).items()}
    con = connection([answer(text) for text in texts])
    for name, kind in PARTS.items():
        assert name not in COLUMNS
        con.execute(f"alter table answer add column {name} {kind}")
        con.execute(f"update answer set {name} = $value", {"value": parts.get(name)})
    grade(con, scorer)
    return grades_of(con)


def test_checks_of_a_sample_are_counted() -> None:
    checks = {"checks": ["{{ tests }}", "f() > {{ least }}"]}
    sample = {"tests": ["f() == 1", "f() != 3"], "least": 0}
    right, wrong, none, empty = run(checks, [RIGHT, WRONG, "I cannot help.", ""], sample)
    assert (right.score, right.is_pass, right.outcome) == (1, True, "scored")
    assert (wrong.score, wrong.is_pass) == (pytest.approx(2 / 3), False)
    assert (none.outcome, none.detail) == ("unparsed", "no code")
    assert empty.outcome == "empty"
    assert right.extracted == "def f():\n    return 1\n"


def test_one_check_may_be_text() -> None:
    (result,) = run({"checks": "{{ test }}"}, [RIGHT], {"test": "f() == 1"})
    assert result.score == 1


def test_the_code_is_put_into_the_program_as_it_stands() -> None:
    options = {"program": "{{ prompt }}\n{{ response_code }}\nassert f() == X"}
    code = "```python\ndef f():\n    return '{{ prompt }}'\n```"
    (result,) = run(options, [code], {"prompt": "X = '{{ prompt }}'"})
    assert (result.score, result.detail) == (1, "pass")


def test_what_the_program_prints_is_compared() -> None:
    options = {"stdin": "{{ given }}", "stdout": "{{ wanted }}"}
    sample = {"given": "3", "wanted": "6"}
    twice, once = run(
        options, ["```python\nprint(2 * int(input()))\n```", "```python\nprint(input())\n```"], sample
    )
    assert (twice.score, once.score) == (1, 0)


def test_reasoning_is_not_searched_for_code() -> None:
    (result,) = run({"checks": "f() == 1"}, [f"<think>{WRONG}</think>{RIGHT}"], {})
    assert result.score == 1
