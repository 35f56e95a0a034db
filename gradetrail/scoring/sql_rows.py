"""Evaluates the expression of a `sql` scorer over answers, in a process with limits.

Invariant: an error belongs to the row that causes it. After the process was lost, once, to an expression
that takes too long or too much, what is left is not tried: each row says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gradetrail.errors import Fault, QueryError, SpecError
from gradetrail.scoring.by_row import Said
from gradetrail.sql_child import ChildLostError, Limits, SqlChild

if TYPE_CHECKING:
    import pyarrow as pa

LIMITS = Limits(wall_s=60, cpu_s=60, memory_mb=2048, result_mb=512)
"""For one batch of answers."""
PARTS = ("score", "extracted", "detail")
"""Fields that a struct may have."""


class Evaluator:
    """One process for one expression; a context manager."""

    def __init__(self, expression: str, limits: Limits = LIMITS) -> None:
        self._query = f"select row, ({expression}\n) as value from answer where row between $first and $last"  # noqa: S608 - the expression was parsed and found to be one
        self._child = SqlChild(limits)
        self._lost: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close()

    def evaluate(self, rows: pa.Table) -> list[Said]:
        """Give what the expression says of each row; SpecError if it does not fit the columns at all."""
        if self._lost is not None:
            return [Said(fault=self._lost)] * rows.num_rows
        numbers: list[Any] = rows.column("row").to_pylist()
        self._child.put("answer", rows.drop_columns(["extracted_by"]))
        said: dict[int, Said] = {}
        self._between(numbers, said)
        return [said[number] for number in numbers]

    def check(self, rows: pa.Table) -> None:
        """Refuse an expression that does not fit these columns, or gives no score; SpecError."""
        self._child.put("answer", rows.drop_columns(["extracted_by"]))
        try:
            found = self._child.query(self._query, {"first": 0, "last": -1})
        except QueryError as error:
            raise SpecError(Fault(_first_line(error.faults[0].message), field="sql")) from None
        _check_type(found.schema.field("value").type)

    def _between(self, numbers: Sequence[int], said: dict[int, Said]) -> None:
        """Evaluate some rows at once, and where that fails each half of them."""
        if self._lost is not None:
            said.update(dict.fromkeys(numbers, Said(fault=self._lost)))
            return
        try:
            found = self._child.query(self._query, {"first": numbers[0], "last": numbers[-1]})
        except ChildLostError as error:
            self._lost = f"the expression was stopped: {error.faults[0].message}"
            self._between(numbers, said)
        except QueryError as error:
            message = error.faults[0].message
            if message.startswith("Binder Error"):
                raise SpecError(Fault(_first_line(message), field="sql")) from None
            if len(numbers) == 1:
                said[numbers[0]] = Said(fault=_first_line(message))
                return
            half = len(numbers) // 2
            self._between(numbers[:half], said)
            self._between(numbers[half:], said)
        else:
            _check_type(found.schema.field("value").type)
            columns: list[Any] = [found.column(name).to_pylist() for name in ("row", "value")]
            said.update({row: _said(value) for row, value in zip(*columns, strict=True)})


def _first_line(message: str) -> str:
    return message.partition("\n")[0]


def _check_type(kind: pa.DataType) -> None:
    """Refuse what is no score; SpecError names the type."""
    import pyarrow.types as pt

    fix = "give a boolean, a number, or a struct {'score': ..., 'extracted': ..., 'detail': ...}"
    if pt.is_struct(kind):
        names = [kind.field(index).name for index in range(kind.num_fields)]
        unknown = [name for name in names if name not in PARTS]
        if unknown or "score" not in names:
            message = (
                f"the struct has {f'an unknown field `{unknown[0]}`' if unknown else 'no field `score`'}"
            )
            raise SpecError(Fault(message, field="sql", fix=fix))
        kind = kind.field("score").type
    is_number = pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind)
    if not (is_number or pt.is_boolean(kind) or pt.is_null(kind)):
        raise SpecError(Fault(f"the expression gives {kind}, which is no score", field="sql", fix=fix))


def _said(value: Any) -> Said:
    if isinstance(value, dict):
        return Said(_number(value["score"]), value.get("extracted"), value.get("detail"))
    return Said(_number(value))


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, bool | Decimal) else value
