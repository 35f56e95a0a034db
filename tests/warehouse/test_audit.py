"""`audit` on four real models that answered GSM8K: what it points at, a person would look at first."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from gradetrail import pipeline
from gradetrail.spec import load_spec
from gradetrail.warehouse import Warehouse

GSM8K = Path(__file__).parents[2] / "specs" / "gsm8k"
SCORERS = r"""
scorers:
  strict: numeric
  pattern:
    type: regex
    extract: []
    pattern: 'A:\s*\$?{{ answer | after("####") | number }}\s*$'
    flags: [MULTILINE]
"""
NUMBER = r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w])"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("gsm8k")
    for file in GSM8K.glob("*.gz"):
        shutil.copy(file, folder)
    text = (GSM8K / "gsm8k.yaml").read_text(encoding="utf-8")
    assert "scorers: {strict: numeric}\n" in text
    spec = folder / "spec.yaml"
    spec.write_text(text.replace("scorers: {strict: numeric}\n", SCORERS), encoding="utf-8")
    pipeline.run(load_spec(spec), warehouse=folder / "warehouse")
    with Warehouse(folder / "warehouse") as warehouse:
        yield warehouse


def test_the_only_right_answers_that_a_pattern_missed_come_first(opened: Warehouse) -> None:
    _, rows = opened.rows(
        "select scorer, reason, response, disagrees_with from audit where scorer = 'pattern'"
    )
    missed = [row for row in rows if row[1] == "target_in_last_line"]
    assert sorted(row[2].rpartition("A: ")[2].strip() for row in missed) == ["3,000", "6,250"]
    assert {row[3] for row in missed} == {"strict"}
    assert rows[: len(missed)] == missed


def test_a_right_number_scorer_has_the_target_in_the_last_line_of_no_wrong_answer(opened: Warehouse) -> None:
    _, rows = opened.rows(
        "select reason, count(*), count(*) filter (where score > 0) from audit"
        " where scorer = 'strict' group by reason order by reason"
    )
    counts = {reason: (n, n_right) for reason, n, n_right in rows}
    assert counts == {"scorers_disagree": (2, 2), "target_in_text": (436, 0), "unparsed": (11, 0)}


def test_it_is_every_wrong_answer_that_names_the_right_number_and_no_other(opened: Warehouse) -> None:
    _, rows = opened.rows(
        "select model, sample_id, wrong.target, wrong.response, audit.reason = 'target_in_text'"
        " from wrong left join audit using (run_id, scorer, model, sample_id) where scorer = 'strict'"
    )
    assert len(rows) == 3275
    for model, sample_id, target, response, is_listed in rows:
        named = [float(number.replace(",", "")) for number in re.findall(NUMBER, response)]
        assert (float(target.replace(",", "")) in named) == bool(is_listed), (model, sample_id, response)
