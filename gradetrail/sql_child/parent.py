"""A locked DuckDB in a process of its own, which gets tables and gives Arrow tables.

Invariant: a question ends, within its wall limit, with rows or with an error that says why there are
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gradetrail.errors import LimitError, QueryError
from gradetrail.sql_child.limits import Limits
from gradetrail.sql_child.process import START_S, ChildLostError, ChildProcess

if TYPE_CHECKING:
    import pyarrow as pa


class SqlChild:
    """A locked DuckDB in a process of its own; a context manager.

    It reads `files` and the tables that it was given, and nothing else; it writes nothing.
    """

    def __init__(self, limits: Limits = Limits(), files: Sequence[str] = ()) -> None:
        self._process = ChildProcess("gradetrail.sql_child.worker", limits)
        self._ask({"op": "open", "limits": asdict(limits), "files": list(files)}, wall_s=START_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.close()

    def put(self, name: str, table: pa.Table) -> None:
        """Give it a table, under a name that replaces what had it."""
        import pyarrow as pa
        import pyarrow.ipc

        sink = pa.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        self._ask({"op": "put", "name": name}, memoryview(sink.getvalue()))

    def query(self, text: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """Run one SELECT; QueryError if DuckDB refuses it, ChildLostError if it cost the process its life."""
        import pyarrow.ipc

        body = self._ask({"op": "query", "sql": text, "params": dict(params) if params else None})
        try:
            return pyarrow.ipc.open_stream(body).read_all()
        except (pyarrow.ArrowException, ValueError, OSError) as error:
            self.close()
            raise ChildLostError("the process that ran it sent no table") from error

    def _ask(
        self, header: dict[str, Any], body: bytes | memoryview = b"", *, wall_s: float | None = None
    ) -> bytes:
        self._process.send(header, body, wall_s=self._process.limits.wall_s if wall_s is None else wall_s)
        reply, rows = self._process.receive()
        if "limit" in reply:
            raise LimitError(self._process.met(str(reply["limit"])))
        if "error" in reply:
            raise QueryError(str(reply["error"]))
        return rows
