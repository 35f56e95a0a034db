r"""Scores by words in common: F1, ROUGE-L and sentence BLEU with one added.

Invariant: words are the runs of `\w` of the text after the step `lower`, as Python's `re` finds them, in
every one of them, unless the scorer asks for the rules of SQuAD or rouge-score; of several targets the
best counts.

They run in Python: counting words in SQL measured no faster (unnest and group), and the longest common
subsequence has no set form.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import cast

from gradetrail.scorer_spec import F1, RougeL
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.normalize import lower, normalized
from gradetrail.scoring.rule import Given, Rule, Verdict, one_by_one

MAX_ORDER = 4
WordsOf = Callable[[str], list[str]]


def words(text: str) -> list[str]:
    """Give the words of a text."""
    return re.findall(r"\w+", lower(text))


def squad_words(text: str) -> list[str]:
    """Give the words of a text by the rules of SQuAD, but that a number keeps its sign, commas and point."""
    return normalized(text, ("lower", "punctuation", "articles")).split()


def f1(answer: Sequence[str], target: Sequence[str]) -> float:
    """Give the harmonic mean of precision and recall over the multisets of words."""
    if not answer or not target:
        return float(not answer and not target)
    shared = sum((Counter(answer) & Counter(target)).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(answer), shared / len(target)
    return 2 * precision * recall / (precision + recall)


def rouge_l(answer: Sequence[str], target: Sequence[str]) -> float:
    """Give F with beta 1 of the longest common subsequence."""
    if not answer or not target:
        return float(not answer and not target)
    longest = longest_common(answer, target)
    if longest == 0:
        return 0.0
    precision, recall = longest / len(answer), longest / len(target)
    return 2 * precision * recall / (recall + precision)


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Give the length of the longest common subsequence.

    Bit-parallel: each bit of an integer is a place in `other`, so a step costs one addition
    (Hyyro 2004, "Bit-parallel LCS-length computation revisited").
    """
    places: dict[str, int] = {}
    for place, word in enumerate(other):
        places[word] = places.get(word, 0) | 1 << place
    full = (1 << len(other)) - 1
    row = full
    for word in one:
        hits = row & places.get(word, 0)
        row = ((row + hits) | (row - hits)) & full
    return len(other) - row.bit_count()


def bleu_add1(answer: Sequence[str], target: Sequence[str]) -> float:
    """Give sentence BLEU-4 with one added to matches and totals of every order, times the brevity penalty."""
    if not answer:
        return 0.0
    logs = 0.0
    for order in range(1, MAX_ORDER + 1):
        given = Counter(zip(*(answer[start:] for start in range(order)), strict=False))
        wanted = Counter(zip(*(target[start:] for start in range(order)), strict=False))
        clipped = sum((given & wanted).values())
        logs += math.log((clipped + 1) / (sum(given.values()) + 1))
    return brevity_penalty(len(answer), len(target)) * math.exp(logs / MAX_ORDER)


def brevity_penalty(answer: int, target: int) -> float:
    """Give 1 for answers as long as the target, less for shorter ones, 0 for an empty one."""
    if answer == 0:
        return 0.0
    return 1.0 if answer >= target else math.exp(1 - target / answer)


METRICS: dict[str, Callable[[Sequence[str], Sequence[str]], float]] = {
    "f1": f1,
    "rouge_l": rouge_l,
    "bleu_add1": bleu_add1,
}


def best_overlap(metric: str, answer: str, targets: Sequence[str], words_of: WordsOf = words) -> float:
    """Give the score against the best of several targets."""
    given = words_of(answer)
    return max(METRICS[metric](given, words_of(target)) for target in targets)


def overlap_rule(definition: Definition) -> Rule:
    """Give the rule of `f1`, `rouge_l` or `bleu_add1`."""
    scorer = definition.scorer
    if isinstance(scorer, RougeL) and scorer.rules == "rouge_score":
        return _rouge_score_rule(scorer)
    words_of = squad_words if isinstance(scorer, F1) and scorer.rules == "squad" else words
    return one_by_one(lambda given: Verdict(best_overlap(scorer.type, given.text, given.targets, words_of)))


def _rouge_score_rule(scorer: RougeL) -> Rule:
    """Compare words as rouge-score finds them; its own table of subsequences is a hundred times slower."""

    @cache
    def words_of() -> WordsOf:
        if scorer.stem:
            from rouge_score.tokenizers import DefaultTokenizer

            return cast("WordsOf", DefaultTokenizer(use_stemmer=True).tokenize)
        from rouge_score.tokenize import tokenize

        return partial(tokenize, stemmer=None)

    def judge(given: Given) -> Verdict:
        found = words_of()
        answer = found(given.text)
        return Verdict(max(rouge_l(answer, found(each)) if answer else 0.0 for each in given.targets))

    return one_by_one(judge)
