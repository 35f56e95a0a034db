"""Verdicts worked by hand: exact tests, magnitudes, directions, errors and shared samples."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradetrail.warehouse.catalog import Catalog
from gradetrail.warehouse.gate import GATE, Limit, Limits
from tests.sql.given import live_of

A, B = "20261130T083112Z-t-000001", "20261201T083112Z-t-000002"
Row = dict[str, Any]
SIDES = dict.fromkeys(("a_model", "b_model", "a_prompt", "b_prompt")) | {"a_run": A, "b_run": B}


def judged(given: Row, limits: Limits = Limits(), **named: str) -> list[Row]:
    """Give the rows of the gate between the two runs."""
    catalog = Catalog(live_of(given))
    catalog.provide(GATE)
    cursor = catalog.cursor().execute(GATE, SIDES | named | limits.params())
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    catalog.close()
    return rows


def sides(base: dict[str, Any], new: dict[str, Any], **common: Any) -> list[Row]:
    """Make grades from scores by sample: a number, or an outcome."""

    def grade(run: str, sample: str, value: Any) -> Row:
        failed = {"status": "error"} if value == "provider_error" else {}
        stated = {"outcome": value} | failed if isinstance(value, str) else {"score": value}
        return {"run_id": run, "sample_id": sample, **stated, **common}

    return [grade(run, sample, v) for run, side in ((A, base), (B, new)) for sample, v in side.items()]


def broken(n: int, of: int | None = None) -> list[Row]:
    """Make n samples that all pass in the base and fail now, of so many."""
    samples = [f"s{k}" for k in range(of or n)]
    return sides(dict.fromkeys(samples, 1), {s: int(k >= n) for k, s in enumerate(samples)})


def scorer(**bounds: Any) -> list[Row]:
    return [{"scorer_id": "strict", **bounds}]


def drop(at_most: float, *, relative: bool = False, **more: Any) -> Limits:
    return Limits(Limit(at_most, relative), **more)


@pytest.mark.parametrize(
    ("worse", "better", "p"),
    [
        (1, 0, 1.0), (2, 0, 0.5), (3, 0, 0.25), (4, 0, 0.125), (5, 0, 0.0625), (6, 0, 0.03125),
        (7, 0, 0.015625), (8, 0, 0.0078125), (17, 3, 0.0025768), (3, 7, 0.34375), (10, 10, 1.0),
    ],
)  # fmt: skip
def test_the_p_is_that_of_the_exact_test(worse: int, better: int, p: float) -> None:
    samples = [f"s{k}" for k in range(worse + better)]
    base = {s: int(k < worse) for k, s in enumerate(samples)}
    (row,) = judged({"grades": sides(base, {s: 1 - v for s, v in base.items()})})
    assert (row["n_worse"], row["n_better"], row["test"]) == (worse, better, "mcnemar")
    assert row["p"] == row["p_holm"] == pytest.approx(p, abs=5e-8)


@pytest.mark.parametrize(("n", "verdict"), [(8, "fail"), (6, "fail"), (5, "undecided"), (1, "undecided")])
def test_eight_or_six_that_break_fail_and_five_are_undecided(n: int, verdict: str) -> None:
    (row,) = judged({"grades": broken(n)}, drop(0.25))
    assert (row["verdict"], row["gate"]) == (verdict, verdict)


def test_two_rows_of_six_need_more_evidence_than_one() -> None:
    two = [{**row, "model": model} for model in ("x", "y") for row in broken(6)]
    assert [row["verdict"] for row in judged({"grades": two}, drop(0.25))] == ["undecided"] * 2
    assert [row["verdict"] for row in judged({"grades": two}, drop(0.25, significance=0.1))] == ["fail"] * 2


def test_an_entrant_that_did_not_change_is_no_test_of_the_family() -> None:
    same = sides({"a": 1, "b": 0}, {"a": 1, "b": 0}, model="same")
    rows = judged({"grades": [*broken(6), *same]}, drop(0.25))
    assert [row["verdict"] for row in rows] == ["fail", "pass"]
    assert [row["p_holm"] for row in rows] == [pytest.approx(0.03125), None]


def test_waiving_evidence_fails_on_the_number_alone() -> None:
    assert judged({"grades": broken(1, of=2)}, drop(0.25, significance=1.0))[0]["verdict"] == "fail"


@pytest.mark.parametrize(
    ("base", "new", "p", "verdict"),
    [
        ([1] * 6, [0] * 6, 0.00216450, "fail"),
        ([1] * 5, [0] * 5, 0.0079365, "fail"),
        ([1] * 5, [1] * 3 + [0] * 2, 0.444444, "undecided"),
        ([1], [0], 1.0, "undecided"),
        ([1] * 3, [1] * 3, None, "pass"),
    ],
)
def test_repeats_of_one_sample_are_tested_by_fisher(
    base: list[int], new: list[int], p: float | None, verdict: str
) -> None:
    grades = [
        {"run_id": run, "sample_id": "a", "epoch": epoch, "score": value}
        for run, values in ((A, base), (B, new))
        for epoch, value in enumerate(values, start=1)
    ]
    (row,) = judged({"grades": grades}, drop(0.25))
    assert row["p"] == (p if p is None else pytest.approx(p, abs=5e-7))
    assert (row["verdict"], row["test"]) == (verdict, "fisher" if len(base) > 1 else "mcnemar")


@pytest.mark.parametrize(
    ("base", "new", "higher", "relative", "limit", "exceeds"),
    [
        (1.0, 0.5, True, 0.5, 0.5, False),
        (1.0, 0.5, True, 0.5, 0.49, True),
        (5.0, 4.5, True, 0.1, 0.1, False),
        (400, 480, False, 0.2, 0.2, False),
        (1000, 1100, False, 0.1, 0.09, True),
        (0, 3, False, None, 100, True),
        (400, 100, False, -0.75, 0.0, False),
    ],
)
def test_a_relative_drop_is_a_share_of_the_base_and_any_drop_from_0_exceeds(
    base: float, new: float, higher: bool, relative: float | None, limit: float, exceeds: bool
) -> None:
    samples = [f"s{k}" for k in range(8)]
    given = {
        "grades": sides(dict.fromkeys(samples, base), dict.fromkeys(samples, new)),
        "scorers": scorer(score_min=None, score_max=None, higher_is_better=higher),
    }
    (row,) = judged(given, drop(limit, relative=True))
    assert row["relative_drop"] == (relative if relative is None else pytest.approx(relative))
    assert row["verdict"] == ("fail" if exceeds else "pass")


def test_a_drop_as_large_as_the_limit_is_allowed_whatever_the_doubles_say() -> None:
    # 0.90 - 0.88 is 0.020000000000000018
    base = {f"s{k}": int(k < 45) for k in range(50)}
    new = {f"s{k}": int(k < 44) for k in range(50)}
    (row,) = judged({"grades": sides(base, new)}, drop(0.02))
    assert (row["verdict"], row["mean_drop"]) == ("pass", pytest.approx(0.02))


def test_a_mean_that_drops_while_most_samples_gain_is_no_evidence() -> None:
    samples = [f"s{k}" for k in range(20)]
    base = dict.fromkeys(samples, 0.5)
    new = {s: 0.0 if k < 3 else 0.51 for k, s in enumerate(samples)}
    (row,) = judged({"grades": sides(base, new)}, drop(0.01))
    assert row["p"] < 0.05
    assert (row["n_worse"], row["n_better"], row["verdict"]) == (3, 17, "undecided")


def test_a_trade_is_a_regression_of_the_scorer_that_lost() -> None:
    samples = [f"s{k}" for k in range(9)]
    scores = [
        {"run_id": run, "sample_id": s, "scorer": name, "score": value}
        for s in samples
        for name, pair in (("first", (0, 1)), ("second", (1, 0)))
        for run, value in zip((A, B), pair, strict=True)
    ]
    trials = [{"run_id": run, "sample_id": s} for s in samples for run in (A, B)]
    rows = judged({"trials": trials, "scores": scores}, drop(0.02))
    assert [(row["scorer"], row["verdict"]) for row in rows] == [("second", "fail"), ("first", "pass")]


@pytest.mark.parametrize(
    ("n_errors", "of", "verdict"), [(1, 20, "pass"), (1, 4, "errors"), (4, 4, "errors"), (2, 20, "errors")]
)
@pytest.mark.parametrize("side", ["base", "new"])
def test_errors_above_five_percent_of_a_side_decide_nothing(
    side: str, n_errors: int, of: int, verdict: str
) -> None:
    whole: dict[str, Any] = {f"s{k}": 1 for k in range(of)}
    faulty = whole | {f"s{k}": "provider_error" for k in range(n_errors)}
    base, new = (faulty, whole) if side == "base" else (whole, faulty)
    (row,) = judged({"grades": sides(base, new)})
    assert row["verdict"] == verdict
    if verdict == "errors":
        assert f"errors in {n_errors} of {of}" in row["reason"]
    else:
        assert (row["n_shared"], row["reason"][:19]) == (19, "1 of 20 are left ou")


def test_a_run_that_failed_counts_as_no_regression() -> None:
    """Errors leave the denominator: 1 of 20 failed and the rest right is still a mean of 1."""
    whole: dict[str, Any] = {f"s{k}": 1 for k in range(20)}
    (row,) = judged({"grades": sides(whole, whole | {"s0": "provider_error"})})
    assert (row["new_mean"], row["gate"]) == (1.0, "pass")


def test_only_samples_that_both_have_are_compared() -> None:
    many = {f"s{k}": 5 for k in range(40)}
    given = {
        "grades": sides({**many, "b": 1}, many),
        "scorers": scorer(score_min=None, score_max=None),
    }
    (row,) = judged(given)
    assert (row["base_mean"], row["new_mean"], row["mean_drop"], row["verdict"]) == (5.0, 5.0, 0.0, "pass")


@pytest.mark.parametrize(("policy", "verdict"), [("wrong", "fail"), ("exclude", "not comparable")])
def test_answers_that_do_not_count_cannot_hide_a_loss(policy: str, verdict: str) -> None:
    """A model that stops answering half of the questions is worse, or not to be compared: never as good."""
    base: dict[str, Any] = {f"s{k}": 1 for k in range(20)}
    new = base | {f"s{k}": "unparsed" for k in range(10)}
    (row,) = judged({"grades": sides(base, new), "unanswered": policy})
    assert row["verdict"] == verdict
    if policy == "exclude":
        assert row["reason"] == "other samples: 10 of 20 count on one side only"


def test_rows_without_a_target_on_either_side_are_left_out() -> None:
    whole: dict[str, Any] = {f"s{k}": 1 for k in range(8)} | {f"n{k}": "no_target" for k in range(8)}
    (row,) = judged({"grades": sides(whole, whole)})
    assert (row["verdict"], row["n_shared"]) == ("pass", 8)


def test_another_definition_is_refused_and_named() -> None:
    grades = broken(8)
    for row in grades:
        row["scorer_id"] = "one" if row["run_id"] == A else "two"
    given = {
        "grades": grades,
        "tasks": [{"n": 1, "scorers": {"strict": "one"}}, {"n": 2, "scorers": {"strict": "two"}}],
    }
    (row,) = judged(given)
    assert (row["verdict"], row["gate"]) == ("not comparable", "unusable")
    assert row["reason"] == "other scorer version: 1 in the base, 2 now"
    assert judged(given, drop(0, allow=frozenset({"scorer"})))[0]["verdict"] == "fail"


def test_another_prompt_is_refused_unless_it_is_allowed() -> None:
    grades = broken(8)
    for row in grades:
        row["input_hash"] = "asked" if row["run_id"] == A else "asked otherwise"
    assert judged({"grades": grades})[0]["reason"] == "other prompt: 8 of 8 are asked otherwise"
    assert judged({"grades": grades}, drop(0, allow=frozenset({"prompt"})))[0]["verdict"] == "fail"


def test_a_failure_stands_although_another_row_cannot_be_judged() -> None:
    lost = sides({"a": 1}, {"b": 1}, model="moved")
    rows = judged({"grades": [*broken(8), *lost]}, drop(0.25))
    assert [(row["verdict"], row["gate"]) for row in rows] == [("fail", "fail"), ("not comparable", "fail")]


def test_two_models_are_one_entrant_if_both_sides_name_them() -> None:
    grades = broken(8)
    for row in grades:
        row["model"] = "old" if row["run_id"] == A else "new"
    rows = judged({"grades": grades})
    assert [row["verdict"] for row in rows] == ["removed", "added"]
    assert rows[0]["gate"] == "unusable"
    grades.append({"run_id": B, "model": "new", "sample_id": "x", "score": 1})
    (row,) = judged({"grades": grades}, a_model="old", b_model="new")
    assert (row["verdict"], row["model"], row["b_model"]) == ("not comparable", "old", "new")
    assert row["reason"] == "other samples: 1 of 9 are on one side only"


@given(
    pairs=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30),
    limit=st.sampled_from([0.0, 0.02, 0.1, 0.5]),
    relative=st.booleans(),
)
@settings(max_examples=25)
def test_a_verdict_is_what_counting_by_hand_says(
    pairs: list[tuple[int, int]], limit: float, relative: bool
) -> None:
    """An independent count: whole numbers, fractions and binomial coefficients."""
    n, worse = len(pairs), sum(a > b for a, b in pairs)
    better, base = sum(a < b for a, b in pairs), sum(a for a, _ in pairs)
    drop_of = Fraction(worse - better, base if relative and base else n)
    exceeded = worse > better and ((relative and base == 0) or drop_of > Fraction(str(limit)))
    discordant = worse + better
    tail = sum(comb(discordant, k) for k in range(max(worse, better), discordant + 1))
    p = min(Fraction(1), Fraction(2 * tail, 2**discordant))
    expected = "pass" if not exceeded else "fail" if p <= Fraction(1, 20) and worse > better else "undecided"
    samples = [f"s{k}" for k in range(n)]
    base_side = dict(zip(samples, (a for a, _ in pairs), strict=True))
    new_side = dict(zip(samples, (b for _, b in pairs), strict=True))
    (row,) = judged({"grades": sides(base_side, new_side)}, drop(limit, relative=relative))
    assert (row["verdict"], row["n_worse"], row["n_better"]) == (expected, worse, better)
    assert row["p"] == (pytest.approx(float(p)) if discordant else None)
