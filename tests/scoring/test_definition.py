from dataclasses import replace
from typing import Any

import pytest

from gradetrail.prompt import render
from gradetrail.scoring.definition import columns, definitions
from gradetrail.scoring.definition_check import check
from tests.scoring.grading import answer, definition, graded, spec_with


def problems(scorer: Any, **blocks: Any) -> list[str]:
    return [f"{fault.field}: {fault.message}" for fault in check(definition(scorer, **blocks), "spec.yaml:3")]


BASE: dict[str, Any] = {"type": "numeric", "abs_tol": 0.5}


@pytest.mark.parametrize(
    ("scorer", "blocks"),
    [
        ({**BASE, "abs_tol": 0.6}, {}),
        ({**BASE, "which": "first"}, {}),
        ({**BASE, "pass_threshold": 0.5}, {}),
        ({**BASE, "target": "{{ gold }}"}, {}),
        ({**BASE, "extract": "number"}, {}),
        (BASE, {"target": "{{ gold }}"}),
        (BASE, {"extract": "number"}),
        (BASE, {"extract": [{"number": None, "which": "first"}]}),
        (BASE, {"confidence": r"(\d+)%"}),
        (BASE, {"confidence": {"from": "votes"}}),
        (BASE, {"choices": {"from": "c", "answer": "a"}}),
        ("exact", {}),
    ],
)
def test_whatever_can_change_a_grade_is_in_the_id(scorer: Any, blocks: dict[str, Any]) -> None:
    assert definition(scorer, **blocks).scorer_id() != definition(BASE).scorer_id()


@pytest.mark.parametrize(
    ("scorer", "blocks"),
    [
        (BASE, {"name": "other", "description": "text", "prompt": "{{ other }}", "unanswered": "exclude"}),
        ({**BASE, "rel_tol": 0, "which": "last", "percent": "ignore"}, {}),
        (BASE, {"extract": []}),
        (BASE, {"scorers": {"another": BASE}}),
    ],
)
def test_names_policies_and_defaults_written_out_are_not_in_the_id(
    scorer: Any, blocks: dict[str, Any]
) -> None:
    blocks = {"scorers": {"s": scorer}, **blocks}
    (other,) = definitions(spec_with(scorer, **blocks))
    assert other.scorer_id() == definition(BASE).scorer_id()


def test_the_id_does_not_change_between_versions() -> None:
    chain = [{"regex": r"A:\s*(.+)", "which": "last"}]
    assert definition("numeric", extract=chain).scorer_id() == (
        "c127387f8643abb88bc991503f0b420bcbe16d2dce399fe991d8aa6b58c39d93"
    )


def test_the_record_says_what_a_score_means() -> None:
    record = definition({"type": "f1"}).record()
    assert record["scorer_id"] == definition({"type": "f1"}).scorer_id()
    assert record["definition"] == {"type": "f1", "version": 2, "target": "{{ answer }}"}
    bounds = {key: record[key] for key in ("score_min", "score_max", "higher_is_better", "pass_threshold")}
    assert bounds == {"score_min": 0.0, "score_max": 1.0, "higher_is_better": True, "pass_threshold": 0.5}
    assert definition("exact").record()["pass_threshold"] == 0.999999


def test_only_templates_are_rendered_for_each_sample() -> None:
    assert columns(definition({"type": "regex", "pattern": "A: {{ answer }}"})) == {
        "pattern": "A: {{ answer }}"
    }
    assert columns(definition({"type": "regex", "pattern": "A: (.+)"})) == {}
    assert columns(definition("numeric", extract=[r"A: (.+)"])) == {}


@pytest.mark.parametrize(
    ("scorer", "blocks", "problem"),
    [
        ("exact", {"target": None}, "scorers.s: `exact` needs a target"),
        ("choice", {}, "scorers.s: `choice` needs options"),
        ({"type": "regex", "pattern": "(a"}, {}, "scorers.s.pattern: not a regular expression"),
        ({"type": "regex", "pattern": "({{ answer }}"}, {}, "scorers.s.pattern: not a regular expression"),
        ("exact", {"extract": "(a"}, "extract.0: not a regular expression"),
        ({"type": "exact", "extract": ["boxed", "(a"]}, {}, "scorers.s.extract.1: not a regular expression"),
        ("exact", {"extract": [{"rule": "regex"}]}, "extract.0: `regex` needs a pattern"),
        ("exact", {"extract": ["A: {{ answer }}"]}, "extract.0: `extract` takes no templates"),
        (
            "exact",
            {"extract": [{"rule": "boxed", "flags": ["DOTALL"]}]},
            "extract.0: `boxed` takes no pattern",
        ),
        ("exact", {"extract": [{"rule": "boxed", "path": "a"}]}, "extract.0: `boxed` takes no path"),
        (
            "exact",
            {"extract": [{"rule": "json", "which": "first"}]},
            "extract.0: `json` takes no `which`",
        ),
        (
            {"type": "exact", "normalize": ["strip", "strip"]},
            {},
            "scorers.s.normalize: a step of `normalize`",
        ),
        ("exact", {"confidence": {"from": "text"}}, "confidence: a confidence from text needs a regex"),
        (
            "exact",
            {"confidence": {"from": "votes", "regex": "x"}},
            "confidence.regex: a confidence from votes",
        ),
        ("exact", {"confidence": "(a"}, "confidence.regex: not a regular expression"),
        ({"type": "switch", "on": "{{ m }}", "cases": {}}, {}, "scorers.s.cases: a switch without cases"),
        (
            {
                "type": "switch",
                "on": "{{ m }}",
                "cases": {"a": {"type": "switch", "on": "x", "cases": {"b": "f1"}}},
            },
            {},
            "scorers.s.cases.a: a switch inside a switch",
        ),
        (
            {"type": "switch", "on": "{{ m }}", "cases": {"a": {"type": "regex", "pattern": "("}}},
            {},
            "scorers.s.cases.a.pattern: not a regular expression",
        ),
        (
            {
                "type": "switch",
                "on": "{{ m }}",
                "cases": {"a": {"type": "f1", "target": "{{ b }}"}, "c": "f1"},
            },
            {"target": None},
            "scorers.s.cases.c: `f1` needs a target",
        ),
    ],
)
def test_faults_are_found_before_any_call(scorer: Any, blocks: dict[str, Any], problem: str) -> None:
    found = problems(scorer, **blocks)
    assert [text for text in found if text.startswith(problem)] != [], found


def test_sound_definitions_have_no_faults() -> None:
    choices = {"from": "c", "answer": "a"}
    assert problems("choice", target=None, choices=choices) == []
    assert problems("exact", target=None, choices=choices) == []
    assert problems({"type": "regex", "pattern": "(?<=a)b{{ answer }}"}, target=None) == []
    assert problems({"type": "regex", "pattern": "[[a]b"}) == []
    assert (
        problems(
            "numeric", extract=[{"regex": "A: (.+)"}, {"boxed": None, "which": "first"}, {"json": "a.b"}]
        )
        == []
    )


def test_a_fault_names_its_place() -> None:
    (fault,) = check(definition({"type": "regex", "pattern": "("}), "spec.yaml:3")
    assert (fault.where, fault.field) == ("spec.yaml:3", "scorers.s.pattern")


def test_a_choice_is_compared_with_the_option_shown_and_not_with_the_specs_target() -> None:
    choices = {"from": "c", "answer": "a"}
    assert definition("choice", choices=choices).target is None
    assert definition({"type": "choice", "target": "{{ x }}"}, choices=choices).target == "{{ x }}"
    assert definition("exact", choices=choices).target == "{{ answer }}"


SWITCH = {
    "type": "switch",
    "on": "{{ metric }}",
    "cases": {
        "f1": {"type": "f1", "pass_threshold": 0.9},
        "number": {"type": "numeric", "extract": [r"A: (.+)"], "target": "{{ gold }}"},
        "pattern": {"type": "regex", "pattern": "x{{ answer }}"},
        "other": {"type": "regex", "pattern": "y{{ answer }}", "flags": ["IGNORECASE"]},
    },
}


def test_the_cases_of_a_switch_share_their_columns() -> None:
    switch = definition(SWITCH)
    templates = columns(switch)
    assert templates["switch"] == "{{ metric }}"
    assert isinstance(switch.target, str)
    for metric, pattern, target in (
        ("pattern", "x1", "1"),
        ("other", "y1", "1"),
        ("f1", "", "1"),
        ("number", "", "7"),
    ):
        values = {"metric": metric, "answer": 1, "gold": 7}
        assert render(templates["pattern"], values) == pattern
        assert render(switch.target, values) == target


def test_each_row_of_a_switch_is_graded_by_its_own_case() -> None:
    rows = [
        answer("a b", "a c", switch="f1"),
        answer("a", "a", switch="f1"),
        answer("7 A: 8", "8", switch="number"),
        answer("7", "7", switch="number"),
        answer("x1", None, switch="pattern", pattern="x1"),
        answer("Y1", None, switch="other", pattern="y1"),
        answer("Y1", None, switch="nothing"),
        answer("Y1", None, switch=None),
        answer(None, None, switch="nothing", status="pending"),
    ]
    results = graded(SWITCH, rows)
    assert [result.score for result in results] == [0.5, 1, 1, None, 1, 1, None, None, None]
    assert [result.is_pass for result in results] == [False, True, True, None, True, True, None, None, None]
    assert [result.outcome for result in results[3:]] == [
        "unparsed",
        "scored",
        "scored",
        "scorer_error",
        "scorer_error",
        "pending",
    ]
    assert results[6].detail == "no case for `nothing`"
    assert results[7].detail == "the switch has no value"


def test_the_id_of_a_switch_covers_its_cases() -> None:
    other = {**SWITCH, "cases": {**SWITCH["cases"], "f1": "f1"}}  # type: ignore[dict-item]
    assert definition(SWITCH).scorer_id() != definition(other).scorer_id()
    assert definition(SWITCH).record()["pass_threshold"] == 0.9  # the lowest of its cases


def test_the_content_of_a_file_that_a_scorer_names_is_in_its_id() -> None:
    first = definition("exact")
    assert (
        replace(first, files=(("file", b"00"),)).scorer_id()
        != replace(first, files=(("file", b"01"),)).scorer_id()
    )
