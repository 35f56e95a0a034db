"""The command line: parses, calls one function, prints.

Invariant: stdout is data, stderr is talk; every ending has its exit code; no traceback without
`--debug`; `--help` and `show` load no SDK, polars, ray or plotting library.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; the entry point of `gradetrail`."""
    from gradetrail.cli.lean import Leaving, collect_rarely, leave_pandas_out
    from gradetrail.cli.locked import meanwhile
    from gradetrail.sql import without_others

    collect_rarely()
    leave_pandas_out()
    leaving = Leaving(sys._getframe(1))
    try:
        with meanwhile(sys.argv[1:]), without_others():
            _run()
    except SystemExit as ending:
        leaving.note(ending)
        raise


def _run() -> None:
    from gradetrail.cli.app import app
    from gradetrail.errors import GradetrailError

    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    if "--debug" in sys.argv[1:]:
        sys.argv.remove("--debug")
        os.environ["GRADETRAIL_DEBUG"] = "1"
    debug = bool(os.environ.get("GRADETRAIL_DEBUG"))
    try:
        app(prog_name="gradetrail")
    except GradetrailError as error:
        if debug:
            raise
        _say(f"error: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _say("interrupted")
        sys.exit(130)
    except Exception as error:
        if debug:
            raise
        _say(
            f"internal error: {type(error).__name__}: {error}\n    fix: run again with --debug and report it"
        )
        sys.exit(3)


def _say(text: str) -> None:
    from gradetrail.cli.output import say

    say(text)
