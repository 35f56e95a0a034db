"""Joins generation and scoring: the functions behind both the commands and the Python API.

Each is loaded when it is first used: grading again needs nothing of what makes calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradetrail import lazy

if TYPE_CHECKING:
    from gradetrail.pipeline.conditions import Verdict, check_conditions, verdict
    from gradetrail.pipeline.failures import grading_faults
    from gradetrail.pipeline.generating import Forecast, Invocation, forecast, generate, generate_many
    from gradetrail.pipeline.grading import everything, score, score_all, score_runs, tasks_of, to_score
    from gradetrail.pipeline.previewing import Preview, RankChange, preview, preview_all
    from gradetrail.pipeline.recorded import Job, as_spec, job_of, turned, warehouse_root
    from gradetrail.pipeline.result import Run
    from gradetrail.pipeline.running import judge_calls, judged, judges_of, run, unusable
    from gradetrail.pipeline.sharing import JudgeCalls

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
    "grading_faults",
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

_HOME = {
    "Forecast": "gradetrail.pipeline.generating",
    "Invocation": "gradetrail.pipeline.generating",
    "Job": "gradetrail.pipeline.recorded",
    "JudgeCalls": "gradetrail.pipeline.sharing",
    "Preview": "gradetrail.pipeline.previewing",
    "RankChange": "gradetrail.pipeline.previewing",
    "Run": "gradetrail.pipeline.result",
    "Verdict": "gradetrail.pipeline.conditions",
    "as_spec": "gradetrail.pipeline.recorded",
    "check_conditions": "gradetrail.pipeline.conditions",
    "everything": "gradetrail.pipeline.grading",
    "forecast": "gradetrail.pipeline.generating",
    "generate": "gradetrail.pipeline.generating",
    "generate_many": "gradetrail.pipeline.generating",
    "grading_faults": "gradetrail.pipeline.failures",
    "job_of": "gradetrail.pipeline.recorded",
    "judge_calls": "gradetrail.pipeline.running",
    "judged": "gradetrail.pipeline.running",
    "judges_of": "gradetrail.pipeline.running",
    "preview": "gradetrail.pipeline.previewing",
    "preview_all": "gradetrail.pipeline.previewing",
    "run": "gradetrail.pipeline.running",
    "score": "gradetrail.pipeline.grading",
    "score_all": "gradetrail.pipeline.grading",
    "score_runs": "gradetrail.pipeline.grading",
    "tasks_of": "gradetrail.pipeline.grading",
    "to_score": "gradetrail.pipeline.grading",
    "turned": "gradetrail.pipeline.recorded",
    "unusable": "gradetrail.pipeline.running",
    "verdict": "gradetrail.pipeline.conditions",
    "warehouse_root": "gradetrail.pipeline.recorded",
}

__getattr__ = lazy.on_first_use(__name__, _HOME)
