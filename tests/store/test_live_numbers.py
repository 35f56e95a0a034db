"""Which version of a run's trials and grades counts is looked up by run, and is what the names say."""

from __future__ import annotations

from pathlib import Path

from gradetrail.store import Live, Store
from tests.store.rows import SCORER, answered, planned
from tests.store.test_packing import NO_GRACE, finished, grade, run_name


def by_names(live: Live) -> dict[str, dict[tuple[str, str], int]]:
    """Read the numbers out of the names of all that counts, one by one."""
    trials = [stem.rpartition(".") for stem in live.stems("trials")]
    scores = [stem.rpartition(".") for stem in live.stems("scores")]
    return {
        "trials": {(run_id, ""): int(number.removesuffix("f")) for run_id, _, number in trials},
        "scores": {
            (unit.rpartition(".")[0], unit.rpartition(".")[2]): int(number.removesuffix("f"))
            for unit, _, number in scores
        },
    }


def test_numbers_are_those_of_files_and_packs_that_count(tmp_path: Path) -> None:
    runs = [finished(tmp_path, number) for number in range(4)]
    store, scorer12 = Store(tmp_path), SCORER[:12]
    for step in range(3):
        live = store.live()
        assert live.numbers == by_names(live)
        assert live.numbers["scores"] == {(run, scorer12): store.scores_number(run, SCORER) for run in runs}
        loose = {Path(file).name for file in live.score_files.values()}
        assert loose == {f"{stem}.parquet" for stem in live.stems("scores")} & {
            path.name for path in (tmp_path / "scores").iterdir()
        }
        if step == 0:
            store.compact(NO_GRACE)
            grade(store, runs[1], 3, 0.5)
            with store.writer(runs[2]) as writer:
                writer.append(**answered(2, runs[2], text="asked again"))
        else:
            store.compact(NO_GRACE)


def test_a_run_in_parts_has_no_number(tmp_path: Path) -> None:
    run = run_name(1)
    store = planned(tmp_path, 4, run)
    assert store.live().numbers["trials"] == {(run, ""): 0}
    writer = store.writer(run)
    writer.append(**answered(0, run))
    writer.flush()
    assert store.live().numbers["trials"] == {}
