"""What is asked next in a conversation, and how much of a scripted one is answered already.

Invariant: each turn is an ordinary request whose messages hold the earlier answers, so that a stored
answer serves it whichever conversation brought it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from gradetrail import sql
from gradetrail.dataset import parse_row
from gradetrail.generation.trials import BATCH_ROWS, rows_of
from gradetrail.generation.work import Turn
from gradetrail.request import KeyMaker, Request, canonical_messages

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from gradetrail.generation.plan import Plan


SCRIPT_COLUMNS = ("entrant", "sample", "sample_id", "sample_hash", "epoch", "request_key")
"""What `Scripts` reads of a trial."""


class Scripts:
    """Makes the turns of a plan's trials."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._makers = [KeyMaker(entrant.shape, entrant.prompt) for entrant in plan.entrants]

    def canonical(self, row: Mapping[str, Any]) -> bytes:
        """Give the hashed canonical request of a trial without messages."""
        maker: KeyMaker = self._makers[row["entrant"]]
        return maker.without_messages(row["epoch"], row["sample_hash"], row["sample_id"])

    def turns(self, row: Mapping[str, Any]) -> Callable[[Sequence[str]], Turn]:
        """Render a trial's conversation; the result makes the turn that follows given answers."""
        plan, maker = self.plan, self._makers[row["entrant"]]
        entrant, epoch = plan.entrants[row["entrant"]], row["epoch"]
        sample_id, sample_hash = row["sample_id"], row["sample_hash"]
        kept = None if entrant.shape.sees_sample else plan.messages.get(row["request_key"])
        if kept is not None:
            # in the order in which they are rendered, so that a body does not depend on what was kept
            said = [{"role": m["role"], "content": m["content"]} for m in orjson.loads(kept)]
            request = Request(
                entrant.shape, said, epoch, row["request_key"], sample_id, None, sample_hash, entrant.prompt
            )
            only = Turn(request, kept, 1, is_last=True)
            return lambda _: only
        sample = parse_row(plan.samples.content(row["sample"]))
        rendered = plan.renderer.render(entrant.prompt, sample, sample_id, epoch, entrant.system)
        single_key = None if rendered.follow_ups else row["request_key"]

        def turn(answers: Sequence[str]) -> Turn:
            messages: list[dict[str, str]] = list(rendered.messages)
            for answer, question in zip(answers, rendered.follow_ups, strict=False):
                messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": question}]
            encoded = canonical_messages(messages)
            key = single_key or maker.key(encoded, epoch, sample_hash, sample_id)
            seen = sample if entrant.shape.sees_sample else None
            request = Request(
                entrant.shape, messages, epoch, key, sample_id, seen, sample_hash, entrant.prompt
            )
            return Turn(request, encoded, len(answers) + 1, len(answers) == len(rendered.follow_ups))

        return turn


@dataclass(slots=True)
class Known:
    """How far scripted conversations have come, from stored answers."""

    last_keys: dict[str, str] = field(default_factory=dict)
    """Script -> request_key of its last turn, once all earlier turns are answered."""
    answers: dict[str, list[str]] = field(default_factory=dict)
    """Script -> answers to its first turns."""


def scripted(plan: Plan) -> set[str]:
    """Name the prompts of a plan that take more than one call."""
    return {name for name, prompt in plan.spec.prompts.items() if len(prompt.turns) > 1}


def known_turns(con: duckdb.DuckDBPyConnection, plan: Plan, trials: pa.Table, not_before: object) -> Known:
    """Follow every scripted conversation of some trials through the stored answers, turn by turn."""
    known = Known()
    names = scripted(plan)
    if not names:
        return known
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = [number for number, entrant in enumerate(plan.entrants) if entrant.prompt in names]
    rows = rows_of(trials.filter(pc.field("entrant").isin(numbers)), SCRIPT_COLUMNS)
    scripts = Scripts(plan)
    while batch := list(islice(rows, BATCH_ROWS)):
        open_turns = {row["request_key"]: scripts.turns(row) for row in batch}
        while open_turns:
            asked = {
                script: turn(known.answers.setdefault(script, [])) for script, turn in open_turns.items()
            }
            known.last_keys.update({s: turn.request.key for s, turn in asked.items() if turn.is_last})
            asked = {script: turn for script, turn in asked.items() if not turn.is_last}
            keys = pa.table({"request_key": pa.array([t.request.key for t in asked.values()], pa.string())})
            con.register("planned_turn", keys)
            found = dict(sql.run_file(con, "generation/stored_texts", {"not_before": not_before}).fetchall())
            con.unregister("planned_turn")
            for script, turn in asked.items():
                if turn.request.key in found:
                    known.answers[script].append(found[turn.request.key])
            open_turns = {s: open_turns[s] for s, turn in asked.items() if turn.request.key in found}
    return known


def resolved(trials: pa.Table, known: Known) -> pa.Table:
    """Put the request_key of the last turn where it is known already."""
    import pyarrow as pa

    if not known.last_keys:
        return trials
    keys = [known.last_keys.get(str(key), str(key)) for key in trials.column("request_key").to_pylist()]
    place = trials.schema.get_field_index("request_key")
    return trials.set_column(place, "request_key", pa.array(keys, pa.string()))
