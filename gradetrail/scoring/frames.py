"""Answers as rows with every column by name: what `sql` and `python` scorers see.

Invariant: a column of the answer goes before one of the dataset with the same name; a dataset's column is
text, as it stands in the row, or NULL where the row lacks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.dataset.rows import field_text, parse_row
from gradetrail.scorer_spec import Python, Sql
from gradetrail.scoring.definition import Definition

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

ANSWER_COLUMNS = (
    "sample_id", "model", "prompt", "epoch", "text", "response", "reasoning", "extracted", "extracted_by",
    "target", "targets", "choices", "tool_calls", "stop_reason", "served_model", "category", "latency_ms",
    "output_tokens", "reasoning_tokens", "confidence", "token_nll", "token_count",
)  # fmt: skip
"""What a scorer sees of an answer; `text` is without reasoning, `response` as it came."""


def reads_rows(definition: Definition) -> bool:
    """Say whether a scorer, or a case of it, sees whole rows."""
    cases = definition.cases().values()
    return isinstance(definition.scorer, Sql | Python) or any(reads_rows(case) for case in cases)


def register_samples(con: duckdb.DuckDBPyConnection, contents: Iterable[tuple[str, str]]) -> None:
    """Make the relation `sample_columns` from (sample_id, JSON text of the row): one row per sample."""
    import pyarrow as pa

    rows: dict[str, Mapping[str, object]] = {}
    for sample_id, content in contents:
        if sample_id not in rows:
            rows[sample_id] = parse_row(content)
    names = dict.fromkeys(name for row in rows.values() for name in row)
    columns: dict[str, pa.Array[pa.StringScalar]] = {
        name: pa.array([field_text(row.get(name)) for row in rows.values()], pa.string())
        for name in names
        if name.lower() not in ("row", *ANSWER_COLUMNS)
    }
    con.register("sample_columns", pa.table({"sample_id": pa.array(list(rows), pa.string()), **columns}))


def empty_frame(columns: Iterable[str]) -> pa.Table:
    """Give a frame without rows, for a dataset with these columns."""
    import pyarrow as pa

    own = {name: pa.string() for name in columns if name.lower() not in ("row", *ANSWER_COLUMNS)}
    kinds = {
        "epoch": pa.int32(),
        **dict.fromkeys(("targets", "choices"), pa.list_(pa.string())),
        **dict.fromkeys(("latency_ms", "confidence", "token_nll"), pa.float64()),
        **dict.fromkeys(("output_tokens", "reasoning_tokens", "token_count"), pa.int64()),
    }
    answer = {name: kinds.get(name, pa.string()) for name in ANSWER_COLUMNS}
    return pa.schema({"row": pa.int64(), **answer, **own}).empty_table()


def answer_frame(con: duckdb.DuckDBPyConnection, definition: Definition) -> pa.Table:
    """Give the answered rows of `subject`: `row`, the answer's columns, and the dataset's."""
    import pyarrow as pa
    import pyarrow.compute as pc

    answers = sql.arrow_file(con, "scoring/answer_frame", {"is_extracted": bool(definition.extract)})
    samples = con.table("sample_columns").to_arrow_table()
    places = pc.index_in(answers.column("sample_id"), value_set=samples.column("sample_id"))
    own = samples.drop_columns(["sample_id"]).take(places)
    return pa.table(
        {
            **{name: answers.column(name) for name in answers.column_names},
            **{name: own.column(name) for name in own.column_names},
        }
    )
