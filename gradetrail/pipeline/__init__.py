"""Joins generation and scoring: the functions behind both the commands and the Python API."""

from gradetrail.pipeline.conditions import Verdict, check_conditions, verdict
from gradetrail.pipeline.generating import Forecast, Invocation, Run, forecast, generate, generate_many
from gradetrail.pipeline.grading import (
    run,
    score,
    score_all,
    score_runs,
    tasks_of,
    unusable,
)
from gradetrail.pipeline.previewing import Preview, RankChange, preview, preview_all
from gradetrail.pipeline.recorded import Job, as_spec, job_of, warehouse_root

__all__ = [
    "Forecast",
    "Invocation",
    "Job",
    "Preview",
    "RankChange",
    "Run",
    "Verdict",
    "as_spec",
    "check_conditions",
    "forecast",
    "generate",
    "generate_many",
    "job_of",
    "preview",
    "preview_all",
    "run",
    "score",
    "score_all",
    "score_runs",
    "tasks_of",
    "unusable",
    "verdict",
    "warehouse_root",
]
