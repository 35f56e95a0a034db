"""Grades the answers of one relation with one scorer.

Invariant: the table `grade` has exactly one row per row of `answer` and metric. A score stands only with
the outcome `scored`; otherwise the outcome says why there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.scorer_spec import Choice, Combine, Label, Switch
from gradetrail.scoring.chain import extract
from gradetrail.scoring.combination import combine
from gradetrail.scoring.comparison import compare, has_target
from gradetrail.scoring.confidence import add_confidence
from gradetrail.scoring.definition import Definition, columns, definitions
from gradetrail.scoring.definition_check import check
from gradetrail.scoring.labels import make_labels
from gradetrail.scoring.program_runner import ProgramRunner
from gradetrail.scoring.regex_process import RegexProcess
from gradetrail.scoring.tables import load_macros

if TYPE_CHECKING:
    import duckdb

__all__ = ["Definition", "check", "columns", "definitions", "grade"]


def grade(
    con: duckdb.DuckDBPyConnection,
    definition: Definition,
    runner: ProgramRunner = ProgramRunner(),
    add_judged: Callable[[Definition], None] | None = None,
) -> None:
    """Grade the relation `answer` and make the temporary table `grade`.

    `answer` has row (unique), entrant, sample_id, epoch, text, stop_reason, status, error_type, targets,
    choices, pattern, switch, confidence, token_nll, token_count. `grade` has row, metric, score, is_pass,
    outcome, extracted, extracted_by, confidence, confidence_source, detail. Programs that a model wrote are
    run by `runner`; GradetrailError where it can make no sandbox. `add_judged` grades what a judge does: the
    answers in `subject`, by the case of a switch that it is given.
    """
    load_macros(con)
    sql.run_file(con, "scoring/no_grade")
    try:
        with RegexProcess() as process:
            _grade(con, definition, process, runner, add_judged)
            add_confidence(con, definition.confidence, process)
        sql.run_file(con, "scoring/cut_long_texts")
    finally:
        sql.run_file(con, "scoring/drop_grading")


def _grade(
    con: duckdb.DuckDBPyConnection,
    definition: Definition,
    process: RegexProcess,
    runner: ProgramRunner,
    add_judged: Callable[[Definition], None] | None,
) -> None:
    if isinstance(definition.scorer, Combine):
        combine(con, definition)
        return
    if not isinstance(definition.scorer, Switch):
        sql.run_file(con, "scoring/subject")
        _grade_subject(con, definition, process, runner)
        return
    cases = definition.cases()
    for key, case in cases.items():
        sql.run_file(con, "scoring/set_case", {"value": key})
        sql.run_file(con, "scoring/subject_of_case")
        if case.judge is None:
            _grade_subject(con, case, process, runner)
        elif add_judged is not None:
            add_judged(case)
    sql.run_file(con, "scoring/set_cases", {"value": list(cases)})
    sql.run_file(con, "scoring/subject_without_case")
    sql.run_file(con, "scoring/no_notes")
    sql.run_file(con, "scoring/noted_unknown_case")
    sql.run_file(con, "scoring/grade_rest", {"needs_target": False})


def _grade_subject(
    con: duckdb.DuckDBPyConnection, definition: Definition, process: RegexProcess, runner: ProgramRunner
) -> None:
    """Grade the answers in `subject` and add them to `grade`."""
    scorer = definition.scorer
    params = {"threshold": scorer.threshold, "higher_is_better": scorer.higher_is_better}
    sql.run_file(con, "scoring/gradable")
    sql.run_file(con, "scoring/no_notes")
    if isinstance(scorer, Label):
        make_labels(con, scorer, dict(definition.files).get("file"))
        sql.run_file(con, "scoring/grade_labelled", params)
        sql.run_file(con, "scoring/grade_rest", {"needs_target": False})
        return
    if definition.extract:
        extract(con, definition.extract, process)
        reads_choices = isinstance(definition.scorer, Choice)
        name = "haystack_of_pieces_and_choices" if reads_choices else "haystack_of_pieces"
        sql.run_file(con, f"scoring/{name}")
    else:
        sql.run_file(con, "scoring/haystack")
    has_measures = compare(con, definition, process, runner)
    if definition.extract:
        sql.run_file(con, "scoring/noted_pieces")
    sql.run_file(con, "scoring/grade_judged", params)
    needs_target = has_target(definition) or definition.needs_target
    sql.run_file(con, "scoring/grade_rest", {"needs_target": needs_target})
    if has_measures:
        sql.run_file(con, "scoring/grade_measures", params)
