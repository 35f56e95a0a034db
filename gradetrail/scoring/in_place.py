"""Grades a run's answers where they are stored: each is searched as it is read; only what is found is kept.

Invariant: the scores are those of `RunGrader`, row for row. What cannot be graded so, because a rule needs
more than the text, or what was found is large, is left to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import Fault, QueryError, SpecError
from gradetrail.prompt import FIELD_ONLY, Renderer
from gradetrail.scorer_spec import Accuracy, Exact, ExtractRule, Includes, Numeric, Regex
from gradetrail.scoring.chain import extract
from gradetrail.scoring.comparison import compare, has_target
from gradetrail.scoring.definition import Definition, columns
from gradetrail.scoring.inputs import InputFaults, rendered_inputs
from gradetrail.scoring.program_runner import ProgramRunner
from gradetrail.scoring.regex_process import RegexProcess
from gradetrail.scoring.tables import BATCH_ROWS, MACROS, count
from gradetrail.spec import Spec
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

STORED = ("trials", "responses", "samples")
"""Stored tables that are read."""
MOST_PIECE_BYTES = 64_000_000
"""What extraction may find in all before it is too much to hold."""
OUT_ROWS = 122_880
"""Scores that are taken from DuckDB at a time."""
NEEDS_CHOICES = frozenset({"letter", "choice_text"})
"""Rules that read the options of a trial besides its answer."""
REPEATED = ("task", "model", "model_id", "prompt", "outcome", "extracted_by", "confidence_source")
"""Columns of scores with few values, which are small as dictionaries."""


def grade_in_place(warehouse: Warehouse, spec: Spec, run_id: str, definition: Definition) -> pa.Table | None:
    """Grade all trials of a run; rows of the stored table `scores`, in runs of rows in order.

    None where that takes more than one look at each text, or more memory than there is.
    """
    import duckdb

    rules = _rules(definition)
    if not rules:
        return None
    con = warehouse.connection(*MACROS, *STORED)
    try:
        return _graded(con, spec, run_id, definition, rules)
    except duckdb.OutOfMemoryException:
        return None
    except QueryError as error:
        if isinstance(error.__cause__, duckdb.OutOfMemoryException):
            return None
        raise
    finally:
        con.close()


def _graded(
    con: duckdb.DuckDBPyConnection,
    spec: Spec,
    run_id: str,
    definition: Definition,
    rules: tuple[ExtractRule, ...],
) -> pa.Table | None:
    _make_inputs(con, spec, run_id, definition)
    sql.run_file(con, "scoring/run_answers", {"run_id": run_id})
    sql.run_file(con, "scoring/run_payers", {"run_id": run_id})
    sql.run_file(con, "scoring/gradable_of_responses")
    sql.run_file(con, "scoring/no_notes")
    with RegexProcess() as process:
        extract(con, rules, process)
        if not _is_simple(con):
            return None
        name = "blank_answers" if count(con, "n_rest") else "no_blank_answers"
        sql.run_file(con, "scoring/pieces_of_trials")
        sql.run_file(con, f"scoring/{name}")
        sql.run_file(con, "scoring/subject_of_run")
        sql.run_file(con, "scoring/haystack_of_pieces")
        compare(con, definition, process, ProgramRunner())
    sql.run_file(con, "scoring/noted_pieces")
    return _scores(con, run_id, definition)


def _rules(definition: Definition) -> tuple[ExtractRule, ...]:
    """Give the rules that look at the stored answers; none where grading looks at them otherwise."""
    scorer, confidence = definition.scorer, definition.confidence
    if confidence is not None and confidence.from_ in ("text", "votes"):
        return ()
    if not isinstance(scorer, Exact | Accuracy | Includes | Numeric | Regex) or columns(definition):
        return ()
    if any(rule.rule in NEEDS_CHOICES for rule in definition.extract):
        return ()
    if isinstance(scorer, Numeric) and scorer.decimal == "." and not definition.extract:
        # a number's text is read as the same number
        return (ExtractRule(rule="number", which=scorer.which),)
    return definition.extract


def _is_simple(con: duckdb.DuckDBPyConnection) -> bool:
    """Say whether each stored answer has its own key and is there once, and what was found can be held."""
    n_rows, n_pairs, *n_answers, n_bytes = sql.run_file(con, "scoring/n_piece_keys").fetchall()[0]
    return n_rows == n_pairs and len(set(n_answers)) == 1 and n_bytes <= MOST_PIECE_BYTES


def _make_inputs(con: duckdb.DuckDBPyConnection, spec: Spec, run_id: str, definition: Definition) -> None:
    """Make `run_input`: SQL takes targets that are one field of the dataset's row, if it is text."""
    import pyarrow as pa

    sql.run_file(con, "scoring/asked_inputs", {"run_id": run_id, "path": _path(spec, definition.target)})
    n_asked, n_lost, n_open = sql.run_file(con, "scoring/n_asked_inputs").fetchall()[0]
    if n_lost:
        lost = f"the dataset rows of {n_lost} samples are not in the warehouse"
        raise SpecError(Fault(lost, f"run {run_id}"))
    renderer = Renderer(spec, with_examples=False)
    faults = InputFaults(run_id)
    tables = [rendered_inputs(renderer, definition.target, {}, (), faults.note)]
    for after in range(0, n_asked if n_open else 0, BATCH_ROWS):
        batch = {"after": after, "until": after + BATCH_ROWS}
        asked = sql.run_file(con, "scoring/asked_contents", batch).fetchall()
        tables.append(rendered_inputs(renderer, definition.target, {}, asked, faults.note))
    faults.check()
    con.register("rendered_input", pa.concat_tables(tables))
    sql.run_file(con, "scoring/run_inputs")
    con.unregister("rendered_input")


def _path(spec: Spec, target: str | list[str] | None) -> str | None:
    """Give the JSON path of the one field that a target's template is; None for other templates."""
    if spec.choices is not None or not isinstance(target, str):
        return None
    field = FIELD_ONLY.match(target)
    return None if field is None else "$" + "".join(f'."{name}"' for name in field[1].split("."))


def _scores(con: duckdb.DuckDBPyConnection, run_id: str, definition: Definition) -> pa.Table:
    import pyarrow as pa

    scorer, confidence = definition.scorer, definition.confidence
    params = {
        "run_id": run_id,
        "source": "provider" if confidence is None else confidence.from_,
        "threshold": scorer.threshold,
        "higher_is_better": scorer.higher_is_better,
        "needs_target": has_target(definition) or definition.needs_target,
    }
    same = {
        "run_id": run_id,
        "scorer": definition.name,
        "scorer_id": definition.scorer_id(),
        "metric": "score",
    }
    query = con.sql(sql.text_of("scoring/run_scores"), params=params)
    batches = [_compact(batch, same) for batch in query.to_arrow_reader(OUT_ROWS)]
    return pa.concat_tables(batches) if batches else _compact(query.to_arrow_table(), same)


def _compact(rows: pa.RecordBatch | pa.Table, same: dict[str, str]) -> pa.Table:
    """Add the columns that are the same in all rows, and turn text that repeats into dictionaries."""
    import pyarrow as pa

    n_rows = rows.num_rows
    found: dict[str, Any] = {name: rows.column(name) for name in rows.schema.names}
    for name in REPEATED:
        found[name] = found[name].dictionary_encode()
    zeros = pa.repeat(pa.scalar(0, pa.int32()), n_rows)
    for name, value in same.items():
        found[name] = pa.DictionaryArray.from_arrays(zeros, pa.array([value], pa.string()))
    found["opponent_response_id"] = pa.nulls(n_rows, pa.string())
    found["judge_response_ids"] = pa.nulls(n_rows, pa.list_(pa.string()))
    return pa.table(found)
