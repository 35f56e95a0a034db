"""The leaderboard as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradetrail.errors import SelectionError
from gradetrail.report.bars import board_bars, short, shortened
from gradetrail.warehouse import Warehouse
from tests.cli.command import gradetrail


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real board of four models."""
    folder = tmp_path_factory.mktemp("bars")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert gradetrail("demo").code == 0
    return folder / "warehouse"


def test_each_entrant_is_a_line_whose_dot_stands_where_its_mean_is_on_the_scale(warehouse: Path) -> None:
    with Warehouse(warehouse) as opened:
        text = board_bars(opened, width=100)
        _, rows = opened.rows("select model, mean, ci_low, ci_high from leaderboard where is_primary")
    title, *lines, axis = text.split("\n\n")[0].rstrip("\n").splitlines()
    assert title == "gsm8k: strict" or title.startswith("gsm8k: ")
    assert len(lines) == len(rows) and all(len(line) <= 100 for line in lines)
    low, high = min(row[2] for row in rows), max(row[3] for row in rows)
    assert axis.split() == [f"{low:.3f}", f"{high:.3f}"]
    begin, end = axis.index(f"{low:.3f}"), len(axis) - 1
    for line, (model, mean, ci_low, ci_high) in zip(lines, rows, strict=True):
        assert line.startswith(model) and f"{mean:.3f}  n 1,319" in line
        for mark, value in ((line.index("●"), mean), (line.rindex("─"), ci_high), (line.index("─"), ci_low)):
            assert mark == pytest.approx(begin + (value - low) / (high - low) * (end - begin), abs=0.51)


def test_a_scale_of_one_value_and_a_narrow_terminal_still_give_a_chart(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(
        "{name: one, prompt: '{{ q }}', target: x, scorer: exact, model: mock/rule_based, dataset: d.jsonl}"
    )
    (tmp_path / "d.jsonl").write_text('{"q": "y"}\n')
    root = tmp_path / "warehouse"
    assert gradetrail("run", tmp_path / "spec.yaml", "--warehouse", root).code == 0
    with Warehouse(root) as opened:
        title, line, axis = board_bars(opened, width=10).splitlines()
        assert (title, line.count("●"), axis.split()) == ("one: exact", 1, ["0.000", "0.000"])
        with pytest.raises(SelectionError, match="nothing to draw"):
            board_bars(opened, task="other")


def test_plot_without_a_file_prints_the_chart(warehouse: Path) -> None:
    with Warehouse(warehouse) as opened:
        wanted = board_bars(opened, task="gsm8k")
    for words in (["--plot"], ["--plot", "-"], ["--task", "gsm8k", "--plot"], ["--plot", "--task", "gsm8k"]):
        done = gradetrail("show", "leaderboard", *words, "--warehouse", warehouse)
        assert (done.code, done.out, done.err) == (0, wanted, "")
    done = gradetrail("show", "pairwise", "--warehouse", warehouse, "--plot")
    assert (done.code, "view `pairwise` has no chart as text" in done.err) == (2, True)
    assert "fix: name a file: --plot pairwise.svg" in done.err


def test_long_names_are_told_apart_by_both_ends() -> None:
    names = [
        "a-rather-long-model-name-instruct-v1 · careful",
        "a-rather-long-model-name-instruct-v2 · careful",
    ]
    cut = [shortened(name, 30) for name in names]
    assert [len(name) for name in cut] == [30, 30] and len(set(cut)) == 2
    for name, whole in zip(cut, names, strict=True):
        begin, _, end = name.partition("…")
        assert whole.startswith(begin) and whole.endswith(end) and abs(len(begin) - len(end)) <= 1
    assert shortened("模型名称模型名称", 10) == "模型…名称 "
    assert shortened("short", 8) == "short   "


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.000"), (0.21683, "0.217"), (-3.5, "-3.500"), (99999.0, "99999.000"), (1.5e6, "1.5e+06"),
        (1e200, "1e+200"), (-123456.0, "-1.235e+05"), (0.0004, "0.0004"), (1.23456e-9, "1.235e-09"),
    ],
)  # fmt: skip
def test_numbers_of_a_chart_are_short_whatever_their_size(value: float, text: str) -> None:
    assert short(value) == text
