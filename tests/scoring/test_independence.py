"""A grade depends on its answer and target alone: not on batches, order or threads; on random text."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from gradetrail.scoring.grade import grade
from tests.scoring.grading import Graded, answer, connection, definition, grades_of
from tests.scoring.test_same_as_python import TEXTS
from tests.scoring.whole import Desk

CALLS = [
    None, "[]", '[{"id": null, "name": "f", "arguments": "{}"}]',
    '[{"id": "1", "name": "f", "arguments": "{\\"x\\": 1}"}, {"id": "2", "name": "g", "arguments": "{}"}]',
]  # fmt: skip
WANTED_CALLS = ['{"name": "f"}', '[{"name": "f", "arguments": {"x": 1}}, {"name": "g"}]', "[]"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | TEXTS,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.sampled_from("abc"), values, max_size=3),
    max_leaves=5,
).map(lambda value: json.dumps(value, ensure_ascii=False))

SCORERS: list[Any] = [
    {"type": "exact", "normalize": ["nfkc", "lower", "articles", "punctuation"]},
    {"type": "includes", "case": False, "all": True},
    {"type": "numeric", "abs_tol": 0.5},
    {"type": "regex", "pattern": r"(?i)a\w*\s*(\S+)"},
    "f1", {"type": "f1", "rules": "squad"}, "bleu_add1", "rouge_l",
    {"type": "rouge_l", "rules": "rouge_score"}, "bleu", {"type": "chrf", "word_order": 2}, "edit_distance",
    {"type": "edit_distance", "unit": "word", "measure": "distance"},
]  # fmt: skip


def parts_of(rows: list[Any], scorer: Any, *, size: int, threads: int) -> list[Graded]:
    """Grade rows in batches of so many."""
    found = []
    for start in range(0, len(rows), size):
        con = connection(rows[start : start + size], threads)
        grade(con, definition(scorer))
        found += grades_of(con)
    return sorted(found, key=lambda one: (one.row, one.metric))


@pytest.mark.parametrize("scorer", SCORERS, ids=str)
@settings(max_examples=2, deadline=None)
@given(
    pairs=st.lists(st.tuples(TEXTS, TEXTS | st.sampled_from(["42", "the answer"])), min_size=5, max_size=20),
    size=st.integers(2, 7),
    seed=st.integers(0, 9),
)
def test_a_text_is_graded_alike_in_any_batch_order_and_number_of_threads(
    scorer: Any, pairs: list[tuple[str, str]], size: int, seed: int
) -> None:
    rows = [answer(text, target, row=number) for number, (text, target) in enumerate(pairs)]
    shuffled = random.Random(seed).sample(rows, len(rows))
    together = parts_of(rows, scorer, size=len(rows), threads=1)
    assert parts_of(shuffled, scorer, size=len(rows), threads=4) == together
    assert parts_of(shuffled, scorer, size=size, threads=2) == together


@settings(max_examples=3, deadline=None)
@given(st.lists(st.tuples(JSON | TEXTS, JSON), min_size=4, max_size=14), st.integers(2, 5))
def test_json_is_compared_alike_in_any_batch(pairs: list[tuple[str, str]], size: int) -> None:
    """Fields that a batch does not name are no metrics of it, so only the score is compared."""
    rows = [answer(text, target, row=number) for number, (text, target) in enumerate(pairs)]

    def scores(found: list[Graded]) -> Any:
        return [(one.row, one.score, one.outcome, one.extracted) for one in found if one.metric == "score"]

    together = scores(parts_of(rows, "json_match", size=len(rows), threads=1))
    assert scores(parts_of(rows[::-1], "json_match", size=size, threads=4)) == together
    assert len(together) == len(rows)


@settings(max_examples=3, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(CALLS), st.sampled_from(WANTED_CALLS)), min_size=4, max_size=14),
    st.integers(2, 5),
)
def test_tool_calls_are_compared_alike_in_any_batch(pairs: list[tuple[Any, str]], size: int) -> None:
    rows = [
        answer("ok", wanted, row=number, tool_calls=calls) for number, (calls, wanted) in enumerate(pairs)
    ]
    together = parts_of(rows, "tool_calls", size=len(rows), threads=1)
    assert parts_of(rows[::-1], "tool_calls", size=size, threads=4) == together


WHOLE = {
    "number": "numeric",
    "word": {"type": "includes", "target": "a", "case": False},
    "long": {"type": "sql", "sql": "length(text) / (1 + length(response))"},
    "mean": {"type": "combine", "of": {"number": 2, "word": 1, "long": 0.5}},
    "most": {"type": "combine", "of": ["number", "word"], "by": "majority"},
}


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXTS, min_size=6, max_size=16), seed=st.integers(0, 9))
def test_expressions_and_combinations_of_a_run_do_not_depend_on_its_parts_or_order(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], seed: int
) -> None:
    answers = [{"sample_id": f"s{number}", "text": text} for number, text in enumerate(texts)]
    shuffled = random.Random(seed).sample(answers, len(answers))
    found = []
    for given_, part_trials in ((answers, 100_000), (shuffled, 3)):
        folder: Path = tmp_path_factory.mktemp("whole")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gradetrail.scoring.answers.PART_TRIALS", part_trials)
            desk = Desk(folder, given_)
            desk.run(WHOLE)
        found.append(
            desk.rows(
                "select scorer, sample_id, outcome, raw_score, extracted, detail from graded order by all"
            )
        )
    assert found[0] == found[1]
    assert len(found[0]) == len(WHOLE) * len(texts)
