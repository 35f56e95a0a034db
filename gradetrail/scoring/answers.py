"""The answers of a run, in parts of which each has all trials of a sample.

Invariant: every trial is in one part, once, with the text that it used. The stored files are read once
whatever the number of parts; what waits for its turn is in temporary files without a name.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from io import BufferedRandom
from typing import TYPE_CHECKING, Any

from gradetrail import sql

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

PART_TRIALS = 100_000
"""Trials that are graded at a time, at most."""
PART_BYTES = 256_000_000
"""Bytes of answers that are graded at a time, about."""
FEW_TRIALS = 2_000
"""Trials whose answers are taken to be no more than that, without a look at the files."""
BATCH_ROWS = 32_768
"""Rows that are read, and split into parts, at a time, at most."""
BATCH_BYTES = 32_000_000
"""Bytes of answers that are, about."""
FILES = ("scoring/run_trials", "scoring/run_texts")
UNREPEATED = ("response_id", "text", "tool_calls")
"""Columns of text with a value of its own in nearly every row."""


@dataclass(frozen=True, slots=True)
class Share:
    """Some of the parts of a run."""

    n_parts: int
    """Parts that the run has."""
    numbers: tuple[int, ...]
    """Those that are meant, from 0."""


def n_parts_of(con: duckdb.DuckDBPyConnection, run_id: str, n_trials: int) -> int:
    """Say in how many parts a run is graded: so many that none has too many trials or bytes."""
    n_bytes = n_trials * _bytes_an_answer(con, run_id) if n_trials > FEW_TRIALS else 0
    return max(1, -(-n_trials // PART_TRIALS), -(-n_bytes // PART_BYTES))


def _bytes_an_answer(con: duckdb.DuckDBPyConnection, run_id: str) -> int:
    found = sql.run_file(con, "scoring/bytes_an_answer", {"run_id": run_id}).fetchall()[0][0]
    return int(found or 0)


def answer_parts(
    con: duckdb.DuckDBPyConnection, run_id: str, share: Share | None = None
) -> Generator[pa.Table, None, None]:
    """Yield the trials of a run with their answers: the relation `trial_answer`, part by part.

    Of a share only its parts are yielded. A run without trials is an empty part.
    """
    if share is None:
        n_trials = int(sql.run_file(con, "scoring/n_trials", {"run_id": run_id}).fetchall()[0][0])
        n_parts = n_parts_of(con, run_id, n_trials)
        share = Share(n_parts, tuple(range(n_parts)))
    if share.n_parts == 1:
        yield whole_run(con, run_id)
        return
    params = {"run_id": run_id, "n_parts": share.n_parts}
    with contextlib.ExitStack() as stack:
        trials, texts = (_split(con, name, params, share.numbers, stack) for name in FILES)
        for one, other in zip(trials, texts, strict=True):
            yield _with_texts(_read(one), _read(other))


def whole_run(con: duckdb.DuckDBPyConnection, run_id: str) -> pa.Table:
    """Give all trials of a run with their answers, in memory at once."""
    params = {"run_id": run_id, "n_parts": 1}
    trials, texts = (sql.arrow_file(con, name, params).drop_columns(["part"]) for name in FILES)
    return _with_texts(trials, texts)


def _with_texts(trials: pa.Table, texts: pa.Table) -> pa.Table:
    """Add `text` and `tool_calls`; NULL where a trial has no answer, or it is not in the warehouse."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # an answer that is stored twice is found where it stands first; its content is the same
    known = texts.column("response_id").combine_chunks()
    wanted = trials.column("response_id").combine_chunks()
    places: Any = pc.index_in(wanted, value_set=known, skip_nulls=True)
    for name in ("text", "tool_calls"):
        # all texts of a part may be more than the 2 GB that offsets of 32 bits reach
        column: Any = texts.column(name).cast(pa.large_string()).combine_chunks()
        trials = trials.append_column(name, column.take(places))
    numbers: Any = pa.arange(1, trials.num_rows + 1)  # type: ignore[attr-defined]  # newer than the stubs
    return trials.add_column(0, "row", numbers)


def _split(
    con: duckdb.DuckDBPyConnection,
    name: str,
    params: dict[str, Any],
    numbers: Sequence[int],
    stack: contextlib.ExitStack,
) -> list[BufferedRandom]:
    """Write the rows of each of these parts to a file of its own."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.ipc as ipc

    files = [stack.enter_context(tempfile.TemporaryFile()) for _ in numbers]  # noqa: SIM115  # it closes them
    writers: dict[int, ipc.RecordBatchStreamWriter] = {}
    wanted = pa.array(numbers, pa.int32())
    n_rows = min(BATCH_ROWS, BATCH_BYTES // max(1, _bytes_an_answer(con, params["run_id"])) + 1)
    for batch in con.sql(sql.text_of(name), params=params).to_arrow_reader(n_rows):
        if len(numbers) < params["n_parts"]:
            batch = batch.filter(pc.is_in(batch.column("part"), value_set=wanted))
        parts: Any = batch.column("part")
        rows = _compact(batch.drop_columns(["part"]))
        if not writers:
            writers = {n: ipc.new_stream(file, rows.schema) for n, file in zip(numbers, files, strict=True)}
        order = pc.sort_indices(parts)
        rows, parts = rows.take(order), parts.take(order)
        begin = 0
        for run in pc.value_counts(parts).to_pylist():
            writers[run["values"]].write_batch(rows.slice(begin, run["counts"]))
            begin += run["counts"]
    if not writers:
        none = sql.arrow_file(con, name, params).drop_columns(["part"])
        writers = {n: ipc.new_stream(file, none.schema) for n, file in zip(numbers, files, strict=True)}
    for writer in writers.values():
        writer.close()
    return files


def _compact(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Turn text that may repeat into dictionaries: it is moved about several times."""
    import pyarrow as pa

    columns = [
        column.dictionary_encode() if name not in UNREPEATED and pa.types.is_string(column.type) else column
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=rows.schema.names)


def _read(file: BufferedRandom) -> pa.Table:
    import pyarrow.ipc as ipc

    file.seek(0)
    with ipc.open_stream(file) as reader:
        table: pa.Table = reader.read_all()
    file.close()
    return table
