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


def source_of(rule: Confidence | None) -> str:
    """Name the source that is read with the grades themselves; empty where another pass is needed."""
    if rule is None:
        return "provider"
    return rule.from_ if rule.from_ in ("provider", "logprobs") else ""


def add_stated_confidence(con: duckdb.DuckDBPyConnection, rule: Confidence, process: RegexProcess) -> None:
    """Put the last confidence that each text of `haystack` states into `grade`, divided by the scale."""
    assert rule.regex is not None
    find_by_regex(con, Search(rule.regex, re.MULTILINE, "last", "text"), process)
    texts = [str(row[0]) for row in sql.run_file(con, "scoring/confidence_tokens").fetchall()]
    values = [_value(text, rule.scale) for text in texts]
    sql.run_file(con, "scoring/confidence_in_text", {"texts": texts, "values": values})


def _value(text: str, scale: float) -> float | None:
    number = find_number(text)
    return None if number is None else float(exact_value(number.text)) / scale
