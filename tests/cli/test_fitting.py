"""Which columns a narrow terminal shows, on the tables that the product prints."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from gradetrail import sql
from gradetrail.cli.board import screen_columns
from gradetrail.cli.output import table_text
from gradetrail.warehouse import Warehouse
from tests.cli.command import gradetrail
from tests.cli.test_width import in_terminal
from tests.pipeline.lab import Lab

Table = tuple[Sequence[str], Sequence[Sequence[Any]]]
WIDTHS = range(60, 161)
RUN = "20261130T221510Z-capitals_of_the_world-5ea733"
BOARD: Table = (
    "rank model n_pass n mean stderr ci_low ci_high unanswered errors cost_usd output_tokens p50_ms".split(),
    [
        ["1", "python/good", 171, 183, 0.93442, 0.0194, 0.8871, 0.9622, 2, 1, 0.0123, 697, 14],
        ["2-3", "python/bad", 140, 183, 0.76503, 0.0314, 0.6988, 0.8203, 12, 3, 1.5, 12697, 1214],
        ["2-3", "a-vendor/a-model-of-a-long-name-2026-01", 12345, 183, 0.7, 0.03, 0.6, 0.8, 0, 3, 1e-7, 9, 1],
    ],
)  # fmt: skip
HISTORY: Table = (
    "task model prompt scorer run_id mean change n_shared difference p verdict reason".split(),
    [
        ["num", "python/good", "default", "numeric", RUN, 0.5, None, 0, None, None, None, "first run"],
        ["num", "python/good", "default", "numeric", RUN + "4", 0.9, 0.4, 20, 0.4, 1.9e-06, "better", ""],
        ["num", "python/bad", "default", "numeric", RUN + "5", 0.9, 0.0, 20, 0.0, 1.0, "same", "reason " * 9],
    ],
)  # fmt: skip
GATE: Table = (
    "verdict scorer model base new drop allowed worse better n p reason".split(),
    [
        ["fail", "strict", "python/good", 0.91257, 0.5082, 0.4044, "0.02", 74, 0, 183, 1.1e-22, None],
        ["not comparable", "strict", "python/bad", None, None, None, "5%", 0, 0, 0, None, "other data " * 5],
    ],
)  # fmt: skip
DATES: Table = (
    ["seen", "text", "amount", "more"],
    [[datetime(2026, 11, 30, 22, 15, tzinfo=UTC), "word " * 20, 123456789.5, "text " * 30]] * 2,
)
TABLES: dict[str, Table] = {"board": BOARD, "history": HISTORY, "gate": GATE, "dates": DATES}
WHOLE = ("rank", "allowed", "run_id", "seen")


def cells_at(table: Table, width: int | None) -> dict[str, list[str]]:
    """Print a table, and read its columns back by the rule below its head."""
    head, rule, *body = table_text(*table, width).splitlines()
    assert width is None or max(map(len, (head, rule, *body))) <= width
    places = [found.span() for found in re.finditer("─+", rule)]
    names = [name for name in table[0] if name in head.split()]
    if len(names) != len(places):
        names = [head[begin:end].strip() for begin, end in places]
    return {
        name: [line[begin:end].strip() for line in body]
        for name, (begin, end) in zip(names, places, strict=True)
    }


def whole_columns(table: Table) -> set[str]:
    names, rows = table
    numeric = {
        name
        for n, name in enumerate(names)
        if any(isinstance(row[n], int | float) and not isinstance(row[n], bool) for row in rows)
    }
    return numeric | (set(WHOLE) & set(names))


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_numbers_dates_and_ids_of_runs_are_whole_or_left_out_at_every_width(table: Table) -> None:
    wide = cells_at(table, None)
    for width in WIDTHS:
        for name, cells in cells_at(table, width).items():
            matches = [full for full in wide if full.startswith(name.rstrip("…"))]
            if name in whole_columns(table) or matches[0] in whole_columns(table):
                assert cells in [wide[full] for full in matches], (width, name)
                assert not any("…" in cell for cell in cells)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_wider_terminal_shows_every_column_of_a_narrower_one(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    left_out = []
    for width in WIDTHS:
        table_text(*table, width)
        told = re.match(r"(\d+) more columns do not fit", capsys.readouterr().err)
        left_out.append(int(told[1]) if told else 0)
    assert left_out == sorted(left_out, reverse=True)
    shown: set[str] = set()
    for width in WIDTHS:
        now = {name[:8] for name in cells_at(table, width)}
        assert shown <= now, (width, shown - now)
        shown = now


@pytest.mark.parametrize("name", ["board", "history", "gate"])
def test_names_stay_apart_and_the_result_beside_them(name: str) -> None:
    table = TABLES[name]
    for width in WIDTHS:
        cells = cells_at(table, width)
        models = cells["model"]
        assert [one for one in models if one.startswith("python/")] == [
            one for one in cells_at(table, None)["model"] if one.startswith("python/")
        ]
        assert {"board": {"rank", "n", "mean"}, "history": {"run_id"}, "gate": {"verdict", "base", "new"}}[
            name
        ] <= set(cells), width


def test_a_long_name_is_cut_in_its_middle_and_only_as_far_as_it_differs() -> None:
    family = [f"vendor/the-name-of-all-models-instruct-turbo-{kind}-2026" for kind in ("large", "small")]
    rows: list[list[Any]] = [[model, n, "prose " * 9] for n, model in enumerate(family)]
    for width in range(40, 120):
        models = cells_at((["model", "n", "note"], rows), width)["model"]
        assert len(set(models)) == 2, width
        assert all(model.startswith("vendor/") and model.endswith("2026") for model in models)


def test_one_column_that_cannot_be_cut_is_wider_than_the_terminal() -> None:
    assert RUN in table_text(["run_id", "n"], [[RUN, 1]], 20)


def test_boards_and_histories_of_real_runs_have_whole_numbers_at_every_width(lab: Lab) -> None:
    lab.write()
    for _ in range(2):
        assert gradetrail("run", "spec.yaml", "--new", "--refresh").code == 0
    with Warehouse("warehouse") as opened:
        board = opened.rows(sql.text_of("commands/leaderboard"), {"tasks": None, "run_id": None})
        history = screen_columns("history", *opened.rows("select * from history"), has_runs=True)
        runs = screen_columns("runs", *opened.rows("select * from runs"))
    tables: list[Table] = [board, history, runs]
    for names, rows in tables:
        wide = {tuple(cells) for cells in cells_at((names, rows), None).values()}
        for width in WIDTHS:
            for name, cells in cells_at((names, rows), width).items():
                if name in whole_columns((names, rows)):
                    assert tuple(cells) in wide, (width, name)


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_commands_print_whole_numbers_in_a_narrow_terminal(lab: Lab) -> None:
    lab.write()
    assert gradetrail("run", "spec.yaml").code == 0
    for words in (("show",), ("show", "history"), ("gate", "latest", "latest"), ("show", "runs")):
        shown = in_terminal(80, *words)
        assert not re.search(r"\d…", shown), shown
