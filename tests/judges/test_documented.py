"""The page on judges names what there is, and its examples load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradetrail.scorer_spec import Criterion, Judge, JudgeFile, Opponent, ScorerBase
from gradetrail.scoring.judge_prompt import ANSWER, PAIR
from gradetrail.scoring.judge_setup import read_judge_file
from gradetrail.spec import spec_from
from gradetrail.yaml_source import Source

PAGE = (Path(__file__).parents[2] / "docs" / "judges.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("kind", [Judge, JudgeFile, Criterion, Opponent])
def test_the_page_names_every_option(kind: type) -> None:
    inherited = set(ScorerBase.model_fields) - {"pass_threshold"}
    fields = set(kind.model_fields) - inherited - {"type"}
    told = set(re.findall(r"\w+", PAGE))
    assert fields - told == set()


def test_the_page_names_what_templates_see() -> None:
    assert [name for name in (*ANSWER, *PAIR, "reply_format") if f"`{name}`" not in PAGE] == []


def test_the_examples_load(tmp_path: Path) -> None:
    spec, file, panel = EXAMPLES
    value = Source(tmp_path / "spec.yaml", spec).value
    assert isinstance(spec_from(value).scorers["judge"], Judge)
    assert read_judge_file(tmp_path / "judge.yaml", file.encode()).kind == "binary"
    assert "panel" in spec_from({**value, **Source(tmp_path / "panel.yaml", panel).value}).scorers
