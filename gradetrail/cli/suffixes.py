"""Takes the format of a file from its name.

Invariant: of the formats that a command has, a file holds the one that its suffix means; a format that was
stated, by the flag or the environment, is never replaced but refused where the suffix means another.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

from gradetrail.errors import Fault, SelectionError

FORMAT_OF = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".md": "markdown",
    ".parquet": "parquet",
    ".xml": "junit",
}
"""Suffixes with the format that each means, for the commands that have it."""


def settle_format(ctx: Any) -> None:
    """Let `--output` decide the format of a command that has both; SelectionError if `--format` differs."""
    form, output = ctx.params.get("form"), ctx.params.get("output")
    if not isinstance(form, StrEnum) or not isinstance(output, Path):
        return
    meant = FORMAT_OF.get(output.suffix.lower())
    if meant is None or meant == form or meant not in list(type(form)):
        return
    source = ctx.get_parameter_source("form").name
    if source.startswith("DEFAULT"):
        ctx.params["form"] = type(form)(meant)
        return
    flag = "GRADETRAIL_FORMAT" if source == "ENVIRONMENT" else "--format"
    fix = f"give --format {meant}, or name the file otherwise"
    raise SelectionError(Fault(f"{output} is to be {meant}, but {flag} says {form}", "--output", fix=fix))
