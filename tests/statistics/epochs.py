"""Repeated answers and two scorers of random runs, against numpy, scipy, statsmodels, counting and search."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from itertools import combinations

import numpy as np
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from tests.statistics.world import Found, World

N_SETS = 1100


def differences() -> Found:
    """Measure spread over epochs, pass@k, and agreement."""
    found = Found()
    repeated(found)
    planned(found)
    agreeing(found)
    return found


def repeated(found: Found) -> None:
    """Compare the analysis of variance with deviations and scipy's F, and pass@k with all subsets."""
    rng = np.random.default_rng(11)
    world = World()
    run = world.run("20261130T083112Z-t-000001", "t", epochs=5)
    facts: dict[str, dict[str, list[float]]] = {}
    for number in range(N_SETS):
        model, facts[f"m{number:04}"] = f"m{number:04}", defaultdict(list)
        kind = ("binary", "real", "equal", "same within", "same between")[number % 5]
        for i in range(int(rng.choice([1, 2, 3, 6]))):
            chance = rng.random()
            for epoch in range(1, int(rng.choice([1, 2, 3, 5])) + 1):
                score = {
                    "binary": float(rng.random() < chance),
                    "real": round(chance / 2 + float(rng.random()) / 2, 3),
                    "equal": 1.0,
                    "same within": round(chance),
                    "same between": float(epoch % 2),
                }[kind]
                is_missing = rng.random() < 0.1
                outcome = "provider_error" if is_missing else "scored"
                world.grade(run, model, f"s{i}", None if is_missing else score, epoch=epoch, outcome=outcome)
                if not is_missing:
                    facts[model][f"s{i}"].append(float(score))
    spread, flaky, passes = world.ask(
        "from variance", "select model, count(*) as n from flaky group by model", "from pass_at_k"
    )
    n_flaky = {row["model"]: row["n"] for row in flaky}
    for row in spread:
        samples = list(facts[row["model"]].values())
        components(found, row, samples)
        differ = sum(len(set(sample)) > 1 for sample in samples)
        found["flaky samples"].add(n_flaky.get(row["model"], 0), differ)
    for row in passes:
        full = [sample for sample in facts[row["model"]].values() if len(sample) >= row["k"]]
        any_of = [np.mean([max(c) >= 1 for c in combinations(s, row["k"])]) for s in full]
        all_of = [np.mean([min(c) >= 1 for c in combinations(s, row["k"])]) for s in full]
        found["pass@k"].add(row["pass_at_k"], float(np.mean(any_of)))
        found["pass^k"].add(row["pass_hat_k"], float(np.mean(all_of)))
        lead = [2 * sum(score >= 0.999999 for score in s) - len(s) for s in facts[row["model"]].values()]
        majority = float(np.mean([(np.sign(each) + 1) / 2 for each in lead]))
        found["majority vote"].add(row["majority_vote"], majority)


def components(found: Found, row: dict[str, object], samples: list[list[float]]) -> None:
    """Compute components of variance from deviations, and the intraclass correlation from F."""
    sizes = np.array([len(sample) for sample in samples])
    n, g = int(sizes.sum()), len(samples)
    every = np.concatenate(samples)
    within = between = None
    if n > g:
        within = sum(((np.array(s) - np.mean(s)) ** 2).sum() for s in samples) / (n - g)
    if within is not None and g > 1:
        square = sum(len(s) * (np.mean(s) - every.mean()) ** 2 for s in samples) / (g - 1)
        k = (n - (sizes**2).sum() / n) / (g - 1)
        between = max(0.0, float(square - within) / k)
        between = 0.0 if between < 1e-15 else between
        found["standard error with epochs"].add(row["stderr_now"], math.sqrt((between + within / k) / g))
        found["standard error without end of epochs"].add(row["stderr_least"], math.sqrt(between / g))
    else:
        found["standard error with epochs"].add(row["stderr_now"], None)
        found["standard error without end of epochs"].add(row["stderr_least"], None)
    found["variance within samples"].add(row["within_variance"], within)
    found["variance between samples"].add(row["between_variance"], between)
    icc = None
    if between is not None and within is not None and between + within > 1e-15:
        icc = 1.0
        if within > 1e-15:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                f = float(stats.f_oneway(*samples).statistic)
            icc = max(0.0, (f - 1) / (f - 1 + k))
    found["intraclass correlation"].add(row["icc"], icc)


def planned(found: Found) -> None:
    """Compare the epochs that a pair needs with the first number of epochs that has the power."""
    rng = np.random.default_rng(37)
    world, facts = World(), {}
    for number in range(N_SETS):
        task, epochs, n = f"t{number:04}", int(rng.integers(2, 5)), int(rng.choice([3, 8, 20, 60]))
        run = world.run(f"20261130T083112Z-t-{number:06x}", task, epochs=epochs, n_samples=n)
        hard, lead = rng.random(n), rng.random() / 3
        for model, skill in (("a", lead), ("b", 0.0)):
            chance = np.clip(np.round(hard) * 0.6 + skill + 0.1, 0, 1)[:, None]
            scores = (rng.random((n, epochs)) < chance).astype(float)
            facts[task, model] = scores
            for i in range(n):
                for epoch in range(epochs):
                    world.grade(run, model, f"s{i}", float(scores[i, epoch]), epoch=epoch + 1)
    (shown,) = world.ask("from power")
    for row in shown:
        a, b = facts[row["task"], row["a_model"]], facts[row["task"], row["b_model"]]
        found["epochs needed"].add(row["epochs_needed"], first_with_power(a, b))


def first_with_power(a: np.ndarray, b: np.ndarray) -> int | None:
    """Search the number of epochs from which on as many samples as there are find the difference seen."""
    n, epochs = a.shape
    difference = float(a.mean() - b.mean())
    variance = float(np.var(a.mean(axis=1) - b.mean(axis=1), ddof=1))
    within = float(a.var(axis=1, ddof=1).mean() + b.var(axis=1, ddof=1).mean()) / epochs
    if abs(difference) < 1e-12 or variance < 1e-12:
        return None
    z = stats.norm.ppf(0.975)

    def needed(spread: float) -> float:
        return (z + stats.norm.ppf(0.8)) ** 2 * spread / difference**2 + z**2 / 2

    if math.ceil(round(needed(variance), 9)) <= n:
        return epochs
    between = max(0.0, variance - within)
    if within < 1e-12 or needed(between) >= n:
        return None
    k = 1
    while needed(between + within * epochs / k) > n + 1e-9:
        k += max(1, k // 10_000)
    return k


def agreeing(found: Found) -> None:
    """Compare agreement and the three kappas with statsmodels."""
    rng = np.random.default_rng(13)
    world, facts = World(), {}
    for scorer in ("one", "two"):
        world.scorer(scorer, score_min=1.0, score_max=5.0, pass_threshold=3.0)
    for number in range(N_SETS):
        run = world.run(f"20261130T083112Z-t-{number:06x}", f"t{number:04}")
        kind = ("noisy", "independent", "same", "constant", "binary")[number % 5]
        rows = []
        for i in range(int(rng.choice([1, 2, 4, 8, 20]))):
            a = {"constant": 4, "binary": 5 if rng.random() < 0.6 else 1}.get(kind, int(rng.integers(1, 6)))
            b = {
                "noisy": int(np.clip(a + rng.integers(-1, 2), 1, 5)),
                "independent": int(rng.integers(1, 6)),
                "binary": 6 - a if rng.random() < 0.3 else a,
            }.get(kind, a)
            seen = [None if rng.random() < 0.05 else x for x in (a, b)]
            for scorer, score in zip(("one", "two"), seen, strict=True):
                world.grade(
                    run,
                    "m",
                    f"s{i}",
                    None if score is None else float(score),
                    scorer=scorer,
                    is_planned=scorer == "one",
                    is_pass=None if score is None else score >= 3,
                    outcome="judge_error" if score is None else "scored",
                )
            if None not in seen:
                rows.append(seen)
        facts[run] = rows
    (shown,) = world.ask("from judge_agreement")
    for row in shown:
        rows = facts[row["run_id"]]
        found["agreement"].add(
            row["agreement"], float(np.mean([(a >= 3) == (b >= 3) for a, b in rows])) if rows else None
        )
        table = np.zeros((5, 5))
        for a, b in rows:
            table[a - 1, b - 1] += 1
        fail, passed = slice(0, 2), slice(2, 5)
        verdicts = np.array([[table[i, j].sum() for j in (fail, passed)] for i in (fail, passed)])
        found["Cohen's kappa"].add(row["kappa"], kappa(verdicts, None))
        found["kappa of scores"].add(row["score_kappa"], kappa(table, None))
        found["kappa, quadratic weights"].add(row["score_kappa_weighted"], kappa(table, "quadratic"))


def kappa(table: np.ndarray, weights: str | None) -> float | None:
    """Give statsmodels' kappa; None where chance explains everything."""
    if not table.sum() or (table.sum(1) / table.sum() * table.sum(0) / table.sum()).sum() == 1:
        return None
    return float(cohens_kappa(table, wt=weights, return_results=False))
