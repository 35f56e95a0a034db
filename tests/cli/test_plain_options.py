"""Options are read as typer reads them, whether it is asked or not."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from gradetrail.cli.plain_options import PlainCommand, PlainGroup


class Colour(StrEnum):
    red = "red"
    dark_blue = "dark-blue"


def program(*, is_plain: bool) -> tuple[typer.Typer, list[dict[str, Any]]]:
    """Make a command with every kind of parameter that ours have; give what it was called with, too."""
    app = typer.Typer(cls=PlainGroup if is_plain else None)
    seen: list[dict[str, Any]] = []

    @app.callback()
    def group() -> None:
        """Group."""

    def command(
        place: Annotated[str | None, typer.Argument()] = None,
        many: Annotated[list[Path] | None, typer.Option("--many")] = None,
        path: Annotated[Path | None, typer.Option("--path", envvar="PLAIN_PATH")] = None,
        colour: Annotated[Colour, typer.Option("--colour", envvar="PLAIN_COLOUR")] = Colour.red,
        limit: Annotated[int | None, typer.Option("--limit", min=1, max=99)] = None,
        share: Annotated[float, typer.Option("--share", min=0)] = 0.5,
        words: Annotated[list[str] | None, typer.Option("--word")] = None,
        is_on: Annotated[bool, typer.Option("--on/--off", envvar="PLAIN_ON")] = False,
    ) -> None:
        seen.append(dict(locals()) | {"seen": None})

    app.command("do", cls=PlainCommand if is_plain else None)(command)
    return app, seen


@pytest.mark.parametrize(
    "line",
    [
        "", "place", "--many a --many b/c", "--path x", "--colour red", "--colour dark-blue", "--colour RED",
        "--colour blue", "--limit 1", "--limit 99", "--limit 0", "--limit 100", "--limit x", "--limit 1.0",
        "--limit ' 7'", "--limit 1_0", "--limit -3", "--limit 007", "--limit ٣", "--share 1", "--share 1e-3",
        "--share -1", "--share x", "--word a --word b", "--word ''", "--on", "--off", "--path ''",
        "--nothing 1",
    ],
)  # fmt: skip
def test_a_value_is_what_typer_would_give_and_so_is_the_message(line: str) -> None:
    same([*line.split(" ")] if "'" not in line else [w.strip("'") for w in line.split(" ", 1)], {})


@pytest.mark.parametrize(
    "settings",
    [{"PLAIN_PATH": "here"}, {"PLAIN_COLOUR": "dark-blue"}, {"PLAIN_COLOUR": "grey"}, {"PLAIN_ON": "1"},
     {"PLAIN_ON": "no"}, {"PLAIN_ON": "perhaps"}, {"PLAIN_PATH": ""}],
)  # fmt: skip
def test_so_is_a_value_from_the_environment(settings: dict[str, str]) -> None:
    same([], settings)


def same(arguments: list[str], settings: dict[str, str]) -> None:
    """Compare what a command is called with, or how it is refused, with typer's own reading."""
    results = []
    for is_plain in (False, True):
        app, seen = program(is_plain=is_plain)
        words = ["do", *(word for word in arguments if word or len(arguments) > 1)]
        done = CliRunner().invoke(app, words, env=settings)
        results.append(
            (done.exit_code, done.output, [{k: (v, type(v)) for k, v in call.items()} for call in seen])
        )
    assert results[0] == results[1]
