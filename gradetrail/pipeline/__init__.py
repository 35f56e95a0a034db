"""Joins generation and scoring: the functions behind both the commands and the Python API."""

from gradetrail.pipeline.conditions import Verdict, check_conditions, verdict
from gradetrail.pipeline.generating import Forecast, Invocation, Run, forecast, generate, generate_many
from gradetrail.pipeline.grading import (
    everything,
    judge_calls,
    judged,
    judges_of,
    run,
    score,
    score_all,
    score_runs,
    tasks_of,
    to_score,
    unusable,
)
from gradetrail.pipeline.judging import JudgeCalls
from gradetrail.pipeline.previewing import Preview, RankChange, preview, preview_all
from gradetrail.pipeline.recorded import Job, as_spec, job_of, turned, warehouse_root

__all__ = [
    "Forecast",
    "Invocation",
    "Job",
    "JudgeCalls",
    "Preview",
    "RankChange",
    "Run",
    "Verdict",
    "as_spec",
    "check_conditions",
    "everything",
    "forecast",
    "generate",
    "generate_many",
    "job_of",
    "judge_calls",
    "judged",
    "judges_of",
    "preview",
    "preview_all",
    "run",
    "score",
    "score_all",
    "score_runs",
    "tasks_of",
    "to_score",
    "turned",
    "unusable",
    "verdict",
    "warehouse_root",
]
