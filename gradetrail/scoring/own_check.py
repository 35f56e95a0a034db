"""Finds what is wrong with scorers that stand on others, on labels, or on the user's SQL or Python.

Invariant: what can be known without an answer is told before the first call.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradetrail.errors import Fault
from gradetrail.scorer_spec import Combine, Label, Python, Sql
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.expression import expression_faults
from gradetrail.scoring.function import function_faults
from gradetrail.scoring.labels import label_faults


def own_faults(definition: Definition, place: str, field: str) -> Iterator[Fault]:
    """Find what is wrong with a scorer of these types; nothing for others."""
    scorer, files = definition.scorer, dict(definition.files)
    if isinstance(scorer, Label | Python):
        for option in scorer.file_options:
            name = getattr(scorer, option)
            if name is not None and option not in files:
                fix = "a path resolves against the spec's folder"
                yield Fault(f"no such file `{name}`", place, f"{field}.{option}", fix)
    if isinstance(scorer, Label):
        yield from label_faults(scorer, files.get("file"))
    elif isinstance(scorer, Python):
        yield from function_faults(scorer, files.get("path"), place, field)
    elif isinstance(scorer, Sql):
        yield from expression_faults(scorer.sql, place, f"{field}.sql")
    elif isinstance(scorer, Combine):
        yield from _part_faults(definition, scorer, place, f"{field}.of")


def _part_faults(definition: Definition, scorer: Combine, place: str, field: str) -> Iterator[Fault]:
    for part in definition.parts:
        if None in part.bounds():
            fix = "give it a `scale`, or leave it out"
            yield Fault(f"scores of `{part.name}` have no bounds to rescale them by", place, field, fix)
        elif scorer.by in scorer.of_passes and part.threshold() is None:
            fix = f"give `{part.name}` a pass_threshold"
            yield Fault(f"`{part.name}` never passes: it has no threshold", place, field, fix)
