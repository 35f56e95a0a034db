"""What a preference compares an answer with: a target, or an answer of another entrant.

Invariant: an opponent's answer is to the same sample in the same epoch; which run it is of is settled
before any query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.errors import Fault, SelectionError, did_you_mean
from gradetrail.scorer_spec import Judge, Opponent
from gradetrail.scoring.definition import Definition
from gradetrail.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb

Entrant = tuple[str, str]
"""Model and prompt."""


def make_opponents(con: duckdb.DuckDBPyConnection, scorer: Judge, run_id: str, opponent_run_id: str) -> None:
    """Make the table `opponent` for the answers of a run; empty where the judge compares nothing.

    Raises SelectionError where the other run does not say which of its entrants is meant.
    """
    against = scorer.against
    if against is None:
        sql.run_file(con, "scoring/no_opponents")
    elif against.target:
        sql.run_file(con, "scoring/target_opponents")
    else:
        _of_run(con, against, run_id, opponent_run_id)


def _of_run(con: duckdb.DuckDBPyConnection, against: Opponent, run_id: str, opponent_run_id: str) -> None:
    import pyarrow as pa

    def entrants(run: str) -> list[Entrant]:
        return sql.run_file(con, "scoring/run_entrants", {"opponent_run_id": run}).fetchall()

    theirs = entrants(opponent_run_id)
    pairs = [(own, opponent_of(own, theirs, against, opponent_run_id)) for own in entrants(run_id)]
    names = ("model", "prompt", "opponent_model", "opponent_prompt")
    lists = zip(*((*own, *other) for own, other in pairs), strict=True)
    columns = [pa.array(list(values), pa.string()) for values in lists]
    con.register("opponent_entrant", pa.table(dict(zip(names, columns, strict=True))))
    params = {"run_id": run_id, "opponent_run_id": opponent_run_id}
    sql.run_file(con, "scoring/run_opponents", params)
    con.unregister("opponent_entrant")


def opponent_of(own: Entrant, theirs: Sequence[Entrant], against: Opponent, run_id: str) -> Entrant:
    """Choose the entrant of another run that an entrant is compared with.

    What the spec does not name is the entrant's own name where the run has it, else the run's only one.
    """
    model = _chosen("model", against.model, own[0], [name for name, _ in theirs], run_id)
    prompts = [prompt for name, prompt in theirs if name == model]
    return model, _chosen("prompt", against.prompt, own[1], prompts, run_id)


def _chosen(kind: str, named: str | None, own: str, known: Sequence[str], run_id: str) -> str:
    names = list(dict.fromkeys(known))
    wanted = named if named is not None else own
    if wanted in names:
        return wanted
    if named is None and len(names) == 1:
        return names[0]
    message = f"the opponent's run has no {kind} `{wanted}`"
    raise SelectionError(Fault(message, run_id, f"against.{kind}", did_you_mean(wanted, names)))


def opponent_run(warehouse: Warehouse, run_id: str, definition: Definition) -> str:
    """Name the run whose answers a judge compares with; empty if it compares with none."""
    against = definition.scorer.against if isinstance(definition.scorer, Judge) else None
    if against is None or against.target:
        return ""
    return warehouse.run_id(against.run) if against.run is not None else run_id
