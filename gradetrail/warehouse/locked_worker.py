"""The child of `LockedWarehouse`: a warehouse that answers questions of others in a bound process.

A program: `python -P -m gradetrail.warehouse.locked_worker`. `open` states the warehouse and the limits,
`query` runs one SELECT and sends its rows piece by piece; the others look something up.

Invariant: no SQL that is not gradetrail's own runs before the limits hold. Rows that were sent are not
taken back in silence: `begin` says that they start anew, without a file that turned out to be damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple
from datetime import datetime
from typing import Any

import duckdb

from gradetrail import sql
from gradetrail.errors import Fault, GradetrailError, QueryError
from gradetrail.sql_child.limits import MB, Limits, allow_cpu, bind
from gradetrail.sql_child.serving import Reply, TooLargeError, serve
from gradetrail.sql_child.values import NestedError, Row, encode
from gradetrail.warehouse import Warehouse
from gradetrail.warehouse.query import Params, Spelled, executed, portable

SHARE_OF_DUCKDB = 0.5
"""Of the memory, what DuckDB keeps to by itself before it writes to its temporary folder. A sort that does
takes twice of that in address space, since freed blocks leave holes."""
FIRST_ROWS, MOST_ROWS = 256, 20_000
FRAME_BYTES = 4 * MB
"""Size of a piece of rows that is aimed at."""
ARROW_ROWS = 10_000

Header = dict[str, Any]


class Worker:
    """Answers the frames of one parent about one warehouse."""

    def __init__(self) -> None:
        self._limits = Limits()
        self._warehouse: Warehouse | None = None
        self._operations: dict[str, Callable[[Header, Reply], None]] = {
            "open": self._open,
            "query": self._query,
            "run_id": self._run_id,
            "check_view": self._check_view,
            "views": self._views,
            "statements": self._statements,
            "file": self._file,
        }

    def answer(self, header: Header, _body: bytes, reply: Reply) -> None:
        """Answer a frame; the last of its replies says `done`, and what was left out."""
        try:
            allow_cpu(self._limits.cpu_s)
            self._operations[header["op"]](header, reply)
            reply({"done": True, "damaged": [astuple(fault) for fault in self._opened.damaged]}, b"")
        except GradetrailError as error:
            if isinstance(error.__cause__, duckdb.OutOfMemoryException):
                raise MemoryError from error
            faults = [astuple(fault) for fault in error.faults]
            reply({"error": type(error).__name__, "faults": faults, "is_gone": _is_broken(error)}, b"")
        except (MemoryError, TooLargeError):
            raise
        except Exception as error:
            fault = Fault(f"internal error: {type(error).__name__}: {error}", "query", fix="report it")
            reply({"error": "UnusableError", "faults": [astuple(fault)], "is_gone": True}, b"")

    @property
    def _opened(self) -> Warehouse:
        assert self._warehouse is not None
        return self._warehouse

    def _open(self, header: Header, _: Reply) -> None:
        self._limits = limits = Limits(**header["limits"])
        as_of = header["as_of"]
        self._warehouse = Warehouse(
            header["root"],
            bundles=header["bundles"],
            own_files=header["own_files"],
            as_of=None if as_of is None else datetime.fromisoformat(as_of),
            room=sql.Room(f"{int(limits.memory_mb * SHARE_OF_DUCKDB)}MB", f"{limits.file_mb}MB"),
        )
        # threads and tables of its own come first, so that they do not count
        self._warehouse.rows("select 1 as ready")
        bind(limits, len(self._warehouse.live.all_files()))

    def _query(self, header: Header, reply: Reply) -> None:
        most = header["most"]

        def rows(cursor: duckdb.DuckDBPyConnection, text: str, params: Params) -> None:
            self._send_rows(executed(cursor, text, params, most), most, reply)

        def arrow(cursor: duckdb.DuckDBPyConnection, text: str, params: Params) -> None:
            import pyarrow as pa

            try:
                _send_arrow(portable(cursor, text, params), reply)
            except pa.ArrowException as error:
                raise QueryError(Fault(str(error).strip(), "query")) from error

        self._opened.fetch(header["sql"], header["params"], arrow if header["is_arrow"] else rows)

    def _send_rows(self, result: duckdb.DuckDBPyConnection | Spelled, most: int | None, reply: Reply) -> None:
        reply({"begin": [str(column[0]) for column in result.description or ()]}, b"")
        left, count = most, FIRST_ROWS
        while rows := result.fetchmany(count if left is None else min(count, left)):
            size = sum(self._send(rows, reply))
            count = max(1, min(MOST_ROWS, count * FRAME_BYTES // size))
            left = None if left is None else left - len(rows)
            if left == 0:
                return

    def _send(self, rows: Sequence[Row], reply: Reply) -> Iterable[int]:
        """Send rows in frames that are not too large; give the sizes."""
        try:
            body = encode(rows)
        except NestedError:
            raise QueryError(Fault("a value has too many levels to be handed over", "query")) from None
        if len(body) <= self._limits.result_mb * MB:
            reply({"rows": len(rows)}, body)
            return [len(body)]
        if len(rows) == 1:
            raise TooLargeError
        half = len(rows) // 2
        return [*self._send(rows[:half], reply), *self._send(rows[half:], reply)]

    def _run_id(self, header: Header, reply: Reply) -> None:
        reply({"value": self._opened.run_id(header["selector"])}, b"")

    def _check_view(self, header: Header, _: Reply) -> None:
        self._opened.check_view(header["name"])

    def _views(self, _: Header, reply: Reply) -> None:
        reply({"value": self._opened.views()}, b"")

    def _statements(self, header: Header, reply: Reply) -> None:
        """Split a text as DuckDB parses it; one that it cannot parse is one statement."""
        try:
            found = [statement.query for statement in duckdb.extract_statements(header["sql"])]
        except duckdb.Error:
            found = [header["sql"]]
        reply({"value": found}, b"")

    def _file(self, header: Header, reply: Reply) -> None:
        """Run a query of `sql/` where everything is there, the user's objects included."""
        con = self._opened.connection()
        self._send_rows(sql.run_file(con, header["name"], header["params"]), None, reply)


def _send_arrow(result: duckdb.DuckDBPyRelation, reply: Reply) -> None:
    import pyarrow as pa
    import pyarrow.ipc

    reader = result.to_arrow_reader(ARROW_ROWS)
    assert reader is not None
    reply({"begin": reader.schema.names}, memoryview(reader.schema.serialize()))
    for batch in reader:
        sink = pa.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, reader.schema) as stream:
            stream.write_batch(batch)
        reply({"rows": batch.num_rows}, memoryview(sink.getvalue()))


def _is_broken(error: GradetrailError) -> bool:
    """Say whether the database is of no use any more."""
    return isinstance(error.__cause__, (duckdb.FatalException, duckdb.InternalException))


if __name__ == "__main__":
    serve(Worker().answer)
