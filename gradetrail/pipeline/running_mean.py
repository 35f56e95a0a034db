"""The mean so far, while answers come: the code that grades runs looks at them in small batches.

Invariant: this is talk and not data. It grades on a thread of its own, no more than so many answers at a
time, so calls are not held up; nothing is stored, and nothing fails because of it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gradetrail import sql
from gradetrail.generation.progress import Mean, Progress
from gradetrail.prompt import Renderer
from gradetrail.scoring.grade import Definition, columns, grade
from gradetrail.scoring.inputs import rendered_inputs
from gradetrail.scoring.tables import load_macros

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from gradetrail.generation.plan import Plan

EVERY_S = 3.0
MOST_ROWS = 1_000
"""Answers that are graded at a time; of more, those that came last are left out of the mean."""
CHEAP = frozenset(
    {
        "accuracy", "choice", "edit_distance", "exact", "f1", "includes", "json_match", "numeric", "regex",
        "tool_calls",
    }
)  # fmt: skip
"""Types of scorers that grade thousands of answers a second, and ask nobody."""
_ENDED = (
    "model", "prompt", "sample_id", "epoch", "choice_order", "status", "error_type", "stop_reason",
    "confidence", "token_nll", "token_count",
)  # fmt: skip


@contextlib.contextmanager
def running_mean(progress: Progress, plan: Plan, definition: Definition) -> Iterator[None]:
    """Have `progress` tell the mean by a scorer, where it is one that is cheap to know."""
    if definition.scorer.type not in CHEAP or progress.observe is None:
        yield
        return
    grader = _Grader(progress, plan, definition)
    progress.answered = grader.take
    thread = threading.Thread(target=grader.run, name="gradetrail-mean", daemon=True)
    thread.start()
    try:
        yield
    finally:
        progress.answered = None
        grader.stop.set()
        thread.join()


class _Grader:
    """Grades what it is given, now and then."""

    def __init__(self, progress: Progress, plan: Plan, definition: Definition) -> None:
        self.stop = threading.Event()
        self._progress, self._plan, self._definition = progress, plan, definition
        self._renderer = Renderer(plan.spec, with_examples=False)
        self._waiting: list[dict[str, Any]] = []
        self._sums: dict[tuple[str, str], tuple[float, int]] = {}

    def take(self, trials: Sequence[Mapping[str, Any]], text: str | None, tool_calls: str | None) -> None:
        """Take trials that ended, and the answer to them; called on the engine's thread."""
        if len(self._waiting) < MOST_ROWS:
            said = {"text": text, "tool_calls": tool_calls}
            self._waiting += [{**{name: row.get(name) for name in _ENDED}, **said} for row in trials]

    def run(self) -> None:
        """Grade until told to stop; whatever goes wrong only ends this."""
        with contextlib.suppress(Exception):
            if self.stop.wait(EVERY_S):
                return
            with contextlib.closing(sql.connect(threads=1)) as con:
                load_macros(con)
                for name in ("is_unanswered", "counted_score"):
                    sql.run_file(con, f"macros/{name}")
                while True:
                    rows, self._waiting = self._waiting, []
                    if rows:
                        self._grade(con, rows)
                    if self.stop.wait(EVERY_S):
                        return

    def _grade(self, con: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]]) -> None:
        definition = self._definition
        con.register("trial_answer", _answers(rows))
        asked = sorted({(row["sample_id"], row["choice_order"]) for row in rows}, key=str)
        contents = self._contents(sorted({sample_id for sample_id, _ in asked}))
        inputs = rendered_inputs(
            self._renderer, definition.target, columns(definition),
            [(sample_id, order, contents[sample_id]) for sample_id, order in asked],
        )  # fmt: skip
        con.register("grading_input", inputs)
        sql.run_file(con, "scoring/answer_inputs")
        grade(con, definition)
        found = sql.run_file(con, "scoring/running_mean", {"unanswered_score": self._worst()}).fetchall()
        for model, prompt, total, n in found:
            before, n_before = self._sums.get((model, prompt), (0.0, 0))
            self._sums[model, prompt] = before + total, n_before + n
        self._progress.means = {
            pair: Mean(total / n, n) for pair, (total, n) in sorted(self._sums.items()) if n
        }

    def _worst(self) -> float | None:
        """Give what an unanswered trial counts; None where it does not count."""
        if self._plan.spec.unanswered != "wrong":
            return None
        low, high = self._definition.bounds()
        return low if self._definition.scorer.higher_is_better else high

    def _contents(self, sample_ids: Sequence[str]) -> dict[str, str]:
        import pyarrow as pa
        import pyarrow.compute as pc

        samples = self._plan.samples
        numbers: Any = pc.index_in(pa.array(sample_ids, pa.string()), samples.chosen.column("sample_id"))
        return {
            sample_id: samples.content(number)
            for sample_id, number in zip(sample_ids, numbers.to_pylist(), strict=True)
        }


def _answers(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Give the columns of the relation `trial_answer`."""
    import pyarrow as pa

    kinds: dict[str, pa.DataType] = {
        **dict.fromkeys((*_ENDED, "text", "tool_calls"), pa.string()),
        "epoch": pa.int32(), "confidence": pa.float64(), "token_nll": pa.float64(), "token_count": pa.int64(),
    }  # fmt: skip
    table = pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})
    entrants = [f"{row['model']}\x1f{row['prompt']}" for row in rows]
    for name in ("run_id", "task", "model_id", "response_id"):
        table = table.append_column(name, pa.nulls(len(rows), pa.string()))
    return table.append_column("entrant", pa.array(entrants, pa.string())).append_column(
        "row", pa.array(range(len(rows)), pa.int64())
    )
