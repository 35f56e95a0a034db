"""`diff`: compares two runs, models, prompts or scorer versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradetrail.cli.options import FormatOption, OutputOption, WarehouseOption
from gradetrail.cli.output import Format, say, show_rows, tell_damage
from gradetrail.cli.query import LimitOption, names_in, open_runs, print_query, warehouse_folder

if TYPE_CHECKING:
    from gradetrail.warehouse import Warehouse


def diff(
    a: Annotated[str | None, typer.Argument(help="Older run.")] = None,
    b: Annotated[
        str | None, typer.Argument(help="Newer run; default: A's successor, or the same run.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="M, or M,M2 to compare two models.")] = None,
    prompt: Annotated[str | None, typer.Option("--prompt", help="P, or P,P2 to compare two prompts.")] = None,
    scorer: Annotated[
        str | None,
        typer.Option("--scorer", help="S, or S,S2; `strict~1` is the definition before the present one."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also print what is the same.")] = False,
    warehouse: WarehouseOption = None,
    limit: LimitOption = None,
    form: FormatOption = Format.table,
    output: OutputOption = None,
) -> None:
    """Compare two runs, models, prompts or scorer versions, sample by sample, with causes."""
    from gradetrail.cli.board import changes, diff_columns

    with open_runs(warehouse_folder(warehouse), a, b) as opened:
        query, params = opened.diff_query(
            a,
            b,
            models=names_in(model),
            prompts=names_in(prompt),
            scorers=names_in(scorer),
            include_same=True,
        )
        if a is None and b is None:
            _tell_sides(opened, str(params["a_run"]), str(params["b_run"]))
        if form is Format.table:
            say(changes(opened, query, params))
        if not every:
            query = f"from ({query}) where change <> 'same'"
        if limit is not None:
            query = f"from ({query}) limit {int(limit)}"
        if form in (Format.table, Format.markdown):
            names, rows = opened.rows(query, params)
            show_rows(*diff_columns(names, rows), form, output)
            tell_damage(opened)
        else:
            print_query(opened, query, params, form, output)


def _tell_sides(opened: Warehouse, a: str, b: str) -> None:
    """Say which runs were taken where they might have been another task's."""
    task_of = {one["run_id"]: one["task"] for one in opened.manifests()}
    if len(set(task_of.values())) > 1:
        say(f"task `{task_of[a]}`: {a}" if a == b else f"task `{task_of[a]}`: {a} and {b}")
