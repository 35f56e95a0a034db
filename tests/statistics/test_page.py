"""The page on statistics names what there is."""

import re

from gradetrail import sql
from tests.statistics import page

PAGE = page.PAGE.read_text(encoding="utf-8").partition(page.BEGIN)[0]
STATISTICS = {
    "calibration", "flaky", "history", "judge_agreement", "leaderboard", "output_perplexity", "pairwise",
    "pass_at_k", "position_bias", "power", "risk_coverage", "run_scores", "sample_stats", "served_models",
    "variance",
}  # fmt: skip


def test_it_names_every_view_of_statistics():
    assert {name for name in STATISTICS if f"`{name}" not in PAGE} == set()
    assert set(sql.names("views")) >= STATISTICS


def test_the_columns_that_it_names_with_their_view_exist():
    for view, column in re.findall(r"`([a-z_]+)\.([a-z_]+)`", PAGE):
        assert f"comment on column {view}.{column} " in sql.text_of(f"views/{view}")
