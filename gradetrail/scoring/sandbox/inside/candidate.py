"""Runs the model's program, then lets the judge use what the program has defined.

Runs inside the sandbox, in the process that the candidate owns: everything here may be read,
replaced or imitated by the program. Invariant: nothing that this process sends is a verdict.
It says how the program ended, which is believed only where it says failure or where the program
holds its own tests, and it answers questions with values, without being told what they should be.
"""

from __future__ import annotations

import builtins
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself takes as long to import as a small program takes to run
    from collections.abc import Callable, Mapping
    from types import ModuleType, TracebackType
    from typing import Any, NoReturn

FILENAME = "<program>"
DETAIL_LIMIT = 500
NONCE_BYTES = 32


def describe(error: BaseException, filename: str = FILENAME) -> str:
    """Say `line 3: ValueError: text`, with the last line of `filename` that the error passed."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == filename else None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        text = str(error.msg if isinstance(error, SyntaxError) else error)
    except BaseException:  # the program's own __str__
        text = ""
    name = type(error).__name__
    parts = (f"line {line}" if line else "", name, text)
    return ": ".join(part for part in parts if part)[:DETAIL_LIMIT]


def kind_of(error: BaseException) -> str:
    """Name the verdict that an uncaught exception of the program means."""
    if isinstance(error, AssertionError):
        return "fail"
    return "memory" if isinstance(error, MemoryError) else "error"


def run_program(job: Mapping[str, Any], tell: Callable[[str, str], None]) -> ModuleType | None:
    """Run the program at the top level of a module; tell why not and give None where it fails."""
    # what is tested as a library is imported, and what is judged by its own end is run
    name = "candidate" if job["has_checks"] else "__main__"
    module = type(sys)(name)
    vars(module)["__builtins__"] = builtins
    sys.modules[name] = module
    try:
        code = compile(job["program"], FILENAME, "exec", dont_inherit=True)
    except MemoryError:
        tell("syntax", "the program is nested too deeply")
        return None
    except (SyntaxError, ValueError, OverflowError, RecursionError) as error:
        tell("syntax", describe(error))
        return None
    try:
        exec(code, module.__dict__)  # noqa: S102  running it is the point; the sandbox is around it
    except SystemExit as error:
        if job["is_script"]:
            _leave(error.code)
        tell("error", f"the program ended itself with sys.exit({error.code!r})"[:DETAIL_LIMIT])
    except BaseException as error:
        if job["is_script"]:
            sys.stderr.write(describe(error) + "\n")
        _flush()
        tell(kind_of(error), describe(error))
    else:
        if job["is_script"]:
            _leave(None)
        _flush()
        return module
    return None


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None:
                stream.flush()
        except BaseException:  # noqa: S112  the program's own stream, or a closed one
            continue


def _leave(code: object) -> NoReturn:
    """End as Python ends a script: wait for threads, run what was registered, flush."""
    try:
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
        if "atexit" in sys.modules:
            sys.modules["atexit"]._run_exitfuncs()
    finally:
        if code is not None and not isinstance(code, int):
            sys.stderr.write(f"{code}\n")
        _flush()
        os._exit(0 if code is None else code & 0xFF if isinstance(code, int) else 1)


def live(job: Mapping[str, Any]) -> NoReturn:
    """Run the program, say how it ended, and serve the judge; reads from descriptor 3, writes to 4."""
    reader, writer = 3, 4
    write, read, own_pid = os.write, os.read, os.getpid()

    def tell(kind: str, detail: str) -> None:
        if os.getpid() != own_pid:
            # a child that the program forked has come to the program's end
            os._exit(0)
        write(writer, f"{kind}\n{detail}\0".encode("utf-8", "replace"))

    if job["has_checks"]:
        from gradetrail.scoring.sandbox.inside.server import Server

    if job["path"]:
        sys.path[:] = job["path"]
    # what Python's start-up file would add, which is left out
    vars(builtins).update(exit=sys.exit, quit=sys.exit)
    os.environ.clear()
    os.environ.update(job["environment"], HOME=os.getcwd(), TMPDIR=os.getcwd())
    sys.argv[:] = ["program.py"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "gradetrail"]:
        del sys.modules[name]
    module = run_program(job, tell)
    if module is not None:
        tell("end", "")
        if job["has_checks"]:
            Server(module, reader, writer).serve()
        write(writer, read(reader, NONCE_BYTES))
    # the warden ends this process: threads and exit handlers of the program get no turn
    while True:
        read(reader, 1)
