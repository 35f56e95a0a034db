"""Tries `sql` scorers on the columns that there will be, before anything is paid for.

Invariant: nothing is graded; the expression meets an empty table in the process that will grade with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from gradetrail.errors import Fault, SpecError
from gradetrail.scorer_spec import Sql
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.expression import expression_faults
from gradetrail.scoring.frames import ANSWER_COLUMNS, empty_frame
from gradetrail.scoring.sql_rows import Evaluator


@dataclass(slots=True)
class ColumnWatch:
    """Collects the dataset's columns, and says which expressions do not fit them."""

    expressions: tuple[tuple[str, str, str], ...]
    """Name of the scorer, field of the spec and expression, of each `sql` scorer."""
    _columns: dict[str, None] = field(default_factory=dict)

    @classmethod
    def over(cls, definitions: Iterable[Definition]) -> ColumnWatch:
        """Watch for these definitions and their cases."""
        return cls(tuple((d.name, *pair) for d in definitions for pair in _expressions(d)))

    def look(self, names: Iterable[str]) -> None:
        """Look at the columns of one sample."""
        if self.expressions:
            self._columns.update(dict.fromkeys(names))

    def faults(self, place_of: Callable[[str], str]) -> list[Fault]:
        """Say what does not fit; `place_of` gives file and line of a scorer in the spec."""
        found: list[Fault] = []
        known = frozenset((*ANSWER_COLUMNS, *self._columns))
        for name, place, expression in self.expressions:
            where = place_of(name)
            unknown = expression_faults(expression, where, place, known)
            found += unknown or _misfit(expression, where, place, self._columns)
        return found


def _expressions(definition: Definition) -> Iterator[tuple[str, str]]:
    if isinstance(definition.scorer, Sql):
        yield f"scorers.{definition.name}.sql", definition.scorer.sql
    for case in definition.cases().values():
        yield from _expressions(case)


def _misfit(expression: str, where: str, place: str, columns: Iterable[str]) -> list[Fault]:
    try:
        with Evaluator(expression) as evaluator:
            evaluator.check(empty_frame(columns))
    except SpecError as error:
        return [Fault(fault.message, where, place, fault.fix) for fault in error.faults]
    return []
