"""A plan is complete before the first call, and says what looks wrong with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradetrail.generation import plan as plan_module
from gradetrail.generation.conversation import SCRIPT_COLUMNS, Scripts
from gradetrail.generation.plan import make_plan
from gradetrail.generation.trials import rows_of
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


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5))
def test_messages_that_a_plan_keeps_are_those_that_rendering_again_gives(questions: list[str]) -> None:
    rows = [{"id": str(n), "q": question, "a": "1"} for n, question in enumerate(questions)]
    prompts = {
        "plain": "{{ q }}",
        "talk": {"messages": [{"system": "Brief."}, {"user": "{{ q }}"}, {"assistant": "?"}, {"user": "Go"}]},
    }  # fmt: skip
    server = {"model": "openai_compatible/m", "base_url": "http://127.0.0.1:1/v1"}
    change = {"prompts": prompts, "epochs": 2, "models": [server, "mock/noisy"]}
    base = {name: value for name, value in BASE.items() if name != "model"}
    plan = make_plan(spec_from({**base, **change}), frame=rows)
    kept, again = Scripts(plan), Scripts(replace(plan, messages={}))
    for row in rows_of(plan.trials, SCRIPT_COLUMNS):
        assert kept.turns(row)(()) == again.turns(row)(())
        assert plan.messages[row["request_key"]] == again.turns(row)(()).messages


def test_a_plan_keeps_the_messages_of_its_first_trials_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "KEPT_BYTES", 1_000)
    rows = [{"id": str(n), "q": f"{n:0300}", "a": "1"} for n in range(9)]
    plan = make_plan(spec_from({**BASE, "prompt": "{{ q }}"}), frame=rows)
    assert list(plan.messages) == plan.trials["request_key"].to_pylist()[:2]


def test_no_messages_are_kept_of_a_scripted_conversation() -> None:
    prompts = {"asked": {"turns": ["{{ q }}", "Are you sure?"]}}
    base = {name: value for name, value in BASE.items() if name != "prompt"}
    assert make_plan(spec_from({**base, "prompts": prompts}), frame=[{"q": "x", "a": "1"}]).messages == {}
