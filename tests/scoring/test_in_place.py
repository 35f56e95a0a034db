"""Grading where the answers are stored gives the scores that grading of whole texts gives, row for row."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from gradetrail import sql
from gradetrail.errors import SpecError
from gradetrail.scoring.grade import definitions
from gradetrail.scoring.in_place import InPlaceGrader
from gradetrail.scoring.numbers import find_number
from gradetrail.scoring.run_grader import RunGrader
from gradetrail.spec import Spec, spec_from
from gradetrail.store import Store
from gradetrail.store.segments import conformed
from gradetrail.store.spool import Spool
from gradetrail.warehouse import Warehouse
from tests.scoring.test_same_as_python import TEXTS
from tests.sql.given import RUN, live_of

Row = dict[str, Any]
LONG = "x" * 700
ANSWERS = [
    "Answer: 42", "Answer: 7\nAnswer: 42\n", "answer: 42", "Answer: \u0664\u0662", "no answer", "", " \n\t",
    "<think>Answer: 41</think>Answer: 42", "<think>Answer: 42", "Answer: 42%", "Answer: 1,234.50",
    "Answer:  THE cat ", "Answer: the  cat", "\\boxed{42}", "\\boxed{x} and \\boxed{\\frac{1}{2}}", "3/6",
    f"Answer: {LONG}", "Answer: \u0130stanbul\nAnswer: ", "Answer: a\x00b", '{"value": 42}', "12e60 or 0.4",
    "[1] \U0001f600 Answer: caf\u00e9", "Answer: 1\u00a0234", "Answer: 42 \u2003", "```\n42\n```",
    "b", "The answer is (C).", "Answer: A or B", "dog", " The CAT. ", "I think C\nor A", "**B**",
]  # fmt: skip
TARGETS = [
    "42", " 42 ", "the cat", "THE  CAT", 42, 1.5, True, None, ["42", "the cat"], [], "", "caf\u00e9", "1/2",
    {"a": [1, "x"]}, "a\x00b", LONG, "\U0001f600", "1234.5", 'quo"te', "back\\slash\n",
]  # fmt: skip
REGEX: Row = {"extract": r"(?i)answer:\s*(\S+)"}
CHOICES: Row = {"choices": {"from": "options", "answer": "right"}, "target": None}
PATTERNS = [
    r"Answer: 4\d", r"(?i)ANSWER", r"(?<=Answer: )\w", r"\b42\b", "(", r"x*", r"(\w+)\s*$",
    "\u0130|\u0664", "4|",
]  # fmt: skip
SCORERS: dict[str, Row] = {
    "exact": {**REGEX, "scorer": "exact"},
    "as it is": {**REGEX, "scorer": {"type": "exact", "normalize": []}},
    "lower": {**REGEX, "scorer": {"type": "exact", "case": False, "normalize": ["collapse_whitespace"]}},
    "python steps": {**REGEX, "scorer": {"type": "exact", "normalize": ["nfkc", "articles", "punctuation"]}},
    "greedy": {"extract": r"Answer: (.*)$", "scorer": {"type": "includes", "case": False}},
    "all": {"extract": [{"regex": r"Answer: ((?:.|\n)*)"}], "scorer": {"type": "includes", "all": True}},
    "chain": {"extract": ["boxed", {"regex": r"Answer: (\d+)\b", "which": "first"}, "number"]},
    "look-around": {"extract": r"(?<=Answer: )\S+", "scorer": "exact"},
    "json": {"extract": [{"rule": "json", "path": "value"}, "first_line", "code_block"], "scorer": "exact"},
    "number": {"scorer": "numeric"},
    "first number": {"scorer": {"type": "numeric", "which": "first", "percent": "fraction"}},
    "near": {"scorer": {"type": "numeric", "abs_tol": 0.5, "rel_tol": 0.01}},
    "piece": {**REGEX, "scorer": {"type": "numeric", "decimal": ","}},
    "pattern": {"extract": "first_line", "scorer": {"type": "regex", "pattern": r"(\w+)\s*$"}},
    "whole": {"scorer": "exact"},
    "whole as it is": {"scorer": {"type": "accuracy", "normalize": []}},
    "whole lower": {"scorer": {"type": "exact", "case": False, "normalize": ["collapse_whitespace"]}},
    "holds": {"scorer": "includes"},
    "holds all": {"scorer": {"type": "includes", "all": True, "case": False}},
    "decimal comma": {"scorer": {"type": "numeric", "decimal": ","}},
    "captures": {"scorer": {"type": "regex", "pattern": r"Answer:\s*(\w+)"}},
    "captures in Python": {"scorer": {"type": "regex", "pattern": r"(?<=Answer: )(\w+)"}},
    "captures a part": {"scorer": {"type": "regex", "pattern": r"(?:the )?(c|4)\w*"}},
    "matches": {"target": None, "scorer": {"type": "regex", "pattern": r"Answer: \d+\b"}},
    "matches nothing too": {"target": None, "scorer": {"type": "regex", "pattern": r"\s*$"}},
    "matches in Python": {"target": None, "scorer": {"type": "regex", "pattern": r"(\d)(?=\1|2)"}},
    "own pattern": {"scorer": {"type": "regex", "pattern": "{{ pattern }}"}},
    "own pattern in a piece": {**REGEX, "scorer": {"type": "regex", "pattern": "{{ pattern }}"}},
    "letter": {**CHOICES, "scorer": "choice"},
    "letter alone": {**CHOICES, "scorer": {"type": "choice", "match_text": False}},
    "letter in a piece": {**CHOICES, "extract": [r"Answer: (.*)", "first_line"], "scorer": "choice"},
    "letter first": {**CHOICES, "extract": ["letter", "choice_text"], "scorer": "exact"},
    "sure": {**REGEX, "scorer": "exact", "confidence": {"from": "logprobs"}},
}  # fmt: skip


def spec_of(blocks: Mapping[str, Any], target: Any = "{{ answer }}") -> Spec:
    base = {"name": "t", "dataset": "data.jsonl", "prompt": "{{ q }}", "model": "mock/m", "target": target}
    return spec_from({**base, **({} if "scorers" in blocks else {"scorer": "exact"}), **blocks})


def opened(
    folder: Path, pairs: Sequence[tuple[str, Any]], more: Mapping[str, Any] = {}, *, has_choices: bool = False
) -> Warehouse:
    """Open a warehouse with a run of two models and epochs in which every kind of trial has its place."""
    Store(folder)
    trials, responses, samples = [], [], []
    for number, (text, target) in enumerate(pairs):
        sample = {"answer": target, "deep": {"er": target}, "q": "?", "right": number % 3}
        sample |= {"options": ["the cat", "42", "dog"], "pattern": PATTERNS[number % len(PATTERNS)]}
        samples.append(
            {"sample_id": f"s{number}", "sample_hash": f"h{number}", "content": json.dumps(sample)}
        )
        order = "[2,0,1]" if number % 2 else "[0,1,2]"
        for model in ("x", "y"):
            for epoch in (1, 2):
                name = f"{model}{number}:{epoch}"
                # the second epoch of each sample gives the answer of the first again
                answer = f"r{model}{number}" if number % 3 == 0 else f"r{name}"
                trial: Row = {
                    "model": model,
                    "sample_id": f"s{number}",
                    "epoch": epoch,
                    "request_key": f"k{name}",
                    "choice_order": order if has_choices else None,
                }
                if number % 7 == 3 and epoch == 2:
                    kinds = (
                        ("error", "timeout"),
                        ("error", "over_context"),
                        ("pending", None),
                        ("skipped", None),
                    )
                    trial["status"], trial["error_type"] = kinds[number % 4]
                else:
                    trial |= {"response_id": answer, "response_run_id": RUN}
                    stops = ("stop", "length", "refusal", "filter", None)
                    trial |= {"stop_reason": stops[number % 5] if model == "y" else "stop"}
                    sure = (0.25, 1.5, None)[number % 3]
                    trial |= {"confidence": sure, "token_nll": sure, "token_count": number % 4}
                    if answer == f"r{name}" or epoch == 1:
                        responses.append({"response_id": answer, "request_key": f"k{name}", "text": text})
                trials.append(trial)
    responses += [
        {"response_id": "unused", "request_key": "ku", "text": "Answer: 1"},
        *more.get("responses", ()),
    ]
    trials += more.get("trials", ())
    given_ = {"trials": trials, "responses": responses, "samples": samples}
    return Warehouse(folder, live=live_of(given_))


def rows_of(scores: pa.Table | Spool) -> list[Row]:
    whole = scores.table() if isinstance(scores, Spool) else scores
    found: list[Row] = conformed("scores", whole).to_pylist()
    return found


def both(warehouse: Warehouse, spec: Spec) -> tuple[list[Row] | None, list[Row]]:
    (definition,) = definitions(spec)
    with contextlib.closing(InPlaceGrader(warehouse, spec, RUN)) as in_place:
        found = in_place.scores(definition)
    grader = RunGrader(warehouse, spec, RUN)
    wanted = rows_of(grader.scores(definition))
    grader.close()
    return None if found is None else rows_of(found), wanted


def pairs_of(texts: Sequence[str]) -> list[tuple[str, Any]]:
    return [(text, TARGETS[number % len(TARGETS)]) for number, text in enumerate([*texts, *texts[::-1]])]


@pytest.mark.parametrize("name", SCORERS)
def test_scores_are_those_of_whole_texts(name: str, tmp_path: Path) -> None:
    with opened(tmp_path, pairs_of(ANSWERS), has_choices="choices" in SCORERS[name]) as warehouse:
        found, wanted = both(warehouse, spec_of(SCORERS[name]))
    assert found == wanted
    assert len(wanted) == 4 * 2 * len(ANSWERS)
    assert {"scored", "truncated", "provider_error", "pending"} <= {row["outcome"] for row in wanted}


@pytest.mark.parametrize("name", ["own pattern", "own pattern in a piece"])
def test_a_query_for_each_pattern_gives_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, pairs_of(ANSWERS)) as warehouse:
        expected = both(warehouse, spec_of(SCORERS[name]))
        monkeypatch.setattr("gradetrail.scoring.regex_search.LONG_GROUP", 1)
        assert both(warehouse, spec_of(SCORERS[name])) == expected
    assert {"scored", "scorer_error"} <= {row["outcome"] for row in expected[1]}


def test_scorers_of_one_run_share_what_was_found(tmp_path: Path) -> None:
    scorers = {"a": "exact", "b": "includes", "c": "numeric", "d": {"type": "exact", "target": "42"}}
    scorers |= {"e": {"type": "choice", "extract": []}, "f": {"type": "regex", "pattern": "{{ pattern }}"}}
    spec = spec_of({**REGEX, **CHOICES, "target": "{{ q }}", "scorers": scorers})
    with opened(tmp_path, pairs_of(ANSWERS), has_choices=True) as warehouse:
        grader = InPlaceGrader(warehouse, spec, RUN)
        whole = RunGrader(warehouse, spec, RUN)
        for definition in definitions(spec):
            found = grader.scores(definition)
            assert found is not None
            assert rows_of(found) == rows_of(whole.scores(definition))
        grader.close()
        whole.close()


@pytest.mark.parametrize(
    "target", [None, "{{ answer | tojson }}", "{{deep.er}}", ["{{ q }}", "42"], "Answer"]
)
def test_targets_are_those_that_templates_give(target: Any, tmp_path: Path) -> None:
    pairs = [(text, wanted) for text, wanted in pairs_of(ANSWERS) if wanted is not None]
    with opened(tmp_path, pairs) as warehouse:
        found, wanted = both(
            warehouse, spec_of({**REGEX, "scorer": {"type": "regex", "pattern": "(.+)"}}, target)
        )
    assert found == wanted


@pytest.mark.parametrize(
    "name", ["exact", "chain", "near", "pattern", "whole lower", "holds", "captures", "own pattern", "letter"]
)
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(TEXTS, TEXTS | st.sampled_from(["42", "7 %"])), min_size=8, max_size=20))
def test_random_texts_and_targets_are_graded_alike(
    name: str, tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("random")
    with opened(folder, pairs, has_choices="choices" in SCORERS[name]) as warehouse:
        found, wanted = both(warehouse, spec_of(SCORERS[name]))
    assert found == wanted


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_a_numbers_text_is_read_as_that_number(text: str) -> None:
    number = find_number(text)
    assert number is None or find_number(number.marked()) == number


ODD: dict[str, dict[str, list[Row]]] = {
    "gone": {
        "trials": [
            {"sample_id": "s0", "epoch": 9, "request_key": "k", "response_id": "r", "response_run_id": RUN}
        ]
    },
    "stored twice": {"responses": [{"response_id": "rx0", "request_key": "k", "text": "Answer: 42"}]},
}


@pytest.mark.parametrize("odd", ODD)
def test_a_run_with_an_answer_that_is_odd_is_left_to_grading_of_whole_texts(odd: str, tmp_path: Path) -> None:
    with opened(tmp_path, pairs_of(ANSWERS), ODD[odd]) as warehouse:
        found, wanted = both(warehouse, spec_of(SCORERS["exact"]))
    assert found is None
    assert wanted


def test_a_run_that_is_too_large_for_the_memory_is_left_too(tmp_path: Path) -> None:
    with opened(tmp_path, pairs_of(ANSWERS)) as warehouse:
        live = warehouse.live
    spec = spec_of(SCORERS["exact"])
    (definition,) = definitions(spec)
    with Warehouse(tmp_path, live=live, room=sql.Room("6MB")) as warehouse:
        assert InPlaceGrader(warehouse, spec, RUN).scores(definition) is None


def test_scorers_that_look_at_more_than_what_is_extracted_are_left_too(tmp_path: Path) -> None:
    with opened(tmp_path, pairs_of(ANSWERS[:3])) as warehouse:
        for scorer in ("f1", {"type": "exact", "normalize": ["nfkc"]}, {"type": "sql", "sql": "text = '42'"}):
            assert both(warehouse, spec_of({"scorer": scorer}))[0] is None


def test_samples_that_cannot_be_rendered_are_named_as_they_are_elsewhere(tmp_path: Path) -> None:
    with opened(tmp_path, pairs_of(ANSWERS)) as warehouse:
        spec = spec_of({**REGEX, "scorer": "exact"}, "{{ nothing }}")
        (definition,) = definitions(spec)
        with pytest.raises(SpecError) as found:
            InPlaceGrader(warehouse, spec, RUN).scores(definition)
        with pytest.raises(SpecError) as wanted:
            RunGrader(warehouse, spec, RUN).scores(definition)
    assert [str(fault) for fault in found.value.faults] == [str(fault) for fault in wanted.value.faults]
