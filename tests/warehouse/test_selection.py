"""A RUN is named by id, prefix, six digits, `latest` or a tag; all else is refused with the candidates."""

import pytest

from gradetrail.errors import SelectionError
from gradetrail.warehouse.selection import select_run, successor


def run(run_id, task, started_at, tags=()):
    return {"run_id": run_id, "task": task, "started_at": f"{started_at}:12+00:00", "tags": list(tags)}


RUNS = [
    run("20261130T083112Z-gsm8k-5f0c2a", "gsm8k", "2026-11-30T08:31", ["base"]),
    run("20261201T083112Z-gsm8k-aaaaaa", "gsm8k", "2026-12-01T08:31", ["base"]),
    run("20261201T093112Z-mmlu-bbbbbb", "mmlu", "2026-12-01T09:31"),
    run("20261202T083112Z-gsm8k-cccccc", "gsm8k", "2026-12-02T08:31"),
]


@pytest.mark.parametrize(
    ("selector", "task", "tail"),
    [
        ("20261130T083112Z-gsm8k-5f0c2a", None, "5f0c2a"),
        ("20261130", None, "5f0c2a"),
        ("5f0c2a", None, "5f0c2a"),
        ("20261201T09", None, "bbbbbb"),
        ("latest", None, "cccccc"),
        ("latest~0", None, "cccccc"),
        ("latest~1", None, "aaaaaa"),
        ("latest~2", None, "5f0c2a"),
        ("latest", "mmlu", "bbbbbb"),
        ("mmlu@latest", None, "bbbbbb"),
        ("gsm8k@latest~1", None, "aaaaaa"),
        ("gsm8k@base", None, "aaaaaa"),
    ],
)
def test_a_selector_names_one_run(selector, task, tail):
    assert select_run(RUNS, selector, task)["run_id"].endswith(tail)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("20261201", "names 2 runs"),
        ("2026", "names 4 runs"),
        ("ffffff", "no run `ffffff`"),
        ("latest~3", "has 3 runs"),
        ("mmlu@latest~1", "has 1 run"),
        ("gsm9k@latest", "did you mean `gsm8k`"),
        ("gsm8k@bse", "did you mean `base`"),
        ("mmlu@base", "has a tag"),
        ("", "names 4 runs"),
    ],
)
def test_anything_else_is_refused_with_the_candidates(selector, message):
    with pytest.raises(SelectionError, match=message):
        select_run(RUNS, selector)


def test_candidates_are_listed_newest_first():
    with pytest.raises(SelectionError) as caught:
        select_run(RUNS, "20261201")
    assert "aaaaaa" in str(caught.value)
    assert str(caught.value).index("bbbbbb") < str(caught.value).index("aaaaaa")


def test_an_empty_warehouse_says_how_to_make_a_run():
    with pytest.raises(SelectionError, match="gradetrail run"):
        select_run([], "latest")


def test_an_id_wins_over_being_the_prefix_of_another():
    runs = [{"run_id": f"20261130T083112Z-a-5f0c2a{more}", "task": "a"} for more in ("", "-2")]
    assert select_run(runs, "20261130T083112Z-a-5f0c2a") is runs[0]


def test_the_successor_is_of_the_same_task():
    assert successor(RUNS, RUNS[1])["run_id"].endswith("cccccc")
    with pytest.raises(SelectionError, match="is the newest run"):
        successor(RUNS, RUNS[3])
