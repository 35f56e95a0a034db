"""The judge files that ship with gradetrail, and the judge that needs no key."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from gradetrail.providers.mock_judge import verdict
from gradetrail.scorer_spec import JudgeFile
from gradetrail.scoring.judge_prompt import JudgePrompt
from gradetrail.scoring.judge_reply import read_reply
from gradetrail.scoring.judge_setup import read_judge_file
from tests.judges.bench import Bench
from tests.pipeline.lab import SIX

SHIPPED = sorted((Path(__file__).parents[2] / "specs" / "judges").glob("*.yaml"))


def shipped(path: Path) -> JudgeFile:
    return read_judge_file(path, path.read_bytes())


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_judge_file_is_read_and_its_reply_understood(path: Path) -> None:
    file = shipped(path)
    prompt = JudgePrompt(file, has_target=True)
    answers = {True: "It is Paris.", False: "It is Rome."}
    for is_right, text in answers.items():
        told = {"conversation": "Capital of France?", "response": text, "reasoning": ""}
        if file.kind == "preference":
            told = {"conversation": "", "response_a": text, "response_b": answers[not is_right]}
        (message,) = prompt.messages({}, ["Paris"], told)
        assert text in message["content"]
        assert "\n\n\n" not in message["content"]
        reading = read_reply(file, verdict(message["content"]))
        assert reading.fault is None
        low, high = file.bounds
        knows_right = "target" in prompt.names or file.kind == "preference"
        assert set(reading.scores.values()) == {high if is_right or not knows_right else low}


def test_all_kinds_are_shipped() -> None:
    assert {shipped(path).kind for path in SHIPPED} == {"binary", "score_0_1", "rubric", "preference"}
    template = SHIPPED[0].parents[1] / "templates" / "judge" / "correct.yaml"
    assert template.read_bytes() == (SHIPPED[0].parent / "correct.yaml").read_bytes()


@pytest.mark.parametrize(
    ("name", "options"), [("correct", {}), ("better", {"against": "target", "swap": True})]
)
def test_a_shipped_judge_runs_offline(bench: Bench, name: str, options: dict[str, Any]) -> None:
    shutil.copy(next(path for path in SHIPPED if path.stem == name), bench.lab.folder / "judge.yaml")
    bench.lab.data(SIX[:2])
    done = bench.run(bench.judge(model="mock/judge", **options))
    assert (done.graded[0].counts, bench.n_judged) == ({"scored": 2}, 0)
    assert set(bench.scores().values()) == {0.5 if name == "better" else 1.0}
    assert bench.lab.row("select paid_usd from costs where role = 'judge'")["paid_usd"] == 0
