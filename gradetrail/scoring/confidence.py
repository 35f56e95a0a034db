"""How sure an answer is of itself: stated in its text, by the provider, by its tokens, or by its like.

Invariant: a confidence lies in [0, 1] or is NULL with the reason in `detail`; nothing is clamped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.scoring.numbers import exact_value, find_number
from gradetrail.scoring.regex_process import RegexProcess
from gradetrail.scoring.regex_search import Search, find_by_regex
from gradetrail.spec import Confidence

if TYPE_CHECKING:
    import duckdb


def add_confidence(con: duckdb.DuckDBPyConnection, rule: Confidence | None, process: RegexProcess) -> None:
    """Put a confidence into `grade` where there is one; without a rule the provider's counts."""
    source = "provider" if rule is None else rule.from_
    if source == "votes":
        sql.run_file(con, "scoring/confidence_votes")
    elif rule is not None and source == "text":
        sql.run_file(con, "scoring/subject")
        sql.run_file(con, "scoring/gradable")
        sql.run_file(con, "scoring/haystack")
        _add_stated(con, rule, process)
    else:
        sql.run_file(con, "scoring/confidence_given", {"source": source})


def _add_stated(con: duckdb.DuckDBPyConnection, rule: Confidence, process: RegexProcess) -> None:
    """Put the last confidence that each text of `haystack` states into `grade`, divided by the scale."""
    assert rule.regex is not None
    find_by_regex(con, Search(rule.regex, re.MULTILINE, "last", "text"), process)
    texts = [str(row[0]) for row in sql.run_file(con, "scoring/confidence_tokens").fetchall()]
    values = [_value(text, rule.scale) for text in texts]
    sql.run_file(con, "scoring/confidence_in_text", {"texts": texts, "values": values})


def _value(text: str, scale: float) -> float | None:
    number = find_number(text)
    return None if number is None else float(exact_value(number.text)) / scale
