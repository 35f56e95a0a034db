"""The command tree."""

from __future__ import annotations

from typing import Annotated

import typer

from gradetrail.cli import exporting, gate, query, running, scoring, start, upkeep

app = typer.Typer(
    name="gradetrail",
    help="Evaluate language models: answers kept in Parquet, graded and compared in SQL.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"gradetrail {version('gradetrail')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Evaluate language models: answers kept in Parquet, graded and compared in SQL."""


app.command("demo")(start.demo)
app.command("init")(start.init)
app.command("run")(running.run)
app.command("generate")(running.generate)
app.command("score")(scoring.score)
app.command("plan")(running.plan)
app.command("show")(query.show)
app.command("leaderboard")(query.leaderboard)
app.command("diff")(query.diff)
app.command("gate")(gate.gate)
app.command("sql")(query.sql)
app.command("export")(exporting.export)
app.command("import")(exporting.import_)
app.command("check")(upkeep.check)
app.command("compact")(upkeep.compact)
app.command("rm")(upkeep.rm)
