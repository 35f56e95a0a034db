"""Grades answers that are programs: finds the code, runs it in a sandbox, counts the checks that hold.

Invariant: equal programs with equal checks are run once; an answer without code is not run at all,
and is told apart from code that fails.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gradetrail.scorer_spec import CodeExec
from gradetrail.scoring.sandbox import Job, Limits, Outcome

CODE_MARK = "\x02response_code\x03"
"""What `{{ response_code }}` renders to; the code takes its place."""
FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*([^\s`]*)[^`\n]*")
PYTHON_TAGS = ("python", "py", "python3", "py3")


@dataclass(frozen=True, slots=True)
class CodeRow:
    """One answer to grade."""

    row: int
    """Comes back in the grade."""
    text: str
    program: str | None = None
    """The rendered template, with CODE_MARK where the code goes; None is the code alone."""
    checks: tuple[str, ...] = ()
    stdin: str | None = None
    expect_stdout: str | None = None


@dataclass(frozen=True, slots=True)
class CodeGrade:
    """What came of one answer."""

    row: int
    score: float | None
    """Checks that hold, as a share of all; None unless outcome is `scored`."""
    outcome: str
    """`scored`, `unparsed` (no code), `no_target` (nothing judges it) or `scorer_error` (a faulty check, or
    a sandbox that was ended)."""
    extracted: str | None
    """The code; None if there is none."""
    detail: str
    """The verdict, and why it is not a pass."""


def run_code(
    options: CodeExec, rows: Sequence[CodeRow], run: Callable[[Iterable[Job]], Iterator[Outcome]]
) -> list[CodeGrade]:
    """Grade answers in the order given; `run` gives one outcome for each job, in order."""
    limits = Limits(wall_s=options.timeout_s, cpu_s=options.timeout_s, memory_mb=options.memory_mb)
    grades: list[CodeGrade] = []
    places: dict[Job, list[int]] = {}
    for row in rows:
        code = extract_code(row.text, row.program)
        grade = _ungradable(row, code)
        if grade is None:
            program = str(code) if row.program is None else row.program.replace(CODE_MARK, str(code))
            job = Job(program, _stated(row.checks), row.stdin or "", row.expect_stdout, limits)
            places.setdefault(job, []).append(len(grades))
            grade = CodeGrade(row.row, None, "scored", code, "")
        grades.append(grade)
    for where, outcome in zip(places.values(), run(places), strict=True):
        for place in where:
            grades[place] = _graded(grades[place], outcome)
    return grades


def _stated(checks: Sequence[str]) -> tuple[str, ...]:
    return tuple(textwrap.dedent(check).strip() for check in checks if check.strip())


def _ungradable(row: CodeRow, code: str | None) -> CodeGrade | None:
    """Give the grade of an answer that is not run; None if it is to be run."""
    if code is None:
        return CodeGrade(row.row, None, "unparsed", None, "no code")
    if row.program in (None, CODE_MARK) and not _stated(row.checks) and row.expect_stdout is None:
        return CodeGrade(row.row, None, "no_target", code, "neither checks nor expected output")
    for place, check in enumerate(_stated(row.checks), start=1):
        if not parses(check.strip()):
            return CodeGrade(
                row.row, None, "scorer_error", code, f"check {place} is not valid Python: {check[:200]}"
            )
    return None


def _graded(grade: CodeGrade, outcome: Outcome) -> CodeGrade:
    if outcome.verdict == "broken":
        return replace(grade, outcome="scorer_error", detail=outcome.detail)
    detail = f"{outcome.verdict}: {outcome.detail}" if outcome.detail else outcome.verdict
    return replace(grade, score=outcome.passed / outcome.total, detail=detail)


def extract_code(text: str, program: str | None = None) -> str | None:
    """Find the code in an answer: the last complete fenced block, else what Python can read.

    A block tagged as Python goes before one without a tag. Without a complete block the text after a
    fence that is never closed counts, then the text before a stray one, then the whole text, each if
    it is Python, alone or in its place in `program` (a completion goes on where the prompt ends).
    """
    tagged, untagged, rest = _blocks(text)
    complete = tagged or untagged
    if complete:
        return complete[-1]
    before = re.split(r"(?m)^[ \t]*(?:```|~~~)", text, maxsplit=1)[0]
    for code in (rest, before, text):
        is_code = code.strip() and (parses(code) or (program and parses(program.replace(CODE_MARK, code))))
        if is_code:
            return code
    return None


def _blocks(text: str) -> tuple[list[str], list[str], str]:
    """Give the complete Python blocks, the complete blocks without a tag, and the text of an open one."""
    tagged: list[str] = []
    untagged: list[str] = []
    opening: re.Match[str] | None = None
    body: list[str] = []
    for line in text.splitlines(keepends=True):
        fence = FENCE.fullmatch(line.rstrip())
        is_closing = opening and fence and not fence[3] and fence[2].startswith(opening[2])
        if opening and is_closing:
            tag = opening[3].lower()
            if tag in PYTHON_TAGS or not tag:
                (tagged if tag else untagged).append("".join(body))
            opening = None
        elif fence and (not opening or fence[3]):
            opening, body = fence, []
        elif opening:
            body.append(_outdented(line, len(opening[1])))
    return tagged, untagged, "".join(body) if opening else ""


def _outdented(line: str, width: int) -> str:
    """Take away as much leading white space as the fence has."""
    kept = line.lstrip(" \t")
    return line[min(width, len(line) - len(kept)) :]


def parses(code: str) -> bool:
    """Say whether Python can read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True
