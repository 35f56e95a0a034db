"""Brings answers that are programs to the sandbox, and its verdicts back.

Invariant: what belongs to a sample is rendered once a sample; the answer's code is put in afterwards, as
it stands, so that nothing in it is read as a template.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.scorer_spec import CodeExec
from gradetrail.scoring.code_exec import CODE_MARK, CodeGrade, CodeRow, run_code
from gradetrail.scoring.program_runner import ProgramRunner
from gradetrail.scoring.tables import Verdicts, batches

if TYPE_CHECKING:
    import duckdb

_FIELD = re.compile(r"\s*\{\{\s*([A-Za-z_]\w*(?:\.\w+)*)\s*\}\}\s*\Z")
_MARKED = "{% set response_code = " + json.dumps(CODE_MARK) + " %}"


def program_columns(scorer: CodeExec) -> dict[str, str]:
    """Give the templates of a program's parts; `checks` renders to a JSON list."""
    found: dict[str, str] = {}
    if scorer.program != CodeExec.model_fields["program"].default:
        found["program"] = _MARKED + scorer.program
    checks = (scorer.checks,) if isinstance(scorer.checks, str) else scorer.checks
    if checks:
        found["checks"] = _checks_template(checks)
    if scorer.stdin is not None:
        found["stdin"] = scorer.stdin
    if scorer.stdout is not None:
        found["stdout"] = scorer.stdout
    return found


def _checks_template(checks: tuple[str, ...]) -> str:
    """Join templates into one that gives a JSON list; one that is exactly a field may be a list itself."""
    parts, names = [], []
    for number, check in enumerate(checks):
        name = f"check_{number}"
        field = _FIELD.match(check)
        if field is None:
            parts.append("{% set " + name + " %}" + check + "{% endset %}")
            names.append(f"[{name}]")
        else:
            names.append(f"([{field[1]}] if {field[1]} is string else {field[1]} | list)")
    return "".join(parts) + "{{ (" + " + ".join(names) + ") | tojson }}"


def compare_programs(con: duckdb.DuckDBPyConnection, scorer: CodeExec, runner: ProgramRunner) -> None:
    """Make `judged` from `haystack`: run each answer's code and count the checks that hold.

    What the table `program_before` has is copied, and not run again.
    """
    sql.run_file(con, "scoring/no_programs_before")
    sql.run_file(con, "scoring/todo_programs")
    sql.run_file(con, "scoring/no_verdict")
    sql.run_file(con, "scoring/verdicts_before")
    for batch in batches(con, "todo_program_texts"):
        rows = [_code_row(scorer, *answer) for answer in batch]
        verdicts = Verdicts()
        for grade in run_code(scorer, rows, run=runner.run):
            _add(verdicts, grade)
        verdicts.write(con)
    sql.run_file(con, "scoring/noted_verdicts")
    sql.run_file(con, "scoring/judged_in_python")


def _code_row(
    scorer: CodeExec,
    row: int,
    text: str,
    program: str | None,
    checks: str | None,
    stdin: str | None,
    stdout: str | None,
) -> CodeRow:
    """Take what this scorer has a template for: the cases of a switch share the columns."""
    own = program_columns(scorer)
    return CodeRow(
        row,
        text,
        program=program if "program" in own else None,
        checks=tuple(json.loads(checks)) if checks and "checks" in own else (),
        stdin=stdin if "stdin" in own else None,
        expect_stdout=stdout if "stdout" in own else None,
    )


def _add(verdicts: Verdicts, grade: CodeGrade) -> None:
    code_rule = "code_block" if grade.extracted is not None else None
    fault = None
    if grade.outcome in ("scorer_error", "no_target"):
        fault = grade.detail
    verdicts.add(grade.row, grade.score, grade.extracted, code_rule, grade.detail, fault)
