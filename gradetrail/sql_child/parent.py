"""The parent's side: starts the child, asks it, and says in words what became of it.

Invariant: a question ends, within its wall limit, with rows or with an error that says why there are
none; no child outlives its parent or the block that opened it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gradetrail.errors import Fault, InterruptError, QueryError
from gradetrail.sql_child.wire import WireError, framed, read_frame, write_all

if TYPE_CHECKING:
    import pyarrow as pa

START_S = 30.0
"""Wall-clock seconds for the child to come up."""
LOOK_S = 0.1
"""How often a wait looks whether Ctrl-C was pressed."""
KEPT_VARIABLES = (
    "PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME",
    "VIRTUAL_ENV",
)  # fmt: skip
"""What of the environment the child sees: enough to start, and no secret."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one statement may use."""

    wall_s: float = 60.0
    cpu_s: int = 60
    """Seconds of processor time, of all threads together."""
    memory_mb: int = 2048
    """Address space beyond what the process has when it is ready."""
    result_mb: int = 256


class ChildLostError(QueryError):
    """The process is gone; another one is needed for the next statement."""


class SqlChild:
    """A locked DuckDB in a process of its own; a context manager.

    It reads `files` and the tables that it was given, and nothing else; it writes nothing.
    """

    def __init__(self, limits: Limits = Limits(), files: Sequence[str] = ()) -> None:
        self._limits = limits
        environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gradetrail.sql_child.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment, "TZ": "UTC", "ARROW_DEFAULT_MEMORY_POOL": "system"},
            start_new_session=True,
        )
        stated = asdict(limits)
        self._ask({"op": "open", "limits": stated, "files": list(files)}, wall_s=START_S)

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
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()

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
        deadline = time.monotonic() + (self._limits.wall_s if wall_s is None else wall_s)
        assert self._process.stdin is not None
        try:
            # the child reads in a thread of its own, so writing never waits for its work
            write_all(self._process.stdin.fileno(), framed(header, body))
            most = (self._limits.result_mb + 16) << 20
            reply, rows = read_frame(lambda size: self._take(size, deadline), most)
        except KeyboardInterrupt:
            self.close()
            raise InterruptError(Fault("the query was stopped")) from None
        except (WireError, OSError, ValueError) as error:
            raise self._lost(deadline) from error
        if "error" not in reply:
            return rows
        raise QueryError(self._said(str(reply.get("kind")), str(reply["error"])))

    def _take(self, size: int, deadline: float) -> bytes:
        assert self._process.stdout is not None
        handle, data = self._process.stdout.fileno(), bytearray()
        while len(data) < size:
            left = max(0.0, deadline - time.monotonic())
            # a signal may reach another thread than this one, which then has to look for itself
            ready, _, _ = select.select([handle], [], [], min(left, LOOK_S))
            if not ready and left > 0:
                continue
            piece = os.read(handle, min(size - len(data), 1 << 20)) if ready else b""
            if not piece:
                raise WireError
            data += piece
        return bytes(data)

    def _said(self, kind: str, message: str) -> str:
        if kind == "memory":
            return f"it needs more than {self._limits.memory_mb:,} MB of memory"
        if kind == "result":
            return f"its result is larger than {self._limits.result_mb:,} MB"
        return message

    def _lost(self, deadline: float) -> ChildLostError:
        """Say why the process is gone, and make sure that it is."""
        is_late = time.monotonic() >= deadline
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0 if is_late else 1)
        code = self._process.returncode
        self.close()
        if is_late and code is None:
            return ChildLostError(f"it took more than {self._limits.wall_s:g} s")
        if code == -signal.SIGXCPU:
            return ChildLostError(f"it took more than {self._limits.cpu_s} s of processor time")
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            memory = f"it may have needed more than {self._limits.memory_mb:,} MB of memory"
            return ChildLostError(f"the process that ran it was ended by {name}: {memory}")
        return ChildLostError(f"the process that ran it ended by itself (code {code})")
