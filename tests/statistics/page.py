"""The table of docs/statistics.md that says how far each statistic is from its reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from tests.statistics.world import Found

PAGE = Path(__file__).parents[2] / "docs/statistics.md"
BEGIN, END = "<!-- written by `python -m tests.statistics --write` -->", "<!-- end of what is written -->"
REFERENCES = {
    "`numpy.std(ddof=1) / sqrt(n)`": (
        "standard error", "category, standard error", "paired standard error", "history, standard error",
        "comparison, standard error",
    ),
    "`statsmodels` OLS with `cov_type='cluster'`": (
        "standard error, clustered", "category, standard error, clustered",
        "paired standard error, clustered",
    ),
    "`scipy.stats.t`, `statsmodels` `proportion_confint`": ("interval", "category, interval"),
    "`scipy.stats.t`": ("paired interval", "history, interval", "comparison, interval"),
    "`statsmodels` `proportion_confint`": ("Wilson's interval",),
    "`scipy.stats.binomtest`": (
        "exact McNemar or sign test", "history, exact test", "comparison, exact test", "sign test",
    ),
    "`scipy.stats.fisher_exact`": ("Fisher's exact test",),
    "`statsmodels` `multipletests`": ("gate, Holm's correction",),
    "Holm's definition, p by p": ("Holm's correction",),
    "`scipy.stats.t`, `scipy.stats.norm`": ("smallest detectable difference",),
    "`statsmodels` `normal_sample_size_one_tail`": ("samples needed",),
    "a search, epoch by epoch": ("epochs needed",),
    "the rule of this page": ("verdict of a pair", "suspect labels"),
    "counting by fractions": (
        "win rate", "win rate, split", "mean, by policy", "mean of what was answered", "bounds of a mean",
        "mean over tasks", "mean win rate",
    ),
    "`numpy.digitize`": ("ECE, equal width", "Brier, reliability", "Brier, resolution"),
    "`scipy.stats.rankdata`": ("ECE, equal mass",),
    "`scipy.stats.mannwhitneyu`": ("AUROC",),
    "all subsets of k answers": ("pass@k", "pass^k"),
    "`scipy.stats.f_oneway`": ("intraclass correlation",),
    "`statsmodels` `cohens_kappa`": ("Cohen's kappa", "kappa of scores", "kappa, quadratic weights"),
    "`numpy.corrcoef`": ("discrimination",),
    "`scipy.stats.norm`": ("normal distribution", "normal quantile"),
    "`scipy.stats.t.ppf`": ("t quantile",),
    "the same md5 draws in Python, `numpy.quantile`": ("bootstrap interval",),
}  # fmt: skip
"""What statistics are compared with; those that are not here with sums in numpy or Python."""


def reference(name: str) -> str:
    """Name what a statistic is compared with."""
    return next((told for told, names in REFERENCES.items() if name in names), "sums in numpy or Python")


def rows(measured: Mapping[str, Found]) -> list[tuple[str, str, str, str, str]]:
    """Give the table's rows: statistic, reference, data sets, of them NULL, largest difference rounded up."""
    return [
        (name, reference(name), f"{largest.n:,}", f"{largest.n_null:,}", rounded_up(largest.gap))
        for found in measured.values()
        for name, largest in found.items()
    ]


def rounded_up(gap: float) -> str:
    """Write the power of ten that a difference does not exceed."""
    return "0" if gap == 0 else f"1e{math.ceil(math.log10(gap)):03d}"


def write(measured: Mapping[str, Found]) -> None:
    """Put the table into the page."""
    head = [
        "| statistic | compared with | data sets | both NULL | largest difference |",
        "|---|---|--:|--:|--:|",
    ]
    lines = [BEGIN, *head, *(f"| {' | '.join(row)} |" for row in rows(measured)), END]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + "\n".join(lines) + rest.partition(END)[2], encoding="utf-8")
