"""A spool gives back what went into it, in the order of the stored table, whatever came when."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gradetrail.store import Store
from gradetrail.store.schema import FACT_ROW_GROUP
from gradetrail.store.segments import ordered
from gradetrail.store.spool import Spool

RUN = "20261130T083112Z-t-000001"
SCORER = "ab" * 32
SIZE = 50_000


def scores(begin: int, end: int, **columns: Any) -> pa.Table:
    """Give rows whose order is that of their numbers."""
    numbers = range(begin, end)
    rows: dict[str, Any] = {
        "run_id": [RUN] * len(numbers),
        "scorer": ["s"] * len(numbers),
        "scorer_id": [SCORER] * len(numbers),
        "metric": ["score"] * len(numbers),
        "model": [f"m{n // 400_000}" for n in numbers],
        "prompt": ["default"] * len(numbers),
        "sample_id": [f"s{n // 4:06}" for n in numbers],
        "epoch": pa.array((n % 4 for n in numbers), pa.int32()),
        "opponent_response_id": pa.nulls(len(numbers), pa.string()),
        "outcome": ["scored"] * len(numbers),
        "score": [n % 2 / 2 for n in numbers],
        **columns,
    }
    table = pa.table(rows)
    for name in ("run_id", "scorer", "scorer_id", "metric", "model", "prompt", "outcome"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, table.column(name).dictionary_encode())
    return table


def shuffled(rows: pa.Table) -> pa.Table:
    return rows.take(random.Random(1).sample(range(rows.num_rows), rows.num_rows))


def in_parts() -> Iterator[pa.Table]:
    return (scores(begin, begin + SIZE) for begin in range(0, 8 * SIZE, SIZE))


CASES: dict[str, Callable[[], Sequence[pa.Table]]] = {
    "nothing": lambda: [scores(0, 0)],
    "one row": lambda: [scores(0, 1)],
    "a few rows, mixed": lambda: [shuffled(scores(0, 99))],
    "one row group": lambda: [scores(0, FACT_ROW_GROUP)],
    "in order": lambda: list(in_parts()),
    "in two runs": lambda: [rows for n in (1, 0) for rows in list(in_parts())[n::2]],
    "mixed": lambda: [shuffled(rows) for rows in in_parts()],
    "a last row that comes first": lambda: [*list(in_parts())[1:], scores(0, SIZE)],
    "two metrics and opponents, mixed": lambda: [
        shuffled(scores(0, 2 * SIZE, opponent_response_id=[f"r{n % 3}" for n in range(2 * SIZE)])),
        shuffled(scores(0, 2 * SIZE)),
    ],
}


@pytest.mark.parametrize("case", CASES)
def test_rows_come_out_as_sorting_them_in_memory_gives_them(case: str) -> None:
    pieces = CASES[case]()
    whole = pa.concat_tables(pieces)
    spool = Spool(pieces)
    expected = list(ordered("scores", whole))
    assert spool.num_rows == whole.num_rows
    assert spool.table().equals(whole)
    for _ in range(2):
        found = list(spool.batches())
        assert [batch.num_rows for batch in found] == [batch.num_rows for batch in expected]
        assert pa.concat_tables(found).equals(pa.concat_tables(expected))
    assert sum(rows.num_rows for rows in spool.pieces()) == whole.num_rows
    spool.close()
    assert spool.num_rows == 0


@pytest.mark.parametrize("case", ["in order", "mixed"])
def test_the_same_scores_from_a_spool_and_from_a_table_are_published_once(case: str, tmp_path: Path) -> None:
    store = Store(tmp_path)
    pieces = CASES[case]()
    assert store.publish_scores(RUN, SCORER, Spool(pieces), {}) == 1
    assert store.publish_scores(RUN, SCORER, pa.concat_tables(pieces), {}) == 1
    assert store.publish_scores(RUN, SCORER, Spool(pieces[:-1]), {}) == 2
