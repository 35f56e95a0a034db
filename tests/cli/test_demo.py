"""The demos say what they must, offline: four real models on GSM8K, three built-in ones on ten tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from gradetrail.warehouse import Warehouse
from tests.cli.command import Done, gradetrail

DATA = Path(__file__).parents[1] / "data/gsm8k"
RIGHT = {"175b_verification": 742, "6b_verification": 515, "175b_finetuning": 458, "6b_finetuning": 286}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return folder, gradetrail("demo")


def rows(folder: Path, query: str) -> list[dict[str, Any]]:
    with Warehouse(folder / "warehouse") as opened:
        names, found = opened.rows(query)
    return [dict(zip(names, row, strict=True)) for row in found]


def test_the_demo_prints_the_board_and_what_to_do_next(demo: tuple[Path, Done]) -> None:
    _, done = demo
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "gsm8k: strict"
    board = [line.split() for line in lines[3:]]
    assert {row[1]: (int(row[2]), int(row[3])) for row in board} == {m: (n, 1319) for m, n in RIGHT.items()}
    assert [row[0] for row in board] == ["1", "2", "3", "4"]
    assert [row[4] for row in board] == ["0.5625", "0.3904", "0.3472", "0.2168"]
    assert "p50_ms" not in lines[1]
    assert "gradetrail score specs/gsm8k/gsm8k.yaml --preview" in done.err


def test_all_5276_grades_are_those_of_the_authors(demo: tuple[Path, Done]) -> None:
    folder, _ = demo
    authors = json.loads((DATA / "is_correct.json").read_text(encoding="utf-8"))
    query = """
        select model, string_agg(cast(cast(is_pass as integer) as varchar), '' order by position) as digits
        from graded inner join samples using (dataset_id, sample_id)
        group by model
    """
    assert {row["model"]: row["digits"] for row in rows(folder, query)} == authors
    assert sum(map(len, authors.values())) == 5276


def test_standard_errors_and_intervals_agree_with_numpy_and_scipy(demo: tuple[Path, Done]) -> None:
    folder, _ = demo
    authors = json.loads((DATA / "is_correct.json").read_text(encoding="utf-8"))
    board = rows(folder, "select model, mean, stderr, ci_low, ci_high from leaderboard")
    assert len(board) == 4
    for row in board:
        scores = np.array([int(digit) for digit in authors[row["model"]]], dtype=float)
        wilson = scipy.stats.binomtest(int(scores.sum()), len(scores)).proportion_ci(0.95, method="wilson")
        assert row["mean"] == pytest.approx(scores.mean(), abs=1e-12)
        assert row["stderr"] == pytest.approx(scores.std(ddof=1) / np.sqrt(len(scores)), rel=1e-9)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((wilson.low, wilson.high), rel=1e-9)


def test_running_it_again_makes_no_call_and_no_run(
    demo: tuple[Path, Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, first = demo
    monkeypatch.chdir(folder)
    for arguments in (("demo",), ("run", "specs/gsm8k/gsm8k.yaml"), ("run", "latest")):
        again = gradetrail(*arguments)
        assert (again.code, again.out) == (0, first.out)
        assert "0/0 requests, 5,276 hits" in again.err
    assert rows(folder, "select count(*) as n, count(distinct run_id) as runs from calls") == [
        {"n": 5276, "runs": 1}
    ]
    assert rows(folder, "select count(*) as n from runs") == [{"n": 1}]


def test_an_edited_extraction_is_previewed_graded_and_compared(
    tmp_path: Path, demo: tuple[Path, Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    shutil.copytree(demo[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    spec = Path("specs/gsm8k/gsm8k.yaml")
    spec.write_text(spec.read_text().replace("which: last", "which: first"))
    before = rows(tmp_path, "select count(*) as n from calls")
    preview = gradetrail("score", spec, "--preview", "--format", "json")
    assert preview.code == 0
    flipped = {
        (flip["model"], flip["sample_id"])
        for flip in json.loads(preview.raw)
        if flip["change"] in ("fixed", "broken")
    }
    assert rows(tmp_path, "select max(scorer_version) as v from grades") == [{"v": 1}]
    assert gradetrail("score", spec).code == 0
    done = gradetrail("diff", "--scorer", "strict~1,strict", "--format", "json")
    changes = [change for change in json.loads(done.raw) if change["change"] in ("fixed", "broken")]
    assert {(change["a_model"], change["sample_id"]) for change in changes} == flipped
    assert {change["cause"] for change in changes} <= {"scorer"}
    assert rows(tmp_path, "select scorer_version, count(*) as n from grades group by all order by all") == [
        {"scorer_version": 1, "n": 5276}, {"scorer_version": 2, "n": 5276},
    ]  # fmt: skip
    assert rows(tmp_path, "select count(*) as n from calls") == before


# ---- ten tasks


@pytest.fixture(scope="module")
def ten_tasks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("ten_tasks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return folder, gradetrail("demo", "ten_tasks", "--format", "json")


def test_the_ten_task_report_has_the_known_values(ten_tasks: tuple[Path, Done]) -> None:
    done = ten_tasks[1]
    assert done.code == 0, done.err
    report = json.loads(done.raw)
    assert set(report) == {"leaderboard", "pairwise", "calibration", "perplexity", "summary"}
    board = {row["model"]: row for row in report["leaderboard"]}
    assert [row["model"] for row in report["leaderboard"]] == ["rule_based", "biased", "noisy"]
    assert [round(row["mean"], 6) for row in report["leaderboard"]] == [1.0, 0.300077, 0.3]
    assert [board[m]["win_rate"] for m in ("rule_based", "biased", "noisy")] == pytest.approx([1.0, 0.3, 0.3])
    calibration = report["calibration"]
    for model, ece, brier in (("rule_based", 0.08, 0.0064), ("biased", 0.24, 0.15), ("noisy", 0.55, 0.5125)):
        assert calibration[model]["ece"] == pytest.approx(ece, abs=1e-12)
        assert calibration[model]["brier"] == pytest.approx(brier, abs=1e-12)
        assert calibration[model]["n"] == 10
    assert {model: round(value, 6) for model, value in report["perplexity"].items()} == {
        "rule_based": 2.225541, "biased": 17.002040, "noisy": 12.182494,
    }  # fmt: skip
    pairs = {(row["a_model"], row["b_model"]): row for row in report["pairwise"]}
    assert len(pairs) == 3
    assert pairs["rule_based", "biased"]["difference"] == pytest.approx(0.699923, abs=1e-6)
    assert (report["summary"]["tasks"], report["summary"]["models"], report["summary"]["task_runs"]) == (
        10,
        3,
        30,
    )


def spec_of(folder: Path, *, without: str) -> Path:
    path = folder / "specs/ten_tasks/ten_tasks.yaml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if f"as: {without}" not in line))
    return path


def test_the_exit_code_says_whether_rule_based_comes_first(
    tmp_path: Path, ten_tasks: tuple[Path, Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    shutil.copytree(ten_tasks[0] / "specs", tmp_path / "specs")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "specs/ten_tasks/ten_tasks.yaml"
    good = path.read_text()
    renamed = (
        good.replace("as: rule_based", "as: x")
        .replace("as: noisy", "as: rule_based")
        .replace("as: x", "as: noisy")
    )
    path.write_text(renamed)
    last = gradetrail("demo", "ten_tasks")
    assert last.code == 1
    assert "rule_based is last: noisy, biased, rule_based" in last.err
    path.write_text(
        good.replace("as: rule_based", "as: x")
        .replace("as: biased", "as: rule_based")
        .replace("as: x", "as: biased")
    )
    second = gradetrail("demo", "ten_tasks")
    assert second.code == 1
    assert "rule_based is not first" in second.err


def test_both_demos_share_a_warehouse(
    tmp_path: Path, ten_tasks: tuple[Path, Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ten_tasks[0])
    again = gradetrail("demo", "ten_tasks")
    assert again.code == 0
    assert "0/0 requests, 30 hits" in again.err
    assert "ten_tasks: metric" in again.out
