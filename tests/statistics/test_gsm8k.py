"""The four models of the demo on the 1,319 questions of GSM8K: every pair, computed twice.

Grades are the authors' own (`tests/data/gsm8k`); `tests/scoring/test_gsm8k.py` shows that ours equal them.
"""

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from tests.statistics.macros import rows_of
from tests.statistics.world import World

RIGHT = json.loads((Path(__file__).parents[1] / "data/gsm8k/is_correct.json").read_text(encoding="utf-8"))
SCORES = {model: np.array([float(digit) for digit in digits]) for model, digits in RIGHT.items()}
N = 1319


@pytest.fixture(scope="module")
def shown():
    world = World()
    run = world.run("20261130T083112Z-gsm8k-000001", "gsm8k", n_samples=N, n_trials=4 * N)
    for model, scores in SCORES.items():
        for i, score in enumerate(scores):
            world.grade(run, model, f"q{i:04}", float(score))
    names = ("leaderboard", "pairwise", "power", "sample_stats")
    return dict(zip(names, world.ask(*(f"from {name}" for name in names)), strict=True))


def test_means_and_intervals_are_those_of_statsmodels(shown):
    assert [row["model"] for row in shown["leaderboard"]] == [
        "175b_verification",
        "6b_verification",
        "175b_finetuning",
        "6b_finetuning",
    ]
    for row in shown["leaderboard"]:
        scores = SCORES[row["model"]]
        low, high = proportion_confint(scores.sum(), N, method="wilson")
        assert row["mean"] == pytest.approx(scores.mean(), abs=1e-15)
        assert row["stderr"] == pytest.approx(scores.std(ddof=1) / math.sqrt(N), abs=1e-15)
        assert (row["ci_low"], row["ci_high"]) == (pytest.approx(low), pytest.approx(high))


def test_all_six_pairs_have_the_exact_p_of_mcnemar(shown):
    rows = {(row["a_model"], row["b_model"]): row for row in shown["pairwise"]}
    assert {frozenset(pair) for pair in rows} == {frozenset(pair) for pair in combinations(SCORES, 2)}
    for (a, b), row in rows.items():
        up, down = int((SCORES[a] > SCORES[b]).sum()), int((SCORES[a] < SCORES[b]).sum())
        tail = sum(math.comb(up + down, i) for i in range(min(up, down) + 1))
        p = min(Fraction(1), Fraction(2 * tail, 2 ** (up + down)))
        assert (row["n_better"], row["n_worse"], row["test"]) == (up, down, "mcnemar")
        assert row["p"] == pytest.approx(float(p), rel=1e-10)


def test_differences_and_their_intervals_are_those_of_a_paired_t_test(shown):
    for row in shown["pairwise"]:
        paired = stats.ttest_rel(SCORES[row["a_model"]], SCORES[row["b_model"]])
        low, high = paired.confidence_interval(0.95)
        difference = SCORES[row["a_model"]].mean() - SCORES[row["b_model"]].mean()
        assert row["difference"] == pytest.approx(difference, abs=1e-14)
        assert row["stderr"] == pytest.approx(difference / paired.statistic, rel=1e-10)
        assert (row["ci_low"], row["ci_high"]) == (
            pytest.approx(low, abs=1e-9),
            pytest.approx(high, abs=1e-9),
        )


def test_p_is_corrected_over_the_six_pairs_and_says_the_verdict(shown):
    rows = shown["pairwise"]
    holm = multipletests([row["p"] for row in rows], method="holm")[1]
    assert [row["p_holm"] for row in rows] == pytest.approx(list(holm), rel=1e-12)
    verdicts = {(row["a_model"], row["b_model"]): row["verdict"] for row in rows}
    assert verdicts == {
        ("175b_verification", "6b_verification"): "better",
        ("175b_verification", "175b_finetuning"): "better",
        ("175b_verification", "6b_finetuning"): "better",
        ("6b_verification", "175b_finetuning"): "better",
        ("6b_verification", "6b_finetuning"): "better",
        ("175b_finetuning", "6b_finetuning"): "better",
    }


DRAWS = 20_000
"""Simulations; the binomial standard error of a power of 0.8 is 0.0028, and 4 of them are allowed."""
TOLERANCE = 4 * math.sqrt(0.8 * 0.2 / DRAWS)


def power_of(difference, deviation, n, seed):
    """Simulate paired grades of 0 and 1 with this mean difference; share of t tests that find it."""
    differing = deviation**2 + difference**2
    chances = [(differing + difference) / 2, (differing - difference) / 2, 1 - differing]
    up, down, _ = np.random.default_rng(seed).multinomial(n, chances, DRAWS).T
    mean = (up - down) / n
    stderr = np.sqrt((up + down - n * mean**2) / (n - 1) / n)
    return float((np.abs(mean) > stats.t.ppf(0.975, n - 1) * stderr).mean())


def test_the_smallest_detectable_difference_is_found_four_times_in_five(shown):
    for seed, row in enumerate(shown["pairwise"]):
        deviation = row["stderr"] * math.sqrt(N)
        power = power_of(row["smallest_detectable"], deviation, N, seed)
        assert power == pytest.approx(0.8, abs=TOLERANCE), row["a_model"]


def test_the_samples_needed_find_the_difference_four_times_in_five(shown):
    for seed, row in enumerate(shown["power"]):
        power = power_of(row["difference"], row["deviation"], row["samples_needed"], 100 + seed)
        assert power == pytest.approx(0.8, abs=TOLERANCE + 0.02), row["a_model"]
        assert row["samples_needed_holm"] > row["samples_needed"]


@pytest.mark.parametrize("df", [9, 19, 99, 1318])
def test_the_smallest_detectable_difference_has_the_power_of_the_noncentral_t(df):
    ((detectable,),) = rows_of("smallest_detectable(a, b)", [0.5], [df])
    critical, shift = stats.t.ppf(0.975, df), detectable / 0.5
    power = 1 - stats.nct.cdf(critical, df, shift) + stats.nct.cdf(-critical, df, shift)
    assert power == pytest.approx(0.8, abs=0.012)


@pytest.mark.parametrize("effect", [0.1, 0.2, 0.5, 0.8, 1.2])
def test_samples_needed_are_those_of_the_exact_power_of_a_paired_t_test(effect):
    from statsmodels.stats.power import TTestPower

    ((needed,),) = rows_of("samples_needed(a, 1.0, 0.05)", [effect])
    exact = TTestPower().solve_power(effect_size=effect, power=0.8, alpha=0.05)
    assert needed == pytest.approx(math.ceil(exact), abs=1)


def test_every_question_has_a_difficulty(shown):
    rows = shown["sample_stats"]
    right = sum(SCORES.values())
    assert len(rows) == N
    assert sum(row["is_all_wrong"] for row in rows) == int((right == 0).sum())
    assert sum(row["is_all_right"] for row in rows) == int((right == 4).sum())
    assert {row["reason"] for row in rows} == {"fewer than 10 entrants"}
    assert all(row["discrimination"] is None for row in rows)
