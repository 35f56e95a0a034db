"""A plan is complete before the first call, and says what looks wrong with it."""

from __future__ import annotations

from typing import Any

from gradetrail.generation.plan import make_plan
from gradetrail.spec import spec_from

BASE = {"name": "t", "dataset": {}, "target": "{{ a }}", "scorer": "exact", "model": "mock/noisy"}
ROWS = [{"question": "x", "a": "1"}, {"question": "y", "a": "2"}]


def warnings(**change: Any) -> tuple[str, ...]:
    return make_plan(spec_from({**BASE, **change}), frame=ROWS).warnings


def test_a_prompt_without_a_field_is_warned_of() -> None:
    assert warnings(prompt="{{ question }}") == ()
    (said,) = warnings(prompt="{question}")
    assert "asks all of its 2 trials the same" in said


def test_epochs_at_temperature_zero_are_warned_of() -> None:
    cold = {"prompt": "{{ question }}", "epochs": 3, "request": {"temperature": 0}}
    (said,) = warnings(**cold)
    assert "3 epochs at temperature 0" in said


def test_equal_requests_share_a_key_and_others_do_not() -> None:
    rows = [
        {"id": "1", "q": "same", "a": "1"},
        {"id": "2", "q": "same", "a": "2"},
        {"id": "3", "q": "other", "a": "3"},
    ]
    trials = make_plan(spec_from({**BASE, "prompt": "{{ q }}"}), frame=rows).trials
    first, second, third = trials["request_key"].to_pylist()
    assert first == second != third
