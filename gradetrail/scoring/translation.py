"""Scores of translations as published: BLEU and chrF of single answers, by sacrebleu.

Invariant: a score is sacrebleu's sentence score for the same text, target and settings, divided by 100.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradetrail.scorer_spec import Bleu, Chrf
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.rule import Given, Rule, Verdict, one_by_one

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF


def bleu_rule(definition: Definition) -> Rule:
    """Give the rule of `bleu`."""
    scorer = definition.scorer
    assert isinstance(scorer, Bleu)
    from sacrebleu.metrics.bleu import BLEU

    return one_by_one(
        _best(
            BLEU(
                lowercase=scorer.lowercase,
                tokenize=scorer.tokenize,
                smooth_method=scorer.smooth,
                smooth_value=scorer.smooth_value,
                max_ngram_order=scorer.max_order,
                effective_order=scorer.effective_order,
            )
        )
    )


def chrf_rule(definition: Definition) -> Rule:
    """Give the rule of `chrf`."""
    scorer = definition.scorer
    assert isinstance(scorer, Chrf)
    from sacrebleu.metrics.chrf import CHRF

    return one_by_one(
        _best(
            CHRF(
                char_order=scorer.char_order,
                word_order=scorer.word_order,
                beta=scorer.beta,
                lowercase=scorer.lowercase,
                whitespace=scorer.whitespace,
            )
        )
    )


def _best(metric: BLEU | CHRF) -> Callable[[Given], Verdict]:
    def judge(given: Given) -> Verdict:
        scores = [metric.sentence_score(given.text, [target]).score for target in given.targets]
        # a perfect score comes out as 100.00000000000004
        return Verdict(min(max(scores) / 100, 1.0), detail=str(metric.get_signature()))

    return judge
