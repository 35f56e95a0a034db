"""Evaluate language models: answers kept in Parquet, graded and compared in SQL.

    import gradetrail as gt

    run = gt.run("specs/gsm8k/gsm8k.yaml", warehouse="warehouse")
    run.board()                                    # a Polars DataFrame
    with gt.Warehouse("warehouse") as warehouse:
        warehouse.sql("select model, mean from run_scores")

Everything is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradetrail import lazy

if TYPE_CHECKING:
    from gradetrail.dataset import Selection
    from gradetrail.errors import (
        BrokenOffError,
        DatasetError,
        DependencyError,
        GradetrailError,
        InterruptError,
        LimitError,
        QueryError,
        ResumeError,
        RunLockedError,
        SelectionError,
        SpecError,
        StoreError,
        UndecidedError,
        UnusableError,
        VerdictError,
    )
    from gradetrail.generation.outstanding import Options
    from gradetrail.generation.plan import Narrowing
    from gradetrail.pipeline import Invocation, Run, generate, preview, run, score
    from gradetrail.providers.python import Generation
    from gradetrail.providers.response import ToolCall
    from gradetrail.report.charts import plot
    from gradetrail.spec import Spec, load_spec
    from gradetrail.warehouse import Warehouse

__all__ = [
    "BrokenOffError",
    "DatasetError",
    "DependencyError",
    "Generation",
    "GradetrailError",
    "InterruptError",
    "Invocation",
    "LimitError",
    "Narrowing",
    "Options",
    "QueryError",
    "ResumeError",
    "Run",
    "RunLockedError",
    "Selection",
    "SelectionError",
    "Spec",
    "SpecError",
    "StoreError",
    "ToolCall",
    "UndecidedError",
    "UnusableError",
    "VerdictError",
    "Warehouse",
    "generate",
    "load_spec",
    "plot",
    "preview",
    "run",
    "score",
]

_HOME = {
    "BrokenOffError": "gradetrail.errors",
    "DatasetError": "gradetrail.errors",
    "DependencyError": "gradetrail.errors",
    "Generation": "gradetrail.providers.python",
    "GradetrailError": "gradetrail.errors",
    "InterruptError": "gradetrail.errors",
    "Invocation": "gradetrail.pipeline",
    "LimitError": "gradetrail.errors",
    "Narrowing": "gradetrail.generation.plan",
    "Options": "gradetrail.generation.outstanding",
    "QueryError": "gradetrail.errors",
    "ResumeError": "gradetrail.errors",
    "Run": "gradetrail.pipeline",
    "RunLockedError": "gradetrail.errors",
    "Selection": "gradetrail.dataset",
    "SelectionError": "gradetrail.errors",
    "Spec": "gradetrail.spec",
    "SpecError": "gradetrail.errors",
    "StoreError": "gradetrail.errors",
    "ToolCall": "gradetrail.providers.response",
    "UndecidedError": "gradetrail.errors",
    "UnusableError": "gradetrail.errors",
    "VerdictError": "gradetrail.errors",
    "Warehouse": "gradetrail.warehouse",
    "generate": "gradetrail.pipeline",
    "load_spec": "gradetrail.spec",
    "plot": "gradetrail.report.charts",
    "preview": "gradetrail.pipeline",
    "run": "gradetrail.pipeline",
    "score": "gradetrail.pipeline",
}

__getattr__ = lazy.on_first_use(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
