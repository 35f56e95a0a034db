"""Rows as the engine and the scorers make them, small and numbered."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gradetrail.store import Live, Store
from gradetrail.store.schema import arrow_schema, duckdb_schema

if TYPE_CHECKING:
    import duckdb

RUN = "20261130T083112Z-gsm8k-5f0c2a"
OTHER = "20261130T083113Z-gsm8k-0b1d3e"
SCORER = "ab" * 32
NOW = datetime(2026, 11, 30, 8, 31, 12, 345678, tzinfo=UTC)


def digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def table_of(table: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=arrow_schema(table))


def trial(number: int, status: str = "pending", run_id: str = RUN, **more: Any) -> dict[str, Any]:
    row = {
        "run_id": run_id, "task": "gsm8k", "model": f"m{number % 2}", "model_id": digest("model", number % 2),
        "prompt": "default", "sample_id": f"s{number // 2:05d}", "sample_hash": digest("sample", number // 2),
        "dataset_id": digest("dataset"), "epoch": 1, "input_hash": digest("input", number // 2),
        "request_key": digest("key", number), "status": status,
    }  # fmt: skip
    if status == "answered":
        row |= {
            "response_id": digest("response", number), "response_run_id": run_id, "is_hit": False,
            "stop_reason": "stop", "latency_ms": 12.5, "output_tokens": 20, "ended_at": NOW,
        }  # fmt: skip
    return {**row, **more}


def response(number: int, run_id: str = RUN, **more: Any) -> dict[str, Any]:
    return {
        "run_id": run_id, "response_id": digest("response", number), "request_key": digest("key", number),
        "provider": "openai", "model": "gpt", "served_model": "gpt-1", "request": "{}", "stop_reason": "stop",
        "messages": '[{"content":"2 + 2?","role":"user"}]', "text": f"answer {number}", "origin": "api",
        "is_text_repaired": False, "created_at": NOW, **more,
    }  # fmt: skip


def call(number: int, run_id: str = RUN, **more: Any) -> dict[str, Any]:
    return {
        "call_id": digest("call", number), "run_id": run_id, "request_key": digest("key", number),
        "response_id": digest("response", number), "provider": "openai", "model": "gpt", "role": "subject",
        "purpose": "answer", "turn": 1, "attempt": 1, "status": "ok", "started_at": NOW, "latency_ms": 12.5,
        "input_tokens": 11, "output_tokens": 20, "billed_usd": Decimal("0.000123456"), **more,
    }  # fmt: skip


def answered(number: int, run_id: str = RUN, **more: Any) -> dict[str, Any]:
    """Arguments of `append` for one request that was answered; `more` goes into the response."""
    return {
        "response": response(number, run_id, **more),
        "calls": [call(number, run_id)],
        "trials": [trial(number, "answered", run_id)],
    }


def failed(number: int, run_id: str = RUN) -> dict[str, Any]:
    return {
        "response": None,
        "calls": [call(number, run_id, status="error", error_type="timeout", response_id=None)],
        "trials": [trial(number, "error", run_id, error_type="timeout")],
    }


def score(number: int, outcome: str = "scored", value: float | None = 1.0, **more: Any) -> dict[str, Any]:
    graded = trial(number, "answered")
    keys = ("run_id", "task", "model", "model_id", "prompt", "sample_id", "epoch", "response_id")
    is_scored = outcome == "scored"
    return {
        **{key: graded[key] for key in keys},
        "scorer": "strict", "scorer_id": SCORER, "metric": "score", "outcome": outcome,
        "score": value if is_scored else None, "is_pass": value == 1.0 if is_scored else None,
        **more,
    }  # fmt: skip


def planned(root: Path, n: int, run_id: str = RUN) -> Store:
    """Make a warehouse with a run of `n` pending trials."""
    store = Store(root)
    store.start_plan(run_id, table_of("trials", [trial(number, run_id=run_id) for number in range(n)]))
    return store


@cache
def connection() -> duckdb.DuckDBPyConnection:
    import duckdb  # here, so that processes which only write start sooner

    con = duckdb.connect()
    con.execute("set timezone = 'UTC'")
    return con


def rows_of(live: Live, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
    """Read a table as every view does: live files by field id, and loose rows."""
    parts, con = [], connection()
    if live.files[table]:
        parts.append(
            f"select {columns} from read_parquet({live.files[table]}, schema = {duckdb_schema(table)})"
        )
    if table in live.loose:
        con.register("loose", live.loose[table])  # in the place of what was registered before
        parts.append(f"select {columns} from loose")
    found = con.execute(" union all ".join(parts)).fetchall() if parts else []
    for file, masked in live.partly.get(table, {}).items():
        con.execute("create or replace temp table masks (run_id varchar, scorer12 varchar)")
        con.executemany("insert into masks values (?, ?)", sorted(masked))
        scorer = "and starts_with(scorer_id, scorer12)" if table == "scores" else ""
        found += con.execute(
            f"select {columns} from read_parquet('{file}', schema = {duckdb_schema(table)}) as stored"
            f" where not exists (from masks where masks.run_id = stored.run_id {scorer})"
        ).fetchall()
    return found


def statuses(live: Live) -> dict[str, int]:
    """Count trials by status; fails if a trial is there twice."""
    found = rows_of(live, "trials", "run_id, model, prompt, sample_id, epoch, status")
    keys = [row[:-1] for row in found]
    assert len(keys) == len(set(keys)), "a trial is visible twice"
    return dict(Counter(row[-1] for row in found))


def texts(live: Live) -> list[str]:
    """List the answers' texts, sorted."""
    return sorted(row[0] for row in rows_of(live, "responses", "text"))
