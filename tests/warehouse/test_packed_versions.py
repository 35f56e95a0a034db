"""Earlier definitions of a scorer are found whether grades are in files of their own or in packs."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradetrail as gt
from gradetrail.errors import SelectionError
from gradetrail.store import Store

ROWS = [{"q": "What is 1 + 1?", "a": "2"}, {"q": "What is 2 + 2?", "a": "5"}]
SPEC = {"name": "sums", "prompt": "{{ q }}", "target": "{{ a }}", "model": "mock/rule_based"}


def test_a_definition_before_the_present_one_is_compared_from_packs(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"
    first = gt.run(SPEC | {"scorers": {"strict": "numeric"}}, frame=ROWS, warehouse=root)
    gt.run(SPEC | {"scorers": {"strict": {"type": "includes"}}}, frame=ROWS, warehouse=root)
    later = gt.run(
        SPEC | {"scorers": {"strict": {"type": "includes"}}},
        frame=ROWS, warehouse=root, invocation=gt.Invocation(options=gt.Options(new=True)),
    )  # fmt: skip
    found = []
    for is_packed in (False, True):
        if is_packed:
            Store(root).compact(0.0)
            assert list((root / "scores").glob("*.parquet")) == []
        with gt.Warehouse(root) as opened:
            rows = opened.diff(first.run_id, scorers=("strict~1", "strict"))
            found.append(sorted(rows.select("sample_id", "change", "a_score", "b_score").rows()))
            with pytest.raises(SelectionError, match=f"`{later.run_id}` is not graded by `strict~1`"):
                opened.diff(later.run_id, scorers=("strict~1", "strict"))
    assert found[0] == found[1]
    assert len(found[0]) == 2
