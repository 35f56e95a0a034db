"""Charts as text: the rows of the pictures, in lines of a terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from gradetrail.errors import SelectionError
from gradetrail.report import drawn
from gradetrail.report.bars import short, shortened
from gradetrail.report.text_charts import RUNS_SHOWN, text_chart
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
        text = text_chart(opened, width=100)
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
        title, line, axis = text_chart(opened, width=10).splitlines()
        assert (title, line.count("●"), axis.split()) == ("one: exact", 1, ["0.000", "0.000"])
        with pytest.raises(SelectionError, match="nothing to draw"):
            text_chart(opened, task="other")


def test_plot_without_a_file_prints_the_chart(warehouse: Path) -> None:
    with Warehouse(warehouse) as opened:
        wanted = text_chart(opened, task="gsm8k")
    for words in (["--plot"], ["--plot", "-"], ["--task", "gsm8k", "--plot"], ["--plot", "--task", "gsm8k"]):
        done = gradetrail("show", "leaderboard", *words, "--warehouse", warehouse)
        assert (done.code, done.out, done.err) == (0, wanted, "")


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten tasks, run twice."""
    folder = tmp_path_factory.mktemp("twice")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert gradetrail("demo", "ten_tasks").code == 0
        assert gradetrail("run", "specs/ten_tasks/ten_tasks.yaml", "--new", "--limit", "7").code == 0
    return folder / "warehouse"


@pytest.mark.parametrize("view", drawn.SOURCES)
def test_every_chart_is_drawn_in_a_terminal_without_anything_installed(
    twice: Path, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    done = gradetrail("show", view, "--warehouse", twice, "--plot")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("ten_tasks: metric\n")
    assert all(len(line) <= 100 for line in done.out.splitlines())


def test_a_reliability_line_goes_from_confidence_to_the_share_that_is_right(twice: Path) -> None:
    query = (
        "select mean_confidence, accuracy, n from reliability_bins"
        " where binning = 'width' and run_id = $run and model = 'biased' order by bin"
    )
    with Warehouse(twice) as opened:
        text = text_chart(opened, "calibration", run="latest~1")
        _, bins = opened.rows(query, {"run": opened.run_id("latest~1")})
    block = text.split("biased  ECE ")[1].splitlines()[1 : len(bins) + 1]
    axis = text.splitlines()[-1]
    begin, end = axis.index("0.000"), len(axis) - 1
    assert len(bins) == 2
    for line, (confidence, accuracy, n) in zip(block, bins, strict=True):
        assert f"{confidence:.3f} ─ {accuracy:.3f}  n {n}" in line
        for mark, value in ((line.index("│"), confidence), (line.index("●"), accuracy)):
            assert mark == pytest.approx(begin + value * (end - begin), abs=0.51)


def test_a_table_of_pairs_says_both_ways_what_pairwise_says(twice: Path) -> None:
    with Warehouse(twice) as opened:
        text = text_chart(opened, "pairwise")
        narrow = text_chart(opened, "pairwise", width=30)
        _, pairs = opened.rows("select a_model, b_model, difference, verdict from pairwise")
    _, _, head, *lines = text.splitlines()
    names = [line.split()[1] for line in lines]
    assert head.split() == [str(n) for n in range(1, len(names) + 1)]
    cells = {
        name: line.removeprefix(f"{n} {name}")
        for n, (name, line) in enumerate(zip(names, lines, strict=True), 1)
    }
    found = {name: re.findall(r"\(?[░▒▓█]?[+-][\d.]+\)?", text) for name, text in cells.items()}
    for a, b, difference, verdict in pairs:
        for one, other, value in ((a, b, difference), (b, a, -difference)):
            place = names.index(other) - (names.index(other) > names.index(one))
            cell = found[one][place]
            assert f"{value:+.3f}" in cell or abs(value) < 5e-4
            assert cell.startswith("(") == (verdict not in ("better", "worse"))
    # what does not fit beside each other is drawn below each other
    assert max(map(len, narrow.splitlines()[2:])) <= 30 and narrow.count("1 rule_based") == 2


def test_history_has_a_line_for_each_run_of_each_entrant(
    twice: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Warehouse(twice) as opened:
        text = text_chart(opened, "history")
        _, rows = opened.rows("select run_id, model, mean, n from history order by run_id")
        monkeypatch.setattr("gradetrail.report.text_charts.RUNS_SHOWN", 1)
        newest = text_chart(opened, "history")
    for run, model, mean, n in rows:
        block = text.split(f"\n{model}\n")[1]
        assert re.search(rf"{run[9:11]}:{run[11:13]} {run[-6:]} .*●.* {mean:.3f}  n {n}", block)
    assert (text.count("●"), newest.count("●"), newest.count("(1 older run)")) == (6, 3, 3)
    assert RUNS_SHOWN > 1


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
