"""A small warehouse on disk, written by the store itself."""

from pathlib import Path

import pytest

from gradetrail.store import Live, Store
from tests.sql.given import live_of

OLD, NEW, OTHER = "20261130T083112Z-t-00000a", "20261201T083112Z-t-00000b", "20261201T093112Z-u-00000c"
GIVEN = {
    "tasks": [
        {"task": "t", "n": 1, "scorers": {"strict": "s1" * 32}},
        {"task": "t", "n": 2, "scorers": {"strict": "s2" * 32}},
        {"task": "u", "n": 1, "scorers": {"strict": "s2" * 32}},
    ],
    "runs": [
        {"run_id": OLD, "tags": ["base"]},
        {"run_id": NEW, "tags": ["base", "better"]},
        {"run_id": OTHER, "task": "u"},
    ],
    "grades": [
        {
            "run_id": run,
            "task": task,
            "model": model,
            "sample_id": sample,
            "scorer_id": "s2" * 32,
            "text": text,
        }
        | {"score": float(text == sample)}
        for run, task, answers in (
            (OLD, "t", {"x": "abba", "y": "abcd"}),
            (NEW, "t", {"x": "abcc", "y": "abcd"}),
            (OTHER, "u", {"x": "aaaa"}),
        )
        for model, texts in answers.items()
        for sample, text in zip("abcd", texts, strict=True)
    ],
    "samples": [
        {"sample_id": sample, "content": f'{{"question": "what is {sample}?"}}', "position": n}
        for n, sample in enumerate("abcd")
    ],
}


def stored(root: Path, live: Live) -> Path:
    """Write what is loose in `live` to a new warehouse: one file per table and run."""
    store = Store(root)
    for manifest in live.manifests:
        run_id = manifest["run_id"]
        for table, stem in (
            ("responses", f"{run_id}.1"),
            ("calls", f"{run_id}.1"),
            ("trials", f"{run_id}.1f"),
        ):
            store.publish(table, stem, of_run(live, table, run_id))
        scores = of_run(live, "scores", run_id)
        for scorer_id in sorted(set(scores.column("scorer_id").to_pylist())):
            store.publish_scores(run_id, scorer_id, where(scores, "scorer_id", scorer_id), {"trials": "1f"})
        store.write_manifest(run_id, manifest)
    for dataset_id in sorted(set(live.loose["samples"].column("dataset_id").to_pylist())):
        store.publish_samples(dataset_id, live.loose["samples"])
    for scorer in live.scorers:
        store.publish_scorer(scorer["scorer_id"], scorer)
    for record in live.tasks:
        store.publish_task(record["task"], {k: v for k, v in record.items() if k not in ("task", "n")})
    return root


def of_run(live, table, run_id):
    rows = live.loose.get(table)
    if rows is None:
        from gradetrail.store.schema import arrow_schema

        return arrow_schema(table).empty_table()
    return where(rows, "run_id", run_id)


def where(rows, column, value):
    import pyarrow.compute as pc

    return rows.filter(pc.equal(rows.column(column), value))


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return stored(tmp_path / "warehouse", live_of(GIVEN))


@pytest.fixture
def empty_root(tmp_path):
    Store(tmp_path / "empty")
    return tmp_path / "empty"
