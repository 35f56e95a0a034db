"""The child of `write_database`: creates the views and macros of the user in a database, in a bound process.

A program: `python -P -m gradetrail.warehouse.portable_worker`. `open` states file and limits, `create`
creates what a file of the user says, `close` ends the work.

Invariant: no SQL of the user's runs before the limits hold, and none of it reaches another file.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.sql_child.limits import Limits, allow_cpu, bind
from gradetrail.sql_child.serving import Reply, serve
from gradetrail.warehouse.user_objects import UserObject

if TYPE_CHECKING:
    import duckdb

SHARE_OF_DUCKDB = 0.5
"""Of the memory, what DuckDB keeps to by itself."""


class Worker:
    """Answers the frames of one parent about one database."""

    def __init__(self) -> None:
        self._limits = Limits()
        self._opened = ExitStack()
        self._con: duckdb.DuckDBPyConnection | None = None

    def answer(self, header: dict[str, Any], _body: bytes, reply: Reply) -> None:
        """Answer a frame with one, which holds the fault of a file that was refused."""
        if header["op"] == "open":
            self._open(header["file"], Limits(**header["limits"]))
        elif header["op"] == "close":
            self._opened.close()
        elif self._con is not None:
            allow_cpu(self._limits.cpu_s)
            fault = UserObject(Path(header["path"])).create(self._con)
            if fault is not None:
                reply({"fault": astuple(fault)}, b"")
                return
        reply({}, b"")

    def _open(self, file: str, limits: Limits) -> None:
        self._limits = limits
        self._con = self._opened.enter_context(sql.database(Path(file)))
        memory = f"{int(limits.memory_mb * SHARE_OF_DUCKDB)}MB"
        self._con.execute("set global memory_limit = $memory", {"memory": memory})
        sql.lock(self._con, [file, f"{file}.wal"])
        # threads and tables of its own come first, so that they do not count
        self._con.execute("select 1").fetchall()
        bind(limits, 2)


if __name__ == "__main__":
    serve(Worker().answer)
