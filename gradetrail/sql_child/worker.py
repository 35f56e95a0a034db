"""The child: a locked DuckDB that answers one statement after another until its input ends.

A program: `python -P -m gradetrail.sql_child.worker`. It keeps frames of `wire` on standard input and
output: `open` states limits and files, `put` gives a table a name, `query` runs one SELECT.

Invariant: nothing runs before the limits hold; the process ends with its parent, and writes no file.
"""

from __future__ import annotations

import os
import queue
import resource
import signal
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import QueryError
from gradetrail.sql_child.wire import framed, read_frame, write_all

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

MB = 1 << 20
ROWS_AT_ONCE = 10_000
OPEN_FILES = 256


class _TooLargeError(Exception):
    """A result has more bytes than it may have."""


def main() -> None:
    """Answer frames until the input ends."""
    replies = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    frames: queue.Queue[tuple[dict[str, Any], bytes]] = queue.Queue()
    threading.Thread(target=_receive, args=(frames,), daemon=True).start()
    con: duckdb.DuckDBPyConnection | None = None
    limits: dict[str, int] = {}
    while True:
        header, body = frames.get()
        try:
            if header["op"] == "open":
                limits = header["limits"]
                con = _opened(limits, header["files"])
                reply: list[bytes | memoryview] = framed({})
            else:
                assert con is not None
                _allow_cpu(limits["cpu_s"])
                reply = _answered(con, header, body, limits)
        except QueryError as error:
            reply = framed({"error": error.faults[0].message, "kind": "query"})
        except MemoryError:
            reply = framed({"error": "", "kind": "memory"})
        except _TooLargeError:
            reply = framed({"error": "", "kind": "result"})
        write_all(replies, reply)


def _receive(frames: queue.Queue[tuple[dict[str, Any], bytes]]) -> None:
    """Read frames while the main thread works; end the process as soon as the parent is gone."""
    try:
        while True:
            frames.put(read_frame(_take, 1 << 40))
    finally:
        os._exit(0)


def _take(size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = os.read(0, min(size - len(data), 1 << 20))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _opened(limits: dict[str, int], files: list[str]) -> duckdb.DuckDBPyConnection:
    """Open DuckDB, lock it, and bind the process to its limits."""
    import pyarrow.ipc

    con = sql.connect(memory_limit=f"{limits['memory_mb']}MB")
    con.execute("set global temp_directory = ''")
    sql.lock(con, files)
    pyarrow.ipc.new_stream(pyarrow.BufferOutputStream(), pyarrow.schema([])).close()
    space = _address_space() + limits["memory_mb"] * MB
    for kind, value in (
        (resource.RLIMIT_AS, space),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES + len(files)),
    ):
        _, hard = resource.getrlimit(kind)
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (least, least))
    return con


def _address_space() -> int:
    """Give the bytes that the process has mapped; what it maps at its start is no fault of a query."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux
        return 4 << 30


def _allow_cpu(seconds: int) -> None:
    """Let the process run for so many more seconds of processor time; then the kernel ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = int(used.ru_utime + used.ru_stime) + 1 + seconds
    resource.setrlimit(
        resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
    )


def _answered(
    con: duckdb.DuckDBPyConnection, header: dict[str, Any], body: bytes, limits: dict[str, int]
) -> list[bytes | memoryview]:
    import pyarrow.ipc

    if header["op"] == "put":
        con.register(header["name"], pyarrow.ipc.open_stream(body).read_all())
        return framed({})
    return framed({}, memoryview(_result(con, header, limits["result_mb"] * MB)))


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
            raise _TooLargeError
        yield batch


if __name__ == "__main__":
    main()
