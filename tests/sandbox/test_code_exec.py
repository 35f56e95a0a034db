"""Which part of an answer is code, and what grade an answer that is code gets."""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradetrail.errors import GradetrailError
from gradetrail.scorer_spec import CodeExec
from gradetrail.scoring.code_exec import CODE_MARK, CodeGrade, CodeRow, extract_code, run_code
from gradetrail.scoring.sandbox import Job, Outcome, Sandbox, run_many
from gradetrail.scoring.sandbox.walls import Bubblewrap

CASES = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "code_exec.jsonl").read_text().splitlines()
]
ONE = "def f():\n    return 1\n"
CHECK = ("assert f() == 1",)


def grade(sandbox: Sandbox, text: str, *checks: str, **options: float) -> CodeGrade:
    scorer = CodeExec.model_validate({"checks": "{{ tests }}", **options})
    (only,) = run_code(scorer, [CodeRow(7, text, checks=checks)], partial(run_many, sandbox, workers=1))
    assert only.row == 7
    return only


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_real_answers_that_other_tools_have_graded_wrong(sandbox: Sandbox, case: dict[str, str]) -> None:
    result = grade(sandbox, case["response"], case["test"], timeout_s=1)
    assert (result.score, result.outcome, result.detail.partition(":")[0]) == tuple(case["expect"])


@pytest.mark.parametrize(
    "answer",
    [
        ONE,
        f"```python\n{ONE}```",
        f"```py\n{ONE}```",
        f"```Python3\n{ONE}```\n",
        f"```\n{ONE}```",
        f"~~~python\n{ONE}~~~",
        f"````python\n{ONE}````",
        f"Here it is:\n\n```python title=f.py\n{ONE}```\nIt returns 1.",
        f"```python\ndef f():\n    return 0\n```\nBetter:\n```python\n{ONE}```",
        f"```python\n{ONE}```\nIt prints\n```\n1\n```",
        f"```python\n{ONE}```\nRun it with\n```bash\npython f.py\n```",
        f"```python\n{ONE}```\r\n",
        f"{ONE}```",
        f"{ONE}```\nThis is the answer.",
        f"```python\n{ONE}",
        f"```python\nimport this is wrong\n```python\n{ONE}```",
        "1. First:\n   ```python\n   def f():\n       return 1\n   ```",
    ],
)
def test_finds_the_code(answer: str) -> None:
    code = extract_code(answer)
    assert code is not None
    names: dict[str, object] = {}
    exec(code.replace("\r", ""), names)
    assert names["f"]() == 1  # type: ignore[operator]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "  \n",
        "I cannot help.",
        "The answer is f(x) = x + 1, of course.",
        "```bash\nls\n```",
        "```python\nnot python at all",
    ],
)
def test_finds_none(answer: str) -> None:
    assert extract_code(answer) is None


def test_a_block_is_code_even_if_it_is_not_python() -> None:
    assert extract_code("```python\ndef f(:\n```") == "def f(:\n"


def test_a_completion_is_code_where_it_goes_on_with_the_prompt() -> None:
    assert extract_code("    return 1") is None
    assert extract_code("    return 1", f"def f():\n{CODE_MARK}\n") == "    return 1"


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("`~\n \tpy"), max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    code = extract_code(text)
    assert code is None or code.strip() or "```" in text or "~~~" in text


def test_the_score_is_the_share_of_checks_that_hold(sandbox: Sandbox) -> None:
    result = grade(sandbox, ONE, "f() == 1", "f() == 2", "f() < 2", " ")
    assert (result.score, result.outcome, result.extracted) == (2 / 3, "scored", ONE)
    assert result.detail == "fail: check 2 of 3: f() == 2: not true"


def test_checks_may_be_indented_as_a_whole(sandbox: Sandbox) -> None:
    assert grade(sandbox, ONE, "    x = f()\n    assert x == 1\n").score == 1.0


def test_a_pass_is_one_and_says_so(sandbox: Sandbox) -> None:
    assert grade(sandbox, ONE, *CHECK) == CodeGrade(7, 1.0, "scored", ONE, "pass")


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("def f(:\n```", "syntax: line 1: SyntaxError: invalid syntax"),
        ("1 / 0\n```", "error: line 1: ZeroDivisionError: division by zero"),
        ("f = bytearray(10**10)\n```", "memory: line 1: MemoryError"),
        ("while True: print('x' * 999)\n```", "output: more than 256 KiB on stdout"),
    ],
)
def test_code_that_cannot_be_checked_scores_zero_and_says_why(
    sandbox: Sandbox, code: str, detail: str
) -> None:
    result = grade(sandbox, f"```python\n{code}", *CHECK)
    assert (result.score, result.outcome, result.detail) == (0.0, "scored", detail)


def test_an_answer_without_code_is_unanswered_and_not_run() -> None:
    broken = Sandbox(Bubblewrap("/bin/false", is_privileged=False))
    assert grade(broken, "I cannot help.", *CHECK) == CodeGrade(7, None, "unparsed", None, "no code")


def test_code_that_nothing_judges_has_no_target() -> None:
    broken = Sandbox(Bubblewrap("/bin/false", is_privileged=False))
    assert grade(broken, ONE, " ").outcome == "no_target"


def test_a_check_that_is_not_python_is_the_scorers_fault_and_no_wrong_answer() -> None:
    broken = Sandbox(Bubblewrap("/bin/false", is_privileged=False))
    result = grade(broken, ONE, "f() == 1", "f() ==")
    assert (result.score, result.outcome) == (None, "scorer_error")
    assert result.detail == "check 2 is not valid Python: f() =="


def test_a_broken_sandbox_stops_the_grading_instead_of_scoring_zero() -> None:
    broken = Sandbox(Bubblewrap("/bin/false", is_privileged=False))
    with pytest.raises(GradetrailError, match="could not start"):
        grade(broken, ONE, *CHECK)


def test_a_sandbox_that_is_ended_is_the_scorers_fault_and_no_wrong_answer() -> None:
    def run(jobs: Iterable[Job]) -> Iterator[Outcome]:
        return (Outcome("broken", "the sandbox ended", "", "", 0, 1, 0.0) for _ in jobs)

    scorer = CodeExec(checks="{{ tests }}")
    (only,) = run_code(scorer, [CodeRow(7, ONE, checks=CHECK)], run)
    assert only == CodeGrade(7, None, "scorer_error", ONE, "the sandbox ended")


def test_the_code_takes_its_place_in_the_program(sandbox: Sandbox) -> None:
    options = CodeExec(program="def f():\n{{ response_code }}\nassert f() == 1")
    program = f"def f():\n{CODE_MARK}\nassert f() == 1"
    texts = ["    return 1", "    return 2", "```python\n    return 1\n```"]
    rows = [CodeRow(row, text, program) for row, text in enumerate(texts)]
    assert [one.score for one in run_code(options, rows, partial(run_many, sandbox))] == [1.0, 0.0, 1.0]


def test_scripts_are_judged_by_what_they_print(sandbox: Sandbox) -> None:
    options = CodeExec(stdout="{{ output }}", stdin="{{ input }}")
    rows = [
        CodeRow(0, "print(int(input()) * 2)", stdin="4\n", expect_stdout="8"),
        CodeRow(1, "print(int(input()) * 3)", stdin="4\n", expect_stdout="8"),
        CodeRow(2, "print(8)", expect_stdout="8"),
    ]
    assert [one.score for one in run_code(options, rows, partial(run_many, sandbox))] == [1.0, 0.0, 1.0]


class Counting(Sandbox):
    """A real sandbox that keeps what it was given to run."""

    jobs: ClassVar[list[Job]] = []

    def run_job(self, job: Job) -> Outcome:
        self.jobs.append(job)
        return super().run_job(job)


@pytest.fixture
def counting(sandbox: Sandbox) -> Counting:
    Counting.jobs.clear()
    return Counting(sandbox.walls)


def test_equal_answers_to_equal_tasks_are_run_once(counting: Counting) -> None:
    two = ONE.replace("1", "2")
    rows = [
        CodeRow(row, text, checks=CHECK)
        for row, text in enumerate([ONE, two, f"```python\n{ONE}```", ONE, "no code"])
    ]
    grades = run_code(CodeExec(checks="{{ tests }}"), rows, partial(run_many, counting))
    assert [one.row for one in grades] == [0, 1, 2, 3, 4]
    assert [one.score for one in grades] == [1.0, 0.0, 1.0, 1.0, None]
    assert len(counting.jobs) == 2


def test_the_specs_limits_are_those_of_the_run(sandbox: Sandbox) -> None:
    assert (
        grade(sandbox, "import time\ntime.sleep(0.5)\n" + ONE, *CHECK, timeout_s=0.2).detail
        == "timeout: not over after 0.2 s"
    )
    assert grade(sandbox, "x = bytes(200 * 2**20)\n" + ONE, *CHECK, memory_mb=128).detail.startswith(
        "memory: "
    )
