"""`show sample ID [RUN]`: what was asked of one sample, answered and graded, in all runs or one.

Invariant: what several trials have in common, the row and the prompt, is printed once; texts are whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import indent
from typing import Any

from gradetrail import sql
from gradetrail.cli.cells import escaped, shown
from gradetrail.cli.output import Format, show_rows, write
from gradetrail.errors import Fault, SelectionError
from gradetrail.warehouse import Warehouse

Record = Mapping[str, Any]
QUERY = "commands/sample"
MOST_NAMED = 5
TRIAL = ("task", "run_id", "model", "prompt", "epoch")


def print_sample(
    opened: Warehouse,
    sample_id: str | None,
    task: str | None,
    among: Mapping[str, Sequence[str]],
    limit: int | None,
    form: Format,
    output: Path | None,
) -> None:
    """Print all of one sample, or `limit` grades, by its id or the beginning of it.

    `among` has the values that columns may have; all, if a column is absent.
    SelectionError for none or several.
    """
    if not sample_id:
        raise SelectionError(Fault("no sample is named", "show sample", fix="gradetrail show sample ID"))
    names, rows = opened.rows(sql.text_of(QUERY), {"sample_id": sample_id, "task": task})
    places = {names.index(name): values for name, values in among.items()}
    rows = [row for row in rows if all(row[place] in values for place, values in places.items())]
    place = names.index("sample_id")
    if any(row[place] == sample_id for row in rows):
        rows = [row for row in rows if row[place] == sample_id]
    found = list(dict.fromkeys(row[place] for row in rows))
    if not found:
        fix = "ids stand in `gradetrail show graded`"
        where = f"in {' or '.join(among['run_id'])}" if "run_id" in among else "in any run"
        raise SelectionError(Fault(f"no sample `{sample_id}` {where}", "show sample", fix=fix))
    if len(found) > 1:
        more = f", and {len(found) - MOST_NAMED:,} more" if len(found) > MOST_NAMED else ""
        fix = f"name one of {', '.join(found[:MOST_NAMED])}{more}"
        raise SelectionError(Fault(f"`{sample_id}` begins {len(found):,} ids", "show sample", fix=fix))
    rows = rows[:limit]
    if form is not Format.table:
        show_rows(names, rows, form, output)
        return
    records = [dict(zip(names, row, strict=True)) for row in rows]
    write("\n".join(_lines(records)) + "\n", output)


def _lines(records: Sequence[Record]) -> Iterator[str]:
    for task, of_task in groupby(records, key=lambda record: record["task"]):
        said: set[tuple[str, str | None]] = set()
        for _, of_trial in groupby(of_task, key=lambda record: [record[name] for name in TRIAL]):
            grades = list(of_trial)
            first = grades[0]
            head = f"{task}: sample {first['sample_id']}"
            for title, text in ((head, _row(first)), (f"prompt {first['prompt']}", _messages(first))):
                if text and (title, text) not in said:
                    said.add((title, text))
                    yield f"{escaped(title)}\n{indent(text, '  ')}\n"
            yield from _trial(first)
            targets = [grade["target"] for grade in grades]
            for n, grade in enumerate(grades):
                # a scorer that found nothing compared nothing: labels and expressions carry the task's target
                is_said = grade["extracted"] is None and grade["target"] in targets[:n]
                yield _grade(grade, has_target=grade["target"] is not None and not is_said)
            yield ""


def _row(record: Record) -> str:
    """Give the fields of the dataset's row, one a line or more."""
    row = json.loads(record["sample"] or "{}")
    fields = row.items() if isinstance(row, dict) else [("row", row)]
    return "\n".join(f"{name}: {_text(value)}" for name, value in fields)


def _messages(record: Record) -> str:
    """Give the messages as the model saw them; empty where nothing was answered."""
    messages = json.loads(record["messages"] or "[]")
    return "\n".join(f"[{message['role']}] {_text(message.get('content'))}" for message in messages)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _trial(record: Record) -> Iterator[str]:
    facts = [
        record["run_id"], record["model"], f"prompt {record['prompt']}", f"epoch {record['epoch']}",
        record["error_type"] or record["status"],
        f"stop {record['stop_reason']}" if record["stop_reason"] not in (None, "stop") else "",
        f"confidence {shown(record['confidence'])}" if record["confidence"] is not None else "",
        f"{record['output_tokens']:,} tokens" if record["output_tokens"] else "",
    ]  # fmt: skip
    yield escaped("  ".join(filter(None, facts)))
    for name in ("reasoning", "response", "tool_calls", "error_message"):
        if record[name]:
            text = record[name] if name == "response" else f"({name}) {record[name]}"
            yield indent(text, "  | ", lambda _: True)


def _grade(record: Record, *, has_target: bool) -> str:
    name = record["scorer"] if record["metric"] == "score" else f"{record['scorer']}:{record['metric']}"
    score = "no score" if record["score"] is None else shown(record["score"])
    parts = [
        score if record["outcome"] == "scored" else f"{score}, {record['outcome']}",
        f"found {record['extracted']}" if record["extracted"] is not None else "",
        f"target {record['target']}" if has_target else "",
        record["detail"] or "",
    ]
    return escaped(f"  {name}: {'; '.join(filter(None, parts))}")
