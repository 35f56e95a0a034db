"""Hostile SQL, every text of `hostile.txt`: it is stopped or harmless, and everything is as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from gradetrail.errors import SpecError
from gradetrail.scoring.expression import expression_faults
from gradetrail.scoring.sql_rows import Evaluator
from tests.cli.command import gradetrail, tree
from tests.hostile_sql import LIMITS, Behind, Case, cases, places_of

CASES = cases()
ANSWERS = pa.table({"row": [1], "text": ["a"], "extracted_by": pa.nulls(1, pa.string())})
COUNT = "select count(*) from trials"
BUSY_S = 10.0
"""What a busy machine may add to a limit of time."""
SLACK_MIB = 64
"""What the process holds beside the query: rows on their way, DuckDB's own tables."""


class Besieged:
    """A warehouse that is asked hostile things."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.places = places_of(folder / "warehouse", folder / "beside")
        self.behind = Behind(folder / "warehouse")
        self.trials = self.behind.patient.rows(COUNT)[1]
        self.before = tree(folder)


@pytest.fixture(scope="module")
def besieged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Besieged]:
    folder = tmp_path_factory.mktemp("besieged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert gradetrail("demo", "ten_tasks").code == 0
    opened = Besieged(folder)
    with opened.behind:
        yield opened


@pytest.mark.parametrize("case", CASES, ids=[f"{case.line}-{case.kind}" for case in CASES])
def test_it_is_stopped_or_harmless_and_leaves_everything_as_it_was(besieged: Besieged, case: Case) -> None:
    seen = besieged.behind.tried(case, besieged.places)
    assert seen.ending == case.ending, seen
    assert (seen.said != "") == (seen.ending != "harmless")
    assert seen.mib <= LIMITS.memory_mb + SLACK_MIB
    if seen.ending == "limit":
        assert seen.seconds < LIMITS.wall_s + BUSY_S
        assert "fix: " in seen.said
    assert besieged.behind.asked(case).rows(COUNT)[1] == besieged.trials
    assert tree(besieged.folder) == besieged.before


@pytest.mark.parametrize("case", CASES, ids=[f"{case.line}-{case.kind}" for case in CASES])
def test_no_expression_of_a_scorer_can_be_one(besieged: Besieged, case: Case) -> None:
    text = case.sql(besieged.places)
    for expression in (text, f"({text})", f"1 = 1) or exists ({text}", f"(select count(*) from ({text}))"):
        if not expression_faults(expression, "spec.yaml:3", "scorers.s.sql", frozenset({"text"})):
            # such as a literal of a type that there is not
            with Evaluator(expression, LIMITS) as evaluator, pytest.raises(SpecError):
                evaluator.check(ANSWERS)


def test_there_are_at_least_sixty_of_every_sort() -> None:
    kinds = Counter(case.kind for case in CASES)
    assert sum(kinds.values()) >= 60
    assert set(kinds) == {
        "write", "macro", "statement", "setting", "read", "pointer", "memory", "spill", "processor", "depth",
        "output",
    }  # fmt: skip
    assert len({case.text for case in CASES}) == len(CASES)
