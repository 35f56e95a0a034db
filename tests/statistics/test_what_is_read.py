"""A question about one run, or one task, reads the rows of that run or task and no others."""

import json

import pytest

from gradetrail.warehouse.catalog import Catalog
from tests.statistics.world import World

RUNS = [f"202611{day:02}T000000Z-t-{day:06x}" for day in range(1, 11)]
MINE = RUNS[4]
ROWS = {"loose_scores", "loose_trials", "loose_responses"}


@pytest.fixture(scope="module")
def catalog():
    world = World()
    for n, run in enumerate(RUNS):
        world.run(run, "t" if n < 8 else "u", epochs=2, category=True, started_at=f"{run[:4]}-11-{n + 1:02}")
        for model in "xy":
            for i in range(60):
                for epoch in (1, 2):
                    for scorer in ("strict", "judge"):
                        world.grade(
                            run,
                            model,
                            f"s{i}",
                            float((i * epoch + n) % 3 == 0),
                            epoch=epoch,
                            scorer=scorer,
                            is_planned=scorer == "strict",
                            confidence=(i % 10) / 10,
                            category="c",
                            target="A",
                            extracted="A" if i % 3 else "B",
                            choice_order="[0, 1]",
                        )
    opened = Catalog(world.live())
    yield opened
    opened.close()


def read(catalog, query):
    """List the scans of stored rows in a plan that has run, each with the rows that came out of it."""
    catalog.provide(query)
    plan = catalog.cursor().execute(f"explain (analyze, format json) {query}").fetchall()[0][1]
    waiting, found = json.loads(plan)["operator"], []
    while waiting:
        node = waiting.pop()
        table = str(node["extra_info"].get("Table", "")).rpartition(".")[2]
        if table in ROWS:
            found.append((table, node["intermediate_rows"], str(node["extra_info"].get("Filters"))))
        waiting += node.get("children", [])
    return found


OF_ONE_RUN = (
    "calibration", "category_scores", "flaky", "graded", "judge_agreement", "pass_at_k", "position_bias",
    "reliability_bins", "risk_coverage", "run_scores", "variance", "wrong",
)  # fmt: skip


@pytest.mark.parametrize("view", OF_ONE_RUN)
@pytest.mark.parametrize(("column", "value", "n_runs"), [("run_id", MINE, 1), ("task", "u", 2)])
def test_a_filter_reaches_the_stored_rows(catalog, view, column, value, n_runs):
    scans = read(catalog, f"select * from {view} where {column} = '{value}'")
    most = {"loose_scores": 480 * n_runs, "loose_trials": 240 * n_runs, "loose_responses": 0}
    assert scans
    assert [scan for scan in scans if scan[1] > most[scan[0]]] == []


def test_a_history_reads_the_runs_of_its_task(catalog):
    scans = read(catalog, "select * from history where task = 'u'")
    assert scans
    assert [scan for scan in scans if scan[1] > 960] == []


@pytest.mark.parametrize("view", ["leaderboard", "pairwise", "power", "sample_stats"])
def test_a_board_reads_the_runs_that_it_shows(catalog, view):
    scans = read(catalog, f"select * from {view}")
    assert scans
    assert [scan for scan in scans if "run_id IN" not in scan[2]] == []


def test_a_view_is_made_when_a_query_names_it(catalog):
    lazy = Catalog(World().live())
    lazy.provide("from flaky")
    made = {
        name
        for (name,) in lazy.cursor()
        .execute("select view_name from duckdb_views() where not internal")
        .fetchall()
    }
    lazy.close()
    assert "flaky" in made
    assert not made & {"variance", "history", "power", "sample_stats", "leaderboard"}
