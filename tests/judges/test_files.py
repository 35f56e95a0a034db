"""Judge files and their options: what is refused, with file, line and field, before any call."""

from __future__ import annotations

from typing import Any

import pytest

from gradetrail.errors import SpecError
from gradetrail.scoring.definition import definitions
from tests.judges.bench import BINARY, Bench

RUBRIC = {"kind": "rubric", "version": 1}


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("kind: binary\nversion: 1\npromt: '{{ response }}'\n", 3, "unknown key `promt`"),
        ("kind: binry\nversion: 1\n", 1, "did you mean `binary`"),
        ("kind: binary\n", 1, "`version` is missing"),
        ("kind: binary\nversion: one\n", 2, "must be a whole number"),
        ("kind: binary\nversion: 1\nprompt: '{{ response '\n", 3, "template"),
        ("kind: binary\nversion: 1\nprompt: '{{ respons }}'\n", None, "did you mean `response`"),
        ("kind: binary\nversion: 1\nprompt: '{{ response | shout }}'\n", 3, "No filter named 'shout'"),
        ("- kind: binary\n", 1, "a judge file is a mapping"),
        ("kind: binary\nkind: rubric\n", 2, "stands twice"),
        ("kind: rubric\nversion: 1\n", None, "has `criteria` by name"),
        ("kind: binary\nversion: 1\ncriteria: {a: b}\n", None, "has `criteria` by name"),
        ("kind: rubric\nversion: 1\ncriteria: {a: b}\n", None, "`a` needs two levels or more"),
        ("kind: rubric\nversion: 1\ncriteria: {score: {levels: [0, 1]}}\n", None, "cannot be called `score`"),
        (
            "kind: rubric\nversion: 1\ncriteria: {a: {levels: [0, 1]}, b: {levels: [1, 5]}}\n",
            None,
            "different scales",
        ),
        ("kind: binary\nversion: 1\nreply: grade\ngrades: {C: 2}\n", None, "each worth 0 to 1"),
        ("kind: preference\nversion: 1\nreply: grade\n", None, "replies in JSON"),
    ],
)
def test_a_faulty_judge_file_is_refused_before_any_call(
    bench: Bench, content: str, line: int | None, words: str
) -> None:
    bench.file(content)
    with pytest.raises(SpecError) as caught:
        bench.run()
    assert words in str(caught.value)
    assert "judge.yaml" in str(caught.value) or "scorer `judge`" in str(caught.value)
    if line is not None:
        assert f"judge.yaml:{line}" in str(caught.value)
    assert bench.lab.api.n_calls == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"file": "nowhere.yaml"}, "no judge file `nowhere.yaml`"),
        ({"votes": 0}, "scorers.judge.votes"),
        ({"votes": 2, "min_votes": 3}, "min_votes 3 is more than the 2 votes"),
        ({"swap": True}, "only a preference takes `swap`"),
        ({"model": "nobody/x"}, "unknown model `nobody/x`"),
        ({"model": "openai_compatible/x"}, "needs `base_url`"),
        ({"model": "anthropic/claude-haiku-4-5"}, "Anthropic requires max_tokens"),
        ({"model": {"model": "openai/x", "api_key_env": "NO_SUCH_KEY"}}, "NO_SUCH_KEY"),
        ({"model": {"model": "openai_compatible/x", "base_url": "http://u:p@h/v1"}}, "base_url"),
        ({"modle": "x"}, "unknown key `modle`"),
    ],
)
def test_a_faulty_option_is_refused_with_its_field(bench: Bench, options: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as caught:
        bench.run(bench.judge(**options))
    assert words in str(caught.value)


def test_a_judge_without_a_key_is_refused_before_the_models_under_test_are_paid(bench: Bench) -> None:
    model = bench.lab.model("openai", "judge", api_key_env="NO_SUCH_KEY")
    with pytest.raises(SpecError, match="NO_SUCH_KEY"):
        bench.run(bench.judge(model=model))
    assert bench.lab.api.n_calls == 0


def test_the_older_form_loads_unchanged(bench: Bench) -> None:
    bench.file(
        {"version": 3, "output": "score_0_1", "prompt": "{{ question }} {{ response }} Right: {{ target }}\n"}
    )
    model = {
        "provider": "openai_compatible", "name": "judge", "base_url": bench.lab.api.v1,
        "params": {"max_tokens": 300},
    }  # fmt: skip
    bench.says = lambda call: {"score": 0.5, "reason": "half"}
    spec = bench.lab.spec(
        scorer={"type": "judge", "judge_prompt": "judge.yaml", "model": model, "samples": 2}
    )
    bench.lab.run(spec)
    assert bench.n_judged == 12
    assert bench.grade("s1")["raw_score"] == 0.5
    assert bench.grade("s1")["detail"] == "half; half"
    sent = bench.judged[0].body
    assert (sent["max_tokens"], sent["temperature"]) == (300, 0)


@pytest.mark.parametrize(
    ("change", "is_other"),
    [
        ({}, False),
        ({"votes": 3}, True),
        ({"aggregate": "majority"}, True),
        ({"min_votes": 1}, False),
        ({"pass_threshold": 0.9}, True),
        ({"temperature": 0}, True),
        ({"headers": {"X-Team": "a"}}, False),
        ({"as": "lab judge"}, False),
        ({"file": {**BINARY, "version": 2}}, True),
        ({"file": {**BINARY, "prompt": "{{ response }}?"}}, True),
    ],
)
def test_the_identity_covers_what_can_change_a_verdict(
    bench: Bench, change: dict[str, Any], is_other: bool
) -> None:
    def scorer_id(votes: int = 1, **own: Any) -> str:
        model = {k: own.pop(k) for k in ("temperature", "headers", "as") if k in own}
        bench.file(own.pop("file", BINARY))
        judge = bench.judge(model=bench.lab.model(name="judge", **model), votes=votes, **own)
        return definitions(bench.spec(judge))[0].scorer_id()

    same = {"min_votes": 1} if change == {"min_votes": 1} else {}
    assert (scorer_id(**change) != scorer_id(**same)) == is_other


def test_no_header_value_of_a_judge_is_stored(bench: Bench) -> None:
    secret = "hush-0123456789"
    model = bench.lab.model(name="judge", headers={"X-Team": secret})
    bench.run(bench.judge(model=model))
    assert bench.judged[0].headers["x-team"] == secret
    files = [path for path in bench.lab.warehouse.rglob("*") if path.is_file()]
    assert files
    assert not any(secret.encode() in path.read_bytes() for path in files)


@pytest.mark.parametrize(
    ("judge", "models", "words"),
    [
        ("openai/gpt-5.1-mini", ["openai/gpt-5.1-mini"], "is a model under test (openai/gpt-5.1-mini)"),
        ("openai/gpt-5.1", ["openai/gpt-5.1-mini"], "is of the family of openai/gpt-5.1-mini"),
        (
            "openai_compatible/meta/llama-3-70b",
            ["openai_compatible/llama-3-8b"],
            "family of openai_compatible",
        ),
        ("openai/gpt-5.1", ["openai_compatible/llama-3-8b"], None),
    ],
)
def test_a_judge_of_its_own_kind_is_warned_of_before_the_first_call(
    bench: Bench, judge: str, models: list[str], words: str | None
) -> None:
    def model(name: str) -> dict[str, Any]:
        return {"model": name, "base_url": bench.lab.api.v1}

    spec = bench.spec(bench.judge(model=model(judge)), model=None, models=[model(name) for name in models])
    warnings = [text for text in bench.lab.forecast(spec).plan.warnings if "judge" in text]
    assert bool(warnings) == (words is not None)
    assert words is None or words in warnings[0]
    assert bench.lab.api.n_calls == 0
