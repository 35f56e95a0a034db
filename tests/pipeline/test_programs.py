"""Programs beside other answers in one dataset: each case of a switch keeps to its own templates."""

from __future__ import annotations

from tests.pipeline.lab import Lab, chat, question_of
from tests.servers import Call, Reply

ANSWERS = {
    "add": "```python\ndef add(a, b):\n    return a + b\n```",
    "print": "```python\nprint(2 + 2)\n```",
    "say": "Paris",
}


def test_cases_of_a_switch_may_be_programs_with_different_templates(lab: Lab) -> None:
    def answer(call: Call) -> Reply:
        return Reply(body=chat(ANSWERS[question_of(call)]))

    lab.api.answer = answer
    lab.data(
        [
            {"id": "1", "question": "add", "kind": "checks", "target": ["add(1, 2) == 3", "add(0, 0) == 1"]},
            {"id": "2", "question": "print", "kind": "output", "target": ["4"]},
            {"id": "3", "question": "say", "kind": "text", "target": ["Paris"]},
        ]
    )
    cases = {
        "checks": {"type": "code_exec", "checks": "{{ target }}"},
        "output": {"type": "code_exec", "stdout": "{{ target | join('\n') }}"},
        "text": "exact",
    }
    lab.run(lab.spec(extract=None, scorer={"type": "switch", "on": "{{ kind }}", "cases": cases}))
    assert [
        tuple(r.values()) for r in lab.rows("select sample_id, outcome, score from graded order by all")
    ] == [
        ("1", "scored", 0.5),
        ("2", "scored", 1.0),
        ("3", "scored", 1.0),
    ]
