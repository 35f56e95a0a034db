"""Shows text on a terminal: at once if it fits, else through a pager, as git does.

Invariant: what leaves here has its control characters escaped; Ctrl-C inside the pager ends nothing.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess

from gradetrail.cli.cells import escaped_lines
from gradetrail.cli.output import write

LESS = ["less", "-FRSX"]
"""Leaves short text on the screen and long lines whole."""


def page(text: str) -> None:
    """Print text; through $PAGER, or `less`, where it is longer than the terminal is high."""
    command = _pager()
    if text.count("\n") < os.get_terminal_size().lines or command is None:
        write(text, None)
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        subprocess.run(command, input=escaped_lines(text).encode(), check=False)  # noqa: S603 - the user's own
    except OSError:
        write(text, None)
    finally:
        signal.signal(signal.SIGINT, before)


def _pager() -> list[str] | None:
    named = shlex.split(os.environ.get("PAGER", ""))
    if named and shutil.which(named[0]):
        return named
    return LESS if shutil.which("less") else None
