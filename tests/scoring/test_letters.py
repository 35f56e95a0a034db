import pytest

from gradetrail.scoring.letters import find_letter, option_letter
from tests.scoring.grading import answer, graded

OPTIONS = ["8", "10", "12", "14"]


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Answer: C is right", "C"),
        ("The answer is (B).", "B"),
        ("**C**", "C"),
        ("no letter here", None),
        ("Apple", None),
        ("Definitely", None),
        ("Final answer: **B**", "B"),
        (r"Answer: $\boxed{\text{C}}$", "C"),
        (r"Thus, \boxed{D}.", "D"),
        ("Answer (A, B, C or D): C", "C"),
        ("The correct option is B", "B"),
        ("\u7b54\u6848\u662fB\u3002", "B"),
        ("Answer:\n\nB", "B"),
        ("answer: b", "B"),
        ("the answer is (b)", "B"),
        ("Answer: C. Option B is wrong because", "C"),
        ("B is correct", "B"),
        ("Answer: I think it's B", "B"),
        ("C) because it fits", "C"),
        ("So it must be C.", "C"),
        ("A is wrong.\nSo C.", "C"),
        ("Answer: 12", "C"),
        ("12.", "C"),
        ("C, not B", None),
        ("Answer: A or B", None),
        ("Answer: E", None),
        ("A car is a car.", None),
        ("I am a car", None),
        ("don't know", None),
        ("C\n\nExplanation: because A is wrong", "C"),
        ("**(c)**\nSince A and B do not fit.", "C"),
        ("C\n\nOn reflection:\nB", "B"),
        ("A\nB\nC. 12", "C"),
        ("E\nbecause A fits", None),
        ("C\nNo. Answer: B", "B"),
        (r"Adding up gives $\boxed{12}$, above B.", "C"),
        (r"Adding up gives $\boxed{13}$.", None),
    ],
)
def test_which_letter_an_answer_names(text: str, letter: str | None) -> None:
    assert find_letter(text, OPTIONS) == letter


@pytest.mark.parametrize(
    ("text", "theirs", "ours"), [("A good answer is C", "A", "C"), ("Apple", "A", None), ("b", "", "B")]
)
def test_where_the_rule_differs_from_the_first_letter_anywhere(
    text: str, theirs: str, ours: str | None
) -> None:
    """An older rule takes the first capital A to E that stands alone, else the first anywhere."""
    assert find_letter(text, OPTIONS) == ours != theirs


def test_a_letter_counts_only_within_the_options() -> None:
    assert find_letter("Answer: D", ["x", "y"]) is None
    assert find_letter("Answer: D", None) == "D"
    assert find_letter("Answer: D", []) is None


def test_the_text_of_an_option_counts_only_if_it_is_one_options_alone() -> None:
    assert option_letter("Red", ["red", "RED ", "blue"]) is None
    assert option_letter(" **Blue.** ", ["red", "RED ", "blue"]) == "C"
    assert option_letter("", ["", "x"]) is None
    assert find_letter("12", OPTIONS, match_text=False) is None


def test_letters_are_those_of_the_order_shown() -> None:
    choices = {"from": "c", "answer": "a", "shuffle": "per_sample"}
    rows = [
        answer("B", "B", choices=["red", "blue"]),
        answer("B", "B", choices=["blue", "red"]),
        answer("blue", "B", choices=["red", "blue"]),
        answer("blue", "B", choices=["blue", "red"]),
        answer("A", "blue", choices=["blue", "red"]),
    ]
    results = graded("choice", rows, target=None, choices=choices)
    assert [result.score for result in results] == [1, 1, 1, 0, 1]
    assert [result.extracted for result in results] == ["B", "B", "B", "A", "A"]


def test_a_target_that_is_no_option_and_a_sample_without_options_are_errors() -> None:
    blocks = {"target": None, "choices": {"from": "c", "answer": "a"}}
    rows = [answer("A", "Z", choices=["x", "y"]), answer("A", "green", choices=["x", "y"]), answer("A", "A")]
    results = graded("choice", rows, **blocks)
    assert [result.outcome for result in results] == ["scorer_error"] * 3
    assert results[2].detail == "the sample has no options"


def test_a_letter_can_be_extracted_for_other_scorers() -> None:
    (result,) = graded("exact", [answer("I would say the answer is C.", "C")], extract="letter")
    assert (result.score, result.extracted, result.extracted_by) == (1, "C", "letter")


def test_hostile_texts_take_no_time() -> None:
    for text in ("answer " * 10_000, "answer: " * 10_000, "A " * 20_000, r"\boxed{" * 10_000):
        find_letter(text, OPTIONS)
