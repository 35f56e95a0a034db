"""Reads what people said of answers from a file, and brings it to the answers that it is about.

Invariant: a label is a number on the scorer's scale; an answer without one is `no_target`, never wrong.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.dataset.files import find_files
from gradetrail.dataset.findings import SHOWN, Findings
from gradetrail.dataset.rows import field_text, parse_row
from gradetrail.errors import DatasetError, Fault, did_you_mean
from gradetrail.scorer_spec import Label
from gradetrail.scorer_spec.base import LARGEST_SCORE

if TYPE_CHECKING:
    import duckdb

KEYS = ("sample_id", "model", "prompt", "epoch", "run")
"""Columns that say which answers a label is about; only the first must be there."""
COLUMNS = (*KEYS, "id", "score", "rater", "reason")
"""Columns that are read."""
EXPORTED = ("graded", "audit", "wrong")
"""Views whose columns may stand in the file, for whoever labels what they give to read."""
TRUTHS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
"""What people write in place of 1 and 0."""

LabelRow = tuple[Any, ...]
"""sample_id, model, prompt, epoch, run, rater, score, reason."""


def label_faults(scorer: Label, content: bytes | None) -> list[Fault]:
    """Say what is wrong with a file of labels; empty if nothing is, or there is no file."""
    if scorer.file is None or content is None:
        return []
    try:
        labels_of(scorer, content)
    except DatasetError as error:
        return list(error.faults)
    return []


def make_labels(con: duckdb.DuckDBPyConnection, scorer: Label, content: bytes | None) -> None:
    """Make the table `label` from a file, or from the column `label` of `answer`."""
    sql.run_file(con, "scoring/no_labels")
    if scorer.file is None:
        texts = [str(row[0]) for row in sql.run_file(con, "scoring/label_texts").fetchall()]
        scores = [_number(text, scorer) for text in texts]
        values = [score if isinstance(score, float) else None for score in scores]
        faults = [score if isinstance(score, str) else None for score in scores]
        sql.run_file(con, "scoring/labels_of_samples", {"texts": texts, "scores": values, "faults": faults})
        return
    assert content is not None
    rows = labels_of(scorer, content)
    names = ("sample_ids", "models", "prompts", "epochs", "runs", "raters", "scores", "reasons")
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in names]
    sql.run_file(con, "scoring/labels_of_file", dict(zip(names, columns, strict=True)))


@lru_cache(maxsize=4)
def labels_of(scorer: Label, content: bytes) -> Sequence[LabelRow]:
    """Read a file of labels; DatasetError with every fault, by line."""
    assert scorer.file is not None
    findings, found = Findings(), list[LabelRow]()
    names, raters = dict[str, None](), dict[str, None]()
    name = Path(scorer.file).name
    with tempfile.TemporaryDirectory(prefix="gradetrail-") as folder:
        (Path(folder) / name).write_bytes(content)
        for file in find_files(Path(folder), name, findings):
            part = file.part()
            for number, text in file.rows(part, findings):
                values = parse_row(text)
                names.update(dict.fromkeys(values))
                if (rater := field_text(values.get("rater"))) is not None:
                    raters[rater] = None
                row = _row(values, scorer)
                if isinstance(row, Fault):
                    findings.fault(row.message, row.fix, part.place(number), row.field)
                elif row is not None:
                    found.append(row)
        _refuse_repeats(found, findings)
        _refuse_unknown(scorer, names, raters, findings)
        try:
            findings.check()
        except DatasetError as error:
            raise DatasetError(*(_placed(fault, folder, scorer.file) for fault in error.faults)) from None
    return found


def _placed(fault: Fault, folder: str, name: str) -> Fault:
    where = fault.where.replace(f"{folder}/{Path(name).name}", name) or name
    return Fault(fault.message, where, fault.field, fault.fix)


def _row(row: dict[str, Any], scorer: Label) -> LabelRow | Fault | None:
    """Read one row; None if it holds no label, or one of another rater."""
    if scorer.rater is not None and field_text(row.get("rater")) != scorer.rater:
        return None
    keys = {name: field_text(row.get(name)) or None for name in KEYS}
    if "sample_id" not in row and "id" in row:
        keys["sample_id"] = field_text(row["id"])
    if keys["sample_id"] is None:
        return Fault("a label needs a sample_id", field="sample_id", fix="name the sample that it is about")
    if "score" not in row:
        return Fault("a label needs a score", field="score", fix="leave the score empty where there is none")
    text = field_text(row["score"])
    if text is None or not text.strip():
        return None
    score = _number(text, scorer)
    if isinstance(score, str):
        return Fault(score, field="score")
    epoch = keys["epoch"]
    if epoch is not None and not (epoch.isascii() and epoch.isdigit()):
        return Fault(f"`{epoch}` is no epoch", field="epoch", fix="epochs count from 1")
    return (
        keys["sample_id"], keys["model"], keys["prompt"], None if epoch is None else int(epoch), keys["run"],
        field_text(row.get("rater")), score, field_text(row.get("reason")),
    )  # fmt: skip


def _number(text: str, scorer: Label) -> float | str:
    """Read a score; a text that says what is wrong with it."""
    low, high = scorer.bounds
    try:
        score = TRUTHS.get(text.strip().lower())
        score = float(text) if score is None else score
    except ValueError:
        return f"`{text[:60]}` is no score"
    if not math.isfinite(score):
        return f"`{text[:60]}` is no score"
    if abs(score) > LARGEST_SCORE:
        return f"{score:g} is beyond {LARGEST_SCORE:g}: no mean of such can be computed"
    if low is not None and high is not None and not low <= score <= high:
        return f"{score:g} is not between {low:g} and {high:g}, the scorer's `scale`"
    return score


def _refuse_repeats(rows: Sequence[LabelRow], findings: Findings) -> None:
    seen: set[LabelRow] = set()
    repeated = 0
    for row in rows:
        about = row[:6]
        if about in seen and repeated < SHOWN:
            repeated += 1
            named = ", ".join(str(value) for value in about if value is not None)
            findings.fault(f"labelled twice: {named}", "keep one of them, or give each its `rater`")
        seen.add(about)


def _refuse_unknown(scorer: Label, names: Iterable[str], raters: Iterable[str], findings: Findings) -> None:
    """Refuse columns that would be ignored, by which a label may be about more than was meant, and raters."""
    for name in names:
        if name not in COLUMNS and name not in _exported():
            findings.fault(f"unknown column `{name}`", did_you_mean(name, COLUMNS), field=name)
    if scorer.rater is not None and names and scorer.rater not in raters:
        fix = did_you_mean(scorer.rater, raters) if raters else "add the column `rater`, or leave `rater` out"
        findings.fault(f"no label by the rater `{scorer.rater}`", fix, field="rater")


@lru_cache(maxsize=1)
def _exported() -> frozenset[str]:
    texts = "".join(sql.text_of(f"views/{view}") for view in EXPORTED)
    return frozenset(re.findall(r"comment on column \w+\.(\w+) is", texts))
