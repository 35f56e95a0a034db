"""Spares commands what the interpreter does for programs that run for days, pandas, and often numpy.

Invariant: only an import that pyarrow makes on behalf of gradetrail is refused: code of the user's that
imports pandas gets it, and has a pyarrow that knows numpy. A process that leaves at once has ended its
threads, called every function that was registered for its end, and written what it had to say.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradetrail.spec import Spec

OURS = frozenset({"gradetrail", "pyarrow"})
OBJECTS_PER_COLLECTION = 50_000
"""New objects after which cycles are looked for; by default after each 700, which finds none here."""
OWN_SCORERS = frozenset({"accuracy", "choice", "exact", "includes", "numeric", "regex"})
"""Types of scorers that bring no code and no package of others into this process."""
_left_out = {"pandas"}


class _Finder(MetaPathFinder):
    """Says that there is no pandas when pyarrow asks whether a list might be a Series."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        if name in _left_out and _importer(sys._getframe(1)) in OURS:
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
        sys.meta_path.insert(0, _Finder())


def leave_numpy_out(specs: Iterable[Spec]) -> None:
    """Spare a command the 70 ms that numpy takes, if it has not been loaded, and none but ours may want it.

    Once pyarrow was loaded without numpy, it takes no array of numpy's and makes none.
    """
    if "pyarrow" not in sys.modules and all(_is_ours(spec) for spec in specs):
        _left_out.add("numpy")


def _is_ours(spec: Spec) -> bool:
    """Say whether answers are made and graded here, without code of the user's."""
    is_asked = any(model.provider == "python" for model in spec.models)
    return (
        not is_asked
        and spec.run.executor == "local"
        and {s.type for s in spec.scorers.values()} <= OWN_SCORERS
    )


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
