import json
import math
import re
import string
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from rouge_score import rouge_scorer

from gradetrail.errors import SpecError
from gradetrail.scoring import definition_check
from gradetrail.scoring.grade import check
from gradetrail.scoring.overlap import brevity_penalty, longest_common, words
from tests.scoring.grading import answer, definition, graded, graded_one

CAT = "the cat sat on the mat"
RUNNER = ("the runner won the race", "the runner crossed the finish line first")


@pytest.mark.parametrize(
    ("metric", "text", "target", "score"),
    [
        ("f1", "the cat sat", "a cat sat on the mat", 0.666667),
        ("f1", "cat cat cat", "cat", 0.5),
        ("f1", "cat", "cat cat cat", 0.5),
        ("f1", *RUNNER, 0.5),
        ("rouge_l", "the cat sat", CAT, 0.666667),
        ("rouge_l", "a b c", "a b c d", 0.857143),
        ("rouge_l", "c b a", "a b c d", 0.285714),
        ("rouge_l", *RUNNER, 0.5),
        ("bleu_add1", CAT, CAT, 1.0),
        ("bleu_add1", "the the the the", CAT, 0.241178),
        ("bleu_add1", "apple banana cherry date", CAT, 0.183256),
        ("bleu_add1", *RUNNER, 0.258809),
        ("bleu_add1", "apple", "orange", 0.840896),
        ("bleu_add1", "the cat", "", 0.638943),
        ("f1", "a", "", 0.0),
        ("f1", "...", "!", 1.0),
        ("rouge_l", "...", "!", 1.0),
        ("rouge_l", "a", "!", 0.0),
        ("bleu_add1", "...", "a", 0.0),
    ],
)
def test_worked_values(metric: str, text: str, target: str, score: float) -> None:
    assert graded_one(metric, text, target).score == pytest.approx(score, abs=5e-7)


def table(name: str) -> list[Any]:
    """Read a table of another project; `cases/README.md` says which."""
    path = Path(__file__).parent / "cases" / f"lighteval_{name}.json"
    found = json.loads(path.read_text(encoding="utf-8"))["test_cases"]
    return [pytest.param(case, id=case["name"]) for case in found]


def golds_of(doc: Any) -> list[str]:
    """Give the targets of a row of those tables."""
    places = doc["gold_index"] if isinstance(doc["gold_index"], list) else [doc["gold_index"]]
    found = doc.get("specific", {}).get("golds_no_preprocessing")
    return found or [doc["choices"][place] for place in places]


@pytest.mark.parametrize("case", table("f1_score"))
def test_f1_is_that_of_another_projects_table(case: Any) -> None:
    (text,), doc = case["model_response"]["text"], case["doc"]
    result = graded_one("f1", text, golds_of(doc))
    assert result.score == pytest.approx(case["expected_output"]["f1"], abs=case["tolerance"])


@pytest.mark.parametrize("case", [*table("exact_match"), *table("drop")])
def test_exact_matches_are_those_of_another_projects_tables(case: Any) -> None:
    (text,), doc = case["model_response"]["text"], case["doc"]
    golds = golds_of(doc)
    assert graded_one("exact", text, golds).score == case["expected_output"]["em"]
    if "f1" in case["expected_output"]:
        assert graded_one("f1", text, golds).score == case["expected_output"]["f1"]


SQUAD = {"type": "f1", "rules": "squad"}
ROUGE = {"type": "rouge_l", "rules": "rouge_score"}
PROSE = st.lists(
    st.sampled_from(["a", "An", "the", "The", "cat", "cats", "running", "runs", "don't", "(x)", "it's", "...",
                     "U.S.", "-", "\u4e2d\u6587", "na\u00efve", "a_b", "\n"]),
    max_size=12,
).map(" ".join)  # fmt: skip


def published_squad_f1(answer: str, target: str) -> float:
    """Score as the evaluation script of SQuAD does (Rajpurkar et al. 2016)."""

    def words_of(text: str) -> list[str]:
        text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
        return re.sub(r"\b(a|an|the)\b", " ", text).split()

    given, wanted = words_of(answer), words_of(target)
    if not given or not wanted:
        return float(given == wanted)
    shared = sum((Counter(given) & Counter(wanted)).values())
    return 2 * shared / (len(given) + len(wanted))


@given(st.lists(st.tuples(PROSE, PROSE), min_size=20, max_size=20))
@settings(max_examples=10, deadline=None)
def test_f1_by_the_rules_of_squad_is_that_of_its_script(pairs: list[tuple[str, str]]) -> None:
    kept = [pair for pair in pairs if pair[0].strip()]
    found = graded(SQUAD, [answer(*pair) for pair in kept])
    assert [one.score for one in found] == pytest.approx([published_squad_f1(*pair) for pair in kept])


def test_by_the_rules_of_squad_a_number_keeps_its_point() -> None:
    assert graded_one(SQUAD, "(3.14).", "3.14").score == 1
    assert graded_one(SQUAD, "314", "3.14").score == 0
    assert graded_one(SQUAD, "The cat!", "a cat").score == 1
    assert graded_one(SQUAD, *RUNNER).score == pytest.approx(0.25)


@pytest.mark.parametrize("stem", [False, True])
@given(pairs=st.lists(st.tuples(PROSE, PROSE), min_size=10, max_size=10))
@settings(max_examples=5, deadline=None)
def test_rouge_l_by_the_rules_of_rouge_score_is_what_it_gives(
    stem: bool, pairs: list[tuple[str, str]]
) -> None:
    published = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=stem)
    kept = [pair for pair in pairs if pair[0].strip()]
    found = graded({**ROUGE, "stem": stem}, [answer(text, [target, "runs"]) for text, target in kept])
    wanted = [published.score_multi([target, "runs"], text)["rougeL"].fmeasure for text, target in kept]
    assert [one.score for one in found] == pytest.approx(wanted)


def test_rouge_l_of_ascii_words_is_the_same_by_either_rules() -> None:
    assert graded_one(ROUGE, *RUNNER).score == graded_one("rouge_l", *RUNNER).score == pytest.approx(0.5)
    assert graded_one({**ROUGE, "stem": True}, "he runs", "he run").score == 1
    assert graded_one(ROUGE, "\u4e2d\u6587", "\u4e2d\u6587").score == 0


def test_rules_are_in_the_identity_and_the_default_is_not() -> None:
    plain = definition("f1").scorer_id()
    assert definition({"type": "f1", "rules": "words"}).scorer_id() == plain
    assert definition(SQUAD).scorer_id() != plain


def test_without_rouge_score_its_rules_are_refused_and_ours_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definition_check, "find_spec", lambda _: None)
    (fault,) = check(definition(ROUGE), "spec.yaml:4")
    assert fault.message == "`rouge_l` needs the package rouge-score"
    assert fault.fix == "pip install 'gradetrail[text]'"
    assert check(definition("rouge_l"), "spec.yaml:4") == []


def test_stems_belong_to_the_rules_of_rouge_score() -> None:
    with pytest.raises(SpecError, match="`stem` belongs to `rules: rouge_score`"):
        definition({"type": "rouge_l", "stem": True})


def test_the_best_of_several_targets_counts() -> None:
    for metric in ("f1", "rouge_l", "bleu_add1"):
        assert graded_one(metric, CAT, ["a dog", CAT, "x"]).score == pytest.approx(1)


def test_words_are_runs_of_word_characters_of_any_script() -> None:
    assert words("Don't stop\u2014it's 3.14") == ["don", "t", "stop", "it", "s", "3", "14"]
    assert words("na\u00efve \u4e2d\u6587 \u0663") == ["na\u00efve", "\u4e2d\u6587", "\u0663"]


def test_a_short_answer_pays_the_brevity_penalty() -> None:
    assert brevity_penalty(5, 10) == pytest.approx(math.exp(-1))
    assert brevity_penalty(10, 5) == 1
    assert brevity_penalty(0, 5) == 0


def test_the_longest_common_subsequence_need_not_be_together() -> None:
    assert longest_common("abcd", "acd") == 3


@given(st.text("abc", max_size=90), st.text("abcd", max_size=90))
def test_the_bit_parallel_length_is_that_of_the_textbook_table(one: str, other: str) -> None:
    row = [0] * (len(other) + 1)
    for letter in one:
        above = row[:]
        for place, rival in enumerate(other, start=1):
            row[place] = above[place - 1] + 1 if letter == rival else max(above[place], row[place - 1])
    assert longest_common(one, other) == row[-1]


@pytest.mark.parametrize("scorer", ["f1", "rouge_l", {"type": "f1", "rules": "squad"}])
@pytest.mark.parametrize(
    ("text", "target"), [("\u03a3", "\u03c2"), ("\u039f\u03a3", "\u03bf\u03c2"), ("\u03a3", "\u03c3")]
)
def test_a_final_sigma_counts_as_any_other(scorer: Any, text: str, target: str) -> None:
    assert graded_one(scorer, text, target).score == 1
    assert definition("f1").content()["version"] == 2
