"""Identities that hold whatever the rows are."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradetrail.warehouse.catalog import Catalog
from tests.sql.given import live_of

DENOMINATOR = json.loads((Path(__file__).parent / "denominator.json").read_text())

scores = st.one_of(
    st.sampled_from([0.0, 1.0]).map(lambda score: {"score": score, "is_pass": score == 1.0}),
    st.integers(0, 1000).map(lambda n: {"score": n / 1000, "is_pass": n >= 500}),
    st.sampled_from(["truncated", "unparsed", "refused", "provider_error", "judge_error", "no_target"]).map(
        lambda outcome: {"outcome": outcome}
    ),
)


@st.composite
def balanced(draw):
    """Grades of two models on up to 8 samples, each with the same number of epochs that all count."""
    n_samples, epochs = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    counting = scores.filter(
        lambda grade: grade.get("outcome", "unparsed") in ("truncated", "unparsed", "refused")
    )
    return {
        "grades": [
            {"model": model, "sample_id": f"s{n}", "epoch": epoch, **draw(counting if epochs > 1 else scores)}
            for model in ("x", "y")
            for n in range(n_samples)
            for epoch in range(1, epochs + 1)
        ],
        "unanswered": draw(st.sampled_from(["wrong", "exclude"])) if epochs == 1 else "wrong",
    }


def ask(live, query):
    catalog = Catalog(live)
    catalog.provide(query)
    rows = catalog.cursor().execute(query).fetchall()
    catalog.close()
    return rows


@given(case=balanced())
@settings(max_examples=12)
def test_the_mean_of_graded_is_the_mean_of_the_board(case):
    live = live_of(case)
    board = ask(live, "select model, mean, n, n_pass from leaderboard order by model")
    graded = ask(
        live,
        "select model, avg(score), count(score), count(*) filter (where is_pass) from graded"
        " group by model order by model",
    )
    assert [row[0] for row in board] == [row[0] for row in graded]
    for mine, theirs in zip(board, graded, strict=True):
        assert mine[1] == (None if theirs[1] is None else pytest.approx(theirs[1], abs=1e-12))
        assert mine[2:] == theirs[2:]


@given(case=balanced())
@settings(max_examples=12)
def test_every_trial_is_counted_once(case):
    rows = ask(
        live_of(case),
        "select n_trials, n, n_errors, n_no_target, n_unanswered,"
        " mean, mean_worst, mean_best, ci_low, ci_high from leaderboard",
    )
    for n_trials, n, n_errors, n_no_target, n_unanswered, mean, worst, best, low, high in rows:
        left_out = n_unanswered if case["unanswered"] == "exclude" else 0
        assert n_trials == n + n_errors + n_no_target + left_out
        if mean is not None:
            assert worst - 1e-12 <= mean <= best + 1e-12
        if low is not None:
            assert 0 <= low <= mean + 1e-12 <= high + 2e-12 <= 1 + 3e-12


@given(
    lists=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=8)
)
@settings(max_examples=10)
def test_wins_are_shared_out_completely(lists):
    grades = [
        {"model": model, "sample_id": f"s{n}", "score": score / 3}
        for n, row in enumerate(lists)
        for model, score in zip("xyz", row, strict=True)
    ]
    ((n_rows, wins, shared),) = ask(
        live_of({"grades": grades}),
        "select count(*), sum(win_rate * n_samples), sum(win_rate_split * n_samples) from leaderboard",
    )
    assert n_rows == 3
    assert shared == pytest.approx(len(lists))
    assert wins == pytest.approx(sum(row.count(max(row)) for row in lists))


def test_a_pair_is_the_same_seen_from_either_side():
    grades = [
        {"model": model, "sample_id": f"s{n}", "score": float((n * step) % 3 == 0)}
        for model, step in (("x", 1), ("y", 2), ("z", 5))
        for n in range(1, 20)
    ]
    run = "20261130T083112Z-t-000001"
    live = live_of({"grades": grades})
    query = (
        "select difference, stderr, p, n_better, n_worse"
        " from comparison('{0}', '{0}', a_model := '{1}', b_model := '{2}')"
    )
    (there,) = ask(live, query.format(run, "x", "y"))
    (back,) = ask(live, query.format(run, "y", "x"))
    assert there == (-back[0], back[1], back[2], back[4], back[3])
    ((difference, stderr, p),) = ask(
        live,
        "select difference, stderr, p from pairwise where a_model in ('x', 'y') and b_model in ('x', 'y')",
    )
    assert abs(difference) == pytest.approx(abs(there[0]))
    assert (stderr, p) == (pytest.approx(there[1]), pytest.approx(there[2]))


def test_errors_leave_the_denominator_and_both_readings_are_shown():
    right, wrong, error = DENOMINATOR["right"], DENOMINATOR["wrong"], DENOMINATOR["error"]
    kinds = (
        [{"score": 1}] * right
        + [{"score": 0}] * wrong
        + [{"status": "error", "outcome": "provider_error"}] * error
    )
    live = live_of({"grades": [{"sample_id": str(n), **kind} for n, kind in enumerate(kinds)]})
    ((mean, worst, n, n_trials),) = ask(live, "select mean, mean_worst, n, n_trials from leaderboard")
    expect = DENOMINATOR["expect"]
    assert mean == pytest.approx(expect["over_scored"])
    assert worst == pytest.approx(expect["over_all"])
    assert n / n_trials == pytest.approx(expect["coverage"])


def test_the_same_rows_give_the_same_bytes_whatever_the_threads():
    grades = [
        {
            "model": f"m{m}",
            "sample_id": f"s{n}",
            "score": ((n * 37 + m) % 101) / 101,
            "confidence": (n % 17) / 16,
        }
        for m in range(3)
        for n in range(400)
    ]
    answers = []
    for threads in (1, 2, 4):
        catalog = Catalog(live_of({"grades": grades}), threads=threads)
        for view in ("leaderboard", "pairwise", "calibration"):
            catalog.provide(view)
        cursor = catalog.cursor()
        answers.append(
            [cursor.execute(f"from {view}").fetchall() for view in ("leaderboard", "pairwise", "calibration")]
        )
        catalog.close()
    assert answers[0] == answers[1] == answers[2]
