"""The child of `SqlChild`: a locked DuckDB that gets tables and answers with Arrow streams.

A program: `python -P -m gradetrail.sql_child.worker`. `open` states limits and files, `put` gives a table
a name, `query` runs one SELECT.

Invariant: nothing runs before the limits hold, and nothing is written to a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import QueryError
from gradetrail.sql_child.limits import MB, Limits, allow_cpu, bind
from gradetrail.sql_child.serving import Reply, TooLargeError, serve

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

ROWS_AT_ONCE = 10_000


class Worker:
    """Answers the frames of one parent."""

    def __init__(self) -> None:
        self._limits = Limits()
        self._con: duckdb.DuckDBPyConnection | None = None

    def answer(self, header: dict[str, Any], body: bytes, reply: Reply) -> None:
        """Answer a frame with one."""
        try:
            if header["op"] == "open":
                self._limits = Limits(**header["limits"])
                self._con = _opened(self._limits, header["files"])
                reply({}, b"")
                return
            assert self._con is not None
            allow_cpu(self._limits.cpu_s)
            if header["op"] == "put":
                import pyarrow.ipc

                self._con.register(header["name"], pyarrow.ipc.open_stream(body).read_all())
                reply({}, b"")
            else:
                reply({}, memoryview(_result(self._con, header, self._limits.result_mb * MB)))
        except QueryError as error:
            reply({"error": error.faults[0].message}, b"")


def _opened(limits: Limits, files: list[str]) -> duckdb.DuckDBPyConnection:
    """Open DuckDB, lock it, and bind the process to its limits."""
    import pyarrow.ipc

    con = sql.connect(room=sql.Room(f"{limits.memory_mb}MB"))
    con.execute("set global temp_directory = ''")
    sql.lock(con, files)
    pyarrow.ipc.new_stream(pyarrow.BufferOutputStream(), pyarrow.schema([])).close()
    bind(limits, len(files))
    return con


def _result(con: duckdb.DuckDBPyConnection, header: dict[str, Any], most: int) -> pa.Buffer:
    """Run one SELECT; give its rows as an Arrow stream."""
    import duckdb
    import pyarrow as pa
    import pyarrow.ipc

    sql.one_select(con, header["sql"])
    try:
        reader = con.execute(header["sql"], header["params"]).to_arrow_reader(ROWS_AT_ONCE)
        assert reader is not None
        sink = pa.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, reader.schema) as stream:
            for batch in _bounded(reader, most):
                stream.write_batch(batch)
        return sink.getvalue()
    except duckdb.OutOfMemoryException as error:
        raise MemoryError from error
    except (duckdb.Error, pa.ArrowException) as error:
        raise QueryError(str(error).strip()) from error


def _bounded(batches: Iterable[pa.RecordBatch], most: int) -> Iterable[pa.RecordBatch]:
    size = 0
    for batch in batches:
        size += batch.nbytes
        if size > most:
            raise TooLargeError
        yield batch


if __name__ == "__main__":
    serve(Worker().answer)
