"""The Python API as a notebook uses it: inside a running event loop, typed, and plain about what is wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import gradetrail as gt

SUMS = {
    "name": "sums",
    "prompt": "{{ question }}",
    "target": "{{ answer }}",
    "scorer": "numeric",
    "models": ["mock/rule_based", "mock/noisy"],
}
FRAME = [{"question": f"What is {n} + {n}?", "answer": 2 * n} for n in range(20)]


def test_everything_works_inside_a_running_event_loop(tmp_path: Path) -> None:
    root = tmp_path / "warehouse"

    async def notebook() -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(tick())
        await asyncio.sleep(0)
        generated = gt.generate(SUMS, frame=FRAME, warehouse=root)
        first = gt.run(SUMS, frame=FRAME, warehouse=root)
        assert (generated.run_id, first.is_new) == (first.run_id, False)
        again = gt.Invocation(options=gt.Options(new=True))
        second = gt.run(SUMS, frame=FRAME, warehouse=root, invocation=again)
        assert gt.score(second.run_id, warehouse=root)
        assert gt.preview(second.run_id, warehouse=root).flips == ()
        assert second.board()["model"].to_list()[0] == "mock/rule_based"
        assert set(second.wrong()["model"]) == {"mock/noisy"}
        assert second.diff(first)["change"].unique().to_list() == ["same"]
        with gt.Warehouse(root) as warehouse:
            assert warehouse.sql("select $x as x", {"x": 1})["x"].to_list() == [1]
            assert isinstance(warehouse.table("costs"), pl.DataFrame)
            assert warehouse.connection().sql("from runs").shape[0] == 2
            lazy = warehouse.graded(runs=["latest"], columns=["model", "score"])
            assert isinstance(lazy, pl.LazyFrame)
            assert lazy.collect().shape == (40, 2)
            assert warehouse.leaderboard("sums").shape[0] == 2
            assert warehouse.diff("latest~1", "latest").shape[0] == 40
        assert gt.plot(root).svg().startswith("<svg")
        before = ticks
        await asyncio.sleep(0)
        assert ticks > before  # the loop goes on
        beside.cancel()

    asyncio.run(notebook())


def test_a_frame_needs_no_dataset_in_the_spec(tmp_path: Path) -> None:
    done = gt.run(SUMS, frame=pl.DataFrame(FRAME), warehouse=tmp_path / "w")
    assert done.board()["n"].to_list() == [20, 20]
    with pytest.raises(gt.GradetrailError, match="`dataset` is missing"):
        gt.run(SUMS, warehouse=tmp_path / "w")


def test_a_spec_can_be_made_from_the_short_forms(tmp_path: Path) -> None:
    spec = gt.Spec(dataset={}, **SUMS)  # type: ignore[arg-type]
    assert spec == gt.Spec(
        name="sums",
        dataset={},  # type: ignore[arg-type]
        prompts={"default": {"messages": [{"user": "{{ question }}"}]}},  # type: ignore[dict-item]
        target="{{ answer }}",
        scorers={"numeric": {"type": "numeric"}},  # type: ignore[dict-item]
        models=["mock/rule_based", "mock/noisy"],  # type: ignore[arg-type]
    )
    assert gt.run(spec, frame=FRAME, warehouse=tmp_path / "w").status == "complete"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "x"}, [f"`{key}` is missing" for key in ("dataset", "prompts", "models", "scorers")]),
        ({**SUMS, "dataset": {}, "modle": "mock/echo"}, ["modle"]),
        ({**SUMS, "dataset": {}, "models": ["mok/echo"]}, ["unknown model `mok/echo`"]),
        ({**SUMS, "dataset": {}, "epochs": 0, "unanswered": "maybe"}, ["epochs", "unanswered"]),
    ],
    ids=["nothing", "unknown key", "unknown model", "two faults"],
)  # fmt: skip
def test_a_wrong_spec_names_every_fault(fields: dict[str, Any], said: list[str]) -> None:
    with pytest.raises(gt.GradetrailError) as caught:
        gt.Spec(**fields)
    assert [word for word in said if word not in str(caught.value)] == []
    assert len(caught.value.faults) >= len(said)
    assert "pydantic" not in str(caught.value)


def test_what_is_no_spec_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(gt.GradetrailError, match="a int is no spec"):
        gt.run(3, warehouse=tmp_path)  # type: ignore[arg-type]
