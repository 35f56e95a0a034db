"""Calls the user's own grading function over a Polars frame.

Invariant: the source that runs is the source that is in the scorer_id. What the function raises becomes a
fault of every row; what it gives in a wrong shape is a fault of the file, which grades nothing.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import sys
import traceback
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gradetrail.errors import Fault, SpecError
from gradetrail.scorer_spec import Python
from gradetrail.scoring.by_row import Said
from gradetrail.scoring.definition import Definition

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

TEXTS = ("extracted", "detail")
FIX = "give a Series of numbers or booleans, or a frame with `score`, one row for each answer in order"


def function_faults(scorer: Python, source: bytes | None, place: str, field: str) -> list[Fault]:
    """Say what is wrong with a source file, by loading it; a file that is not there is told elsewhere.

    The function itself is not called.
    """
    if source is None:
        return []
    try:
        tree = ast.parse(source, scorer.path)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        where = f"{scorer.path}:{line}" if line else scorer.path
        return [Fault(f"not valid Python: {getattr(error, 'msg', error)}", where, f"{field}.path")]
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assigned = any(isinstance(node, ast.Assign | ast.ImportFrom | ast.If | ast.Try) for node in tree.body)
    if scorer.function not in names and not assigned:
        fix = f"functions in it: {', '.join(names) or 'none'}"
        return [Fault(f"no function `{scorer.function}` in {scorer.path}", place, f"{field}.function", fix)]
    try:
        with _quiet():
            _function(scorer, source)
    except SpecError as error:
        return [Fault(fault.message, place, f"{field}.function", fault.fix) for fault in error.faults]
    except ImportError as error:
        fix = "install it, or import it inside the function where it is not always needed"
        return [Fault(_told(error, scorer), place, f"{field}.path", fix)]
    except (Exception, SystemExit) as error:
        return [Fault(_told(error, scorer), place, f"{field}.path", "it must load without an error")]
    return []


def call_function(definition: Definition, rows: pa.Table) -> Sequence[Said]:
    """Give what the function says of each row."""
    import polars as pl

    scorer = definition.scorer
    assert isinstance(scorer, Python)
    frame = pl.from_arrow(rows.drop_columns(["row", "extracted_by"]))
    assert isinstance(frame, pl.DataFrame)
    source = dict(definition.files)["path"]
    try:
        with _quiet():
            given = _function(scorer, source)(frame)
    except SpecError:
        raise
    except (Exception, SystemExit) as error:
        return [Said(fault=_told(error, scorer))] * rows.num_rows
    return _read(given, scorer, rows.num_rows)


def _quiet() -> contextlib.AbstractContextManager[Any]:
    """Let what the user's code prints go where talk goes: stdout is for the command's data."""
    return contextlib.redirect_stdout(sys.stderr)


def _function(scorer: Python, source: bytes) -> Callable[[Any], Any]:
    module = ModuleType("gradetrail_scorer")
    module.__file__ = scorer.path
    text = source.decode("utf-8")
    # tracebacks show the lines that run, also where the file is gone or was changed
    linecache.cache[scorer.path] = (len(text), None, text.splitlines(keepends=True), scorer.path)
    exec(compile(source, scorer.path, "exec"), module.__dict__)  # noqa: S102 - the user's own grading code
    function = getattr(module, scorer.function, None)
    if not callable(function):
        fix = f"write `def {scorer.function}(frame):`, or name another with `function:`"
        raise SpecError(Fault(f"no function `{scorer.function}`", scorer.path, "function", fix))
    found: Callable[[Any], Any] = function
    return found


def _told(error: BaseException, scorer: Python) -> str:
    """Name the exception and the last line of the user's file that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == scorer.path]
    place = f"{scorer.path}:{frames[-1].lineno}" if frames else scorer.path
    return f"{type(error).__name__}: {error} ({place})"


def _read(given: Any, scorer: Python, n_rows: int) -> Sequence[Said]:
    import polars as pl

    where = f"{scorer.path}: {scorer.function}"
    if isinstance(given, list | tuple):
        listed = given
        given = pl.Series("score", listed, strict=False)
        if given.null_count() > sum(item is None for item in listed):
            raise SpecError(Fault("gave a list in which something is no number that fits", where, fix=FIX))
    if isinstance(given, pl.Series):
        given = given.to_frame("score")
    if not isinstance(given, pl.DataFrame):
        raise SpecError(Fault(f"gave a {type(given).__name__}", where, fix=FIX))
    if given.height != n_rows:
        raise SpecError(Fault(f"gave {given.height:,} rows for {n_rows:,} answers", where, fix=FIX))
    faults = list(_column_faults(given, where))
    if faults:
        raise SpecError(*faults)
    metrics = [name for name in given.columns if name not in ("score", *TEXTS)]
    columns = {name: given.get_column(name).to_list() for name in given.columns}
    nothing = [None] * n_rows
    return [
        Said(
            columns["score"][row],
            columns.get("extracted", nothing)[row],
            columns.get("detail", nothing)[row],
            measures=tuple((name, columns[name][row]) for name in metrics),
        )
        for row in range(n_rows)
    ]


def _column_faults(given: pl.DataFrame, where: str) -> Sequence[Fault]:
    import polars as pl

    if "score" not in given.columns:
        return [Fault("gave a frame without `score`", where, fix=FIX)]
    return [
        Fault(f"the column `{name}` is {kind}, which is no number", where, fix=FIX)
        for name, kind in given.schema.items()
        if name not in TEXTS and not (kind.is_numeric() or kind in (pl.Boolean, pl.Null))
    ]
