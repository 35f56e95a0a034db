"""Grades the answers of one run: reads them and their samples once, whatever the number of scorers.

Invariant: nothing here writes; a scorer that cannot be applied to a sample is a fault, not a grade.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import orjson

from gradetrail import sql
from gradetrail.dataset import parse_row
from gradetrail.errors import Fault, SpecError
from gradetrail.prompt import Renderer
from gradetrail.request import content_id
from gradetrail.scorer_spec import Judge
from gradetrail.scoring.answers import whole_run
from gradetrail.scoring.grade import Definition, columns, grade
from gradetrail.scoring.inputs import InputFaults, rendered_inputs
from gradetrail.scoring.judging import Docket, Sample, add_judged, grade_by_judge
from gradetrail.scoring.opponents import make_opponents, opponent_run
from gradetrail.scoring.program_runner import ProgramRunner
from gradetrail.scoring.provisions import provide
from gradetrail.spec import Spec
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


class RunGrader:
    """Grades the answers of one run with any number of scorers."""

    def __init__(
        self,
        warehouse: Warehouse,
        spec: Spec,
        run_id: str,
        *,
        runner: ProgramRunner = ProgramRunner(),
        copies_programs: bool = True,
        answers: pa.Table | None = None,
        combined: Collection[str] = (),
    ) -> None:
        """Take the answers of a part of the run, as `answer_parts` gives them; None reads the whole run.

        `combined` are scorer_ids whose scores are kept for the combinations that are graded after them.
        """
        self._runner, self._copies_programs = runner, copies_programs
        self.con: duckdb.DuckDBPyConnection = warehouse.connection("macros", "base", "graded")
        self.spec, self.run_id = spec, run_id
        self._warehouse = warehouse
        self.renderer = Renderer(spec, with_examples=False)
        self._samples: list[tuple[str, str | None, str]] | None = None
        self._rendered: dict[str, pa.Table] = {}
        sql.run(self.con, "drop table if exists trial_answer")
        if answers is None:
            answers = whole_run(self.con, run_id)
        self.con.register("trial_answer", answers)
        self.n_trials = answers.num_rows
        self._combined = combined
        self._graded: dict[str, pa.Table] = {}
        self.n_open = 0
        """Ballots of the last scorer that more calls to its judge would add to."""

    def close(self) -> None:
        """Drop what was read."""
        self.con.unregister("trial_answer")
        self.con.unregister("grading_input")

    def scores(self, definition: Definition) -> pa.Table:
        """Grade all trials; rows of the stored table `scores`."""
        self._provide_answers(definition)
        sql.run_file(self.con, "scoring/no_judging")
        self.n_open = 0
        if isinstance(definition.scorer, Judge):
            self.n_open = grade_by_judge(self._docket(definition))
        else:
            provide(
                self.con,
                self.run_id,
                definition,
                asked=self._asked(),
                graded=self._graded,
                copies_programs=self._copies_programs,
            )
            grade(self.con, definition, self._runner, self._add_judged)
        sql.run_file(self.con, "scoring/judge_sources")
        params = {"run_id": self.run_id, "scorer": definition.name, "scorer_id": definition.scorer_id()}
        scores = sql.arrow_file(self.con, "scoring/score_rows", params)
        if definition.scorer_id() in self._combined:
            self._graded[definition.scorer_id()] = scores
        return scores

    def docket(self, definition: Definition, judge: Definition) -> Docket:
        """Give the answers about which a judge of a definition is to be asked; good until the next."""
        self._provide_answers(definition)
        return self._docket(judge)

    def _add_judged(self, case: Definition) -> None:
        self.n_open += add_judged(self._docket(case))

    def _provide_answers(self, definition: Definition) -> None:
        """Make the view `answer` of all trials, with what the scorer needs of their samples."""
        self.con.register("grading_input", self._inputs(definition))
        sql.run_file(self.con, "scoring/answer_inputs")

    def _docket(self, definition: Definition) -> Docket:
        scorer = definition.scorer
        assert isinstance(scorer, Judge)
        make_opponents(self.con, scorer, self.run_id, opponent_run(self._warehouse, self.run_id, definition))
        params = {
            "needs_opponent": scorer.against is not None,
            "needs_target": definition.needs_target,
            "case": definition.case,
            "reads_answer": bool({"conversation", "reasoning"} & definition.judge_prompt().names),
        }
        sql.run_file(self.con, "scoring/judge_answers", params)
        contents = {(sample_id, order): content for sample_id, order, content in self._asked()}

        def sample_of(sample_id: str, order: str | None) -> Sample:
            sample = parse_row(contents[sample_id, order])
            shown = orjson.loads(order) if order else None
            return sample, self.renderer.values(sample, sample_id, 1, shown)[0]

        return Docket(self.con, definition, self.run_id, sample_of)

    def _inputs(self, definition: Definition) -> pa.Table:
        """Render what the scorer needs of each sample: targets, options, patterns, switches."""
        templates = columns(definition)
        key = content_id("gradetrail.inputs.v1", [definition.target, templates])
        if key not in self._rendered:
            self._rendered[key] = self._render(definition.target, templates)
        return self._rendered[key]

    def _render(self, target: str | list[str] | None, templates: Mapping[str, str]) -> pa.Table:
        faults = InputFaults(self.run_id)
        rendered = rendered_inputs(self.renderer, target, templates, self._asked(), faults.note)
        faults.check()
        return rendered

    def _asked(self) -> list[tuple[str, str | None, str]]:
        if self._samples is None:
            rows = sql.run_file(self.con, "scoring/asked_samples").fetchall()
            lost = [row[0] for row in rows if row[2] is None]
            if lost:
                raise SpecError(
                    Fault(
                        f"the dataset rows of {len(lost)} samples are not in the warehouse",
                        f"run {self.run_id}",
                    )
                )
            self._samples = rows
        return self._samples
