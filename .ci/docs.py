"""Writes the reference pages from what they describe, or checks that they are in step.

    python .ci/docs.py            write docs/reference/
    python .ci/docs.py --check    exit 1 naming the pages that differ

Sources: the command tree, the spec's models, the stored schema, and DuckDB's catalog with the comments
of `sql/`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from enum import EnumMeta
from pathlib import Path
from typing import TYPE_CHECKING

from spec_schema import spec_schema

if TYPE_CHECKING:
    from typer.core import TyperArgument, TyperOption

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- written by `make docs`; edit the source instead -->"


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Yield the lines of a Markdown table; `|` in cells is escaped."""
    names = list(head)
    yield f"| {' | '.join(names)} |"
    yield "|" + "---|" * len(names)
    for row in rows:
        cells = (str(cell).replace("|", "\\|").replace("\n", " ") for cell in row)
        yield f"| {' | '.join(cells)} |"


def commands() -> Iterator[str]:
    """Describe every command with its arguments and options."""
    import typer

    from gradetrail.cli.app import app
    from gradetrail.cli.plain_options import EVERYWHERE

    group = typer.main.get_command(app)
    yield "# Commands"
    yield ""
    yield "stdout is data, stderr is talk. A flag wins over its environment variable."
    yield "Every command also takes:"
    yield ""
    context = group.make_context("gradetrail", ["demo"], resilient_parsing=True)
    everywhere = [given for given in group.params if set(given.opts) & set(EVERYWHERE)]
    yield from table(("option", "environment", "what"), map(parameter, everywhere))
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield from ("", f"## `gradetrail {name}`", "", command.help or "", "")
        yield from table(("argument or option", "environment", "what"), map(parameter, command.params))


def parameter(given: TyperArgument | TyperOption) -> tuple[str, str, str]:
    """Give the cells of one parameter: names, environment variable, help with its default."""
    names = (
        given.opts + given.secondary_opts
        if given.opts[0].startswith("-")
        else [given.metavar or given.name.upper()]
    )
    kind = given.type_descriptor.annotation
    choices = [choice.value for choice in kind] if isinstance(kind, EnumMeta) else []
    default = getattr(given.default, "value", given.default)
    parts = [
        getattr(given, "help", None) or "",
        f"One of {code(choices)}." if choices else "",
        f"Default {code([default])}." if type(default) in (str, int, float) else "",
    ]
    return code(names), code([given.envvar] if given.envvar else []), " ".join(filter(None, parts))


def code(words: Iterable[object]) -> str:
    """Set words as code, with commas."""
    return ", ".join(f"`{word}`" for word in words)


def stored_tables() -> Iterator[str]:
    """Describe the columns of every Parquet table."""
    from gradetrail.store.schema import FORMAT_VERSION, TABLES

    yield "# Stored tables"
    yield ""
    yield (
        f"Format version {FORMAT_VERSION}. Every Parquet file carries these field ids and is read by them, "
        "so a file written before a column was added reads it as NULL. A field id is never reused."
    )
    for name, columns in TABLES.items():
        yield from ("", f"## `{name}`", "")
        yield from table(
            ("id", "column", "type", "meaning"),
            ((column.field_id, f"`{column.name}`", column.type, column.doc) for column in columns),
        )


def views() -> Iterator[str]:
    """Describe every view from DuckDB's catalog, and every macro with rows, of an empty warehouse."""
    from gradetrail import sql
    from gradetrail.store import Live
    from gradetrail.store.schema import TABLES
    from gradetrail.warehouse.catalog import open_catalog

    empty = Live({name: [] for name in TABLES}, {}, [], [], [], [], set())
    con = open_catalog(empty, with_comments=True)
    yield "# Views"
    yield ""
    yield (
        "Every view can be read by `gradetrail show VIEW`, in `gradetrail sql` and in Python. `show --sql` "
        "prints the query behind it. One with arguments is called in a query with whole run ids: "
        "`from diff('RUN_ID', 'RUN_ID', a_scorer := 'strict')`."
    )
    for name in sql.names("views"):
        meaning, *notes = (line.removeprefix("-- ") for line in sql.text_of(f"views/{name}").splitlines()[:4])
        columns = con.execute(COLUMNS, {"name": name}).fetchall()
        arguments = con.execute(ARGUMENTS, {"name": name}).fetchone()
        call = f"({', '.join(arguments[0])})" if arguments else ""
        yield from ("", f"## `{name}{call}`", "", meaning, "", *notes, "")
        if arguments:
            nulls = ", ".join("null" for _ in arguments[0])
            described = con.execute(f"describe select * from {sql.quoted(name)}({nulls})").fetchall()
            notes = sql.column_notes(f"views/{name}")
            yield from table(
                ("column", "type", "meaning"),
                ((f"`{column}`", kind, notes.get(column, "")) for column, kind, *_ in described),
            )
        else:
            yield from table(("column", "type", "meaning"), columns)


COLUMNS = """
select '`' || column_name || '`', data_type, coalesce(comment, '')
from duckdb_columns()
where table_name = $name and not internal
order by column_index
"""
ARGUMENTS = """
select parameters
from duckdb_functions()
where function_name = $name and function_type = 'table_macro'
"""


def pages() -> dict[Path, str]:
    """Make every page."""
    made = {"commands.md": commands(), "tables.md": stored_tables(), "views.md": views()}
    schema = json.dumps(spec_schema(), indent=1, ensure_ascii=False) + "\n"
    return {FOLDER / name: "\n".join([NOTE, "", *lines, ""]) for name, lines in made.items()} | {
        FOLDER / "spec.schema.json": schema
    }


def main() -> int:
    """Write the pages, or compare them."""
    made = pages()
    if "--check" not in sys.argv[1:]:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [
        path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is not in step: run `make docs`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
