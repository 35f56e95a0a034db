"""What is not known, read by policy, as left out, as the worst and as the best; and means over tasks.

Against counting by fractions. One model is one data set.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np

from tests.statistics.world import Found, World

N_MODELS = 1100
UNANSWERED = ("truncated", "refused", "filtered", "over_context", "empty", "unparsed")
MISSING = ("provider_error", "judge_error", "scorer_error", "pending", "skipped")
KINDS: dict[str, tuple[float | None, float | None, bool, str]] = {
    "higher": (0.0, 1.0, True, "wrong"),
    "excluded": (0.0, 1.0, True, "exclude"),
    "lower": (1.0, 5.0, False, "wrong"),
    "unbounded": (None, None, True, "wrong"),
}
"""Kind of scorer to its least and greatest score, whether more is better, and what unanswered counts as."""


def differences() -> Found:
    """Measure means with their bounds, and the board over tasks."""
    found = Found()
    read(found)
    over_tasks(found)
    return found


def read(found: Found) -> None:
    """Compare each reading of a run with the mean of its samples' means."""
    rng = np.random.default_rng(29)
    world = World()
    trials: dict[tuple[str, str], dict[str, list[tuple[Fraction | None, str]]]] = {}
    for number, (kind, (low, high, higher, policy)) in enumerate(KINDS.items()):
        world.scorer(kind, score_min=low, score_max=high, higher_is_better=higher, pass_threshold=1.0)
        run = world.run(f"20261130T083112Z-t-{number:06x}", kind, epochs=3, unanswered=policy)
        for model in (f"m{i:04}" for i in range(number, N_MODELS, len(KINDS))):
            mine: dict[str, list[tuple[Fraction | None, str]]] = defaultdict(list)
            share_lost = rng.choice([0.0, 0.2, 0.9])
            for sample in (f"s{i}" for i in range(int(rng.choice([1, 2, 5])))):
                has_target = rng.random() > 0.1
                for epoch in range(1, int(rng.integers(1, 4)) + 1):
                    score = Fraction(int(rng.integers(0, 5)), 4) + (1 if kind == "lower" else 0)
                    outcome = "scored"
                    if rng.random() < share_lost:
                        outcome = str(rng.choice(UNANSWERED if rng.random() < 0.5 else MISSING))
                    outcome = outcome if has_target else "no_target"
                    kept = score if outcome == "scored" else None
                    value = None if kept is None else float(kept)
                    world.grade(run, model, sample, value, epoch=epoch, outcome=outcome, scorer=kind)
                    mine[sample].append((kept, outcome))
            trials[kind, model] = mine
    (shown,) = world.ask("from run_scores")
    for row in shown:
        low, high, higher, policy = KINDS[row["task"]]
        worst, best = (low, high) if higher else (high, low)
        counted = worst if policy == "wrong" else None
        samples = list(trials[row["task"], row["model"]].values())
        known = [[reading(t, counted, None) for t in sample] for sample in samples]
        found["mean, by policy"].add(row["mean"], mean_of_means(known))
        found["mean of what was answered"].add(
            row["mean_answered"], mean_of_means([[score for score, _ in sample] for sample in samples])
        )
        for name, bound in (("mean_worst", worst), ("mean_best", best)):
            asked = [[t for t in sample if t[1] != "no_target"] for sample in samples]
            readings = [[reading(t, counted, bound) for t in sample] for sample in asked]
            is_open = any(value is None for sample in readings for value in sample)
            found["bounds of a mean"].add(row[name], None if is_open else mean_of_means(readings))
        every = [t for sample in samples for t in sample]
        found["trials that count"].add(row["n"], sum(reading(t, counted, None) is not None for t in every))
        lost = sum(score is None and outcome in UNANSWERED for score, outcome in every)
        found["unanswered trials"].add(row["n_unanswered"], lost)


def reading(
    trial: tuple[Fraction | None, str], counted: float | None, bound: float | None
) -> Fraction | None:
    """Read a trial: its score, else what unanswered counts, else the bound; None leaves it out."""
    score, outcome = trial
    if score is not None:
        return score
    value = counted if outcome in UNANSWERED and counted is not None else bound
    return None if value is None or outcome == "no_target" else Fraction(value)


def mean_of_means(samples: list[list[Fraction | None]]) -> float | None:
    """Average the samples' averages; None and empty ones are left out."""
    kept = [[value for value in sample if value is not None] for sample in samples]
    means = [sum(sample, Fraction(0)) / len(sample) for sample in kept if sample]
    return float(sum(means, Fraction(0)) / len(means)) if means else None


def over_tasks(found: Found) -> None:
    """Compare means over tasks, each rescaled to run from 0 to 1."""
    rng = np.random.default_rng(31)
    world = World()
    rescaled: dict[str, list[Fraction]] = defaultdict(list)
    rates: dict[str, list[Fraction]] = defaultdict(list)
    for number, (kind, (low, high, higher, _)) in enumerate(KINDS.items()):
        world.scorer(kind, score_min=low, score_max=high, higher_is_better=higher, pass_threshold=1.0)
        run = world.run(f"20261130T083112Z-t-{number:06x}", kind, n_samples=2, n_trials=2 * N_MODELS)
        models = [f"m{i:04}" for i in range(N_MODELS) if rng.random() < 0.8]
        scores = {model: [int(x) for x in rng.integers(1, 6, 2)] for model in models}
        for model, pair in scores.items():
            for i, score in enumerate(pair):
                world.grade(run, model, f"s{i}", score / (5 if high == 1 else 1), scorer=kind)
            mean = Fraction(sum(pair), 2)
            if high is not None:
                rescaled[model].append((5 - mean) / 4 if kind == "lower" else mean / 5)
            best = [(max if higher else min)(each) for each in zip(*scores.values(), strict=True)]
            rates[model].append(Fraction(sum(a == b for a, b in zip(pair, best, strict=True)), 2))
    (shown,) = world.ask("select distinct model, mean_over_tasks, mean_win_rate, n_tasks from board")
    for row in shown:
        found["mean over tasks"].add(row["mean_over_tasks"], average(rescaled[row["model"]]))
        found["mean win rate"].add(row["mean_win_rate"], average(rates[row["model"]]))
        found["tasks in a mean"].add(row["n_tasks"], len(rescaled[row["model"]]))


def average(values: list[Any]) -> float | None:
    """Average fractions; None without any."""
    return float(sum(values, Fraction(0)) / len(values)) if values else None
