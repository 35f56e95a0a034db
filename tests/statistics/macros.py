"""Macros of one row on random arguments, against scipy, statsmodels and md5 in Python."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from gradetrail import sql
from tests.statistics.world import Found

N_SETS = 1200


def rows_of(query: str, *columns: Any) -> list[tuple[Any, ...]]:
    """Evaluate a query over arguments that it names `arguments (a, b, ...)`, in order."""
    con = sql.connect()
    for name in sql.in_order(sql.mentioned(query)):
        sql.create(con, name)
    lists = {letter: np.asarray(column).tolist() for letter, column in zip("abcd", columns, strict=False)}
    names = ", ".join(f"unnest(${letter}) as {letter}" for letter in lists)
    rows = con.execute(f"with arguments as (select {names}) select {query} from arguments", lists).fetchall()
    con.close()
    return rows


def differences() -> Found:
    """Measure exact tests, intervals, quantiles and the bootstrap."""
    rng = np.random.default_rng(23)
    found = Found()
    tests(found, rng)
    quantiles(found, rng)
    resampling(found, rng)
    return found


def tests(found: Found, rng: np.random.Generator) -> None:
    """Compare the sign test, Fisher's test and Wilson's interval."""
    up = rng.integers(0, rng.choice([2, 10, 1000], N_SETS))
    down = rng.integers(0, rng.choice([2, 10, 1000], N_SETS))
    for (p,), u, d in zip(rows_of("sign_test(a, b)", up, down), up, down, strict=True):
        wanted = stats.binomtest(int(u), int(u + d)).pvalue if u + d else None
        found["sign test"].add(p, wanted, relative=True)
    n1, n2 = rng.integers(0, 60, N_SETS), rng.integers(0, 60, N_SETS)
    k1, k2 = rng.integers(0, n1 + 1), rng.integers(0, n2 + 1)
    ps = rows_of("fisher_exact(a, b, c, d)", k1, n1, k2, n2)
    for (p,), a, n, b, m in zip(ps, k1, n1, k2, n2, strict=True):
        wanted = None
        if n and m and 0 < a + b < n + m:
            wanted = float(stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue)
        found["Fisher's exact test"].add(p, wanted, relative=True)
    n = rng.integers(0, rng.choice([3, 30, 3000], N_SETS))
    k = rng.integers(0, n + 1)
    for (found_interval,), kk, nn in zip(rows_of("wilson_interval(a, b)", k, n), k, n, strict=True):
        low, high = proportion_confint(kk, nn, method="wilson") if nn else (None, None)
        found["Wilson's interval"].add(found_interval and found_interval["low"], low)
        found["Wilson's interval"].add(found_interval and found_interval["high"], high)


def quantiles(found: Found, rng: np.random.Generator) -> None:
    """Compare the normal distribution and Student's t."""
    x = rng.normal(scale=3, size=N_SETS)
    for (p,), wanted in zip(rows_of("normal_cdf(a)", x), stats.norm.cdf(x), strict=True):
        found["normal distribution"].add(p, float(wanted), relative=True)
    q = np.concatenate([[0.0, 1.0], rng.random(N_SETS)])
    for (z,), p in zip(rows_of("normal_quantile(a)", q), q, strict=True):
        found["normal quantile"].add(z, float(stats.norm.ppf(p)) if 0 < p < 1 else None)
    df = np.concatenate([[0], rng.integers(1, rng.choice([5, 50, 5000], N_SETS))])
    for (t,), d in zip(rows_of("t_quantile_975(a)", df), df, strict=True):
        found["t quantile"].add(t, float(stats.t.ppf(0.975, d)) if d else None)


def resampling(found: Found, rng: np.random.Generator) -> None:
    """Compare the bootstrap with the same md5 draws in Python and numpy's quantiles."""
    lists = [np.round(rng.random(int(n)), 3).tolist() for n in rng.integers(0, 8, N_SETS)]
    con = sql.connect()
    for name in sql.in_order(["macros/bootstrap_interval"]):
        sql.create(con, name)
    con.execute("create table given (n integer, scores double[])")
    con.executemany("insert into given values ($1, $2)", [[n, scores] for n, scores in enumerate(lists)])
    rows = con.execute("select n, bootstrap_interval(scores, 40, n) from given order by n").fetchall()
    con.close()
    for n, interval in rows:
        scores, wanted = lists[n], (None, None)
        if len(scores) >= 2:
            means = [
                np.mean([scores[drawn(n, b, i, len(scores))] for i in range(len(scores))]) for b in range(40)
            ]
            wanted = tuple(float(x) for x in np.quantile(means, [0.025, 0.975]))
        found["bootstrap interval"].add(interval and interval["low"], wanted[0])
        found["bootstrap interval"].add(interval and interval["high"], wanted[1])


def drawn(seed: int, draw: int, place: int, n: int) -> int:
    """Draw an index: the last eight bytes of an md5, the lowest first."""
    digest = hashlib.md5(f"{seed}:{draw}:{place}".encode()).digest()
    return int.from_bytes(digest[8:], "little") % n
