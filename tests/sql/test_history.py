"""Each step of `history` pairs a run with the one before, and nothing else, whatever the runs are."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest

from gradetrail.warehouse.catalog import Catalog
from tests.sql.given import live_of


def world(seed: int) -> dict[str, Any]:
    """Make runs of two tasks, in which models, samples, targets, inputs and definitions change."""
    draw = random.Random(seed)
    runs = [
        f"20260{draw.randint(1, 9)}{n:02}T00000{n}Z-{task}-{n:06x}"
        for n in range(1, 6)
        for task in ("t", "u")
    ]
    grades = []
    for run_id in runs:
        task, version = run_id.split("-")[1], draw.choice("112")
        for model in draw.sample(["m", "n", "o"], draw.randint(1, 3)):
            for sample in draw.sample("abcdefgh", draw.randint(4, 8)):
                target, question = draw.choice("xxxxxy"), draw.choice("qqqqqr")
                for scorer in ("strict", "loose"):
                    definition = f"{scorer}{version}" if scorer == "strict" else scorer
                    outcome = draw.choice(["scored"] * 5 + ["unparsed", "provider_error"])
                    score = draw.choice([0.0, 0.25, 1.0]) if outcome == "scored" else None
                    grades.append({
                        "run_id": run_id, "task": task, "model": model, "sample_id": sample, "scorer": scorer,
                        "scorer_id": definition, "target": target, "input_hash": question, "outcome": outcome,
                        "score": score, "is_pass": None if score is None else score == 1.0,
                    })  # fmt: skip
    return {"grades": grades}


def counted(grade: dict[str, Any]) -> float | None:
    """Give what a grade counts: an unparsed answer is wrong, a failure counts nothing."""
    return 0.0 if grade["outcome"] == "unparsed" else grade["score"]


def steps(given: dict[str, Any]) -> dict[tuple[str, ...], tuple[Any, ...]]:
    """Pair each entrant's runs one after the other, sample by sample."""
    graded: dict[tuple[str, str], dict[str, dict[tuple[str, str, str], dict[str, Any]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for grade in given["grades"]:
        key = (grade["scorer"], grade["scorer_id"], grade["sample_id"])
        graded[grade["task"], grade["model"]][grade["run_id"]][key] = grade
    found = {}
    for (_, model), by_run in graded.items():
        in_order = sorted(by_run)
        for before, now in zip([None, *in_order], in_order, strict=False):
            for scorer, definition in {key[:2] for key in by_run[now]}:
                gains = []
                for key, grade in by_run[now].items():
                    other = by_run[before].get(key) if before is not None else None
                    if key[:2] != (scorer, definition) or other is None:
                        continue
                    same = all(grade[name] == other[name] for name in ("target", "input_hash"))
                    a, b = counted(grade), counted(other)
                    if same and a is not None and b is not None:
                        gains.append(a - b)
                found[model, scorer, definition, now] = (
                    before, len(gains), sum(gains) / len(gains) if gains else None,
                    sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains),
                )  # fmt: skip
    return found


@pytest.mark.parametrize("seed", range(25))
def test_each_step_is_the_pairing_of_a_run_with_the_one_before(seed: int) -> None:
    given = world(seed)
    catalog = Catalog(live_of(given))
    catalog.provide("history")
    query = (
        "select model, scorer, scorer_id, run_id, previous_run_id, n_shared, difference, n_better, n_worse"
        " from history"
    )
    rows = catalog.cursor().execute(query).fetchall()
    one = catalog.cursor().execute(f"{query} where task = 'u'").fetchall()
    catalog.close()
    wanted = steps(given)
    assert len({row[:4] for row in rows}) == len(rows)
    for *key, before, n_shared, difference, n_better, n_worse in rows:
        assert (before, n_shared, pytest.approx(difference), n_better, n_worse) == wanted[tuple(key)]
    assert {row for row in rows if "-u-" in row[3]} == set(one)
    assert any(row[5] > 1 for row in rows)
