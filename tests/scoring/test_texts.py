from typing import Any

import pytest

from tests.scoring.grading import answer, graded, graded_one


def exact(text: str, target: str, *steps: str) -> float | None:
    return graded_one({"type": "exact", "normalize": list(steps)}, text, target).score


@pytest.mark.parametrize(
    ("text", "target", "steps", "score"),
    [
        ("42", "42", [], 1),
        ("43", "42", [], 0),
        ("  42  ", "42", [], 0),
        ("  42  ", "42", ["strip"], 1),
        ("YES", "yes", ["lower"], 1),
        ("42   is  the   answer", "42 is the answer", ["collapse_whitespace"], 1),
        ("  YES  ", "Yes", ["strip", "lower"], 1),
        ("yes", "Yes", [], 0),
        ("\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2", ["lower"], 1),
        ("\u0130", "i\u0307", ["lower"], 1),
        ("\uff14\uff12 \ufb01t", "42 fit", ["nfkc"], 1),
        ("e\u0301", "\u00e9", ["nfkc"], 1),
        ("(3.14).", "3.14", ["punctuation"], 1),
        ("3.14", "314", ["punctuation"], 0),
        ("It's done!", "its done", ["punctuation", "lower"], 1),
        ("\u00abbon\u00bb", "bon", ["punctuation"], 1),
        ("-5", "5", ["punctuation"], 0),
        ("The answer", "answer", ["articles"], 1),
        ("Theory", "ory", ["articles"], 0),
        ("A  cat", "the cat", ["articles"], 1),
        ("1,000.0 km", "1000 km", ["numbers"], 1),
        ("$7.50", "$7.5", ["numbers"], 1),
        ("...", "!!!", ["punctuation"], 0),
    ],
)
def test_exact_compares_after_the_steps(text: str, target: str, steps: list[str], score: float) -> None:
    assert exact(text, target, *steps) == score


def test_steps_are_taken_in_the_order_given() -> None:
    assert exact("(The) cat", "cat", "punctuation", "articles") == 1
    assert exact("(The) cat", "cat", "articles", "punctuation") == 0


def test_case_false_lowers_the_case_at_the_end() -> None:
    assert graded_one({"type": "exact", "case": False}, "Paris ", "PARIS").score == 1
    assert graded_one({"type": "includes", "case": False}, "in PARIS now", "Paris").score == 1


def test_any_of_several_targets_is_right() -> None:
    rows = [answer(text, ["NYC", "New York"]) for text in ("New York", "NYC", "Boston")]
    assert [result.score for result in graded("exact", rows)] == [1, 1, 0]


def test_accuracy_is_exact_under_another_name() -> None:
    assert [g.score for g in graded("accuracy", [answer(" B", "B "), answer("b", "B")])] == [1, 0]


def test_what_was_compared_is_kept() -> None:
    result = graded_one({"type": "exact", "normalize": ["strip", "lower"]}, " YES ", "no")
    assert (result.extracted, result.extracted_by, result.detail) == ("yes", "text", None)


@pytest.mark.parametrize("steps", [[], ["strip"], ["punctuation"]])
def test_includes_says_what_it_found_and_what_it_missed(steps: list[str]) -> None:
    some = {"type": "includes", "normalize": steps}
    every = {"type": "includes", "all": True, "normalize": steps}
    text, targets = "Lisbon is in Portugal", ["Lisbon", "Port", "Madrid"]
    assert (graded_one(some, text, targets).score, graded_one(every, text, targets).score) == (1, 0)
    assert graded_one(some, text, targets).detail == "found: Lisbon, Port"
    assert graded_one(every, text, targets).detail == "missing: Madrid"
    assert graded_one(every, text, targets[:2]).score == 1
    assert graded_one(some, text, "Madrid").detail == "missing: Madrid"
    assert graded_one(some, text, "").score == 0
    assert graded_one(every, text, ["Lisbon", ""]).score == 0


def test_includes_keeps_what_a_rule_found_but_never_the_whole_answer_again() -> None:
    result = graded_one("includes", "Answer: in Lisbon", "Lisbon", extract="Answer: (.+)")
    assert (result.extracted, result.extracted_by) == ("in Lisbon", "regex")
    result = graded_one("includes", "in Lisbon", "Lisbon")
    assert (result.extracted, result.extracted_by) == (None, None)


@pytest.mark.parametrize(
    ("text", "flags", "score"),
    [
        ("so Answer: 4", [], 1),
        ("Answer: 5", [], 0),
        ("Answer: 4\nSome trailing line", [], 0),
        ("Answer: 4\nSome trailing line", ["MULTILINE"], 1),
        ("ANSWER: 4", [], 0),
        ("ANSWER: 4", ["IGNORECASE"], 1),
        ("Answer: 4\n", [], 1),
    ],
)
def test_a_templated_pattern_is_right_if_it_matches(text: str, flags: list[str], score: float) -> None:
    scorer = {"type": "regex", "pattern": r"Answer:\s*{{ answer }}\s*$", "flags": flags}
    (result,) = graded(scorer, [answer(text, pattern=r"Answer:\s*4\s*$")], target=None)
    assert (result.outcome, result.score) == ("scored", score)


def test_dotall_lets_a_dot_cross_lines() -> None:
    for flags, score in (([], 0), (["DOTALL"], 1)):
        scorer = {"type": "regex", "pattern": "start.*end", "flags": flags}
        (result,) = graded(scorer, [answer("start\nend")], target=None)
        assert result.score == score


@pytest.mark.parametrize(
    ("text", "score"),
    [("Answer: 25", 1), ("Answer: 25.", 1), ("Answer: $25.", 1), ("Answer: 25.5", 0), ("Answer: 250", 0)],
)
def test_a_trailing_stop_can_be_allowed_without_allowing_decimals(text: str, score: float) -> None:
    pattern = r"Answer:\s*\$?25\.?\s*$"
    scorer = {"type": "regex", "pattern": r"Answer:\s*\$?{{ answer }}\.?\s*$"}
    (result,) = graded(scorer, [answer(text, pattern=pattern)], target=None)
    assert result.score == score
    assert result.detail == (text if score else pattern)


def test_a_pattern_with_a_target_compares_the_group_or_the_whole_match() -> None:
    scorer = {"type": "regex", "pattern": r"Answer:\s*(\w+)"}
    rows = [answer(t, "B") for t in ("Answer: B", "Answer: C", "no idea")] + [
        answer("Answer: B", "Answer: B ")
    ]
    results = graded(scorer, rows)
    assert [result.score for result in results] == [1, 0, None, 1]
    assert [result.outcome for result in results] == ["scored", "scored", "unparsed", "scored"]
    assert [result.extracted for result in results] == ["B", "C", None, "Answer: B"]


def test_patterns_that_no_answer_can_match_are_errors_of_the_scorer_row_by_row() -> None:
    scorer = {"type": "regex", "pattern": "{{ pattern }}"}
    rows = [
        answer("ab", pattern=pattern)
        for pattern in ("a", "(", r"(?<=a)b", r"\bab\b", "x{1001}", "(?:a{1000}){1000}")
    ]
    results = graded(scorer, [*rows, answer("\u00e9ab", pattern=r"\bab\b")], target=None)
    assert [result.score for result in results] == [1, None, 1, 1, 0, 0, 0]
    assert results[1].outcome == "scorer_error"
    assert "not a regular expression" in (results[1].detail or "")
    assert [(r.detail or "").startswith("engine=python") for r in results] == [
        False,
        False,
        True,
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize("n_each", [1, 200])
def test_many_patterns_give_the_same_grades_whether_texts_are_grouped_by_them_or_not(n_each: int) -> None:
    patterns = [r"A:\s*1$", r"(?<=A: )2", r"\bA: 3\b", "("]
    texts = ["A: 1", "A: 2", "A: 3", "\u00e9A: 3"]
    rows: list[Any] = [answer(text, pattern=p) for p in patterns for text in texts for _ in range(n_each)]
    results = graded({"type": "regex", "pattern": "{{ p }}"}, rows, target=None)
    expected = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [None] * 4]
    assert [r.score for r in results] == [s for line in expected for s in line for _ in range(n_each)]


def test_the_words_of_an_answer_overlap_with_the_best_target() -> None:
    cat = ["the cat sat on the mat", "a dog"]
    assert graded_one("rouge_l", "the cat sat", cat).score == pytest.approx(2 / 3)
    assert graded_one("f1", "...", "a").score == 0
    assert graded_one("f1", "the cat", "the cat", extract="(.+)").extracted == "the cat"
