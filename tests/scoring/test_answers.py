"""Answers come in parts: every trial once, with its own text, and a sample in one part alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from gradetrail.scoring.answers import Share, answer_parts, whole_run
from gradetrail.warehouse import Warehouse
from gradetrail.warehouse.catalog import Catalog
from tests.sql.given import RUN, live_of
from tests.warehouse.conftest import stored as stored_warehouse

OTHER = "20261201T083112Z-t-000002"
Row = dict[str, Any]


def stored() -> Row:
    """Make a run of two models, thirty samples and two epochs, in which some answers are special."""
    trials, responses = [], []
    for sample in range(30):
        for model in ("x", "y"):
            for epoch in (1, 2):
                name = f"{model}{sample}:{epoch}"
                trial: Row = {
                    "model": model,
                    "sample_id": f"s{sample}",
                    "epoch": epoch,
                    "request_key": f"k{name}",
                }
                if sample == 3:
                    trial |= {"status": "error", "error_type": "timeout"}
                else:
                    shared = "same" if sample in (4, 5) else name
                    payer = OTHER if sample == 6 else RUN
                    trial |= {"response_id": f"r{shared}", "response_run_id": payer}
                    if sample != 7:
                        responses.append(
                            {
                                "run_id": payer,
                                "response_id": f"r{shared}",
                                "request_key": f"k{shared}",
                                "text": shared,
                            }
                        )
                trials.append(trial)
    other = {"run_id": OTHER, "response_id": "rx0:1", "request_key": "kx0:1", "text": "x0:1"}
    return {"trials": trials, "responses": [*responses, other]}


@pytest.fixture
def con() -> Any:
    catalog = Catalog(live_of(stored()))
    catalog.provide("trials responses")
    yield catalog.cursor()
    catalog.close()


def texts(rows: list[Row]) -> dict[tuple[str, str, int], str | None]:
    return {(row["model"], row["sample_id"], row["epoch"]): row["text"] for row in rows}


def wanted() -> dict[tuple[str, str, int], str | None]:
    own: dict[int, Any] = {3: None, 7: None, 4: "same", 5: "same"}
    return {
        (model, f"s{sample}", epoch): own.get(sample, f"{model}{sample}:{epoch}")
        for sample in range(30)
        for model in ("x", "y")
        for epoch in (1, 2)
    }


def test_a_run_that_is_read_at_once_has_each_trial_with_its_text(con: Any) -> None:
    rows = whole_run(con, RUN).to_pylist()
    assert texts(rows) == wanted()
    assert sorted(row["row"] for row in rows) == list(range(1, 121))


def test_parts_have_each_trial_once_and_each_sample_whole(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradetrail.scoring.answers.PART_TRIALS", 20)
    monkeypatch.setattr("gradetrail.scoring.answers.BATCH_ROWS", 7)
    parts = [part.to_pylist() for part in answer_parts(con, RUN)]
    assert len(parts) == 6
    rows = [row for part in parts for row in part]
    assert texts(rows) == wanted()
    assert len(rows) == 120
    for part in parts:
        assert len(part) == 4 * len({row["sample_id"] for row in part})
        assert len({row["row"] for row in part}) == len(part)


def test_a_run_that_nobody_made_is_an_empty_part(con: Any) -> None:
    assert [part.num_rows for part in answer_parts(con, "20261130T083112Z-t-ffffff")] == [0]


def test_shares_are_disjoint_and_together_the_run(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradetrail.scoring.answers.BATCH_ROWS", 7)
    shares = [
        [part.to_pylist() for part in answer_parts(con, RUN, Share(7, numbers))]
        for numbers in ((0, 3, 6), (1, 4), (5, 2))
    ]
    assert [len(parts) for parts in shares] == [3, 2, 2]
    samples = [{row["sample_id"] for part in parts for row in part} for parts in shares]
    assert sum(map(len, samples)) == len(set().union(*samples)) == 30
    assert texts([row for parts in shares for part in parts for row in part]) == wanted()


def test_parts_are_bounded_by_the_bytes_of_their_answers_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = stored_warehouse(tmp_path / "warehouse", live_of(large()))
    monkeypatch.setattr("gradetrail.scoring.answers.FEW_TRIALS", 10)
    monkeypatch.setattr("gradetrail.scoring.answers.PART_BYTES", 50_000)
    with Warehouse(root) as opened:
        stored_con = opened.connection("trials", "responses")
        parts = [part.to_pylist() for part in answer_parts(stored_con, RUN)]
    catalog = Catalog(live_of(large()))
    catalog.provide("trials responses")
    loose = [part.to_pylist() for part in answer_parts(catalog.cursor(), RUN)]
    catalog.close()
    for found in (parts, loose):
        assert 4 <= len(found) <= 5, "forty answers of 5,000 bytes, 50,000 at a time"
        assert sorted(row["sample_id"] for part in found for row in part) == sorted(
            f"s{n}" for n in range(40)
        )
        assert all(len(row["text"]) == 5_000 for part in found for row in part)


def large() -> Row:
    """Make a run of forty answers that are long and cannot be compressed."""
    draw = random.Random(3)
    trials = [
        {
            "sample_id": f"s{n}",
            "request_key": f"k{n}",
            "response_id": f"r{n}",
            "response_run_id": RUN,
            "run_id": RUN,
        }
        for n in range(40)
    ]
    texts = [draw.randbytes(2_500).hex() for _ in range(40)]
    responses = [
        {"run_id": RUN, "response_id": f"r{n}", "request_key": f"k{n}", "text": text}
        for n, text in enumerate(texts)
    ]
    samples = [{"sample_id": f"s{n}"} for n in range(40)]
    return {"trials": trials, "responses": responses, "runs": [{"run_id": RUN}], "samples": samples}
