"""A prompt that keeps something from its judge is told of before anything is paid for."""

from __future__ import annotations

import pytest

from tests.judges.bench import BINARY, Bench

WHOLE = "{{ question }} {{ target }} {{ response }}"
REPLY = "is not told how to reply: put `{{ reply_format }}` into its prompt, or no reply can be read"
TARGET = "is not shown the scorer's `target`: put `{{ target }}` into its prompt"


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        (f"{WHOLE} {{{{ reply_format }}}}", []),
        (f"{WHOLE} Reply with JSON.", []),
        (WHOLE, [REPLY]),
        ("{{ response }} {{ reply_format }}", [TARGET]),
        ("{{ response }}", [REPLY, TARGET]),
    ],
)
def test_a_prompt_without_the_form_of_a_reply_or_the_target_is_told_of(
    bench: Bench, prompt: str, told: list[str]
) -> None:
    bench.file({**BINARY, "prompt": prompt})
    forecast = bench.lab.forecast(bench.spec(judge=bench.judge(target="{{ target }}")))
    warned = [text.partition(" is ")[2] for text in forecast.plan.warnings if "the judge" in text]
    assert [f"is {text}" for text in warned] == told


def test_a_file_without_a_prompt_of_its_own_tells_all(bench: Bench) -> None:
    bench.file({"kind": "binary", "version": 1})
    forecast = bench.lab.forecast(bench.spec(judge=bench.judge(target="{{ target }}")))
    assert [text for text in forecast.plan.warnings if "its prompt" in text] == []
