"""The options that commands share; each has an environment equivalent, and the flag wins."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gradetrail.cli.output import Format


class Executor(StrEnum):
    """Where calls are made and answers graded."""

    local = "local"
    ray = "ray"


WarehouseOption = Annotated[
    Path | None,
    typer.Option(
        "--warehouse",
        envvar="GRADETRAIL_WAREHOUSE",
        help="Folder of the warehouse, or s3://BUCKET/PREFIX. [default: ./warehouse]",
    ),
]
FormatOption = Annotated[
    Format, typer.Option("--format", envvar="GRADETRAIL_FORMAT", help="How to print the result.")
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output", help="Write to this file instead of stdout; its suffix is the format, if none is given."
    ),
]
ModelOption = Annotated[
    list[str] | None,
    typer.Option("--model", envvar="GRADETRAIL_MODEL", help="Only this model; may be repeated."),
]
PromptOption = Annotated[
    list[str] | None,
    typer.Option("--prompt", envvar="GRADETRAIL_PROMPT", help="Only this prompt; may be repeated."),
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", min=1, envvar="GRADETRAIL_LIMIT", help="Only the first N samples.")
]
SampleOption = Annotated[
    int | None,
    typer.Option("--sample", min=1, envvar="GRADETRAIL_SAMPLE", help="Only N samples drawn by --seed."),
]
SeedOption = Annotated[int | None, typer.Option("--seed", envvar="GRADETRAIL_SEED", help="Seed of --sample.")]
CasesOption = Annotated[
    str | None,
    typer.Option("--cases", envvar="GRADETRAIL_CASES", help="Only these sample ids, comma-separated."),
]
WhereOption = Annotated[
    str | None,
    typer.Option("--where", envvar="GRADETRAIL_WHERE", help="Only samples for which this SQL holds."),
]
EpochsOption = Annotated[
    int | None, typer.Option("--epochs", min=1, envvar="GRADETRAIL_EPOCHS", help="Repeats of each sample.")
]
NewOption = Annotated[bool, typer.Option("--new", help="Make a new run instead of continuing one.")]
RefreshOption = Annotated[bool, typer.Option("--refresh", help="Ask everything again; stored answers stay.")]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="Name this run; may be repeated.")]
AllowErrorsOption = Annotated[
    str,
    typer.Option(
        "--allow-errors", envvar="GRADETRAIL_ALLOW_ERRORS", help="Share of trials that may end in an error."
    ),
]
MaxCostOption = Annotated[
    float | None,
    typer.Option("--max-cost", min=0, envvar="GRADETRAIL_MAX_COST", help="Stop at so many US dollars."),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option("--concurrency", min=1, envvar="GRADETRAIL_CONCURRENCY", help="Calls in flight at most."),
]
ExecutorOption = Annotated[
    Executor | None,
    typer.Option("--executor", envvar="GRADETRAIL_EXECUTOR", help="Where calls are made and answers graded."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, envvar="GRADETRAIL_WORKERS", help="Workers of --executor ray."),
]
MaxAgeOption = Annotated[
    str | None,
    typer.Option("--max-age", envvar="GRADETRAIL_MAX_AGE", help="Oldest stored answer to use: 12h, 30d."),
]
FailOnOption = Annotated[
    list[str] | None,
    typer.Option("--fail-on", help='End with 1 if this holds of a row of run_scores: "mean < 0.5".'),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout", min=0.1, envvar="GRADETRAIL_TIMEOUT", help="Seconds a query may take. [default: 600]"
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        envvar="GRADETRAIL_MEMORY",
        help="Memory a query may use: 512MB, 8GB. [default: half of the machine's]",
    ),
]
UnsafeCodeOption = Annotated[
    bool,
    typer.Option("--unsafe-code", help="Run model-written code without a sandbox where none can be made."),
]
