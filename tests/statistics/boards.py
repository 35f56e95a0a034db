"""Means, intervals, pairs and win rates of random boards, against numpy, scipy and statsmodels."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.power import normal_sample_size_one_tail
from statsmodels.stats.proportion import proportion_confint

from tests.statistics.world import Found, World

N_BOARDS = 1100
KINDS = (
    "binary",
    "thirds",
    "clustered",
    "real",
    "clustered thirds",
    "lower",
    "clustered",
    "sparse",
    "clustered thirds",
    "equal",
)
Scores = dict[str, dict[str, float]]


def boards() -> tuple[World, dict[str, tuple[str, Scores, dict[str, str]]]]:
    """Draw boards of 1 to 4 models on 1 to 25 samples; give the scores and clusters of each task."""
    rng = np.random.default_rng(20261130)
    world, facts = World(), {}
    world.scorer("lower", score_min=0.0, score_max=3.0, higher_is_better=False, pass_threshold=1.0)
    for number in range(N_BOARDS):
        kind = KINDS[number % len(KINDS)]
        n = int(rng.choice([1, 2, 3, 5, 8, 13, 25]))
        task, models = f"t{number:04}", [f"m{i}" for i in range(int(rng.integers(1, 5)))]
        is_clustered = kind.startswith("clustered")
        run = world.run(
            f"20261130T083112Z-t-{number:06x}",
            task,
            n_samples=n,
            n_trials=n * len(models),
            cluster=is_clustered,
            category=True,
        )
        clusters = {}
        if is_clustered:  # from one cluster of everything to clusters of one; some samples have none
            names = rng.integers(0, max(1, int(n * rng.random() ** 2)), n)
            clusters = {f"s{i}": f"c{name}" for i, name in enumerate(names) if rng.random() < 0.9}
        scores: Scores = {model: {} for model in models}
        for model in models:
            chance = rng.random()
            for sample in (f"s{i}" for i in range(n)):
                score = draw(rng, kind, chance)
                missing = kind == "sparse" and rng.random() < 0.3
                unanswered = not missing and kind != "lower" and rng.random() < 0.05
                outcome = "no_target" if missing else "unparsed" if unanswered else "scored"
                world.grade(
                    run,
                    model,
                    sample,
                    None if outcome != "scored" else score,
                    outcome=outcome,
                    scorer="lower" if kind == "lower" else "strict",
                    cluster=clusters.get(sample),
                    category=category_of(sample),
                )
                if not missing:
                    scores[model][sample] = 0.0 if unanswered else score
        facts[task] = (kind, scores, clusters)
    return world, facts


def category_of(sample: str) -> str:
    """Put a third of the samples into a category that clusters cut across."""
    return "third" if int(sample[1:]) % 3 == 0 else "rest"


def draw(rng: np.random.Generator, kind: str, chance: float) -> float:
    """Draw a score."""
    if kind == "equal":
        return float(round(chance))
    if kind in ("thirds", "lower", "clustered thirds"):
        return float(rng.integers(0, 4)) / (1 if kind == "lower" else 3)
    return round(float(rng.random()), 3) if kind == "real" else float(rng.random() < chance)


def stderr_of(values: list[float], groups: list[str] | None) -> float | None:
    """Compute the standard error by regression on a constant, robust to clusters if there are any."""
    labels = groups if groups is not None else [str(i) for i in range(len(values))]
    if len(set(labels)) < 2:
        return None
    if groups is None:
        return float(np.std(values, ddof=1) / np.sqrt(len(values)))
    codes = np.unique(labels, return_inverse=True)[1]
    fit = sm.OLS(np.asarray(values), np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": codes})
    stderr = float(np.sqrt(np.maximum(fit.cov_params()[0, 0], 0)))
    return 0.0 if stderr < 1e-8 else stderr


def groups_of(samples: list[str], clusters: dict[str, str], is_clustered: bool) -> list[str] | None:
    """Name the cluster of each sample, itself where it has none; None without clusters."""
    return [clusters.get(s, f"alone {s}") for s in samples] if is_clustered else None


def interval_of(
    values: list[float], groups: list[str] | None, kind: str
) -> tuple[float | None, float | None]:
    """Compute the 95 % interval of a mean."""
    units = len(set(groups)) if groups is not None else len(values)
    if units < 2:
        return None, None
    stderr, mean = stderr_of(values, groups), float(np.mean(values))
    assert stderr is not None
    if kind != "lower" and all(v in (0, 1) for v in values) and (groups is None or stderr < 1e-12):
        low, high = proportion_confint(
            sum(values) if groups is None else mean * units, units, method="wilson"
        )
        return float(low), float(high)
    low, high = mean + stats.t.ppf([0.025, 0.975], units - 1) * stderr
    return max(low, 0.0), min(high, 3.0 if kind == "lower" else 1.0)


def differences() -> Found:
    """Measure everything that a board says."""
    world, facts = boards()
    found = Found()
    runs, categories, leaders, pairs, needs = world.ask(
        "from run_scores", "from category_scores", "from leaderboard", "from pairwise", "from power"
    )
    for row in runs + categories:
        kind, scores, clusters = facts[row["task"]]
        category = row.get("category")
        mine = {s: v for s, v in scores[row["model"]].items() if category in (None, category_of(s))}
        values = list(mine.values())
        groups = groups_of(list(mine), clusters, kind.startswith("clustered"))
        about = "category, " if category else ""
        found[f"{about}mean"].add(row["mean"], float(np.mean(values)) if values else None)
        kept = f"{about}standard error, clustered" if groups is not None else f"{about}standard error"
        found[kept].add(row["stderr"], stderr_of(values, groups))
        low, high = interval_of(values, groups, kind) if values else (None, None)
        found[f"{about}interval"].add(row["ci_low"], low)
        found[f"{about}interval"].add(row["ci_high"], high)
    win_rates(found, leaders, facts)
    paired(found, pairs, facts)
    planned(found, needs)
    return found


def win_rates(
    found: Found, leaders: list[dict[str, object]], facts: dict[str, tuple[str, Scores, dict[str, str]]]
) -> None:
    """Compare shares of samples on which a model is best with counts by fractions."""
    for row in leaders:
        kind, scores, _ = facts[str(row["task"])]
        ranked = {model: mine for model, mine in scores.items() if mine}
        sign = -1 if kind == "lower" else 1
        wins, split = Fraction(0), Fraction(0)
        mine = scores[str(row["model"])]
        for sample, score in mine.items():
            others = [sign * theirs[sample] for theirs in ranked.values() if sample in theirs]
            if sign * score == max(others):
                wins += 1
                split += Fraction(1, others.count(max(others)))
        alone = len(ranked) < 2 or not mine
        found["win rate"].add(row["win_rate"], None if alone else float(wins / len(mine)))
        found["win rate, split"].add(row["win_rate_split"], None if alone else float(split / len(mine)))


def paired(
    found: Found, pairs: list[dict[str, object]], facts: dict[str, tuple[str, Scores, dict[str, str]]]
) -> None:
    """Compare pairs: difference, error, interval, exact p, Holm, smallest detectable difference, verdict."""
    families = defaultdict(list)
    for row in pairs:
        families[row["task"]].append(row)
    for task, rows in families.items():
        kind, scores, clusters = facts[str(task)]
        ps: list[float | None] = []
        sides: list[tuple[int, int, float]] = []
        for row in rows:
            a, b = scores[str(row["a_model"])], scores[str(row["b_model"])]
            shared = [sample for sample in a if sample in b]
            gaps = [a[s] - b[s] for s in shared]
            groups = groups_of(
                shared, clusters, kind.startswith("clustered") and any(s in clusters for s in shared)
            )
            stderr = stderr_of(gaps, groups) if gaps else None
            units = len(set(groups)) if groups is not None else len(gaps)
            sums: dict[str, float] = defaultdict(float)
            for name, gap in zip(groups or shared, gaps, strict=True):
                sums[name] += gap
            worth = [round(-s if kind == "lower" else s, 9) for s in sums.values()]
            up, down = sum(w > 0 for w in worth), sum(w < 0 for w in worth)
            p = float(stats.binomtest(up, up + down).pvalue) if up + down else None
            found["paired difference"].add(row["difference"], float(np.mean(gaps)) if gaps else None)
            name = "paired standard error, clustered" if groups is not None else "paired standard error"
            found[name].add(row["stderr"], stderr)
            width = 3.0 if kind == "lower" else 1.0
            if stderr is None:
                low = high = detectable = None
            else:
                mean = float(np.mean(gaps))
                low = max(-width, mean - stats.t.ppf(0.975, units - 1) * stderr)
                high = min(width, mean + stats.t.ppf(0.975, units - 1) * stderr)
                detectable = (stats.t.ppf(0.975, units - 1) + stats.norm.ppf(0.8)) * stderr
                detectable = detectable if stderr > 1e-12 else row["smallest_detectable"]
            found["paired interval"].add(row["ci_low"], low)
            found["paired interval"].add(row["ci_high"], high)
            found["smallest detectable difference"].add(row["smallest_detectable"], detectable)
            found["exact McNemar or sign test"].add(row["p"], p, relative=True)
            ps.append(p)
            sides.append(
                (up, down, float(np.mean(gaps)) * (-1 if kind == "lower" else 1) if gaps else np.nan)
            )
        for row, wanted, side in zip(rows, holm(ps), sides, strict=True):
            found["Holm's correction"].add(row["p_holm"], wanted, relative=True)
            found["verdict of a pair"].add(row["verdict"], verdict(*side, wanted))


def holm(ps: list[float | None]) -> list[float | None]:
    """Correct the p of a family one by one, from the definition; None is no part of it."""
    tested = sorted(p for p in ps if p is not None)
    m = len(tested)
    steps = [min(1.0, (m - k) * p) for k, p in enumerate(tested)]
    return [None if p is None else max(steps[: 1 + tested.index(p)]) for p in ps]


def verdict(up: int, down: int, gain: float, p_holm: float | None) -> str:
    """Say what the page on statistics says of a pair."""
    if gain != gain:
        return "not comparable"
    if p_holm is None:
        return "tied"
    if p_holm > 0.05 or (up > down) != (gain > 0) or up == down:
        return "inconclusive"
    return "better" if up > down else "worse"


def planned(found: Found, needs: list[dict[str, object]]) -> None:
    """Compare the samples that a pair needs with the formula of statsmodels for z, and Guenther's term."""
    for row in needs:
        if row["samples_needed"] is None:
            continue
        alpha, effect = 0.05, abs(float(str(row["difference"])))
        z = normal_sample_size_one_tail(effect, 0.8, alpha / 2, std_null=float(str(row["deviation"])))
        wanted = np.ceil(round(float(z) + stats.norm.ppf(1 - alpha / 2) ** 2 / 2, 6))
        found["samples needed"].add(row["samples_needed"], max(2.0, float(wanted)), relative=True)
