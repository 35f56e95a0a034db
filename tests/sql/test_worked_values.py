"""Means, spreads and costs that the systems before this one gave, out of the views."""

from decimal import Decimal
from typing import Any

import pytest

from gradetrail.warehouse.catalog import Catalog
from tests.sql.given import live_of, prices_of

Row = dict[str, Any]
UNBOUNDED = [{"scorer_id": "strict", "score_min": None, "score_max": None, "pass_threshold": None}]


def asked(given: Row, query: str) -> list[Row]:
    """Give the rows of a query over what a case states."""
    catalog = Catalog(live_of(given), prices_of(given))
    catalog.provide(query)
    cursor = catalog.cursor().execute(query)
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    catalog.close()
    return rows


def scored(scores: list[float], n_errors: int = 0, **more: Any) -> Row:
    """Make one answer to each of so many samples, and some that failed."""
    grades = [{"sample_id": f"s{n}", "score": score} for n, score in enumerate(scores)]
    failed = {"status": "error", "error_type": "timeout", "outcome": "provider_error"}
    grades += [{"sample_id": f"e{n}", **failed} for n in range(n_errors)]
    return {"grades": grades, **more}


@pytest.mark.parametrize(
    ("scores", "n_errors", "mean"),
    [([1, 0.5], 3, 0.75), ([1, 0], 3, 0.5), ([1, 0, 1], 0, 2 / 3), ([], 5, None)],
)
def test_errors_leave_the_mean_and_are_counted(
    scores: list[float], n_errors: int, mean: float | None
) -> None:
    (row,) = asked(scored(scores, n_errors), "select * from run_scores")
    assert row["mean"] == (None if mean is None else pytest.approx(mean))
    assert (row["n"], row["n_errors"]) == (len(scores), n_errors)


@pytest.mark.parametrize(
    ("scores", "stddev"),
    [
        ([5, 4, 4, 5, 4, 4], 0.516398), ([2, 4], 1.414214), ([7, 5, 12], 3.605551),
        ([4.5, 4.5, 4], 0.288675), ([4, 4, 4], 0.0), ([4], None),
    ],
)  # fmt: skip
def test_the_standard_error_is_the_sample_deviation_over_the_root_of_n(
    scores: list[float], stddev: float | None
) -> None:
    (row,) = asked(scored(scores, scorers=UNBOUNDED), "select * from run_scores")
    assert row["mean"] == pytest.approx(sum(scores) / len(scores))
    found = row["stderr"]
    assert found == (None if stddev is None else pytest.approx(stddev / len(scores) ** 0.5, abs=5e-7))


def test_the_spread_is_that_of_samples_and_not_of_their_repeats() -> None:
    """Three samples of means 7, 5 and 12, each asked twice."""
    answers = {"a": (6, 8), "b": (5, 5), "c": (11, 13)}
    grades = [
        {"sample_id": sample, "epoch": epoch, "score": score}
        for sample, scores in answers.items()
        for epoch, score in enumerate(scores, start=1)
    ]
    (row,) = asked({"grades": grades, "scorers": UNBOUNDED}, "select * from run_scores")
    assert row["mean"] == pytest.approx(8)
    assert row["stderr"] == pytest.approx(3.605551 / 3**0.5, abs=5e-7)


@pytest.mark.parametrize(
    ("answers", "mean"),
    [
        ({"a": [1, 1], "b": [0, 0], "c": [0, 0]}, 0.3333),
        ({"a": [1, 1], "b": [1, 1], "c": [1, 0]}, 0.8333),
        ({"a": [1, None]}, 1.0),
    ],
)
def test_a_pass_rate_is_over_answers_without_errors(answers: dict[str, Any], mean: float) -> None:
    failed = {"status": "error", "error_type": "timeout", "outcome": "provider_error"}
    grades = [
        {"sample_id": sample, "epoch": epoch, **(failed if score is None else {"score": score})}
        for sample, scores in answers.items()
        for epoch, score in enumerate(scores, start=1)
    ]
    (row,) = asked({"grades": grades}, "select * from run_scores")
    assert row["mean"] == pytest.approx(mean, abs=5e-5)


def test_pass_at_3_of_three_tries_is_whether_any_was_right() -> None:
    right = {"a": 1, "b": 2}
    grades = [
        {"sample_id": sample, "epoch": epoch, "score": int(epoch <= n)}
        for sample, n in right.items()
        for epoch in (1, 2, 3)
    ]
    rows = asked({"grades": grades}, "select k, pass_at_k from pass_at_k where k in (1, 3) order by k")
    assert [row["pass_at_k"] for row in rows] == [pytest.approx(0.5), pytest.approx(1.0)]


def spent(*calls: Row, prices: list[Row]) -> list[Row]:
    """Give the costs of calls; each of `calls` is {model, role, input, output, is_hit}."""
    given: Row = {"prices": prices, "trials": [], "calls": [], "scores": []}
    for n, call in enumerate(calls):
        given["calls"].append(
            {
                "call_id": f"c{n}", "model": call.get("model", "m"), "role": call.get("role", "subject"),
                "purpose": "vote" if call.get("role") == "judge" else "answer",
                "request_key": f"k{n}", "response_id": f"r{n}",
                "input_tokens": call["input"], "output_tokens": call["output"],
            }
        )  # fmt: skip
        if call.get("role") == "judge":
            given["scores"].append({"sample_id": "a", "score": 1, "judge_response_ids": [f"r{n}"]})
        else:
            given["trials"].append(
                {"sample_id": "abc"[n], "request_key": f"k{n}", "response_id": f"r{n}", "model": "m"}
            )
    return asked(given, "select role, paid_usd from costs order by role desc")


SONNET: Row = {"model": "m", "input": 3, "output": 15}
MILLION = 1_000_000


@pytest.mark.parametrize(
    ("n_input", "n_output", "price", "usd"),
    [
        (500_000, 200_000, SONNET, "4.50"),
        (951_000, 2_775_000, {"model": "m", "input": 0.15, "output": 0.60}, "1.80765"),
        (189, 213, SONNET, "0.003762"),
        (46_600, 56_000, SONNET, "0.9798"),
        (MILLION, 0, SONNET, "3.00"),
    ],
)
def test_tokens_cost_exact_dollars(n_input: int, n_output: int, price: Row, usd: str) -> None:
    (row,) = spent({"input": n_input, "output": n_output}, prices=[price])
    assert row["paid_usd"] == Decimal(usd)


@pytest.mark.parametrize(
    ("subject", "judge", "judge_price", "usd"),
    [
        ((MILLION, MILLION), (MILLION, MILLION), (0.25, 1.25), ("18", "1.50")),
        ((754, 459), (2_750, 800), (3, 15), ("0.009147", "0.02025")),
    ],
)
def test_a_judge_is_paid_apart_at_its_own_price(
    subject: tuple[int, int], judge: tuple[int, int], judge_price: tuple[float, float], usd: tuple[str, str]
) -> None:
    calls: list[Row] = [
        {"input": subject[0], "output": subject[1]},
        {"input": judge[0], "output": judge[1], "model": "judge", "role": "judge"},
    ]
    prices: list[Row] = [SONNET, {"model": "judge", "input": judge_price[0], "output": judge_price[1]}]
    found = {row["role"]: row["paid_usd"] for row in spent(*calls, prices=prices)}
    assert found == dict(zip(("subject", "judge"), map(Decimal, usd), strict=True))
