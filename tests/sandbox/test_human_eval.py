"""HumanEval and its own example, in both of the ways in which tests can be given."""

import gzip
import json
from pathlib import Path

import pytest

from gradetrail.scoring.sandbox import Job, Limits, Sandbox, run_many

DATA = Path(__file__).parent / "data" / "human_eval"


def read(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


@pytest.mark.parametrize("has_checks", [True, False], ids=["checks", "program"])
def test_every_canonical_solution_passes(sandbox: Sandbox, has_checks: bool) -> None:
    with gzip.open(DATA / "HumanEval.jsonl.gz", "rt") as lines:
        tasks = [json.loads(line) for line in lines]
    jobs = []
    for task in tasks:
        program = task["prompt"] + task["canonical_solution"]
        tests = f"{task['test']}\ncheck({task['entry_point']})"
        jobs.append(Job(program, (tests,)) if has_checks else Job(f"{program}\n{tests}"))
    outcomes = {
        task["task_id"]: outcome for task, outcome in zip(tasks, run_many(sandbox, jobs), strict=True)
    }
    assert {name: outcome for name, outcome in outcomes.items() if outcome.verdict != "pass"} == {}
    assert len(outcomes) == 164


def test_three_of_the_six_example_samples_pass(sandbox: Sandbox) -> None:
    (problem,) = read("example_problem.jsonl")
    tests = f"{problem['test']}\ncheck({problem['entry_point']})"
    programs = [problem["prompt"] + sample["completion"] for sample in read("example_samples.jsonl")]
    outcomes = list(
        run_many(sandbox, [Job(program, (tests,), limits=Limits(wall_s=1)) for program in programs])
    )
    assert [outcome.passed for outcome in outcomes] == [0, 0, 0, 1, 1, 1]
    assert [outcome.verdict for outcome in outcomes[:3]] == ["fail", "timeout", "fail"]
