"""Conditions on the result of a run, such as `mean < 0.5`: the verdict of `--fail-on`.

Invariant: a condition that cannot trip is never taken for one that did not: a name that no result can
have is refused before the first call, and a condition whose value is unknown says so.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import Fault, SelectionError, did_you_mean
from gradetrail.spec import Spec
from gradetrail.store import Store
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb

FLAG = "--fail-on"
NAMED = ("task", "model", "prompt", "scorer", "metric")
"""Columns of `run_scores` whose values are names."""
SHOWN = ("scorer", "model", "prompt", "mean")
COMPARISONS = frozenset({"COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_IN", "COMPARE_NOT_IN"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What conditions say of the results of some runs."""

    tripped: tuple[Fault, ...]
    """Rows of which a condition holds."""
    unknown: tuple[Fault, ...]
    """Rows of which nobody can say whether it holds, and names that no row has."""


def check_conditions(conditions: Sequence[str], specs: Sequence[Spec]) -> None:
    """Refuse what is no condition on a row of `run_scores` of these specs; SelectionError with all faults.

    Metrics are not known before the grading: `verdict` tells of those that no row has.
    """
    if not conditions:
        return
    with tempfile.TemporaryDirectory() as folder:
        Store(Path(folder))
        verdict(Path(folder), [], conditions)
    known = {
        "task": {spec.name for spec in specs},
        "model": {model.display for spec in specs for model in spec.models},
        "prompt": {name for spec in specs for name in spec.prompts},
        "scorer": {name for spec in specs for name in spec.scorers},
    }
    faults = [fault for condition in conditions for fault in _unknown_names(condition, known)]
    if faults:
        raise SelectionError(*faults)


def verdict(root: Path, run_ids: Sequence[str], conditions: Sequence[str]) -> Verdict:
    """Say of which results of runs the conditions hold; scorers that the task dropped do not count.

    Each condition is one SQL expression, parsed by DuckDB; SelectionError for one that is none.
    """
    tripped: list[Fault] = []
    unknown: list[Fault] = []
    if not conditions:
        return Verdict((), ())
    with Warehouse(root) as warehouse:
        con = warehouse.connection("run_scores")
        rows = con.sql(sql.text_of("generation/verdict_rows"), params={"run_ids": list(run_ids)})
        names = {column: {row[0] for row in rows.select(column).fetchall()} for column in NAMED}
        for condition in conditions:
            for holds, fault in _judged(rows, condition):
                (tripped if holds else unknown).append(fault)
            if run_ids:
                unknown += _unknown_names(condition, names)
    return Verdict(tuple(tripped), tuple(unknown))


def _judged(rows: duckdb.DuckDBPyRelation, condition: str) -> Iterator[tuple[bool, Fault]]:
    """Yield whether the condition holds, or cannot be told, for each row where it is not false."""
    import duckdb

    fix = f"a condition over the columns of run_scores: {', '.join(rows.columns)}"
    place = f"{FLAG} {condition}"
    try:
        judged = rows.select(duckdb.SQLExpression(condition).alias("holds"), *SHOWN)
        found = judged.fetchall()
    except duckdb.Error as error:
        raise SelectionError(Fault(str(error).strip(), place, fix=fix)) from None
    if str(judged.types[0]) != "BOOLEAN":
        raise SelectionError(Fault(f"is a {judged.types[0]}, neither true nor false", place, fix=fix))
    for is_true, scorer, model, prompt, mean in sorted(found, key=str):
        of = f"{scorer} of {model} / {prompt} has mean {mean}"
        if is_true:
            yield True, Fault(f"{condition}: {of}", FLAG)
        elif is_true is None:
            yield False, Fault(f"nobody can say whether {condition}: {of}", FLAG)


def _unknown_names(condition: str, known: Mapping[str, set[str]]) -> list[Fault]:
    """Name the values that a condition compares a name with, and that nothing is called."""
    place = f"{FLAG} {condition}"
    return [
        Fault(f"no {column} `{value}`", place, fix=did_you_mean(value, sorted(known[column])))
        for column, value in dict.fromkeys(_compared(condition))
        if column in known and value not in known[column]
    ]


def _compared(condition: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a column and a text that a condition compares."""
    con = sql.connect(threads=1)
    try:
        # only parsed; the condition has been bound by `verdict` before
        row = con.execute("select json_serialize_sql($text)", {"text": f"select ({condition}\n)"}).fetchone()
    finally:
        con.close()
    assert row is not None
    yield from _pairs(json.loads(row[0]))


def _pairs(node: Any) -> Iterator[tuple[str, str]]:
    if isinstance(node, list):
        for item in node:
            yield from _pairs(item)
    if not isinstance(node, dict):
        return
    if node.get("type") in COMPARISONS:
        sides = node.get("children") or [node.get("left"), node.get("right")]
        columns = [side["column_names"][-1] for side in sides if side and "column_names" in side]
        texts = [side["literal"]["text"] for side in sides if _is_text(side)]
        yield from ((str(column).lower(), text) for column in columns for text in texts)
    for value in node.values():
        yield from _pairs(value)


def _is_text(side: Any) -> bool:
    return bool(side) and isinstance(side.get("literal"), dict) and side["literal"].get("kind") == "STRING"
