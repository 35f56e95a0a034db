"""Spares commands what the interpreter does for programs that run for days, and pandas.

Invariant: only an import that pyarrow makes on behalf of gradetrail is refused; an adapter of the
user's that imports pandas gets it. A process that leaves at once has ended its threads, called every
function that was registered for its end, and written what it had to say.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType

OURS = frozenset({"gradetrail", "pyarrow"})
OBJECTS_PER_COLLECTION = 50_000
"""New objects after which cycles are looked for; by default after each 700, which finds none here."""


class _PandasFinder(MetaPathFinder):
    """Says that there is no pandas when pyarrow asks whether a list might be a Series."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        if name == "pandas" and _importer(sys._getframe(1)) in OURS:
            raise ModuleNotFoundError("not needed here", name=name)
        return None


def _importer(frame: FrameType | None) -> str:
    """Name the package whose code imports."""
    while frame is not None and "importlib" in frame.f_globals.get("__name__", ""):
        frame = frame.f_back
    return "" if frame is None else str(frame.f_globals.get("__name__", "")).partition(".")[0]


def leave_pandas_out() -> None:
    """Spare a command the third of a second that importing pandas takes.

    Where pandas is installed, pyarrow imports it at the first `pyarrow.array(list)`.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _PandasFinder())


def collect_rarely() -> None:
    """Spare a command most of the looking for cycles while modules are loaded and plans made."""
    gc.set_threshold(OBJECTS_PER_COLLECTION)


class Leaving:
    """Ends the process after everything else has, without taking its modules apart first.

    That would take up to a quarter of a second, longer than most commands; the kernel does it in none.
    """

    def __init__(self, caller: FrameType) -> None:
        """Be the last of the functions called at the end, if the process is the command of `caller`."""
        self._code: int | None = None
        if _is_command(caller) and sys.gettrace() is None:
            atexit.register(self._now)

    def note(self, ending: SystemExit) -> None:
        """Take the exit code of the command."""
        self._code = ending.code if isinstance(ending.code, int) else 0 if ending.code is None else None

    def _now(self) -> None:
        if self._code is None:
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            # the interpreter knows what to say of it, and which code to give
            return
        os._exit(self._code)


def _is_command(caller: FrameType) -> bool:
    """Say whether code is the console script or `python -m`: nothing comes after them."""
    scope = caller.f_globals
    name = os.path.basename(scope.get("__file__") or "")
    return scope.get("__name__") == "__main__" and name in ("gradetrail", "__main__.py")
