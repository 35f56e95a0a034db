"""Compares what an answer says with its target: one function for each type of scorer.

Invariant: each makes the table `verdict`, with at most one row per answer, from the view `haystack`.
An answer in which nothing gradable is found has no row there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.scorer_spec import Choice, CodeExec, Equality, Includes, Numeric, Regex
from gradetrail.scoring.chain import NOTHING, find_letters, find_numbers
from gradetrail.scoring.definition import Definition, flag_bits
from gradetrail.scoring.normalize import SQL_STEPS, normalized
from gradetrail.scoring.numbers import Number, compared, find_number, is_within
from gradetrail.scoring.overlap import METRICS, best_overlap
from gradetrail.scoring.programs import compare_programs
from gradetrail.scoring.regex_process import RegexProcess
from gradetrail.scoring.regex_search import Search, find_by_regex, search_one, search_templated
from gradetrail.scoring.regex_translation import SPACE
from gradetrail.scoring.tables import Verdicts, batches, unzipped

if TYPE_CHECKING:
    import duckdb

NOT_BLANK = f"[^{SPACE}]"


def compare(
    con: duckdb.DuckDBPyConnection, definition: Definition, process: RegexProcess, *, allow_unsafe: bool
) -> None:
    """Make `verdict` from `haystack`; `allow_unsafe` runs programs even where no sandbox can be made."""
    scorer = definition.scorer
    if isinstance(scorer, CodeExec):
        compare_programs(con, scorer, allow_unsafe=allow_unsafe)
    elif isinstance(scorer, Equality | Includes):
        _compare_texts(con, scorer)
    elif isinstance(scorer, Numeric):
        _compare_numbers(con, scorer)
    elif isinstance(scorer, Choice):
        find_letters(con, rule="letter", match_text=scorer.match_text)
        sql.run_file(con, "scoring/verdict_choice")
    elif isinstance(scorer, Regex):
        _compare_matches(con, scorer, process, has_target=has_target(definition))
    else:
        assert scorer.type in METRICS, scorer.type
        metric = scorer.type
        _score_in_python(con, lambda text, targets: (best_overlap(metric, text, targets), None, None))


def has_target(definition: Definition) -> bool:
    """Say whether answers are compared with a target, so that none can be graded without."""
    scorer = definition.scorer
    if isinstance(scorer, CodeExec) or (isinstance(scorer, Regex) and scorer.is_templated):
        return False
    return definition.target is not None or definition.has_choices


def steps_of(scorer: Equality | Includes) -> tuple[str, ...]:
    """List what is done to both sides before they are compared."""
    return scorer.normalize if scorer.case else (*scorer.normalize, "lower")


def _compare_texts(con: duckdb.DuckDBPyConnection, scorer: Equality | Includes) -> None:
    steps = steps_of(scorer)
    if not set(steps) <= SQL_STEPS:
        _score_in_python(con, _inclusion(scorer, steps) if isinstance(scorer, Includes) else _equality(steps))
        return
    params = {
        "is_lower": "lower" in steps,
        "is_collapsed": "collapse_whitespace" in steps,
        "is_stripped": "strip" in steps,
        "is_all": isinstance(scorer, Includes) and scorer.all,
    }
    name = "verdict_includes" if isinstance(scorer, Includes) else "verdict_exact"
    sql.run_file(con, f"scoring/{name}", params)


Score = tuple[float, str | None, str | None]
"""A score, the text to show as extracted (None: what a rule found, if one did), and the detail."""


def _equality(steps: tuple[str, ...]) -> Callable[[str, list[str]], Score]:
    def score(text: str, targets: list[str]) -> Score:
        own = normalized(text, steps)
        is_equal = bool(own.strip()) and own in {normalized(target, steps) for target in targets}
        return float(is_equal), own, None

    return score


def _inclusion(scorer: Includes, steps: tuple[str, ...]) -> Callable[[str, list[str]], Score]:
    def score(text: str, targets: list[str]) -> Score:
        own = normalized(text, steps)
        wanted = {target: normalized(target, steps) for target in targets}
        present = [target for target in targets if wanted[target].strip() and wanted[target] in own]
        is_right = len(present) == len(targets) if scorer.all else bool(present)
        missing = [target for target in targets if target not in present]
        detail = f"found: {', '.join(present)}" if is_right else f"missing: {', '.join(missing)}"
        return float(is_right), None, detail

    return score


def _score_in_python(con: duckdb.DuckDBPyConnection, score: Callable[[str, list[str]], Score]) -> None:
    """Score every text of `haystack` that is not blank and has a target."""
    sql.run_file(con, f"scoring/{NOTHING}", {"rule": None})
    sql.run_file(con, "scoring/todo", {"hint": NOT_BLANK})
    sql.run_file(con, "scoring/no_verdict")
    for batch in batches(con, "todo_texts"):
        verdicts = Verdicts()
        for row, text, _, targets in batch:
            if targets is not None:
                value, extracted, detail = score(text, targets)
                verdicts.add(row, value, extracted, "text" if extracted is not None else None, detail)
        verdicts.write(con)
    sql.run_file(con, "scoring/verdict_sources")


def _compare_numbers(con: duckdb.DuckDBPyConnection, scorer: Numeric) -> None:
    find_numbers(con, which=scorer.which, decimal=scorer.decimal, rule="number")
    rows = [_wanted(row[0], scorer) for row in sql.run_file(con, "scoring/wanted_targets").fetchall()]
    targets, keys, is_percents, faults = unzipped(rows, 4)
    params = {"targets": targets, "keys": keys, "is_percents": is_percents, "faults": faults}
    sql.run_file(con, "scoring/wanted_numbers", params)
    is_fraction = scorer.percent == "fraction"
    tokens = [row[0] for row in sql.run_file(con, "scoring/percent_tokens").fetchall()] if is_fraction else []
    hundredths = [compared(text.rstrip("%"), is_percent=True, percent="fraction") for text in tokens]
    sql.run_file(con, "scoring/percent_numbers", {"texts": tokens, "keys": hundredths})
    sql.run_file(con, "scoring/verdict_numeric", {"is_fraction": is_fraction})
    if scorer.abs_tol or scorer.rel_tol:
        sql.run_file(con, "scoring/todo_near", {"abs_tol": scorer.abs_tol, "rel_tol": scorer.rel_tol})
        for batch in batches(con, "todo_keys"):
            right = [
                row
                for row, key, wanted in batch
                if any(is_within(key, target, scorer.abs_tol, scorer.rel_tol) for target in wanted)
            ]
            sql.run_file(con, "scoring/right_rows", {"rows": right})


def _wanted(targets: list[str], scorer: Numeric) -> tuple[list[str], list[str], bool, str | None]:
    """Read a list of targets as numbers: canonical texts, whether one has a percent sign, what is wrong."""
    numbers: list[Number] = []
    for target in targets:
        number = find_number(target, which=scorer.which, decimal=scorer.decimal)
        if number is None:
            return targets, [], False, f"the target `{target[:100]}` holds no number"
        numbers.append(number)
    keys = [compared(n.text, is_percent=n.is_percent, percent=scorer.percent) for n in numbers]
    return targets, keys, any(number.is_percent for number in numbers), None


def _compare_matches(
    con: duckdb.DuckDBPyConnection, scorer: Regex, process: RegexProcess, *, has_target: bool
) -> None:
    flags = flag_bits(scorer.flags)
    if scorer.is_templated:
        search_templated(con, flags, process)
        sql.run_file(con, "scoring/verdict_searched")
    elif not has_target:
        search_one(con, scorer.pattern, flags, process)
        sql.run_file(con, "scoring/verdict_searched")
    else:
        search = Search(scorer.pattern, flags, "first", "regex")
        translation = find_by_regex(con, search, process, is_compared=True)
        sql.run_file(con, "scoring/verdict_regex")
        if translation is not None and translation.group != translation.whole:
            params = {"pattern": translation.pattern, "group": translation.whole}
            sql.run_file(con, "scoring/verdict_regex_whole", params)
        sql.run_file(con, "scoring/verdict_search_faults")
