"""Charts of views: pictures for people, drawn from rows that anyone can query.

Invariant: a chart shows what its query in `sql/charts` gives and computes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from gradetrail.errors import Fault, SelectionError
from gradetrail.report.drawn import Record, boards_of, check_view, records_of
from gradetrail.report.pictures import Plot, check_extra

if TYPE_CHECKING:
    import altair as alt

    from gradetrail.warehouse import Warehouse

WIDTH = 460
PANEL = 200
MOST_BOARDS = 16
"""Boards of one picture, beyond which nobody finds anything in it."""
INK, QUIET, FAINT = "#1f4e79", "#9aa5b1", "#d9dee4"
COLOURS = ["#1f4e79", "#d1603d", "#3c8d5a", "#7b5ea7", "#c19a1b", "#4aa3c7", "#a8476b", "#6b7280"]


def plot(
    warehouse: Warehouse | str | os.PathLike[str],
    view: str = "leaderboard",
    *,
    task: str | None = None,
    run: str | None = None,
) -> Plot:
    """Draw `leaderboard`, `calibration` (the same as `reliability_bins`), `pairwise` or `history`.

    `task` and `run` (a selector) narrow it. DependencyError without the extra `plot`; SelectionError for
    another view, or where there is nothing to draw.
    """
    from gradetrail.warehouse import Warehouse

    check_view(view)
    check_extra()
    if not isinstance(warehouse, Warehouse):
        with Warehouse(warehouse) as opened:
            return plot(opened, view, task=task, run=run)
    records = records_of(warehouse, view, task=task, run=run)
    boards = list(boards_of(records))
    if len(boards) > MOST_BOARDS:
        tasks = sorted({record["task"] for record in records})
        reason = f"{len(boards):,} boards are too many for one picture: at most {MOST_BOARDS}"
        fix = (
            f"--task with one of {', '.join(tasks)}"
            if len(tasks) > 1
            else "--plot without a file draws it in the terminal"
        )
        raise SelectionError(Fault(reason, "--plot", fix=fix))
    colours = _colours(records)
    for record in records:
        record["colour"] = colours[record["entrant"]]
    return Plot(_stacked(boards, DRAWINGS[view]))


def _colours(records: Sequence[Record]) -> dict[str, str]:
    """Give each entrant its colour, one for all boards; those of the first board come first, in its order."""
    names: dict[str, None] = {}
    for _, rows in boards_of(records):
        ordered = sorted(rows, key=lambda row: row["place"]) if "place" in rows[0] else rows
        names |= dict.fromkeys(row["entrant"] for row in ordered)
    return {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}


def _stacked(
    boards: Sequence[tuple[str, list[Record]]], draw: Callable[[list[Record]], Any]
) -> alt.TopLevelMixin:
    """Draw one chart for each task, scorer and metric, one below another."""
    import altair as alt

    charts = [draw(rows).properties(title=alt.TitleParams(title, anchor="start")) for title, rows in boards]
    chart = alt.concat(*charts, columns=1, spacing=36, align="none").resolve_scale(
        color="independent", size="independent", x="independent"
    )
    styled: alt.TopLevelMixin = (
        chart.configure_view(stroke=None)
        .configure_axis(domainColor=FAINT, tickColor=FAINT, gridColor="#eef1f4", labelColor="#333",
                        titleColor="#333", titleFontWeight="normal", labelLimit=260)
        .configure_title(fontSize=14, fontWeight="bold", offset=12)
        .configure_concat(spacing=24)
        .configure_legend(labelLimit=260)
    )  # fmt: skip
    return styled


def _data(records: Sequence[Record], *columns: str) -> alt.InlineData:
    import altair as alt

    return alt.InlineData(values=[{column: record[column] for column in columns} for record in records])


def _leaderboard(records: list[Record]) -> Any:
    """Draw a dot with its interval for each entrant, and its mean beside it."""
    import altair as alt

    columns = ("entrant", "mean", "ci_low", "ci_high", "n", "is_ranked", "standing")
    order = [record["entrant"] for record in records]
    base = alt.Chart(_data(records, *columns), width=WIDTH, height=alt.Step(30)).encode(
        y=alt.Y(
            "entrant:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8)
        ),
        color=alt.condition("datum.is_ranked", alt.value(INK), alt.value(QUIET)),
        tooltip=[alt.Tooltip(f"{name}:{kind}") for name, kind in zip(columns, "NQQQQNN", strict=True)],
    )
    x = alt.X("mean:Q", title="mean, 95 % interval", scale=alt.Scale(zero=False, nice=True),
              axis=alt.Axis(tickCount=5, labelOverlap="greedy", labelSeparation=8))  # fmt: skip
    bar = base.mark_rule(strokeWidth=2.5).encode(x=alt.X("ci_low:Q"), x2="ci_high:Q")
    dot = base.mark_circle(size=90, opacity=1).encode(x=x)
    text = base.mark_text(dy=-11, fontSize=10).encode(x=x, text=alt.Text("mean:Q", format=".4~f"))
    return alt.layer(bar, dot, text)


def _reliability(records: list[Record]) -> Any:
    """Draw for each entrant how often answers of about the same confidence are right, beside the diagonal."""
    import altair as alt

    panels = []
    for entrant, group in groupby(records, key=lambda record: record["entrant"]):
        own = list(group)
        unit = alt.Scale(domain=[0, 1])
        data = _data(own, "mean_confidence", "accuracy", "n", "bin_low", "bin_high", "middle")
        base = alt.Chart(data, width=PANEL, height=PANEL).encode(
            x=alt.X("mean_confidence:Q", scale=unit, title="mean confidence"),
            tooltip=["bin_low:Q", "bin_high:Q", "n:Q", "mean_confidence:Q", "accuracy:Q"],
        )
        gap = base.mark_rule(strokeWidth=3, opacity=0.35, color="#d1603d").encode(
            y=alt.Y("accuracy:Q", scale=unit, title="share that is right"), y2="mean_confidence:Q"
        )
        dots = base.mark_circle(opacity=1, color=INK).encode(
            y="accuracy:Q",
            size=alt.Size("n:Q", scale=alt.Scale(domainMin=0, range=[30, 160]), title="answers", legend=None),
        )
        # in a column of their bin above the panel, so that no two of them can meet
        told = "datum.n < 1000 ? format(datum.n, 'd') : format(datum.n, '.2~s')"
        counts = (
            base.transform_calculate(told=told)
            .mark_text(fontSize=9, color="#555", baseline="bottom")
            .encode(x=alt.X("middle:Q", scale=unit), y=alt.value(-2), text="told:N")
        )
        diagonal = (
            alt.Chart(_data([{"x": 0, "y": 0}, {"x": 1, "y": 1}], "x", "y"))
            .mark_line(color=QUIET, strokeDash=[4, 4], strokeWidth=1)
            .encode(x="x:Q", y="y:Q")
        )
        title = alt.TitleParams(
            entrant,
            subtitleFontSize=11,
            subtitleColor="#555",
            subtitle=f"ECE {own[0]['ece']:.3f}, n {sum(record['n'] for record in own):,}, by bin:",
            fontSize=12,
            offset=18,
        )
        panels.append(alt.layer(diagonal, gap, dots, counts).properties(title=title))
    return alt.concat(*panels, columns=3, bounds="flush", spacing=64)


def _pairwise(records: list[Record]) -> Any:
    """Draw a heat map of differences; what chance may explain is pale and in italics."""
    import altair as alt

    order = [name for _, name in sorted({(r["place"], r["entrant"]) for r in records})]
    most = max(abs(record["difference"]) for record in records) or 1
    columns = ("entrant", "other", "difference", "p_holm", "verdict", "is_settled")
    base = alt.Chart(_data(records, *columns), width=alt.Step(64), height=alt.Step(40)).encode(
        x=alt.X(
            "other:N",
            sort=order,
            title="column",
            axis=alt.Axis(orient="top", labelAngle=-30, ticks=False, domain=False),
        ),
        y=alt.Y("entrant:N", sort=order, title="row", axis=alt.Axis(ticks=False, domain=False)),
        tooltip=[alt.Tooltip(f"{name}:{kind}") for name, kind in zip(columns, "NNQQNN", strict=True)],
    )
    cell = base.mark_rect(stroke="white", strokeWidth=2).encode(
        color=alt.Color(
            "difference:Q",
            scale=alt.Scale(domain=[-most, 0, most], range=["#d1603d", "#f7f7f7", "#3a78b0"]),
            legend=alt.Legend(
                title="row minus column", format="+.3f", values=[-most, 0, most], gradientLength=100
            ),
        ),
        opacity=alt.condition("datum.is_settled", alt.value(1), alt.value(0.45)),
    )
    text = base.mark_text(fontSize=11).encode(
        text=alt.Text("difference:Q", format="+.3f"),
        color=alt.condition(
            f"datum.is_settled && abs(datum.difference) > {0.75 * most}",
            alt.value("white"),
            alt.value("#222"),
        ),
        opacity=alt.condition("datum.is_settled", alt.value(1), alt.value(0.6)),
    )
    return alt.layer(cell, text)


def _history(records: list[Record]) -> Any:
    """Draw a line over runs for each entrant, with intervals."""
    import altair as alt

    runs = list(dict.fromkeys(record["run_id"] for record in records))
    entrants = [name for _, name in sorted({(r["place"], r["entrant"]) for r in records})]
    colours = {record["entrant"]: record["colour"] for record in records}
    columns = ("run_id", "entrant", "mean", "ci_low", "ci_high", "n", "verdict", "stretch")
    day = "slice(datum.value, 0, 4) + '-' + slice(datum.value, 4, 6) + '-' + slice(datum.value, 6, 8)"
    time = "slice(datum.value, 9, 11) + ':' + slice(datum.value, 11, 13)"
    label = f"[{day}, {time}, slice(datum.value, -6)]"
    base = alt.Chart(_data(records, *columns), width=max(WIDTH, 36 * len(runs)), height=260).encode(
        x=alt.X("run_id:O", sort=runs, title="run, UTC",
                axis=alt.Axis(labelExpr=label, labelAngle=0, labelOverlap=True)),
        color=alt.Color("entrant:N", title=None, sort=entrants, legend=alt.Legend(symbolOpacity=1),
                        scale=alt.Scale(domain=entrants, range=[colours[name] for name in entrants])),
        tooltip=[alt.Tooltip(f"{name}:{kind}") for name, kind in zip(columns, "NNQQQQNO", strict=True)],
    )  # fmt: skip
    scale = alt.Scale(zero=False, nice=True)
    bar = base.mark_rule(strokeWidth=6, opacity=0.25).encode(
        y=alt.Y("ci_low:Q", scale=scale, title="mean, 95 % interval"), y2="ci_high:Q"
    )
    # a line joins what pairs: where samples do not, it begins anew
    line = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=50)).encode(
        y="mean:Q", detail="stretch:O"
    )
    return alt.layer(bar, line)


DRAWINGS: dict[str, Callable[[list[Record]], Any]] = {
    "leaderboard": _leaderboard,
    "calibration": _reliability,
    "reliability_bins": _reliability,
    "pairwise": _pairwise,
    "history": _history,
}
"""How each view is drawn."""
