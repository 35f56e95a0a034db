"""Programs of models are run once for each (sample, answer), wherever they run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gradetrail import pipeline
from tests.scoring.whole import Desk

LUCK = "```python\nimport os\nraise ValueError(os.urandom(8).hex())\n```"
"""A program that never fails in the same words."""
SCORER = {"code": {"type": "code_exec", "checks": "f() == {{ answer }}"}}
RAY = {"RAY_USAGE_STATS_ENABLED": "0"}


def runs_again(desk: Desk, scorers: Any = SCORER, **parts: Any) -> list[str]:
    """Make another run of the same answers; give the details of all grades, oldest run first."""
    spec = desk.spec(scorers, **parts)
    options = pipeline.Invocation().options
    from dataclasses import replace

    pipeline.run(
        spec,
        warehouse=desk.folder / "warehouse",
        invocation=pipeline.Invocation(options=replace(options, new=True)),
    )
    return [row[0] for row in desk.rows("select detail from graded order by run_id, sample_id")]


def test_what_came_of_an_answer_is_copied_into_the_next_run(tmp_path: Path) -> None:
    desk = Desk(tmp_path, [{"sample_id": "a", "text": LUCK}, {"sample_id": "b", "text": "no code here"}])
    desk.run(SCORER)
    first, none, copied, none_again = runs_again(desk)
    assert first.startswith("error: line 2: ValueError: ")
    assert (copied, none, none_again) == (first, "no code", "no code")
    assert desk.rows("select distinct extracted_by from graded where sample_id = 'a'") == [("code_block",)]


def test_what_came_of_a_case_of_a_switch_is_copied_too_and_of_no_other_case(tmp_path: Path) -> None:
    answers = [{"sample_id": "a", "text": LUCK}, {"sample_id": "b", "text": LUCK}]
    samples = [{"id": "a", "answer": "1", "kind": "code"}, {"id": "b", "answer": LUCK, "kind": "text"}]
    scorers = {"mixed": {"type": "switch", "on": "{{ kind }}", "cases": {**SCORER, "text": "exact"}}}
    desk = Desk(tmp_path, answers, samples)
    desk.run(scorers)
    first, text, copied, text_again = runs_again(desk, scorers)
    assert first.startswith("error: line 2: ValueError: ")
    assert (copied, text) == (first, text_again)
    assert desk.rows("select sample_id, score from graded order by run_id, sample_id") == [
        ("a", 0.0), ("b", 1.0), ("a", 0.0), ("b", 1.0),
    ]  # fmt: skip


def test_force_runs_it_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, [{"sample_id": "a", "text": LUCK}])
    desk.run(SCORER)
    ((first, *_),) = desk.grades("code", "detail")
    pipeline.score(desk.spec(SCORER), warehouse=tmp_path / "warehouse", force=True)
    ((second, *_),) = desk.grades("code", "detail")
    assert first != second


def test_another_definition_runs_it_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, [{"sample_id": "a", "text": LUCK}])
    desk.run(SCORER)
    ((first, *_),) = desk.grades("code", "detail")
    desk.score({"code": {**SCORER["code"], "timeout_s": 4}})
    ((second, *_),) = desk.grades("code", "detail")
    assert first != second


def test_another_sample_with_the_same_answer_is_run_itself(tmp_path: Path) -> None:
    answers = [{"sample_id": "a", "text": LUCK}, {"sample_id": "b", "text": LUCK}]
    samples = [{"id": "a", "answer": "1"}, {"id": "b", "answer": "2"}]
    desk = Desk(tmp_path, answers, samples)
    desk.run(SCORER)
    assert len({row[0] for row in desk.grades("code", "detail")}) == 2


def test_a_changed_sample_is_run_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, [{"sample_id": "a", "text": LUCK}])
    desk.run(SCORER)
    desk.write("data.jsonl", [{"id": "a", "answer": "5"}])
    first, second = runs_again(desk)
    assert first != second


@pytest.mark.timeout(280)
def test_score_runs_programs_on_ray_where_it_is_told_to(tmp_path: Path) -> None:
    right = "```python\ndef f():\n    return 4\n```"
    desk = Desk(tmp_path, [{"sample_id": "a", "text": right}, {"sample_id": "b", "text": LUCK}])
    desk.run(SCORER)
    before = desk.grades("code", "sample_id, raw_score, detail")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "gradetrail", "score", "spec.yaml", "--force", "--executor", "ray"),
            *("--warehouse", "warehouse", "--format", "json"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, **RAY},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    after = desk.grades("code", "sample_id, raw_score, detail")
    assert [row[:2] for row in after] == [row[:2] for row in before] == [("a", 1.0), ("b", 0.0)]
    assert after[1][2] != before[1][2], "it was not run again"
