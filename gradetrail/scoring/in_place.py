"""Grades a run's answers where they are stored: each is searched as it is read; only what is found is kept.

Invariant: the scores are those of `RunGrader`, row for row. What cannot be graded so, because a rule needs
more than the text and the sample, or an answer is not stored just once, is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.errors import QueryError
from gradetrail.scorer_spec import Choice, Equality, ExtractRule, Includes, Numeric, Regex
from gradetrail.scoring.chain import extract, find_letters
from gradetrail.scoring.comparison import compare, has_target
from gradetrail.scoring.definition import Definition, columns
from gradetrail.scoring.normalize import SQL_STEPS, steps_of
from gradetrail.scoring.program_runner import ProgramRunner
from gradetrail.scoring.regex_process import RegexProcess
from gradetrail.scoring.run_inputs import make_run_inputs
from gradetrail.scoring.stretches import Stretch, enter, leave, ways_to_cut
from gradetrail.scoring.tables import MACROS, count
from gradetrail.spec import Spec
from gradetrail.store.spool import Spool
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

STORED = ("trials", "responses", "samples")
"""Stored tables that are read."""
OUT_ROWS = 122_880
"""Scores that are taken from DuckDB at a time."""
STRETCH_PIECES = 10 * OUT_ROWS
"""Trials of a stretch whose scores quote little: so few that what is made for them is joined in memory."""
STRETCH_TEXTS = 2 * OUT_ROWS
"""Trials of a stretch whose scores quote whole answers."""
REPEATED = ("task", "model", "model_id", "prompt", "outcome", "extracted_by", "confidence_source")
"""Columns of scores with few values, which are small as dictionaries."""


class Look(Enum):
    """How a scorer looks at the stored answers."""

    PIECES = "compares what is found in each first"
    WHOLE = "compares each as it is read, unless it is blank"
    MATCHES = "compares what its own pattern captures"


class InPlaceGrader:
    """Grades one run by one scorer after another; what several of them need is made once."""

    def __init__(self, warehouse: Warehouse, spec: Spec, run_id: str) -> None:
        self._warehouse, self._spec, self._run_id = warehouse, spec, run_id
        self._con: duckdb.DuckDBPyConnection | None = None
        self._inputs: object = None
        """What `run_input` was made for."""
        self._answers: object = None
        """What `run_answer` was made for."""
        self._pieces: object = None
        """What `piece` was made for."""

    def close(self) -> None:
        """Drop what was made."""
        if self._con is not None:
            self._con.close()
        self._con = self._inputs = self._answers = self._pieces = None

    def scores(self, definition: Definition) -> Spool | None:
        """Grade all trials; rows of the stored table `scores`.

        None where that is not possible, or takes more memory than there is.
        """
        import duckdb

        look = look_of(definition)
        if look is None:
            return None
        if self._con is None:
            self._con = self._warehouse.connection(*MACROS, *STORED)
        try:
            return self._graded(self._con, definition, look)
        except duckdb.OutOfMemoryException:
            self.close()
            return None
        except QueryError as error:
            if not isinstance(error.__cause__, duckdb.OutOfMemoryException):
                raise
            self.close()
            return None

    def _graded(self, con: duckdb.DuckDBPyConnection, definition: Definition, look: Look) -> Spool | None:
        self._make_inputs(con, definition)
        quotes_texts = look is Look.WHOLE and isinstance(definition.scorer, Equality)
        size = STRETCH_TEXTS if quotes_texts else STRETCH_PIECES
        for stretches in ways_to_cut(con, self._run_id, size):
            self._answers = self._pieces = None
            try:
                scores = self._graded_by(con, definition, look, stretches)
            finally:
                leave(con)
                self._answers = self._pieces = None
            if scores is not None or not any(stretch.answers for stretch in stretches):
                return scores
        return self._graded_by(con, definition, look, [None])

    def _graded_by(
        self,
        con: duckdb.DuckDBPyConnection,
        definition: Definition,
        look: Look,
        stretches: Sequence[Stretch | None],
    ) -> Spool | None:
        """Grade stretch by stretch; None is the whole run."""
        spool = Spool()
        with RegexProcess() as process:
            for stretch in stretches:
                if stretch is not None:
                    self._answers = self._pieces = None
                    enter(con, stretch)
                if not self._judge(con, definition, look, process):
                    spool.close()
                    return None
                for rows in _scores(con, self._run_id, definition, look):
                    spool.add(rows)
        return spool

    def _judge(
        self, con: duckdb.DuckDBPyConnection, definition: Definition, look: Look, process: RegexProcess
    ) -> bool:
        """Make all that `run_scores` reads; False where answers cannot be told by their numbers."""
        self._make_answers(con)
        sql.run_file(con, "scoring/no_notes")
        if look is Look.PIECES:
            self._find_pieces(con, definition, process)
            reads_choices = isinstance(definition.scorer, Choice)
            sql.run_file(con, f"scoring/haystack_of_pieces{'_and_choices' if reads_choices else ''}")
        else:
            sql.run_file(con, "scoring/haystack")
        if not _is_one_to_one(con, look):
            return False
        compare(con, definition, process, ProgramRunner())
        if look is Look.PIECES:
            sql.run_file(con, "scoring/noted_pieces")
        _find_blank(con, look)
        return True

    def _make_inputs(self, con: duckdb.DuckDBPyConnection, definition: Definition) -> None:
        """Make `run_input`, of the whole run."""
        wanted = (definition.target, columns(definition))
        if self._inputs != wanted:
            self._inputs = self._answers = self._pieces = None
            make_run_inputs(con, self._spec, self._run_id, definition)
            self._inputs = wanted

    def _make_answers(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make `run_answer`, `run_payer`, and the views `gradable` and `subject`, of a stretch or the run."""
        if self._answers is None:
            self._pieces = None
            for name in ("run_answers", "run_payers"):
                sql.run_file(con, f"scoring/{name}", {"run_id": self._run_id})
            for name in ("gradable_of_run", "subject_of_run"):
                sql.run_file(con, f"scoring/{name}")
            self._answers = self._inputs

    def _find_pieces(
        self, con: duckdb.DuckDBPyConnection, definition: Definition, process: RegexProcess
    ) -> None:
        """Make `piece`: what each answer is searched for before it is compared."""
        scorer = definition.scorer
        is_letter = isinstance(scorer, Choice) and not definition.extract
        wanted = (
            ("letter", scorer.match_text) if isinstance(scorer, Choice) and is_letter else _rules(definition)
        )
        if self._pieces == wanted:
            return
        self._pieces = None
        if isinstance(scorer, Choice) and is_letter:
            sql.run_file(con, "scoring/haystack")
            find_letters(con, rule="letter", match_text=scorer.match_text)
            sql.run_file(con, "scoring/keep_pieces")
        else:
            extract(con, _rules(definition), process)
        self._pieces = wanted


def look_of(definition: Definition) -> Look | None:
    """Say how a scorer looks at answers that are in place; None where it cannot."""
    scorer, confidence = definition.scorer, definition.confidence
    if confidence is not None and confidence.from_ in ("text", "votes"):
        return None
    if not isinstance(scorer, Equality | Includes | Numeric | Regex | Choice):
        return None
    if definition.extract or isinstance(scorer, Choice | Numeric):
        return Look.PIECES if _rules(definition) or isinstance(scorer, Choice) else Look.MATCHES
    if isinstance(scorer, Regex):
        return Look.MATCHES if has_target(definition) else Look.WHOLE
    # steps in Python take every text out of the database
    return Look.WHOLE if set(steps_of(scorer.normalize, case=scorer.case)) <= SQL_STEPS else None


def _rules(definition: Definition) -> tuple[ExtractRule, ...]:
    """Give the rules by which answers are searched before they are compared."""
    scorer = definition.scorer
    if isinstance(scorer, Numeric) and scorer.decimal == "." and not definition.extract:
        # a number's text is read as the same number
        return (ExtractRule(rule="number", which=scorer.which),)
    return definition.extract


def _is_one_to_one(con: duckdb.DuckDBPyConnection, look: Look) -> bool:
    """Say whether numbers name answers, and each answer of the run is stored once."""
    n_rows, *answers = sql.run_file(con, "scoring/n_run_answers").fetchall()[0]
    name = "n_pieces" if look is Look.PIECES else "n_gradable"
    stored = sql.run_file(con, f"scoring/{name}").fetchall()[0]
    return n_rows == answers[0] and tuple(answers) == stored


def _find_blank(con: duckdb.DuckDBPyConnection, look: Look) -> None:
    """Make `blank_answer`, of the answers in which nothing was found; all texts are read if there are any."""
    name = "no_blank_answers"
    if look is Look.PIECES and count(con, "n_rest"):
        name = "blank_answers"
    elif look is Look.MATCHES and count(con, "n_nothing_found"):
        name = "blank_found"
    sql.run_file(con, f"scoring/{name}")


def _scores(
    con: duckdb.DuckDBPyConnection, run_id: str, definition: Definition, look: Look
) -> Iterator[pa.Table]:
    """Yield the scores of all trials, in the order of these if they fit into memory; one piece at least."""
    scorer, confidence = definition.scorer, definition.confidence
    params = {
        "run_id": run_id,
        "source": "provider" if confidence is None else confidence.from_,
        "threshold": scorer.threshold,
        "higher_is_better": scorer.higher_is_better,
        "needs_target": has_target(definition) or definition.needs_target,
        "is_rest_blank": look is Look.WHOLE,
    }
    same = {
        "run_id": run_id,
        "scorer": definition.name,
        "scorer_id": definition.scorer_id(),
        "metric": "score",
    }
    query = con.sql(sql.text_of("scoring/run_scores"), params=params)
    n_rows = 0
    for batch in query.to_arrow_reader(OUT_ROWS):
        n_rows += batch.num_rows
        yield _compact(batch, same)
    if not n_rows:
        yield _compact(query.to_arrow_table(), same)


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
