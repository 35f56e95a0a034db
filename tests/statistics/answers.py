"""Confidence, tokens, letters and categories of random entrants, against numpy and scipy.

One model is one data set.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
from scipy import stats

from tests.statistics.world import Found, World

N_MODELS = 1100
CONFIDENCES = ("grid", "real", "one", "extreme", "some missing")


def differences() -> Found:
    """Measure calibration, risk and coverage, perplexity, letters and category means."""
    rng = np.random.default_rng(7)
    world = World()
    run = world.run("20261130T083112Z-t-000001", "t", category=True)
    facts, letters = {}, {}
    for number in range(N_MODELS):
        model, n = f"m{number:04}", int(rng.choice([1, 2, 5, 10, 20, 30]))
        facts[model] = answers(rng, CONFIDENCES[number % len(CONFIDENCES)], n)
        letters[model] = options(rng, n, int(rng.integers(2, 6)))
        for i, ((confidence, right, nll, tokens), (gold, letter, count)) in enumerate(
            zip(facts[model], letters[model], strict=True)
        ):
            world.grade(
                run,
                model,
                f"s{i}",
                float(right) if letter or right else None,
                confidence=confidence,
                token_nll=nll,
                token_count=tokens,
                category=f"c{i % 3}",
                target=gold,
                extracted=letter,
                choice_order=str(list(range(count))),
            )
    found = Found()
    calibrated, curves, tokens, places, categories, totals = world.ask(
        "from calibration",
        "from risk_coverage",
        "from output_perplexity",
        "from position_bias",
        "from category_scores",
        "from run_scores",
    )
    calibration(found, {str(row["model"]): row for row in calibrated}, facts)
    aurc = {row["model"]: row["aurc"] for row in curves}
    for row in curves:
        kept = [(c, right) for c, right, _, _ in facts[str(row["model"])] if c is not None]
        sure = [right for c, right in kept if c >= row["threshold"]]
        found["coverage"].add(row["coverage"], len(sure) / len(kept))
        found["risk"].add(row["risk"], sure.count(0) / len(sure))
    for model, rows in facts.items():
        found["AURC"].add(aurc.get(model), area(rows))
    for row in tokens:
        nll = math.fsum(x for _, _, x, _ in facts[str(row["model"])])
        n = sum(x for _, _, _, x in facts[str(row["model"])])
        found["perplexity"].add(row["perplexity"], math.exp(nll / n) if n else None, relative=True)
    positions(found, places, letters, facts)
    means = defaultdict(list)
    for row in categories:
        mine = [r[1] for i, r in enumerate(facts[str(row["model"])]) if f"c{i % 3}" == row["category"]]
        means[row["model"]].append(float(np.mean(mine)))
    for row in totals:
        found["macro mean"].add(row["macro_mean"], float(np.mean(means[row["model"]])))
    return found


Answer = tuple[float | None, int, float, int]
Option = tuple[str, str | None, int]


def answers(rng: np.random.Generator, kind: str, n: int) -> list[Answer]:
    """Draw confidence, whether it is right, and token log-probabilities."""
    rows: list[Answer] = []
    chance = rng.choice([0.0, 1.0, *rng.random(6)])
    for _ in range(n):
        confidence: float | None = {
            "grid": int(rng.integers(0, 11)) / 10,
            "real": float(rng.random()),
            "one": 0.3,
            "extreme": float(rng.integers(0, 2)),
            "some missing": None if rng.random() < 0.4 else int(rng.integers(0, 21)) / 20,
        }[kind]
        tokens = int(rng.integers(0, 4)) * int(rng.integers(0, 50))
        rows.append((confidence, int(rng.random() < chance), float(rng.random() * tokens), tokens))
    return rows


def options(rng: np.random.Generator, n: int, count: int) -> list[Option]:
    """Draw right letters and answered ones; None names no letter."""
    bias = rng.dirichlet(np.ones(count))
    one = rng.random() < 0.1
    return [
        (
            "A" if one else "ABCDE"[int(rng.integers(0, count))],
            None if rng.random() < 0.1 else "ABCDE"[int(rng.choice(count, p=bias))],
            count,
        )
        for _ in range(n)
    ]


def calibration(found: Found, shown: dict[str, dict[str, object]], facts: dict[str, list[Answer]]) -> None:
    """Compare errors of calibration, Brier's score with its parts, and the area under the ROC."""
    for model, rows in facts.items():
        kept = [(c, right) for c, right, _, _ in rows if c is not None]
        if not kept:
            assert model not in shown
            continue
        row = shown[model]
        c, y = np.array([k for k, _ in kept]), np.array([r for _, r in kept], float)
        width = np.clip(np.digitize(c, np.linspace(0, 1, 11)[1:-1]), 0, 9)
        mass = (10 * (stats.rankdata(c, "min").astype(int) - 1)) // len(c)
        for name, bins in (("ece", width), ("ece_mass", mass)):
            gaps = [(bins == b).sum() * abs(c[bins == b].mean() - y[bins == b].mean()) for b in set(bins)]
            found[f"ECE, equal {name[4:] or 'width'}"].add(row[name], sum(gaps) / len(c))
        found["Brier score"].add(row["brier"], float(np.mean((c - y) ** 2)))
        inside = [(width == b, (width == b).sum() / len(c)) for b in set(width)]
        rel = sum(w * (c[m].mean() - y[m].mean()) ** 2 for m, w in inside)
        res = sum(w * (y[m].mean() - y.mean()) ** 2 for m, w in inside)
        found["Brier, reliability"].add(row["brier_reliability"], float(rel))
        found["Brier, resolution"].add(row["brier_resolution"], float(res))
        found["Brier, uncertainty"].add(row["brier_uncertainty"], float(y.mean() * (1 - y.mean())))
        auroc = None
        if 0 < y.sum() < len(y):
            u = stats.mannwhitneyu(c[y == 1], c[y == 0], method="asymptotic").statistic
            auroc = float(u / (y.sum() * (len(y) - y.sum())))
        found["AUROC"].add(row["auroc"], auroc)


def area(rows: list[Answer]) -> float | None:
    """Average, over answers, the share of wrong ones among those at least as confident."""
    kept = [(c, right) for c, right, _, _ in rows if c is not None]
    risks = []
    for threshold, _ in kept:
        sure = [right for c, right in kept if c >= threshold]
        risks.append(1 - sum(sure) / len(sure))
    return float(np.mean(risks)) if risks else None


def positions(
    found: Found,
    places: list[dict[str, object]],
    letters: dict[str, list[Option]],
    facts: dict[str, list[Answer]],
) -> None:
    """Compare what is said of each letter."""
    for row in places:
        model, letter = str(row["model"]), row["letter"]
        trials = list(zip(letters[model], facts[model], strict=True))
        named = [option for option, _ in trials if option[1]]
        gold = [fact[1] for option, fact in trials if option[0] == letter]
        mine = [option for option in named if option[1] == letter]
        share = len(mine) / len(named) if named else None
        found["letters, share answered"].add(row["share_answers"], share)
        excess = None if share is None else share - len(gold) / len(trials)
        found["letters, excess"].add(row["excess"], excess)
        found["letters, accuracy"].add(row["accuracy"], float(np.mean(gold)) if gold else None)
        precise = sum(option[0] == letter for option in mine) / len(mine) if mine else None
        found["letters, precision"].add(row["precision"], precise)
        recalls = [
            float(np.mean([fact[1] for option, fact in trials if option[0] == each]))
            for each in {option[0] for option, _ in trials}
        ]
        found["letters, spread of accuracy"].add(
            row["recall_spread"], float(np.std(recalls)) if len(recalls) > 1 else None
        )
