"""Samples over entrants, and entrants over runs, against numpy and scipy."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tests.statistics.boards import stderr_of
from tests.statistics.world import Found, World


def differences() -> Found:
    """Measure difficulty and discrimination of samples, and the steps of histories."""
    found = Found()
    discriminating(found)
    stepping(found)
    return found


def discriminating(found: Found) -> None:
    """Compare the correlation of each sample with the rest with numpy's."""
    rng = np.random.default_rng(17)
    world, facts, said = World(), {}, {}
    for number in range(200):
        task = f"t{number:04}"
        run = world.run(f"20261130T083112Z-t-{number:06x}", task)
        n_models, n = int(rng.choice([1, 9, 10, 14])), int(rng.choice([1, 2, 6, 14]))
        skill, hard = rng.normal(size=n_models), rng.normal(size=n)
        scores = np.zeros((n_models, n))
        for m in range(n_models):
            for s in range(n):
                chance = 1 / (1 + np.exp(hard[s] - skill[m]))
                scores[m, s] = rng.random() < chance if number % 2 else round(chance, 2)
                scores[m, s] = float(s % 2) if number % 10 == 9 else scores[m, s]
                answer = "right" if scores[m, s] >= 1 else f"w{int(rng.integers(0, 2))}"
                said[task, m, s] = answer
                world.grade(run, f"m{m:02}", f"s{s}", float(scores[m, s]), extracted=answer)
        facts[task] = scores
    (shown,) = world.ask("from sample_stats")
    for row in shown:
        scores, s = facts[row["task"]], int(row["sample_id"][1:])
        n_models, n = scores.shape
        found["difficulty"].add(row["difficulty"], 1 - float(scores[:, s].mean()))
        wanted = None
        if n_models >= 10 and n > 1:
            rest = np.delete(scores, s, axis=1).mean(axis=1)
            if np.ptp(scores[:, s]) > 1e-9 and np.ptp(rest) > 1e-9:
                wanted = float(np.corrcoef(scores[:, s], rest)[0, 1])
        found["discrimination"].add(row["discrimination"], wanted)
        wrong = Counter(said[row["task"], m, s] for m in range(n_models) if scores[m, s] < 1)
        most = max(wrong.values(), default=0)
        suspect = None
        if most >= 3 and 2 * most > n_models:
            suspect = "most entrants give one other answer"
        elif wanted is not None and wanted <= -0.2:
            suspect = "the better entrants fail it"
        found["suspect labels"].add(row["suspect"], suspect)


def stepping(found: Found) -> None:
    """Compare each step of a history, and two whole runs, with a paired comparison in numpy."""
    rng = np.random.default_rng(19)
    world, facts = World(), {}
    for number in range(1100):
        n = int(rng.choice([1, 2, 4, 7, 12, 40]))
        for run in (f"20261130T083112Z-t-{run:06x}" for run in (1, 2)):
            if number == 0:
                world.run(run, "t", started_at=f"2026-11-30T08:31:{12 + int(run[-1])}+00:00")
            facts[run, f"m{number:04}"] = {}
            for i in range(n):
                score = float(rng.integers(0, 3)) / 2 if number % 3 else float(rng.random() < 0.7)
                score = 1.0 if number % 11 == 10 else score
                is_there = rng.random() > 0.1
                world.grade(
                    run,
                    f"m{number:04}",
                    f"s{i}",
                    score if is_there else None,
                    outcome="scored" if is_there else "no_target",
                )
                if is_there:
                    facts[run, f"m{number:04}"][f"s{i}"] = score
    first, second = sorted({run for run, _ in facts})
    steps, compared, gated = world.ask(
        f"from history where run_id = '{second}'",
        f"from comparison('{first}', '{second}')",
        f"from gate('{first}', '{second}', max_drop := 0.0, max_apart := 1.0)",
    )
    gating(found, gated, facts, (first, second))
    for name, rows in (("history", steps), ("comparison", compared)):
        for row in rows:
            before, after = facts[first, row["model"]], facts[second, row["model"]]
            gaps = [after[s] - before[s] for s in after if s in before]
            up, down = sum(g > 0 for g in gaps), sum(g < 0 for g in gaps)
            p = float(stats.binomtest(up, up + down).pvalue) if up + down else None
            stderr = stderr_of(gaps, None) if gaps else None
            found[f"{name}, difference"].add(row["difference"], float(np.mean(gaps)) if gaps else None)
            found[f"{name}, standard error"].add(row["stderr"], stderr)
            found[f"{name}, exact test"].add(row["p"], p, relative=True)
            low = None
            if stderr is not None:
                low = max(-1.0, float(np.mean(gaps)) - float(stats.t.ppf(0.975, len(gaps) - 1)) * stderr)
            found[f"{name}, interval"].add(row["difference_low" if name == "history" else "ci_low"], low)


def gating(
    found: Found,
    gated: list[dict[str, Any]],
    facts: dict[tuple[str, str], dict[str, float]],
    runs: tuple[str, str],
) -> None:
    """Compare the gate's family of tests with statsmodels' Holm, and each drop with numpy's mean."""
    family = [
        row for row in gated if row["verdict"] in ("pass", "fail", "undecided") and row["p"] is not None
    ]
    corrected = multipletests([row["p"] for row in family], method="holm")[1]
    for row, wanted in zip(family, corrected, strict=True):
        found["gate, Holm's correction"].add(row["p_holm"], float(wanted), relative=True)
    for row in gated:
        if row["p"] is None:
            found["gate, Holm's correction"].add(row["p_holm"], None)
        if row["n_shared"]:
            before, after = (facts[run, row["model"]] for run in runs)
            drop = float(np.mean([before[s] - after[s] for s in after if s in before]))
            found["gate, drop"].add(row["mean_drop"], drop)
