"""Searches patterns in many texts: RE2 inside DuckDB where it can, Python's `re` where it must.

Invariant: the result is that of Python's `re`, whichever engine ran; a row that Python searched says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from gradetrail import sql
from gradetrail.scoring.regex_process import RegexProcess
from gradetrail.scoring.regex_translation import Translation, UntranslatableError, translate
from gradetrail.scoring.tables import Findings, batches, count, unzipped
from gradetrail.scoring.worker import Failure

if TYPE_CHECKING:
    import duckdb

ENGINE_NOTE = "engine=python"
LONG_GROUP = 64
"""Texts per pattern from which a query for each pattern is faster than compiling it for each text."""


@dataclass(frozen=True, slots=True)
class Search:
    """A pattern and which of its matches counts."""

    pattern: str
    flags: int
    which: Literal["first", "last"]
    rule: str
    """What `extracted_by` says."""


def usable(con: duckdb.DuckDBPyConnection, pattern: str, flags: int) -> Translation | None:
    """Translate for RE2; None where it cannot be, or RE2 refuses it for its size."""
    try:
        translation = translate(pattern, flags)
    except UntranslatableError:
        return None
    row = sql.run_file(con, "scoring/is_usable_pattern", {"pattern": translation.pattern}).fetchone()
    return translation if row is not None and row[0] is not None else None


def find_by_regex(
    con: duckdb.DuckDBPyConnection, search: Search, process: RegexProcess, *, is_compared: bool = False
) -> Translation | None:
    """Make `found` from `haystack`: what the first or last match captures that is not blank.

    With `is_compared`, Python's rows hold the whole match where only that equals a target.
    """
    translation = usable(con, search.pattern, search.flags)
    params = {"rule": search.rule}
    if translation is None or (translation.can_match_empty and not _is_plain_first(translation, search)):
        sql.run_file(con, "scoring/found_nothing_yet", params)
    else:
        name = "found_by_first_match" if _is_plain_first(translation, search) else "found_by_matches"
        place = 1 if search.which == "first" else -1
        query = {
            "pattern": translation.pattern,
            "group": translation.group,
            "is_ascii_only": translation.is_ascii_only,
            "place": place,
        }
        sql.run_file(con, f"scoring/{name}", params | query)
    if count(con, "n_open"):
        sql.run_file(con, "scoring/todo", {"hint": None})
        for batch in batches(con, "todo_texts"):
            _find_in_python(con, search, process, batch, is_compared=is_compared)
    return translation


def _is_plain_first(translation: Translation, search: Search) -> bool:
    return search.which == "first" and translation.is_never_empty


def _find_in_python(
    con: duckdb.DuckDBPyConnection,
    search: Search,
    process: RegexProcess,
    batch: Sequence[tuple[int, str, list[str] | None, list[str] | None]],
    *,
    is_compared: bool,
) -> None:
    results = process.search(search.pattern, search.flags, search.which, [row[1] for row in batch])
    findings = Findings()
    for (row, _, _, targets), result in zip(batch, results, strict=True):
        if isinstance(result, Failure):
            findings.add(row, None, ENGINE_NOTE, result.reason)
        elif result is None:
            findings.add(row, None, ENGINE_NOTE)
        else:
            wanted = {target.strip() for target in targets or ()} if is_compared else set()
            is_whole = result.whole.strip() in wanted and result.group.strip() not in wanted
            findings.add(row, result.whole if is_whole else result.group, ENGINE_NOTE)
    findings.write(con)


def search_one(con: duckdb.DuckDBPyConnection, pattern: str, flags: int, process: RegexProcess) -> None:
    """Make `searched` and `pattern`: whether one pattern matches in each text of `haystack`."""
    _write_patterns(con, [pattern], flags)
    translated = sql.run_file(con, "scoring/translated_patterns").fetchall()
    if translated:
        _, text, is_ascii_only, can_match_empty = translated[0]
        params = {"pattern": text, "is_ascii_only": is_ascii_only, "can_match_empty": can_match_empty}
        sql.run_file(con, "scoring/search_haystack", params)
        if not count(con, "n_unsearched"):
            return
    else:
        sql.run_file(con, "scoring/no_searched")
    sql.run_file(con, "scoring/todo_haystack")
    for batch in batches(con, "todo_patterns"):
        _search_in_python(con, pattern, flags, process, batch)


def search_templated(
    con: duckdb.DuckDBPyConnection, template: str, flags: int, process: RegexProcess
) -> None:
    """Make `searched` and `pattern`: whether the pattern of each answer, made of a template, matches."""
    patterns = [str(row[0]) for row in sql.run_file(con, "scoring/patterns").fetchall()]
    _write_patterns(con, patterns, flags)
    sql.run_file(con, "scoring/patterned")
    sql.run_file(con, "scoring/no_searched")
    n_patterned = count(con, "n_patterned")
    if n_patterned >= LONG_GROUP * len(patterns):
        _search_by_pattern(con)
    else:
        sql.run_file(con, "scoring/search_patterns")
    sql.run_file(con, "scoring/search_faulty_patterns")
    if count(con, "n_searched") == n_patterned:
        return
    sql.run_file(con, "scoring/todo_searches")
    for batch in batches(con, "todo_patterns"):
        _search_in_python(con, template, flags, process, batch)


def _search_by_pattern(con: duckdb.DuckDBPyConnection) -> None:
    """Run a query for each pattern, in one transaction: to commit each would cost as much as to search."""
    patterns = sql.run_file(con, "scoring/translated_patterns").fetchall()
    con.begin()
    try:
        for number, translated, is_ascii_only, can_match_empty in patterns:
            name = "search_ascii_pattern" if is_ascii_only else "search_pattern"
            params = {"number": number, "pattern": translated, "can_match_empty": can_match_empty}
            sql.run_file(con, f"scoring/{name}", params)
    except BaseException:
        con.rollback()
        raise
    con.commit()


def _write_patterns(con: duckdb.DuckDBPyConnection, patterns: Sequence[str], flags: int) -> None:
    rows = [(number, source, *_prepared(source, flags)) for number, source in enumerate(patterns, start=1)]
    numbers, sources, translated, is_ascii_only, can_match_empty, faults = unzipped(rows, 6)
    params = {
        "numbers": numbers,
        "sources": sources,
        "translated": translated,
        "is_ascii_only": is_ascii_only,
        "can_match_empty": can_match_empty,
        "faults": faults,
    }
    sql.run_file(con, "scoring/pattern", params)
    sql.run_file(con, "scoring/usable_patterns")


def _prepared(source: str, flags: int) -> tuple[str | None, bool, bool, str | None]:
    """Give the RE2 pattern with the whole match as group 1, for ASCII alone?, can it be empty?, the fault."""
    try:
        translation = translate(source, flags)
    except UntranslatableError:
        return None, False, True, None
    except (re.error, OverflowError, RecursionError) as error:
        return None, False, True, f"not a regular expression: {error} in {source!r}"
    text = translation.pattern if translation.whole == 1 else f"({translation.pattern})"
    return text, translation.is_ascii_only, translation.can_match_empty, None


def _search_in_python(
    con: duckdb.DuckDBPyConnection,
    template: str,
    flags: int,
    process: RegexProcess,
    batch: Sequence[tuple[int, str, int, str]],
) -> None:
    rows: list[tuple[int, int, bool | None, str | None, str, str | None]] = []
    for (number, source), group in groupby(batch, key=lambda item: (item[2], item[3])):
        members = list(group)
        texts = [member[1] for member in members]
        results = process.search(source, flags, "search", texts, template)
        for member, result in zip(members, results, strict=True):
            if isinstance(result, Failure):
                rows.append((member[0], number, None, None, ENGINE_NOTE, result.reason))
            else:
                whole = result.whole if result is not None else None
                rows.append((member[0], number, result is not None, whole, ENGINE_NOTE, None))
    columns = dict(
        zip(("rows", "numbers", "is_match", "wholes", "notes", "faults"), unzipped(rows, 6), strict=True)
    )
    sql.run_file(con, "scoring/searched_in_python", columns)
