"""Four real models on GSM8K against the grades that its authors published."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scoring.grading import answer, graded

ROOT = Path(__file__).parents[2]
RIGHT = {"6b_finetuning": 286, "6b_verification": 515, "175b_finetuning": 458, "175b_verification": 742}
CHAIN = [{"regex": r"A:\s*(.+)", "which": "last"}]


def lines(name: str) -> list[Any]:
    with gzip.open(ROOT / "specs/gsm8k" / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def trials() -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield each answer with the authors' verdict; every model answers the questions in order."""
    truth = json.loads((ROOT / "tests/data/gsm8k/is_correct.json").read_text(encoding="utf-8"))
    gold = [row["answer"].rpartition("####")[2].strip() for row in lines("test.jsonl.gz")]
    texts: dict[str, list[str]] = {}
    for row in lines("answers.jsonl.gz"):
        texts.setdefault(row["model"], []).append(row["text"])
    for model, answers in texts.items():
        for number, (text, target) in enumerate(zip(answers, gold, strict=True)):
            columns = {
                "entrant": model,
                "sample_id": str(number),
                "pattern": rf"A:\s*\$?{target.replace(',', '')}\s*$",
            }
            yield answer(text, target, **columns), truth[model][number] == "1"


@pytest.fixture(scope="module")
def both() -> tuple[list[dict[str, Any]], list[bool]]:
    rows, verdicts = zip(*trials(), strict=True)
    return list(rows), list(verdicts)


@pytest.mark.parametrize("which", ["first", "last"])
def test_every_grade_is_the_authors(both: tuple[list[dict[str, Any]], list[bool]], which: str) -> None:
    rows, verdicts = both
    results = graded({"type": "numeric", "which": which}, rows, extract=CHAIN)
    assert len(results) == 5276
    right = [result.score == 1 for result in results]
    assert right == verdicts
    counts = {
        model: sum(r for r, row in zip(right, rows, strict=True) if row["entrant"] == model)
        for model in RIGHT
    }
    assert counts == RIGHT


def test_a_pattern_without_the_thousands_comma_misses_the_two_answers_that_have_one(
    both: tuple[list[dict[str, Any]], list[bool]],
) -> None:
    rows, verdicts = both
    scorer = {
        "type": "regex",
        "pattern": r"A:\s*\$?{{ answer | after('####') | number }}\s*$",
        "flags": ["MULTILINE"],
    }
    results = graded(scorer, rows, target=None)
    differ = [
        row["text"]
        for row, result, right in zip(rows, results, verdicts, strict=True)
        if (result.score == 1) != right
    ]
    assert [text.rpartition("A: ")[2] for text in differ] == ["3,000", "6,250"]
    assert {result.outcome for result in results} == {"scored"}
