"""The statistics of sql/macros against scipy, statsmodels and exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from gradetrail import sql
from gradetrail.store import Live
from gradetrail.warehouse.catalog import Catalog

EMPTY = Live(files={}, loose={}, manifests=[], scorers=[], tasks=[], damaged=[], running=set())
MACROS = [name for name in sql.everything() if name.startswith("macros/")]


@pytest.fixture(scope="module")
def con():
    catalog = Catalog(EMPTY)
    catalog.provide(" ".join(name.partition("/")[2] for name in MACROS))
    yield catalog.cursor()
    catalog.close()


def value(con, text, *params):
    return con.execute(f"select {text}", list(params)).fetchone()[0]


def binomial_two_sided(w, b):
    n = w + b
    tail = sum(Fraction(math.comb(n, i)) for i in range(min(w, b) + 1)) / Fraction(2) ** n
    return float(min(Fraction(1), 2 * tail))


@pytest.mark.parametrize(
    ("w", "b", "p"),
    [
        (1, 0, 1.0), (2, 0, 0.5), (3, 0, 0.25), (4, 0, 0.125), (5, 0, 0.0625), (6, 0, 0.03125),
        (7, 0, 0.015625),
        (8, 0, 0.0078125), (17, 3, 0.0025768280029296875), (3, 7, 0.34375), (10, 10, 1.0), (350, 350, 1.0),
    ],
)  # fmt: skip
def test_sign_test_gives_the_exact_p(con, w, b, p):
    assert value(con, "sign_test($1, $2)", w, b) == pytest.approx(p, rel=1e-12)


def test_sign_test_of_no_difference_is_null_and_of_many_is_small_but_not_zero(con):
    assert value(con, "sign_test(0, 0)") is None
    assert 0 < value(con, "sign_test(700, 0)") < 1e-200


@given(w=st.integers(0, 400), b=st.integers(0, 400))
@settings(max_examples=60)
def test_sign_test_equals_exact_fractions(con, w, b):
    if w + b:
        assert value(con, "sign_test($1, $2)", w, b) == pytest.approx(binomial_two_sided(w, b), rel=1e-10)


@pytest.mark.parametrize(
    ("k1", "n1", "k2", "n2", "p"),
    [
        (5, 5, 0, 5, 0.007936507936507936), (5, 5, 3, 5, 0.4444444444444444),
        (20, 20, 10, 20, 0.00043591979076),
        (6, 6, 0, 6, 0.0021645021645021645), (1, 1, 0, 1, 1.0), (3, 3, 3, 3, None), (0, 3, 0, 3, None),
        (4, 2, 0, 2, None), (0, 0, 1, 2, None),
    ],
)  # fmt: skip
def test_fisher_gives_the_exact_p(con, k1, n1, k2, n2, p):
    found = value(con, "fisher_exact($1, $2, $3, $4)", k1, n1, k2, n2)
    assert found == (None if p is None else pytest.approx(p, rel=1e-10))


@given(n1=st.integers(1, 60), n2=st.integers(1, 60), data=st.data())
@settings(max_examples=60)
def test_fisher_equals_scipy(con, n1, n2, data):
    k1, k2 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))
    if 0 < k1 + k2 < n1 + n2:
        wanted = stats.fisher_exact([[k1, n1 - k1], [k2, n2 - k2]]).pvalue
        assert value(con, "fisher_exact($1, $2, $3, $4)", k1, n1, k2, n2) == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (0, 25, 0.0, 0.1331922509), (10, 10, 0.7224672001, 1.0), (19, 20, 0.7638688066, 0.9911185512),
        (50, 100, 0.4038315304, 0.5961684696),
    ],
)  # fmt: skip
def test_wilson_never_leaves_the_unit_interval_nor_has_width_zero(con, k, n, low, high):
    found = value(con, "wilson_interval($1, $2)", k, n)
    assert found["low"] == pytest.approx(low, abs=1e-9)
    assert found["high"] == pytest.approx(high, abs=1e-9)


@given(n=st.integers(1, 3000), data=st.data())
@settings(max_examples=60)
def test_wilson_equals_statsmodels(con, n, data):
    k = data.draw(st.integers(0, n))
    low, high = proportion_confint(k, n, method="wilson")
    found = value(con, "wilson_interval($1, $2)", k, n)
    assert (found["low"], found["high"]) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))


def test_wilson_of_nothing_is_null(con):
    assert value(con, "wilson_interval(0, 0)") is None


@pytest.mark.parametrize(
    ("n", "c", "k", "p"),
    [
        (2, 0, 5, None), (99, 0, 100, None), (5, 2, 1, 0.4), (5, 2, 2, 0.7), (10, 3, 5, 0.9166666666666666),
        (4, 4, 4, 1.0), (10, 3, 1, 0.3), (10, 1, 5, 0.5), (10, 2, 5, 7 / 9), (10, 0, 5, 0.0),
        (10, 10, 5, 1.0),
        (5, 3, 4, 1.0), (5, 6, 1, None), (5, 2, 0, None),
    ],
)  # fmt: skip
def test_pass_at_k_is_undefined_for_too_few_answers(con, n, c, k, p):
    found = value(con, "pass_at_k($1, $2, $3)", n, c, k)
    assert found == (None if p is None else pytest.approx(p, rel=1e-12))


@given(n=st.integers(1, 200), data=st.data())
@settings(max_examples=60)
def test_pass_at_k_and_pass_hat_k_equal_binomial_coefficients(con, n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    at = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
    hat = Fraction(math.comb(c, k), math.comb(n, k))
    found = con.execute("select pass_at_k($1, $2, $3), pass_hat_k($1, $2, $3)", [n, c, k]).fetchone()
    assert found == (pytest.approx(float(at), abs=1e-12), pytest.approx(float(hat), rel=1e-9, abs=1e-300))


def test_normal_cdf_keeps_its_relative_accuracy_in_both_tails(con):
    xs = np.linspace(-8, 8, 801)
    found = con.execute(
        "select normal_cdf(x) from (select unnest($1::double[]) as x)", [xs.tolist()]
    ).fetchall()
    assert np.allclose([p for (p,) in found], stats.norm.cdf(xs), rtol=1e-13, atol=0)


def test_normal_quantile_equals_scipy(con):
    ps = [1e-12, 1e-6, 0.001, 0.02425, 0.1, 0.5, 0.8, 0.975, 0.97575, 0.999, 1 - 1e-6]
    found = con.execute("select normal_quantile(p) from (select unnest($1::double[]) as p)", [ps]).fetchall()
    assert np.allclose([x for (x,) in found], stats.norm.ppf(ps), rtol=0, atol=1e-8)
    assert value(con, "normal_quantile(0)") is None


def test_t_quantile_equals_scipy(con):
    df = [*range(1, 200), 1000, 10**6, 10**9]
    found = con.execute("select t_quantile_975(d) from (select unnest($1::bigint[]) as d)", [df]).fetchall()
    assert np.allclose([t for (t,) in found], stats.t.ppf(0.975, df), rtol=0, atol=1e-8)
    assert value(con, "t_quantile_975(0)") is None


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(-50, 50)), min_size=2, max_size=40))
@settings(max_examples=60)
def test_clustered_stderr_equals_the_sandwich_estimator(con, rows):
    clusters: dict[str, list[float]] = {}
    for name, score in rows:
        clusters.setdefault(name, []).append(score / 10)
    sums = [(sum(scores), len(scores)) for scores in clusters.values()]
    n, total = len(rows), sum(s for s, _ in sums)
    squares, sizes = sum(s * s for s, _ in sums), sum(k * k for _, k in sums)
    products = sum(s * k for s, k in sums)
    text = "clustered_stderr($1, $2, $3, $4, $5, $6)"
    found = value(con, text, len(sums), n, total, squares, products, sizes)
    if len(sums) < 2:
        assert found is None
        return
    g, mean = len(sums), total / n
    wanted = math.sqrt(sum((s - k * mean) ** 2 for s, k in sums) * g / (g - 1)) / n
    assert found == pytest.approx(wanted, abs=1e-6)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=50))
@settings(max_examples=40)
def test_clustered_stderr_of_single_units_is_the_usual_one(con, scores):
    n, total = len(scores), sum(scores)
    squares = sum(score * score for score in scores)
    found = value(con, "clustered_stderr($1, $1, $2, $3, $2, $1)", n, total, squares)
    assert found == pytest.approx(float(np.std(scores, ddof=1)) / math.sqrt(n), abs=1e-6)


def test_holm_equals_statsmodels(con):
    from statsmodels.stats.multitest import multipletests

    ps = [0.01, 0.04, 0.03, 0.005, 0.2, 0.9]
    found = con.execute(
        """
        with family as (select unnest($1::double[]) as p),
        step as (
            select p, holm_step(p, row_number() over (order by p), count(*) over ()) as step from family
        )
        select max(step) over (order by p rows unbounded preceding) from step order by p
        """,
        [ps],
    ).fetchall()
    assert [p for (p,) in found] == pytest.approx(sorted(multipletests(ps, method="holm")[1]))


def test_bootstrap_covers_the_mean_and_is_the_same_every_time(con):
    values = [0.1, 0.5, 0.9, 0.4, 0.6]
    first = value(con, "bootstrap_interval($1::double[], 500, 7)", values)
    assert first == value(con, "bootstrap_interval($1::double[], 500, 7)", values)
    assert first != value(con, "bootstrap_interval($1::double[], 500, 8)", values)
    assert first["low"] < 0.5 < first["high"]
    assert value(con, "bootstrap_interval([1.0], 100, 0)") is None
    assert value(con, "bootstrap_interval([0.5, 0.5, 0.5], 100, 0)") == {"low": 0.5, "high": 0.5}


def test_bootstrap_is_as_wide_as_that_of_numpy(con):
    scores = (np.arange(300) % 3 == 0).astype(float)
    found = value(con, "bootstrap_interval($1::double[], 1000, 1)", scores.tolist())
    draws = np.random.default_rng(0).choice(scores, (4000, 300)).mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    assert found["high"] - found["low"] == pytest.approx(high - low, rel=0.12)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
@settings(max_examples=40)
def test_exact_sum_does_not_depend_on_the_order(con, values):
    text = "exact_sum(x) from (select unnest($1::double[]) as x)"
    forward, back = value(con, text, values), value(con, text, values[::-1])
    assert forward == back == pytest.approx(math.fsum(values), abs=1e-9)


def test_exact_sum_takes_values_of_any_size(con):
    assert value(con, "exact_sum(x) from (values (1e300), (1.0)) as v (x)") == 1e300
    assert value(con, "exact_sum(x) from (values (null::double)) as v (x)") is None


def test_tokens_cost_exact_dollars(con):
    cost = "token_cost_usd($1, $2, $3, $4, 3, 0.3, 3.75, 15)"
    assert str(value(con, cost, 5, 2000, 10000, 400)).rstrip("0") == "0.044115"
    assert value(con, cost, None, None, None, None) is None
    assert value(con, "token_cost_usd(1000, null, null, 500, null, null, null, null)") is None
    assert value(con, "token_cost_usd(0, 0, 0, 0, null, null, null, null)") == 0


def test_a_thousand_calls_of_a_small_price_sum_without_error(con):
    total = value(con, "sum(token_cost_usd(364, 0, 0, 0, 0.2, null, null, 1)) from range(1000)")
    assert str(total).rstrip("0") == "0.0728"
