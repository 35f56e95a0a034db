"""Builds what is live in a warehouse from the few facts that a case states; the rest are defaults.

`grades` is the short form of a trial with its answer and its score; `trials`, `scores`, `responses`,
`calls`, `samples` are rows of these tables; `runs`, `tasks`, `scorers`, `prices` are records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from gradetrail.prices import EARLIEST, Price
from gradetrail.store import Live
from gradetrail.store.schema import TABLES, arrow_schema

Row = dict[str, Any]
RUN = "20261130T083112Z-t-000001"
ASKED_AT = datetime(2026, 11, 30, 8, 31, 12, tzinfo=UTC)

ENTRANT: Row = {"run_id": RUN, "task": "t", "model": "m", "prompt": "default", "sample_id": "a", "epoch": 1}
TRIAL: Row = {
    **ENTRANT,
    "model_id": "m1",
    "dataset_id": "d1",
    "sample_hash": "h1",
    "input_hash": "i1",
    "status": "answered",
    "is_hit": False,
    "stop_reason": "stop",
    "ended_at": ASKED_AT,
}
SCORE: Row = {**ENTRANT, "scorer": "strict", "metric": "score", "model_id": "m1"}
RESPONSE: Row = {
    "run_id": RUN,
    "provider": "mock",
    "model": "m",
    "text": "",
    "origin": "mock",
    "created_at": ASKED_AT,
}
CALL: Row = {
    "run_id": RUN, "provider": "openai", "model": "m", "role": "subject", "purpose": "answer", "turn": 1,
    "attempt": 1, "status": "ok", "started_at": ASKED_AT,
}  # fmt: skip
SAMPLE: Row = {"dataset_id": "d1", "sample_id": "a", "sample_hash": "h1", "position": 0, "content": "{}"}
DEFAULTS = {"trials": TRIAL, "scores": SCORE, "responses": RESPONSE, "calls": CALL, "samples": SAMPLE}
COLUMNS = {table: {column.name for column in columns} for table, columns in TABLES.items()}


def live_of(given: Mapping[str, Any]) -> Live:
    """Make a Live whose rows are all loose."""
    tables: dict[str, list[Row]] = {table: [] for table in TABLES}
    for table, defaults in DEFAULTS.items():
        for row in given.get(table, ()):
            tables[table].append(_known(table, {**defaults, **_scorer_of(table, row), **row}))
    for grade in given.get("grades", ()):
        for table, row in _split(grade).items():
            if row not in tables[table]:
                tables[table].append(row)
    manifests = [_manifest(run, tables) for run in _runs(given, tables["trials"])]
    return Live(
        files={table: [] for table in TABLES},
        loose={name: _arrow(name, rows) for name, rows in tables.items() if rows},
        manifests=manifests,
        scorers=[*_scorers(given, tables["scores"])],
        tasks=[*_tasks(given, tables["scores"])],
        damaged=[],
        running=set(given.get("running", ())),
    )


def prices_of(given: Mapping[str, Any]) -> list[Price]:
    """Make prices; input and output in dollars per million tokens."""
    return [
        Price(
            provider=row.get("provider", "openai"),
            model=row.get("model", "m"),
            valid_from=date.fromisoformat(row["valid_from"]) if "valid_from" in row else EARLIEST,
            input_usd_per_mtok=_decimal(row.get("input")),
            cache_read_usd_per_mtok=_decimal(row.get("cache_read")),
            cache_write_usd_per_mtok=_decimal(row.get("cache_write")),
            output_usd_per_mtok=_decimal(row.get("output")),
            source="test",
        )
        for row in given.get("prices", ())
    ]


def _decimal(value: Any) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _known(table: str, row: Row) -> Row:
    unknown = row.keys() - COLUMNS[table]
    assert not unknown, f"{table} has no column {', '.join(sorted(unknown))}"
    return row


def _scorer_of(table: str, row: Mapping[str, Any]) -> Row:
    """A scorer's id follows from its name, and an outcome from a score, unless the case says otherwise."""
    if table != "scores":
        return {}
    is_scored = row.get("score") is not None
    passes = {"is_pass": row["score"] >= 0.999999} if is_scored else {}
    return {
        "scorer_id": row.get("scorer", "strict"),
        "outcome": "scored" if is_scored else "unparsed",
        **passes,
    }


def _split(grade: Mapping[str, Any]) -> dict[str, Row]:
    """Split the short form into a trial, its score and its answer."""
    is_answered = grade.get("status", "answered") == "answered"
    where = {name: grade.get(name, ENTRANT[name]) for name in ENTRANT}
    key = ":".join(str(value) for value in where.values())
    answer = {"response_id": f"r:{key}", "response_run_id": where["run_id"]} if is_answered else {}
    trial = {**TRIAL, "request_key": f"k:{key}", **answer, **_of("trials", grade)}
    parts = {"trials": trial}
    if "score" in grade or "outcome" in grade:
        parts["scores"] = {
            **SCORE,
            **_scorer_of("scores", grade),
            **answer_only(answer),
            **_of("scores", grade),
        }
    if is_answered:
        parts["responses"] = {
            **RESPONSE,
            "request_key": trial["request_key"],
            **_of("responses", {k: v for k, v in grade.items() if k not in ("model", "provider")}),
            "response_id": trial["response_id"],
            "run_id": trial["response_run_id"],
        }
    return parts


def answer_only(answer: Mapping[str, Any]) -> Row:
    return {name: value for name, value in answer.items() if name == "response_id"}


def _of(table: str, row: Mapping[str, Any]) -> Row:
    return {name: value for name, value in row.items() if name in COLUMNS[table]}


def _runs(given: Mapping[str, Any], trials: Iterable[Row]) -> list[Row]:
    stated = {run["run_id"]: run for run in given.get("runs", ())}
    for trial in trials:
        stated.setdefault(trial["run_id"], {"run_id": trial["run_id"], "task": trial["task"]})
    return list(stated.values())


def _manifest(run: Row, tables: Mapping[str, list[Row]]) -> Row:
    """A run's manifest says what its trials say, unless the case says otherwise."""
    trials = [trial for trial in tables["trials"] if trial["run_id"] == run["run_id"]]
    models = {trial["model"]: trial["model_id"] for trial in trials}
    scores = [score for score in tables["scores"] if score["run_id"] == run["run_id"]]
    time = run["run_id"][:15]
    spec = {
        name: name for name in ("category", "cluster") if any(trial.get(name) is not None for trial in trials)
    }
    return {
        "task": "t",
        "name": "t",
        "status": "complete",
        "plan_id": "p1",
        "dataset_id": trials[0]["dataset_id"] if trials else "d1",
        "models": [
            {"model": model, "model_id": model_id, "provider": "openai", "name": model}
            for model, model_id in models.items()
        ],
        "prompts": {trial["prompt"]: trial["prompt"] for trial in trials},
        "scorers": {score["scorer"]: score["scorer_id"] for score in scores},
        "epochs": max((trial["epoch"] for trial in trials), default=1),
        "n_samples": len({trial["sample_id"] for trial in trials}),
        "n_trials": len(trials),
        "is_limited": False,
        "started_at": datetime.strptime(time, "%Y%m%dT%H%M%S").replace(tzinfo=UTC).isoformat(),
        "spec": {"dataset": spec},
        **run,
    }


def _scorers(given: Mapping[str, Any], scores: Iterable[Row]) -> Iterable[Row]:
    stated = {scorer["scorer_id"]: scorer for scorer in given.get("scorers", ())}
    for score in scores:
        stated.setdefault(score["scorer_id"], {"scorer_id": score["scorer_id"]})
    bounds = {"score_min": 0.0, "score_max": 1.0, "higher_is_better": True, "pass_threshold": 0.999999}
    for scorer in stated.values():
        yield {"definition": {"type": "exact"}, **bounds, **scorer}


def _tasks(given: Mapping[str, Any], scores: Iterable[Row]) -> Iterable[Row]:
    if "tasks" in given:
        for record in given["tasks"]:
            yield {
                "task": "t",
                "n": 1,
                "primary": next(iter(record["scorers"])),
                "unanswered": "wrong",
                **record,
            }
        return
    tasks: dict[str, dict[str, str]] = {}
    for score in scores:
        tasks.setdefault(score["task"], {})[score["scorer"]] = score["scorer_id"]
    for task, scorers in tasks.items():
        policy = given.get("unanswered", "wrong")
        yield {"task": task, "n": 1, "scorers": scorers, "primary": next(iter(scorers)), "unanswered": policy}


def _arrow(table: str, rows: list[Row]) -> pa.Table:
    schema = arrow_schema(table)
    filled = [{name: row.get(name) for name in schema.names} for row in rows]
    if table == "calls":
        for n, row in enumerate(filled):
            row["call_id"] = row["call_id"] or hashlib.md5(str(n).encode()).hexdigest()
            row["billed_usd"] = _decimal(row["billed_usd"])
    return pa.Table.from_pylist(filled, schema=schema)
