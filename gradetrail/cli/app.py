"""The command tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from gradetrail.cli import asking, comparing, exporting, gate, running, scoring, showing, start, upkeep
from gradetrail.cli.manner import MANNER
from gradetrail.cli.plain_options import EVERYWHERE, PlainCommand, PlainGroup

app = typer.Typer(
    name="gradetrail",
    cls=PlainGroup,
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


def _quiet(asked: bool) -> None:
    MANNER.is_quiet = asked


def _wide(asked: bool) -> None:
    MANNER.is_wide = asked


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            envvar="GRADETRAIL_QUIET",
            callback=_quiet,
            help="Say nothing on stderr but warnings and errors.",
        ),
    ] = False,
    wide: Annotated[
        bool,
        typer.Option(
            "--wide", envvar="GRADETRAIL_WIDE", callback=_wide, help="Cut nothing of a table, however wide."
        ),
    ] = False,
) -> None:
    """Evaluate language models: answers kept in Parquet, graded and compared in SQL."""


COMMANDS: dict[str, Callable[..., None]] = {
    "demo": start.demo,
    "init": start.init,
    "run": running.run,
    "generate": running.generate,
    "score": scoring.score,
    "plan": running.plan,
    "show": showing.show,
    "leaderboard": showing.leaderboard,
    "diff": comparing.diff,
    "gate": gate.gate,
    "sql": asking.sql,
    "export": exporting.export,
    "import": exporting.import_,
    "check": upkeep.check,
    "compact": upkeep.compact,
    "rm": upkeep.rm,
}
for name, command in COMMANDS.items():
    app.command(name, cls=PlainCommand, epilog=f"{', '.join(EVERYWHERE)}: see gradetrail --help")(command)
