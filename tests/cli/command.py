"""Runs the command line inside the test's process: the same code path as the real command, in no time."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from gradetrail.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    raw: bytes
    """stdout."""
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode("utf-8")


def gradetrail(*arguments: object, stdin: str = "") -> Done:
    """Run a command; nothing is a terminal."""
    raw, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    code = 0
    with (
        mock.patch.object(sys, "argv", ["gradetrail", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", io.StringIO(stdin)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Done(code, raw.getvalue(), err.getvalue())


def tree(folder: Path) -> dict[str, bytes | None]:
    """Give every path below a folder with its content (None for a folder), to compare before and after."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
