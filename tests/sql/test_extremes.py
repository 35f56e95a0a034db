"""Scores that lie far from 0, close together, or far apart give numbers or NULL with a reason, never NaN."""

import math
import random

import pytest

from tests.statistics.world import Row, World

VIEWS = (
    "run_scores", "leaderboard", "pairwise", "power", "history", "category_scores", "variance", "flaky",
    "sample_stats", "judge_agreement",
)  # fmt: skip
SPREADS = {
    "close together": (0.5, 1e-12),
    "close together, far from 0": (1e6, 1e-6),
    "far from 0": (1e11, 1.0),
    "tiny": (0.0, 1e-13),
    "huge": (-1e50, 1e50),
    "ordinary": (0.0, 1.0),
}
RUNS = ("20261130T083112Z-t-000001", "20261130T083112Z-t-000002")


@pytest.fixture(scope="module")
def shown() -> dict[str, list[Row]]:
    world = World()
    for scorer in ("strict", "other"):
        world.scorer(scorer, score_min=None, score_max=None, pass_threshold=0.5)
    for spread, (least, step) in SPREADS.items():
        draw = random.Random(5)
        for number, run_id in enumerate(RUNS):
            kept = run_id.replace("-t-", f"-{spread.replace(' ', '').replace(',', '')}-")
            started = f"2026-11-30T08:31:1{number}+00:00"
            run = world.run(
                kept, spread, epochs=2, category=True, cluster=bool(number), n_samples=6, started_at=started
            )
            for model in range(11):
                for sample in range(6):
                    for epoch in (1, 2):
                        for scorer in ("strict", "other"):
                            world.grade(
                                run,
                                f"m{model:02}",
                                f"s{sample}",
                                least + step * draw.randint(0, 2),
                                scorer=scorer,
                                epoch=epoch,
                                is_planned=scorer == "strict",
                                category=f"c{sample % 2}",
                                cluster=f"k{sample // 2}" if number else None,
                            )
    return dict(zip(VIEWS, world.ask(*(f"from {view}" for view in VIEWS)), strict=True))


@pytest.mark.parametrize("view", VIEWS)
def test_every_number_is_finite(shown, view):
    assert {row["task"] for row in shown[view]} >= set(SPREADS) - {"tiny"}
    found = {
        (row["task"], name)
        for row in shown[view]
        for name, value in row.items()
        if isinstance(value, float) and not math.isfinite(value)
    }
    assert found == set()


@pytest.mark.parametrize(
    ("view", "column"), [("sample_stats", "discrimination"), ("judge_agreement", "score_kappa_weighted")]
)
def test_a_correlation_does_not_depend_on_how_far_scores_are_from_0(shown, view, column):
    of_task = {
        task: [row[column] for row in shown[view] if row["task"] == task]
        for task in ("ordinary", "far from 0")
    }
    assert None not in of_task["ordinary"]
    assert of_task["far from 0"] == pytest.approx(of_task["ordinary"], abs=1e-3)
