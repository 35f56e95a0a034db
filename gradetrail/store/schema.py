"""The one list of stored columns, from which Arrow schemas, SQL read maps and docs derive.

Invariant: a field id belongs to one column for ever. Columns are added at the end with the next
free id; none is renamed in place, none is reused. Types are stated here, never inferred from data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT_VERSION = 1
"""Format of the warehouse's folder; a newer one is refused."""


@dataclass(frozen=True, slots=True)
class Column:
    """One stored column."""

    field_id: int
    name: str
    type: str
    """DuckDB type: VARCHAR, BIGINT, INTEGER, DOUBLE, BOOLEAN, TIMESTAMPTZ, DECIMAL(18,9), VARCHAR[]."""
    doc: str
    is_hash: bool = False
    """Hex digests: written without a dictionary."""


def _columns(*rows: tuple[str, str, str]) -> tuple[Column, ...]:
    hashes = ("_key", "_id", "_hash")
    return tuple(
        Column(number, name, kind, doc, is_hash=name.endswith(hashes) and name not in PLAIN_IDS)
        for number, (name, kind, doc) in enumerate(rows, start=1)
    )


PLAIN_IDS = frozenset({"run_id", "sample_id", "response_run_id", "dataset_id", "model_id", "scorer_id"})
"""Ids that repeat in a file, so that a dictionary serves them."""

RESPONSES = _columns(
    ("run_id", "VARCHAR", "Run that paid for the answer."),
    ("response_id", "VARCHAR", "Content hash of the answer; unique within run_id."),
    ("request_key", "VARCHAR", "Identity of the exact call."),
    ("provider", "VARCHAR", "Provider that was asked."),
    ("model", "VARCHAR", "Model name as requested from the provider."),
    ("served_model", "VARCHAR", "Model name that the provider reported; NULL if it did not."),
    ("messages", "VARCHAR", "JSON list of the messages sent."),
    ("request", "VARCHAR", "The hashed canonical JSON without messages."),
    ("text", "VARCHAR", "Answer text; empty when the model sent none."),
    ("reasoning", "VARCHAR", "Reasoning that came apart from the text; NULL if none."),
    ("tool_calls", "VARCHAR", "JSON list of {id, name, arguments}; NULL if none."),
    ("stop_reason", "VARCHAR", "stop, length, tool, refusal, filter or other; NULL if unknown."),
    ("raw_stop_reason", "VARCHAR", "The provider's own word for it."),
    ("confidence", "DOUBLE", "Confidence in [0, 1] that the provider gave; NULL if none."),
    ("logprobs", "VARCHAR", "JSON list of per-token log-probabilities; opt-in."),
    ("raw", "VARCHAR", "The reply's body as JSON; opt-in."),
    ("is_text_repaired", "BOOLEAN", "True where lone surrogates became U+FFFD."),
    ("origin", "VARCHAR", "api, batch, import, replay or mock."),
    ("created_at", "TIMESTAMPTZ", "When the answer was received, UTC."),
    ("token_nll", "DOUBLE", "Sum of -ln p over the answer's tokens, in nats; NULL if unknown."),
    ("token_count", "BIGINT", "Tokens that token_nll sums over."),
)

CALLS = _columns(
    ("call_id", "VARCHAR", "Identity of the attempt: run, key, turn and attempt."),
    ("run_id", "VARCHAR", "Run that made the call."),
    ("request_key", "VARCHAR", "Identity of the exact call."),
    ("response_id", "VARCHAR", "Answer that it brought; NULL for a failure."),
    ("provider", "VARCHAR", "Provider that was asked."),
    ("model", "VARCHAR", "Model name as requested from the provider."),
    ("served_model", "VARCHAR", "Model name that the provider reported."),
    ("role", "VARCHAR", "subject or judge."),
    ("purpose", "VARCHAR", "answer, turn, vote or nudge."),
    ("turn", "INTEGER", "Turn of a scripted conversation, from 1."),
    ("attempt", "INTEGER", "Attempt number, from 1."),
    ("status", "VARCHAR", "ok or error."),
    ("error_type", "VARCHAR", "Closed list of providers.response.ERROR_TYPES; NULL if ok."),
    ("http_status", "INTEGER", "HTTP status; NULL where there was none."),
    ("error_message", "VARCHAR", "What the provider said, without keys; NULL if ok."),
    ("started_at", "TIMESTAMPTZ", "When the attempt began, UTC."),
    ("latency_ms", "DOUBLE", "Milliseconds from sending to the whole reply."),
    ("ttft_ms", "DOUBLE", "Milliseconds to the first token, where it was streamed."),
    ("input_tokens", "BIGINT", "Uncached input tokens; NULL if the provider gave no usage."),
    ("cache_read_tokens", "BIGINT", "Input tokens read from the provider's cache."),
    ("cache_write_tokens", "BIGINT", "Input tokens written to the provider's cache."),
    ("output_tokens", "BIGINT", "Output tokens, reasoning included."),
    ("reasoning_tokens", "BIGINT", "Output tokens spent on reasoning."),
    ("billed_usd", "DECIMAL(18,9)", "Dollars that the provider says it billed; NULL if it does not."),
)

TRIALS = _columns(
    ("run_id", "VARCHAR", "Run that planned the trial."),
    ("task", "VARCHAR", "Name of the spec."),
    ("model", "VARCHAR", "Display name of the model."),
    ("model_id", "VARCHAR", "Identity of the model with its parameters."),
    ("prompt", "VARCHAR", "Name of the prompt; `default` where the spec has one."),
    ("sample_id", "VARCHAR", "Sample, unique in its dataset."),
    ("sample_hash", "VARCHAR", "Content hash of the dataset row."),
    ("dataset_id", "VARCHAR", "Identity of the whole dataset."),
    ("category", "VARCHAR", "Value of the spec's category column; NULL if none."),
    ("cluster", "VARCHAR", "Value of the spec's cluster column; NULL if none."),
    ("epoch", "INTEGER", "Repeat number, from 1."),
    ("input_hash", "VARCHAR", "Hash of what the model was asked."),
    ("choice_order", "VARCHAR", "JSON list: original index of each choice shown; NULL without choices."),
    ("request_key", "VARCHAR", "Identity of the exact call."),
    ("response_id", "VARCHAR", "Answer used; NULL unless answered."),
    ("response_run_id", "VARCHAR", "Run that paid for that answer."),
    ("status", "VARCHAR", "answered, error, skipped or pending."),
    ("error_type", "VARCHAR", "Why it is an error; NULL otherwise."),
    ("is_hit", "BOOLEAN", "True if the answer was stored before this run asked."),
    ("stop_reason", "VARCHAR", "stop, length, tool, refusal, filter or other."),
    ("served_model", "VARCHAR", "Model name that the provider reported."),
    ("latency_ms", "DOUBLE", "Milliseconds of the call that brought the answer."),
    ("ttft_ms", "DOUBLE", "Milliseconds to its first token."),
    ("input_tokens", "BIGINT", "Uncached input tokens of that call."),
    ("cache_read_tokens", "BIGINT", "Input tokens read from the provider's cache."),
    ("cache_write_tokens", "BIGINT", "Input tokens written to the provider's cache."),
    ("output_tokens", "BIGINT", "Output tokens, reasoning included."),
    ("reasoning_tokens", "BIGINT", "Output tokens spent on reasoning."),
    ("token_nll", "DOUBLE", "Sum of -ln p over the answer's tokens, in nats."),
    ("token_count", "BIGINT", "Tokens that token_nll sums over."),
    ("ended_at", "TIMESTAMPTZ", "When the trial got its state, UTC."),
    ("confidence", "DOUBLE", "Confidence in [0, 1] that the provider gave."),
    ("error_message", "VARCHAR", "What the provider said, without keys; NULL unless error."),
)

SCORES = _columns(
    ("run_id", "VARCHAR", "Run whose trial was graded."),
    ("task", "VARCHAR", "Name of the spec."),
    ("scorer", "VARCHAR", "Name of the scorer in the task."),
    ("scorer_id", "VARCHAR", "Identity of the scorer's whole definition."),
    ("metric", "VARCHAR", "Metric of the scorer; `score` where it has one."),
    ("model", "VARCHAR", "Display name of the model."),
    ("model_id", "VARCHAR", "Identity of the model with its parameters."),
    ("prompt", "VARCHAR", "Name of the prompt."),
    ("sample_id", "VARCHAR", "Sample, unique in its dataset."),
    ("epoch", "INTEGER", "Repeat number, from 1."),
    ("response_id", "VARCHAR", "Answer that was graded; NULL if there was none."),
    ("opponent_response_id", "VARCHAR", "The other answer of a preference; NULL otherwise."),
    ("target", "VARCHAR", "Target as text; a JSON list where any of several is right."),
    ("score", "DOUBLE", "Grade; NULL unless outcome is scored. 0 means wrong."),
    ("is_pass", "BOOLEAN", "Whether the score reaches the pass threshold; NULL unless scored."),
    ("outcome", "VARCHAR", "scored, or why not."),
    ("extracted", "VARCHAR", "What was compared with the target; NULL if nothing was found."),
    ("extracted_by", "VARCHAR", "Rule that found it."),
    ("confidence", "DOUBLE", "Confidence in [0, 1]; NULL if none."),
    ("confidence_source", "VARCHAR", "text, logprobs, votes, provider or judge; NULL if none."),
    ("detail", "VARCHAR", "Why: matched text, reasons, or what went wrong."),
    ("judge_response_ids", "VARCHAR[]", "Judge answers behind the grade; NULL without a judge."),
)

SAMPLES = _columns(
    ("dataset_id", "VARCHAR", "Identity of the whole dataset."),
    ("sample_id", "VARCHAR", "Sample, unique in its dataset."),
    ("sample_hash", "VARCHAR", "Content hash of the row."),
    ("position", "BIGINT", "Place in the dataset, from 0."),
    ("content", "VARCHAR", "The row as JSON text."),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "responses": RESPONSES,
    "calls": CALLS,
    "trials": TRIALS,
    "scores": SCORES,
    "samples": SAMPLES,
}

TRIAL_KEY = ("model", "prompt", "sample_id", "epoch")
"""What a trial is within its run: later parts win per this key."""

SCORE_KEY = ("model", "prompt", "sample_id", "epoch", "metric", "opponent_response_id")
"""What a score is within its run and scorer."""

REQUIRED: dict[str, frozenset[str]] = {
    "responses": frozenset({"run_id", "response_id", "request_key"}),
    "calls": frozenset({"call_id", "run_id", "request_key"}),
    "trials": frozenset({"run_id", *TRIAL_KEY, "status"}),
    "scores": frozenset({"run_id", "scorer", "scorer_id", "metric", *TRIAL_KEY, "outcome"}),
    "samples": frozenset({"dataset_id", "sample_id", "sample_hash"}),
}
"""Columns that are never NULL."""

SORT_KEYS: dict[str, tuple[str, ...]] = {
    "trials": ("run_id", *TRIAL_KEY),
    "scores": ("run_id", "scorer_id", *SCORE_KEY),
    "samples": ("position",),
}
"""Order of rows in a file; tables that are not here keep the order in which rows came."""

ROW_GROUP = {"responses": 30_000}
"""Rows of a row group, where it is not FACT_ROW_GROUP."""
FACT_ROW_GROUP = 122_880
"""Rows of a row group, and of a batch where rows are streamed."""

JOURNALED = ("responses", "calls", "trials")
"""Tables whose rows pass through the journal, in the order of their publication."""

UNREPEATED = frozenset(
    {"text", "reasoning", "tool_calls", "logprobs", "raw", "content", "latency_ms", "ttft_ms", "token_nll"}
    | {"created_at", "started_at", "ended_at"}
)
"""Columns whose values seldom repeat, so that a dictionary would be dead weight; hashes are others."""


@cache
def arrow_schema(table: str) -> pa.Schema:
    """Give the Arrow schema of a table, with Parquet field ids in the metadata."""
    import pyarrow as pa

    types = {
        "VARCHAR": pa.string(),
        "BIGINT": pa.int64(),
        "INTEGER": pa.int32(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
        "DECIMAL(18,9)": pa.decimal128(18, 9),
        "VARCHAR[]": pa.list_(pa.string()),
    }
    return pa.schema(
        pa.field(c.name, types[c.type], metadata={"PARQUET:field_id": str(c.field_id)}) for c in TABLES[table]
    )


@cache
def journal_schema() -> pa.Schema:
    """Give the Arrow schema of a journal line: one response or null, calls and trials."""
    import pyarrow as pa

    response, calls, trials = (pa.struct(list(arrow_schema(table))) for table in JOURNALED)
    return pa.schema({"response": response, "calls": pa.list_(calls), "trials": pa.list_(trials)})


@cache
def duckdb_schema(table: str) -> str:
    """Write the map that `read_parquet(..., schema = <map>)` reads files of every version by field id.

    A column that a file does not have yet is NULL; one that is newer than this program is not read.
    """
    return f"map {{{', '.join(map(_map_entry, TABLES[table]))}}}"


def _map_entry(column: Column) -> str:
    name = column.name.replace("'", "''")
    return f"{column.field_id}: {{name: '{name}', type: '{column.type}', default_value: NULL}}"


def dictionary_columns(table: str) -> list[str]:
    """Name the columns that are written with a dictionary: values that repeat."""
    return [c.name for c in TABLES[table] if not c.is_hash and c.name not in UNREPEATED]


def repeated_text(table: str) -> list[str]:
    """Name the text columns whose values repeat, which are small in memory as dictionaries."""
    kinds = {c.name: c.type for c in TABLES[table]}
    return [name for name in dictionary_columns(table) if kinds[name] == "VARCHAR"]
