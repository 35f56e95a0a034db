"""Charts: each view's picture in each format, showing what the view says, without a network."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gradetrail as gt
from gradetrail.errors import DependencyError
from gradetrail.report import drawn
from gradetrail.report.pictures import Plot
from gradetrail.store import Store
from tests.cli.command import gradetrail


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten tasks, run twice."""
    folder = tmp_path_factory.mktemp("charts")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert gradetrail("demo", "ten_tasks").code == 0
        assert gradetrail("run", "specs/ten_tasks/ten_tasks.yaml", "--new", "--limit", "7").code == 0
    return folder / "warehouse"


def values(plot: Plot) -> list[dict[str, Any]]:
    """Collect the data that stand in a chart."""
    found: list[dict[str, Any]] = []
    chart = plot.chart.to_dict()
    for rows in chart.get("datasets", {}).values():
        found += rows

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if isinstance(node.get("data"), dict):
                found.extend(node["data"].get("values", []))
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk(chart)
    return found


@pytest.mark.parametrize("view", ["leaderboard", "calibration", "reliability_bins", "pairwise", "history"])
def test_every_chart_is_written_in_every_format(warehouse: Path, tmp_path: Path, view: str) -> None:
    for suffix in ("svg", "png", "html"):
        target = tmp_path / f"chart.{suffix}"
        done = gradetrail("show", view, "--warehouse", warehouse, "--plot", target)
        assert (done.code, done.out, done.err) == (0, "", f"wrote {target}\n")
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")
    head = (tmp_path / "chart.png").read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    assert all(size > 300 for size in struct.unpack(">II", head[16:24]))


def test_a_page_loads_nothing_from_elsewhere(warehouse: Path, tmp_path: Path) -> None:
    gt.plot(warehouse).save(tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text()
    assert "default-src 'none'; script-src 'unsafe-inline'" in page
    assert re.findall(r"^<(?:script|link|img|iframe)[^>]*(?:src|href)=", page, re.MULTILINE) == []


def test_a_name_that_closes_the_script_does_not_end_it(tmp_path: Path) -> None:
    import altair as alt

    evil = "</script><script>alert(1)</script>"
    data = alt.InlineData(values=[{"x": evil}])
    Plot(alt.Chart(data).mark_point().encode(x="x:N")).save(tmp_path / "evil.html")
    assert evil not in (tmp_path / "evil.html").read_text()
    Plot(alt.Chart(data).mark_text().encode(text="x:N")).save(tmp_path / "evil.svg")
    assert "<script" not in (tmp_path / "evil.svg").read_text()


def test_the_board_is_drawn_in_its_order_with_its_numbers(warehouse: Path) -> None:
    with gt.Warehouse(warehouse) as opened:
        board = opened.rows("select model, mean, ci_low, ci_high from leaderboard order by rank, model")[1]
        drawn = values(gt.plot(opened, task="ten_tasks"))
    assert [(d["entrant"], d["mean"], d["ci_low"], d["ci_high"]) for d in drawn] == board


def test_every_chart_has_the_boards_order_of_scorers_and_entrants(tmp_path: Path) -> None:
    """The first scorer of the spec comes first, and where less is better the least."""
    answers = {"close": "right?", "exact": "right", "far": "something else"}
    spec = {
        "name": "order", "prompt": "{{ q }}", "target": "right",
        "confidence": {"from": "provider"},
        "scorers": {
            "zeta": {"type": "edit_distance", "unit": "character"}, "mu": "exact", "alpha": "includes",
        },
        "models": [{"model": f"replay/{name}", "answers": "answers.jsonl"} for name in answers],
        "dataset": "data.jsonl",
    }  # fmt: skip
    ids = [f"s{n}" for n in range(3)]
    rows = [
        {"sample_id": id_, "model": name, "text": text, "confidence": 0.7}
        for name, text in answers.items()
        for id_ in ids
    ]
    (tmp_path / "answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "data.jsonl").write_text("".join(f'{{"id": "{id_}", "q": "?"}}\n' for id_ in ids))
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    root = tmp_path / "warehouse"
    assert gradetrail("run", tmp_path / "spec.yaml", "--warehouse", root).code == 0
    with gt.Warehouse(root) as opened:
        board = opened.rows("select scorer, model from leaderboard")[1]
        assert list(dict.fromkeys(scorer for scorer, _ in board)) == ["zeta", "mu", "alpha"]
        for view in drawn.SOURCES:
            records = drawn.records_of(opened, view, task=None, run=None)
            order = list(dict.fromkeys((record["scorer"], record["entrant"]) for record in records))
            assert order == [row for row in board if row in order], view
            assert {scorer for scorer, _ in order} >= {"mu", "alpha"}


def test_pairs_are_drawn_both_ways(warehouse: Path) -> None:
    with gt.Warehouse(warehouse) as opened:
        pairs = opened.rows("select a_model, b_model, difference from pairwise")[1]
        drawn = {(d["entrant"], d["other"]): d["difference"] for d in values(gt.plot(opened, "pairwise"))}
    both = {(a, b): d for a, b, d in pairs} | {(b, a): -d for a, b, d in pairs}
    assert drawn == both
    assert len(drawn) == 6


def test_a_reliability_diagram_is_of_each_entrants_newest_run_or_of_the_one_named(warehouse: Path) -> None:
    with gt.Warehouse(warehouse) as opened:
        newest = sum(d.get("n", 0) for d in values(gt.plot(opened, "calibration")))
        older = sum(d.get("n", 0) for d in values(gt.plot(opened, "calibration", run="latest~1")))
    assert (newest, older) == (3 * 7, 3 * 10)


def test_history_has_every_run(warehouse: Path) -> None:
    drawn = values(gt.plot(warehouse, "history"))
    assert len({d["run_id"] for d in drawn}) == 2
    assert len(drawn) == 6


@pytest.fixture(scope="module")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of two entrants, of which two scorers think the opposite; the last asks otherwise."""
    tmp_path = tmp_path_factory.mktemp("crossed")
    spec = {
        "name": "crossed", "prompt": "{{ q }}", "target": "a", "dataset": "data.jsonl",
        "scorers": {"first": {"type": "exact"}, "second": {"type": "exact", "target": "b"}},
        "models": [{"model": f"replay/{name}", "answers": "answers.jsonl"} for name in ("x", "y")],
    }  # fmt: skip
    texts = {"x": ["a", "a", "a", "b"], "y": ["b", "b", "b", "a"]}
    rows = [
        {"sample_id": f"s{n}", "model": name, "text": text}
        for name, of in texts.items()
        for n, text in enumerate(of)
    ]
    (tmp_path / "answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "data.jsonl").write_text("".join(f'{{"id": "s{n}", "q": "?"}}\n' for n in range(4)))
    for prompt in ("{{ q }}", "{{ q }}", "Now: {{ q }}"):
        (tmp_path / "spec.yaml").write_text(json.dumps(spec | {"prompt": prompt}))
        arguments = ("run", tmp_path / "spec.yaml", "--new", "--warehouse", tmp_path / "warehouse")
        assert gradetrail(*arguments).code == 0
    return tmp_path / "warehouse"


def test_an_entrant_has_one_colour_in_all_panels_though_boards_order_it_otherwise(crossed: Path) -> None:
    panels = gt.plot(crossed, "history").chart.to_dict()["concat"]
    scales = [panel["layer"][0]["encoding"]["color"]["scale"] for panel in panels]
    assert [scale["domain"] for scale in scales] == [["replay/x", "replay/y"], ["replay/y", "replay/x"]]
    first, second = (dict(zip(scale["domain"], scale["range"], strict=True)) for scale in scales)
    assert first == second
    assert len(set(first.values())) == 2


def test_a_line_of_history_is_broken_where_samples_do_not_pair(crossed: Path) -> None:
    with gt.Warehouse(crossed) as opened:
        records = drawn.records_of(opened, "history", task=None, run=None)
    stretches = [r["stretch"] for r in records if (r["scorer"], r["entrant"]) == ("first", "replay/x")]
    assert stretches == [1, 1, 2]
    line = gt.plot(crossed, "history").chart.to_dict()["concat"][0]["layer"][1]
    assert (line["mark"]["type"], line["encoding"]["detail"]["field"]) == ("line", "stretch")


def test_runs_of_one_minute_are_told_apart_by_their_tails(crossed: Path) -> None:
    plot = gt.plot(crossed, "history")
    tails = {value["run_id"][-6:] for value in values(plot)}
    assert len(tails) == 3
    assert all(f">{tail}<" in plot.svg() for tail in tails)


def test_more_boards_than_a_picture_holds_are_refused_with_the_way_out(
    crossed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradetrail.report.charts.MOST_BOARDS", 1)
    done = gradetrail("show", "history", "--warehouse", crossed, "--plot", tmp_path / "a.png")
    assert (done.code, (tmp_path / "a.png").exists()) == (2, False)
    assert "2 boards are too many for one picture: at most 1" in done.err
    assert "--plot without a file draws it in the terminal" in done.err


def test_counts_of_a_reliability_diagram_stand_in_their_bins_outside_the_panel(warehouse: Path) -> None:
    plot = gt.plot(warehouse, "calibration")
    (counts,) = [
        layer for layer in plot.chart.to_dict()["concat"][0]["concat"][0]["layer"]
        if layer["mark"]["type"] == "text"
    ]  # fmt: skip
    assert (counts["encoding"]["x"]["field"], counts["encoding"]["y"]) == ("middle", {"value": -2})
    assert all(d["middle"] == (d["bin_low"] + d["bin_high"]) / 2 for d in values(plot) if "middle" in d)


def test_equal_data_gives_an_equal_picture(warehouse: Path) -> None:
    assert gt.plot(warehouse, "pairwise").svg() == gt.plot(warehouse, "pairwise").svg()


def test_a_notebook_shows_it_as_svg(warehouse: Path) -> None:
    bundle = gt.plot(warehouse)._repr_mimebundle_()
    assert list(bundle) == ["image/svg+xml", "text/plain"]
    assert json.dumps(bundle)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runs", "--plot", "a.svg"], "view `runs` has no chart"),
        (["--plot", "a.pdf"], "`a.pdf` has no suffix of a picture"),
        (["--plot", "none/a.svg"], "its folder does not exist"),
        (["history", "latest", "--plot", "a.svg"], "the chart of `history` is of all runs"),
        (["--task", "nope", "--plot", "a.svg"], "no run of task `nope`"),
    ],
)
def test_what_cannot_be_drawn_is_said_and_nothing_is_written(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = gradetrail("show", *arguments, "--warehouse", warehouse)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert list(tmp_path.iterdir()) == []


def test_an_empty_warehouse_has_nothing_to_draw(tmp_path: Path) -> None:
    Store(tmp_path / "warehouse")
    for view in drawn.SOURCES:
        with pytest.raises(gt.GradetrailError, match="nothing to draw"):
            gt.plot(tmp_path / "warehouse", view)


def test_without_the_extra_it_says_what_to_install(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(DependencyError, match=r"gradetrail\[plot\]"):
        gt.plot(warehouse)


def test_charts_load_no_data_frame_library(warehouse: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from gradetrail.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "show", "--warehouse", str(warehouse), "--plot", "a.svg"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert not {"polars", "pandas"} & set(done.stdout.split())
    assert "altair" in done.stdout.split()


def test_a_run_draws_the_charts_of_its_task(tmp_path: Path) -> None:
    spec = {"name": "sums", "prompt": "{{ q }}", "target": "{{ a }}", "scorer": "numeric",
            "model": "mock/rule_based"}  # fmt: skip
    root = tmp_path / "warehouse"
    run = gt.run(spec, frame=[{"q": "What is 1 + 1?", "a": 2}], warehouse=root)
    gt.run(spec | {"name": "other"}, frame=[{"q": "What is 1 + 2?", "a": 3}], warehouse=root)
    assert values(run.plot()) == values(gt.plot(root, task="sums"))
    assert values(run.plot("history")) == values(gt.plot(root, "history", task="sums"))
