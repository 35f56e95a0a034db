"""Extraction: the first rule of a chain that finds something says what an answer is.

Invariant: a row keeps what the first finding rule found, and says which rule that was. SQL decides the
plain cases; what it leaves open goes to the Python function that states the rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.scorer_spec import ExtractRule
from gradetrail.scoring.boxed import find_boxed
from gradetrail.scoring.code_block import last_code_block
from gradetrail.scoring.definition import flag_bits
from gradetrail.scoring.json_value import last_json
from gradetrail.scoring.letters import MARKED_AT_END, WHOLE_REPLY, find_letter, option_letter
from gradetrail.scoring.numbers import find_number, plain_number_pattern
from gradetrail.scoring.regex_process import RegexProcess
from gradetrail.scoring.regex_search import Search, find_by_regex
from gradetrail.scoring.tables import Findings, batches, count

if TYPE_CHECKING:
    import duckdb

Finder = Callable[[str, Sequence[str] | None], str | None]
"""A rule as a function of a text and the options in the order shown."""


def extract(con: duckdb.DuckDBPyConnection, rules: Sequence[ExtractRule], process: RegexProcess) -> None:
    """Make `piece` from the answers: one row each, text NULL where no rule finds anything."""
    n_regexes = sum(rule.rule == "regex" for rule in rules)
    for number, rule in enumerate(rules, start=1):
        if number == 1:
            sql.run_file(con, "scoring/haystack")
        elif count(con, "n_rest") == 0:
            return
        else:
            sql.run_file(con, "scoring/haystack_rest")
        name = f"regex {number}" if rule.rule == "regex" and n_regexes > 1 else rule.rule
        _apply(con, rule, name, process)
        sql.run_file(con, "scoring/keep_pieces" if number == 1 else "scoring/merge_pieces")


def _apply(con: duckdb.DuckDBPyConnection, rule: ExtractRule, name: str, process: RegexProcess) -> None:
    if rule.rule == "regex":
        assert rule.pattern is not None
        flags = flag_bits(rule.flags) | re.MULTILINE
        find_by_regex(con, Search(rule.pattern, flags, rule.which, name), process)
    elif rule.rule == "number":
        find_numbers(con, which=rule.which, decimal=".", rule=name)
    elif rule.rule == "boxed":
        sql.run_file(
            con, f"scoring/{'found_last_boxed' if rule.which == 'last' else NOTHING}", {"rule": name}
        )
        find_in_python(con, lambda text, _: find_boxed(text, which=rule.which), hint=r"\\(?:boxed|fbox)")
    elif rule.rule == "letter":
        find_letters(con, rule=name, match_text=False)
    elif rule.rule == "first_line":
        sql.run_file(con, "scoring/found_first_line", {"rule": name})
    else:
        sql.run_file(con, f"scoring/{NOTHING}", {"rule": name})
        find_in_python(con, _finder(rule))


NOTHING = "found_nothing_yet"


def _finder(rule: ExtractRule) -> Finder:
    if rule.rule == "code_block":
        return lambda text, _: last_code_block(text)
    if rule.rule == "json":
        return lambda text, _: last_json(text, rule.path)
    return lambda text, options: option_letter(text, options or ())


def find_numbers(con: duckdb.DuckDBPyConnection, *, which: str, decimal: str, rule: str) -> None:
    """Make `found` from `haystack`: the first or last number, canonical, with % where it had one."""
    if which == "last":
        params = {"pattern": plain_number_pattern(decimal), "mark": decimal, "rule": rule}
        sql.run_file(con, "scoring/found_last_number", params)
    else:
        sql.run_file(con, f"scoring/{NOTHING}", {"rule": rule})

    def find(text: str, _: Sequence[str] | None) -> str | None:
        number = find_number(text, which=which, decimal=decimal)
        return None if number is None else number.marked()

    find_in_python(con, find, hint="[0-9]")


def find_letters(con: duckdb.DuckDBPyConnection, *, rule: str, match_text: bool) -> None:
    """Make `found` from `haystack`: the letter of the option that each text names."""
    sql.run_file(con, "scoring/found_letter", {"whole": WHOLE_REPLY, "marked": MARKED_AT_END, "rule": rule})
    find_in_python(con, lambda text, options: find_letter(text, options, match_text=match_text))


def find_in_python(con: duckdb.DuckDBPyConnection, find: Finder, *, hint: str | None = None) -> None:
    """Look where SQL left `found` open; `hint` is an RE2 pattern that matches every text worth a look."""
    if count(con, "n_open") == 0:
        return
    sql.run_file(con, "scoring/todo", {"hint": hint})
    for batch in batches(con, "todo_texts"):
        findings = Findings()
        for row, text, options, _ in batch:
            found = find(text, options)
            findings.add(row, found if found and not found.isspace() else None)
        findings.write(con)
