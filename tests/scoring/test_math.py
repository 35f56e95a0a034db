"""Mathematics is compared as such, in time, and never wrong for a fault of the comparison."""

import json
from pathlib import Path
from typing import Any

import pytest

from gradetrail.scoring import definition_check
from gradetrail.scoring.grade import check
from gradetrail.scoring.mathematics import as_latex
from gradetrail.scoring.rule_process import ANSWERS_PER_WORKER, Judgement
from gradetrail.scoring.worker import Failure
from tests.scoring.grading import answer, definition, graded, graded_one

CASES = json.loads((Path(__file__).parent / "cases" / "math.json").read_text(encoding="utf-8"))


def test_the_table_of_another_project_comes_out_as_it_says() -> None:
    results = graded("math", [answer(case["output"], case["target"]) for case in CASES])
    wrong = [
        (case["output"], case["target"], result.score, result.detail)
        for case, result in zip(CASES, results, strict=True)
        if result.score != (1 if case["expected"] == "C" else 0)
    ]
    assert len(results) == 33
    assert wrong == []


RIGHT = [
    (r"I think \boxed{1}. No: \[ \boxed{\frac{1}{2}} \]", r"\frac{1}{2}"),
    (r"\boxed{\frac{1}{2}} so \boxed{\frac{1}{2}}", "1/2"),
    ("so it is 0.5 in all", r"\frac{1}{2}"),
    (r"50\%", "0.5"),
    (r"0.\overline{3}", "1/3"),
    (r"1.2\overline{34}", "611/495"),
    ("sqrt(8)/2", r"\sqrt{2}"),
    ("2**10", "1024"),
    (r"\boxed{5\text{ meters}}", "5"),
    ("x = 5", "5"),
    ("(1, 2]", "(1,2]"),
    (r"The matrix is \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"),
    (r"$\text{Evelyn}$", r"\text{Evelyn}"),
    ("a word", "a word"),
]
WRONG = [
    (r"\boxed{\frac{1}{2}}, not 3", "3"),
    ("[1, 2]", "(1, 2]"),
    (r"\boxed{1/2004!}", "1/2005!"),
    ("0.0000002", "0.0000001"),
    ("y + 1", "x + 1"),
]


def test_what_is_right_and_what_is_not() -> None:
    results = graded("math", [answer(*pair) for pair in RIGHT + WRONG])
    scores = {pair: result.score for pair, result in zip(RIGHT + WRONG, results, strict=True)}
    assert scores == dict.fromkeys(RIGHT, 1) | dict.fromkeys(WRONG, 0)


def test_the_best_of_several_targets_and_extraction_work_as_everywhere() -> None:
    result = graded_one("math", "Result: 2/4 of it", ["3", "0.5"], extract="Result: (\\S+)")
    assert (result.score, result.extracted, result.extracted_by) == (1, r"\frac{2}{4}", "regex")
    assert graded_one({"type": "math", "strict": False}, "y + 1", "x + 1").score == 1
    assert graded_one({"type": "math", "decimals": 2}, "3.14", r"\pi").score == 1


def test_what_does_not_read_as_mathematics_is_unparsed_or_our_fault() -> None:
    rows = [
        answer("no idea", "4"),
        answer(r"\boxed{\sqrt{}}", "4"),
        answer("4", "odd numbers"),
        answer("4", None),
    ]
    results = graded("math", rows)
    assert [one.outcome for one in results] == ["unparsed", "unparsed", "scorer_error", "no_target"]
    assert results[2].detail == "the target `odd numbers` does not read as mathematics"


def test_an_answer_that_takes_for_ever_is_an_error_and_neither_a_hang_nor_wrong() -> None:
    rows = [answer(text, "2") for text in ("2", r"\boxed{9^{9^{9^9}}}", r"\boxed{1000000!}", "3")]
    results = graded({"type": "math", "timeout_s": 1}, rows)
    assert [(one.score, one.outcome) for one in results] == [
        (1, "scored"), (None, "scorer_error"), (None, "scorer_error"), (0, "scored"),
    ]  # fmt: skip
    assert results[1].detail == "the comparison failed: took more than 1 s"


def test_plain_notation_becomes_latex() -> None:
    assert as_latex("sqrt(2+sqrt(3))**(1/2)") == r"\sqrt{2+\sqrt{3}}^{1/2}"
    assert as_latex("74° and sqrt(2") == r"74^\circ and sqrt(2"


def test_grades_do_not_depend_on_the_number_of_workers() -> None:
    items = [[f"{number}/7", [str(number % 9)]] for number in range(2 * ANSWERS_PER_WORKER)]
    judgement = Judgement("gradetrail.scoring.mathematics", {"decimals": 6, "strict": True}, 5)
    replies = judgement.replies(items, workers=1)
    assert judgement.replies(items, workers=2) == replies
    assert [reply["score"] for reply in replies[:8]] == [1, 0, 0, 0, 0, 0, 0, 0]


def test_an_answer_that_kills_the_worker_is_blamed_alone() -> None:
    judgement = Judgement("tests.scoring.fatal", {}, 5)
    replies = judgement.replies(["a", "die", "raise", "b"], workers=1)
    assert [replies[0], replies[3]] == ["a", "b"]
    assert replies[1:3] == [
        Failure("the answer killed the process that judged it"),
        Failure("ValueError: raised"),
    ]


def test_what_cannot_be_interrupted_takes_too_long_like_anything_else() -> None:
    judgement = Judgement("tests.scoring.fatal", {}, 0.1)
    late = Failure("took more than 0.1 s")
    assert judgement.replies(["loop", "a", "loop in C", "b"], workers=1) == [late, "a", late, "b"]


def test_answers_that_take_too_long_are_shared_among_the_workers() -> None:
    """Eight in each share, so that a worker that is held up leaves the other shares to the others."""
    judgement = Judgement("tests.scoring.fatal", {}, 0.2)
    items = ["loop" if number % 8 == 0 else str(number) for number in range(40)]
    late = Failure("took more than 0.2 s")
    wanted = [late if item == "loop" else item for item in items]
    assert [judgement.replies(items, workers=n) for n in (1, 2, 9)] == [wanted] * 3


def test_without_the_package_a_spec_is_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(definition_check, "find_spec", lambda _: None)
    fixes: dict[str, Any] = {}
    for scorer in ("math", "bleu", "chrf"):
        (fault,) = check(definition(scorer), "spec.yaml:4")
        assert fault.message.startswith(f"`{scorer}` needs the package ")
        fixes[scorer] = fault.fix
    assert fixes == {
        "math": "pip install 'gradetrail[math]'",
        "bleu": "pip install 'gradetrail[text]'",
        "chrf": "pip install 'gradetrail[text]'",
    }
