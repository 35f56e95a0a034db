"""Compares what an answer says with its target: one function for each type of scorer.

Invariant: each makes the view `judged`, with at most one row per answer, from the view `haystack`. An
answer in which nothing gradable is found has no row there. What SQL judges alone stays a view, so that
a score is computed where it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.scorer_spec import Choice, CodeExec, Equality, Includes, Judge, Numeric, Python, Regex, Sql
from gradetrail.scoring.by_row import compare_rows
from gradetrail.scoring.by_rule import compare_by_rule
from gradetrail.scoring.chain import NOTHING, find_letters, find_numbers
from gradetrail.scoring.definition import Definition, flag_bits
from gradetrail.scoring.normalize import SQL_STEPS, normalized, steps_of
from gradetrail.scoring.numbers import Number, compared, find_number, is_within
from gradetrail.scoring.program_runner import ProgramRunner
from gradetrail.scoring.programs import compare_programs
from gradetrail.scoring.regex_process import RegexProcess
from gradetrail.scoring.regex_search import Search, find_by_regex, search_one, search_templated
from gradetrail.scoring.regex_translation import SPACE
from gradetrail.scoring.rules import RULES
from gradetrail.scoring.tables import Findings, batches

if TYPE_CHECKING:
    import duckdb

NOT_BLANK = f"[^{SPACE}]"


def compare(
    con: duckdb.DuckDBPyConnection, definition: Definition, process: RegexProcess, runner: ProgramRunner
) -> bool:
    """Make `judged` from `haystack`, and say whether the scorer has further metrics, in `measure`."""
    scorer = definition.scorer
    if isinstance(scorer, Sql | Python):
        return compare_rows(con, definition)
    if scorer.type in RULES:
        rule = RULES[scorer.type](definition)
        compare_by_rule(con, rule, takes_target=scorer.takes_target)
        return rule.metrics is not None
    if isinstance(scorer, CodeExec):
        compare_programs(con, scorer, runner)
    elif isinstance(scorer, Equality | Includes):
        _compare_texts(con, scorer)
    elif isinstance(scorer, Numeric):
        _compare_numbers(con, scorer)
    elif isinstance(scorer, Choice):
        find_letters(con, rule="letter", match_text=scorer.match_text)
        sql.run_file(con, "scoring/judged_choice")
    elif isinstance(scorer, Regex):
        _compare_matches(con, scorer, process, has_target=has_target(definition))
    else:
        raise AssertionError(scorer.type)
    return False


def has_target(definition: Definition) -> bool:
    """Say whether answers are compared with a target, so that none can be graded without."""
    scorer = definition.scorer
    if isinstance(scorer, Judge):
        return definition.needs_target
    if not scorer.takes_target or (isinstance(scorer, Regex) and scorer.is_templated):
        return False
    return definition.target is not None or definition.has_choices


def _compare_texts(con: duckdb.DuckDBPyConnection, scorer: Equality | Includes) -> None:
    steps = steps_of(scorer.normalize, case=scorer.case)
    is_every = isinstance(scorer, Includes) and scorer.all

    def wanted(targets: list[str]) -> Wanted:
        keys = [normalized(target, steps) for target in targets]
        return Wanted(keys, n_needed=len(keys) if is_every else 1)

    if set(steps) <= SQL_STEPS:
        params = {
            "is_lower": "lower" in steps,
            "is_collapsed": "collapse_whitespace" in steps,
            "is_stripped": "strip" in steps,
        }
        sql.run_file(con, "scoring/wanted_texts", {**params, "is_every": is_every})
        if isinstance(scorer, Equality) and steps == ("strip",):
            sql.run_file(con, "scoring/judged_stripped")
            return
        sql.run_file(con, "scoring/normal_steps", params)
        sql.run_file(con, "scoring/normal")
    else:
        _write_wanted(con, wanted)
        _normalize_in_python(con, steps)
    sql.run_file(con, f"scoring/{'judged_includes' if isinstance(scorer, Includes) else 'judged_exact'}")


def _normalize_in_python(con: duckdb.DuckDBPyConnection, steps: Sequence[str]) -> None:
    """Make `normal` from `haystack` with steps that SQL cannot take; a text may come out empty."""
    sql.run_file(con, f"scoring/{NOTHING}", {"rule": "text"})
    sql.run_file(con, "scoring/todo", {"hint": NOT_BLANK})
    for batch in batches(con, "todo_texts"):
        findings = Findings()
        for row, text, _, _ in batch:
            findings.add(row, normalized(text, steps))
        findings.write(con)
    sql.run_file(con, "scoring/normal_in_python")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A list of targets as answers are compared with it."""

    keys: list[str]
    """What an answer must equal or hold."""
    n_needed: int = 1
    """How many of the keys."""
    is_percent: bool = False
    """Whether a percent sign means something, so that an answer's is shown."""
    fault: str | None = None
    """Why nothing can be compared with it."""


def _write_wanted(con: duckdb.DuckDBPyConnection, read: Callable[[list[str]], Wanted]) -> None:
    """Make `wanted` from the different lists of targets."""
    lists = [row[0] for row in sql.run_file(con, "scoring/wanted_targets").fetchall()]
    wanted = [read(targets) for targets in lists]
    params = {
        "targets": lists,
        "keys": [item.keys for item in wanted],
        "n_needed": [item.n_needed for item in wanted],
        "is_percents": [item.is_percent for item in wanted],
        "faults": [item.fault for item in wanted],
    }
    sql.run_file(con, "scoring/wanted", params)


def _compare_numbers(con: duckdb.DuckDBPyConnection, scorer: Numeric) -> None:
    find_numbers(con, which=scorer.which, decimal=scorer.decimal, rule="number")
    _write_wanted(con, lambda targets: _wanted_numbers(targets, scorer))
    is_fraction = scorer.percent == "fraction"
    tokens = [row[0] for row in sql.run_file(con, "scoring/percent_tokens").fetchall()] if is_fraction else []
    hundredths = [compared(text.rstrip("%"), is_percent=True, percent="fraction") for text in tokens]
    sql.run_file(con, "scoring/percent_numbers", {"texts": tokens, "keys": hundredths})
    sql.run_file(con, "scoring/judged_numeric")
    if scorer.abs_tol or scorer.rel_tol:
        sql.run_file(con, "scoring/keep_judged")
        _forgive(con, scorer)
        sql.run_file(con, "scoring/judged_in_python")


def _forgive(con: duckdb.DuckDBPyConnection, scorer: Numeric) -> None:
    """Make right what is within the tolerance; SQL has left out what is certainly not."""
    sql.run_file(con, "scoring/todo_near", {"abs_tol": scorer.abs_tol, "rel_tol": scorer.rel_tol})
    for batch in batches(con, "todo_keys"):
        right = [
            row
            for row, key, wanted in batch
            if any(is_within(key, target, scorer.abs_tol, scorer.rel_tol) for target in wanted)
        ]
        sql.run_file(con, "scoring/right_rows", {"rows": right})


def _wanted_numbers(targets: list[str], scorer: Numeric) -> Wanted:
    numbers: list[Number] = []
    for target in targets:
        number = find_number(target, which=scorer.which, decimal=scorer.decimal)
        if number is None:
            return Wanted([], fault=f"the target `{target[:100]}` holds no number")
        numbers.append(number)
    keys = [compared(n.text, is_percent=n.is_percent, percent=scorer.percent) for n in numbers]
    is_percent = scorer.percent == "fraction" or any(number.is_percent for number in numbers)
    return Wanted(keys, is_percent=is_percent)


def _compare_matches(
    con: duckdb.DuckDBPyConnection, scorer: Regex, process: RegexProcess, *, has_target: bool
) -> None:
    flags = flag_bits(scorer.flags)
    if scorer.is_templated:
        search_templated(con, scorer.pattern, flags, process)
        sql.run_file(con, "scoring/judged_searched")
    elif not has_target:
        search_one(con, scorer.pattern, flags, process)
        sql.run_file(con, "scoring/judged_searched")
    else:
        search = Search(scorer.pattern, flags, "first", "regex")
        translation = find_by_regex(con, search, process, is_compared=True)
        _write_wanted(con, lambda targets: Wanted([target.strip() for target in targets]))
        sql.run_file(con, "scoring/judged_regex")
        if translation is not None and translation.group != translation.whole:
            sql.run_file(con, "scoring/keep_judged")
            params = {"pattern": translation.pattern, "group": translation.whole}
            sql.run_file(con, "scoring/verdict_regex_whole", params)
            sql.run_file(con, "scoring/judged_in_python")
        sql.run_file(con, "scoring/noted_found")
