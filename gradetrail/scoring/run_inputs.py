"""What a scorer needs of each sample of a run, taken from the stored rows by SQL where that is plain.

Invariant: `run_input` holds what `rendered_inputs` gives for each (sample_id, choice_order).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.errors import Fault, SpecError
from gradetrail.prompt import FIELD_ONLY, Renderer
from gradetrail.scoring.definition import Definition, columns
from gradetrail.scoring.inputs import InputFaults, rendered_inputs
from gradetrail.scoring.tables import BATCH_ROWS
from gradetrail.spec import Spec

if TYPE_CHECKING:
    import duckdb


def make_run_inputs(con: duckdb.DuckDBPyConnection, spec: Spec, run_id: str, definition: Definition) -> None:
    """Make the table `run_input` of a run; SQL takes targets that are one field of the row, if it is text."""
    import pyarrow as pa

    templates = columns(definition)
    is_bare = not templates and spec.choices is None
    params = {
        "run_id": run_id,
        "path": _path(definition.target) if is_bare else None,
        "has_none": is_bare and definition.target is None,
    }
    sql.run_file(con, "scoring/asked_inputs", params)
    n_asked, n_lost, n_open = sql.run_file(con, "scoring/n_asked_inputs").fetchall()[0]
    if n_lost:
        lost = f"the dataset rows of {n_lost} samples are not in the warehouse"
        raise SpecError(Fault(lost, f"run {run_id}"))
    renderer = Renderer(spec, with_examples=False)
    faults = InputFaults(run_id)
    tables = [rendered_inputs(renderer, definition.target, templates, (), faults.note)]
    for after in range(0, n_asked if n_open else 0, BATCH_ROWS):
        batch = {"after": after, "until": after + BATCH_ROWS}
        asked = sql.run_file(con, "scoring/asked_contents", batch).fetchall()
        tables.append(rendered_inputs(renderer, definition.target, templates, asked, faults.note))
    faults.check()
    con.register("rendered_input", pa.concat_tables(tables))
    sql.run_file(con, "scoring/run_inputs")
    con.unregister("rendered_input")


def _path(target: str | list[str] | None) -> str | None:
    """Give the JSON path of the one field that a target's template is; None for other templates."""
    field = FIELD_ONLY.match(target) if isinstance(target, str) else None
    return None if field is None else "$" + "".join(f'."{name}"' for name in field[1].split("."))
