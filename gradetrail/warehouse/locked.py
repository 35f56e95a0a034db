"""A warehouse that is asked SQL of others: from a process of its own, under limits, row by row.

Invariant: nothing that a query does can take this process with it, and Ctrl-C ends it at once. A question
after that starts another process, which reads the warehouse as it is then.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gradetrail import errors
from gradetrail.errors import Fault, GradetrailError, LimitError, QueryError
from gradetrail.sql_child.limits import MB, Limits, machine_memory_mb
from gradetrail.sql_child.process import START_S, ChildLostError, ChildProcess
from gradetrail.sql_child.values import Row, decode

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa

MODULE = "gradetrail.warehouse.locked_worker"
TIMEOUT_S = 600.0
"""Longer than what people wait for; all grades of fifty million trials take half a minute."""
SPILLED_PER_MEMORY = 4
"""Disk that a query may use when memory runs out, by memory; at most half of what is free."""
ROW_MB = 256
HELD = 16
"""A result that is held whole may have this part of the memory on its way here: rows in Python are large."""

Begin = Callable[[list[str]], None]
"""Takes the names of columns before any rows; a second call says that the rows start anew."""


def limits_of(timeout_s: float | None = None, memory_mb: int | None = None) -> Limits:
    """Give the limits of a query: ten minutes and half of the machine's memory, if nothing is said."""
    wall_s = TIMEOUT_S if timeout_s is None else timeout_s
    memory_mb = machine_memory_mb() if memory_mb is None else memory_mb
    free_mb = shutil.disk_usage(tempfile.gettempdir()).free // 2 // MB
    return Limits(
        wall_s=wall_s,
        cpu_s=int(wall_s * (os.cpu_count() or 1)) + 1,
        memory_mb=memory_mb,
        result_mb=ROW_MB,
        file_mb=min(SPILLED_PER_MEMORY * memory_mb, free_mb),
    )


def fixes_of(limits: Limits) -> dict[str, str]:
    """Say what to do about each limit that is met."""
    longer = f"`--timeout {2 * limits.wall_s:g}` gives it twice as long"
    return {
        "wall": longer,
        "cpu": longer,
        "memory": f"`--memory {2 * limits.memory_mb}MB` gives it twice as much",
        "result": "ask for less of it, such as left(text, 1000)",
    }


class LockedWarehouse:
    """A warehouse behind a wall; a context manager. It takes what `Warehouse` takes, and limits."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        bundles: Sequence[str | os.PathLike[str]] = (),
        as_of: datetime | None = None,
        own_files: Sequence[str | os.PathLike[str]] = (),
        limits: Limits | None = None,
    ) -> None:
        self.root = Path(path)
        self.damaged: tuple[Fault, ...] = ()
        """Files and lines that had to be left out so far."""
        self._limits = limits or limits_of()
        self._opening = {
            "op": "open",
            "root": os.fspath(path),
            "bundles": [os.fspath(bundle) for bundle in bundles],
            "as_of": None if as_of is None else as_of.isoformat(),
            "own_files": [os.fspath(file) for file in own_files],
            "limits": asdict(self._limits),
        }
        self._lock = threading.RLock()
        self._child: ChildProcess | None = None
        self._look({"op": "statements", "sql": ""})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Number of the process that answers."""
        return self._started().pid

    def close(self) -> None:
        """End the process, whatever it does."""
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def rows(
        self, text: str, params: Mapping[str, Any] | None = None, *, most: int | None = None
    ) -> tuple[list[str], list[Row]]:
        """Run one SELECT; give column names and rows, at most so many. LimitError where a limit is met."""
        return self._collected(self._query(text, params, most))

    def each(
        self, text: str, params: Mapping[str, Any] | None, begin: Begin, take: Callable[[list[Row]], None]
    ) -> None:
        """Run one SELECT, and hand its rows over piece by piece, as they come."""
        self._asked(self._query(text, params), lambda names, _: begin(names), lambda body: take(decode(body)))

    def each_batch(
        self,
        text: str,
        params: Mapping[str, Any] | None,
        begin: Callable[[pa.Schema], None],
        take: Callable[[pa.RecordBatch], None],
    ) -> None:
        """Run one SELECT, and hand it over as Arrow batches; `begin` may be called anew, as in `each`."""
        import pyarrow.ipc

        self._asked(
            {**self._query(text, params), "is_arrow": True},
            lambda _, schema: begin(pyarrow.ipc.read_schema(pyarrow.py_buffer(schema))),
            lambda body: take(pyarrow.ipc.open_stream(body).read_next_batch()),
        )

    def file_rows(self, name: str, params: Mapping[str, Any]) -> tuple[list[str], list[Row]]:
        """Run the query `layer/stem` where everything is there, the user's views and macros included."""
        return self._collected({"op": "file", "name": name, "params": dict(params)})

    def run_id(self, selector: str) -> str:
        """Resolve a RUN selector; SelectionError lists the candidates."""
        return str(self._look({"op": "run_id", "selector": selector}))

    def check_view(self, name: str) -> None:
        """Refuse a name that is no view (SelectionError) or a file that was refused (QueryError)."""
        self._look({"op": "check_view", "name": name})

    def views(self) -> dict[str, str]:
        """List views, tables, and the user's views and macros by name, with what each says."""
        return dict(self._look({"op": "views"}))

    def statements(self, text: str) -> list[str]:
        """Split a text at its semicolons, as DuckDB parses it."""
        found = self._look({"op": "statements", "sql": text})
        return [str(statement) for statement in found]

    def _query(self, text: str, params: Mapping[str, Any] | None, most: int | None = None) -> dict[str, Any]:
        return {"op": "query", "sql": text, "params": dict(params or {}), "most": most, "is_arrow": False}

    def _collected(self, question: dict[str, Any]) -> tuple[list[str], list[Row]]:
        names: list[str] = []
        rows: list[Row] = []
        size, most = 0, self._limits.memory_mb * MB // HELD

        def begin(found: list[str], _: bytes) -> None:
            names[:] = found
            rows.clear()

        def take(body: bytes) -> None:
            nonlocal size
            size += len(body)
            if size > most:
                fix = "print it as csv, jsonl or parquet, or ask for less of it: limit 1000"
                raise LimitError(Fault(f"its rows are more than {most // MB:,} MB at once", "query", fix=fix))
            rows.extend(decode(body))

        self._asked(question, begin, take)
        return names, rows

    def _look(self, question: dict[str, Any]) -> Any:
        found: list[Any] = []
        self._asked(question, lambda *_: None, lambda _: None, found.append)
        return found[0] if found else None

    def _asked(
        self,
        question: dict[str, Any],
        begin: Callable[[list[str], bytes], None],
        take: Callable[[bytes], None],
        value: Callable[[Any], None] = lambda _: None,
    ) -> None:
        with self._lock, self._in_step() as child:
            child.send(question, wall_s=self._limits.wall_s)
            while True:
                reply, body = child.receive()
                if "begin" in reply:
                    begin([str(name) for name in reply["begin"]], body)
                elif "rows" in reply:
                    take(body)
                elif "value" in reply:
                    value(reply["value"])
                else:
                    break
        self._ended(child, reply)

    @contextmanager
    def _in_step(self) -> Iterator[ChildProcess]:
        """Give the process; end it where its answer was not heard to the end."""
        try:
            yield self._started()
        except ChildLostError as error:
            self.close()
            raise ChildLostError(*(replace(fault, where="query") for fault in error.faults)) from error
        except BaseException:
            self.close()
            raise

    def _started(self) -> ChildProcess:
        if self._child is None or self._child.is_gone:
            self.close()
            # a warehouse that is no folder is reached with what the environment says
            environment = os.environ if ":/" in str(self.root) else None
            self._child = ChildProcess(MODULE, self._limits, fixes_of(self._limits), environment)
            self._child.send(self._opening, wall_s=START_S)
            self._ended(self._child, self._child.receive()[0])
        return self._child

    def _ended(self, child: ChildProcess, reply: dict[str, Any]) -> None:
        """Take what a last reply says: what was left out, or why there is no answer."""
        if "limit" in reply:
            # what was freed there stays mapped, and would count against the next query
            self.close()
            raise LimitError(replace(child.met(str(reply["limit"])), where="query"))
        if "error" not in reply:
            self.damaged = tuple(_fault(parts) for parts in reply["damaged"])
            return
        if reply["is_gone"]:
            self.close()
        kind = getattr(errors, str(reply["error"]), QueryError)
        if not (isinstance(kind, type) and issubclass(kind, GradetrailError)):
            kind = QueryError
        raise kind(*(_fault(parts) for parts in reply["faults"]))


def _fault(parts: Sequence[Any]) -> Fault:
    return Fault(*(str(part) for part in parts))
