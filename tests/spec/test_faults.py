"""One mistake in a spec is one fault, in the words of the spec."""

from __future__ import annotations

from typing import Any

import pytest

from gradetrail.errors import SpecError
from gradetrail.spec import spec_from

WHOLE: dict[str, Any] = {
    "name": "t", "dataset": "d.jsonl", "prompt": "{{ q }}", "target": "{{ a }}", "scorer": "exact",
    "model": "mock/noisy",
}  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "field", "message", "fix"),
    [
        ({"epochs": "two"}, "epochs", "must be a whole number (given: 'two')", "`epochs: 4`"),
        ({"model": "opena/gpt-5"}, "models.0.model", "unknown model `opena/gpt-5`", "mean `openai/gpt-5`?"),
        ({"epochs": 0}, "epochs", "must be greater than 0 (given: 0)", "a greater number"),
        (
            {"request": {"temperature": "hot"}},
            "request.temperature",
            "must be a number (given: 'hot')",
            "`temperature: 0.5`",
        ),
        (
            {"prompt": 3},
            "prompts.default",
            "must be a mapping or its short form (given: 3)",
            "`default: {...}`",
        ),
        ({"prompt": [{"usr": "a"}]}, "prompts.default.messages.0.usr", "`usr` is not allowed", "`user`"),
        ({"models": [{"modell": "x"}]}, "models.0.modell", "unknown key `modell`", "`model`"),
        ({"choices": {"form": "a", "answer": "b"}}, "choices.form", "unknown key `form`", "`from`"),
        ({"scorers": {}}, "scorers", "must not be empty", "at least one"),
        (
            {"scorers": "numeric"},
            "scorers",
            "must be a mapping or its short form (given: 'numeric')",
            "one alone is `scorer: ...`",
        ),
        ({"scorer": {"tpe": "exact"}}, "scorers.scorer", "a scorer needs a `type`", "numeric"),
        ({"scorer": {"type": "exat"}}, "scorers.exat", "unknown scorer type `exat`", "`exact`"),
        ({"extract": [{"regx": "a"}]}, "extract.0.regx", "unknown key `regx`", "`regex`"),
        ({"run": {"executor": "dask"}}, "run.executor", "`dask` is not allowed", "local, ray"),
    ],
)
def test_a_mistake_is_one_fault(parts: dict[str, Any], field: str, message: str, fix: str) -> None:
    short = {"models": "model", "scorers": "scorer"}
    whole = {key: value for key, value in WHOLE.items() if key not in [short.get(name) for name in parts]}
    with pytest.raises(SpecError) as caught:
        spec_from({**whole, **parts})
    (fault,) = caught.value.faults
    assert (fault.field, fault.message) == (field, message)
    assert fix in fault.fix


@pytest.mark.parametrize(("right", "wrong"), [("scorer", "scorr"), ("model", "modle"), ("prompt", "promt")])
def test_a_misspelt_short_form_is_one_fault(right: str, wrong: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_from({wrong if key == right else key: value for key, value in WHOLE.items()})
    (fault,) = caught.value.faults
    assert (fault.field, f"did you mean `{right}`?" in fault.fix) == (wrong, True)


@pytest.mark.parametrize("kind", ["numeric", "exact", "includes", "choice"])
def test_an_unknown_option_lists_the_options_of_its_own_scorer_and_no_other(kind: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_from({**WHOLE, "scorer": {"type": kind, "zzz": 1}})
    (fault,) = caught.value.faults
    assert ("abs_tol" in fault.fix) is (kind == "numeric")
    assert ("memory_mb" in fault.fix) is False


def test_scorer_types_and_union_members_are_not_part_of_a_field() -> None:
    scorer = {"type": "switch", "on": "x", "cases": {"q": {"type": "exact", "bad": 1}}}
    with pytest.raises(SpecError) as caught:
        spec_from({**WHOLE, "scorer": scorer, "request": {"stop": 3}})
    assert [fault.field for fault in caught.value.faults] == ["request.stop", "scorers.switch.cases.q.bad"]
