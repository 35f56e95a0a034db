"""BLEU and chrF are sacrebleu's, as a share of 1."""

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from tests.scoring.grading import answer, graded, graded_one

CAT = "the cat sat on the mat"
WORDS = st.lists(st.sampled_from(["the", "cat", "Cat", "sat", "on", "mat.", "3.14", "na\u00efve", "\u4e2d"]))
TEXTS = WORDS.map(" ".join)


@settings(max_examples=5, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=10, max_size=60))
def test_scores_equal_those_of_sacrebleu_called_directly(pairs: list[tuple[str, str]]) -> None:
    rows = [answer(text, target) for text, target in pairs if text]
    chrf_plus = {"type": "chrf", "word_order": 2, "lowercase": True}
    by_hand: list[tuple[Any, Any]] = [
        ("bleu", BLEU(effective_order=True)),
        (
            {"type": "bleu", "smooth": "add-k", "tokenize": "char"},
            BLEU(smooth_method="add-k", tokenize="char", effective_order=True),
        ),
        ("chrf", CHRF()),
        (chrf_plus, CHRF(word_order=2, lowercase=True)),
    ]
    for scorer, metric in by_hand:
        for row, result in zip(rows, graded(scorer, rows), strict=True):
            wanted = metric.sentence_score(row["text"], row["targets"]).score / 100
            assert result.score == pytest.approx(wanted, abs=1e-12)
            assert result.score is not None
            assert 0 <= result.score <= 1


@pytest.mark.parametrize("scorer", ["bleu", "chrf"])
def test_the_best_of_several_targets_counts_and_equal_texts_score_one(scorer: str) -> None:
    assert graded_one(scorer, CAT, ["a dog", CAT, "x"]).score == 1
    alone = [graded_one(scorer, "the cat sat", target).score or 0 for target in ("the cat ran", CAT)]
    assert graded_one(scorer, "the cat sat", ["the cat ran", CAT]).score == max(alone)


def test_words_that_share_nothing_score_next_to_nothing_unlike_under_bleu_add1() -> None:
    assert graded_one("bleu", "apple", "orange").score == 0
    assert graded_one("chrf", "xyz", "orange").score == 0


def test_the_signature_of_the_settings_stands_with_each_grade() -> None:
    bleu = graded_one({"type": "bleu", "lowercase": True, "smooth": "floor"}, CAT, CAT)
    assert bleu.detail is not None
    assert bleu.detail.startswith("nrefs:1|case:lc|eff:yes|tok:13a|smooth:floor[0.10]|version:")
    chrf = graded_one({"type": "chrf", "word_order": 2}, CAT, CAT)
    assert chrf.detail is not None
    assert chrf.detail.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:")
    extracted = graded_one("bleu", f"Answer: {CAT}", CAT, extract="Answer: (.*)")
    assert (extracted.extracted, extracted.extracted_by, extracted.score) == (CAT, "regex", 1)


def test_a_blank_answer_is_empty_and_no_zero() -> None:
    assert [graded_one(scorer, " \n", CAT).outcome for scorer in ("bleu", "chrf")] == ["empty", "empty"]
    assert graded_one("bleu", CAT, None).outcome == "no_target"
