"""What is done to a warehouse while faults happen: each operation begins at a state, and can be done again.

Invariant: to do an operation again after it was interrupted anywhere comes to what it comes to
undisturbed. All of them run the product's own functions, on answers of the mock models.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gradetrail import pipeline
from gradetrail.generation.outstanding import Options
from gradetrail.pipeline import Invocation
from gradetrail.store import Store
from gradetrail.store.repair import damaged
from gradetrail.warehouse.importing import import_warehouse
from gradetrail.warehouse.removing import outlook, remove_run
from tests.store.rows import RUN, answered, planned

N_ANSWERS = 5
"""Of the operation that writes answers one by one."""


@dataclass(frozen=True)
class Operation:
    """One thing that is done to a warehouse."""

    prepare: Callable[[Path], None]
    """Makes `<folder>/warehouse` and what it needs beside it."""
    act: Callable[[Path], None]
    """Does it, in a folder that was prepared."""
    begins_damaged: bool = False
    """True where files are damaged until it is done."""


def write_spec(folder: Path, name: str, n: int, models: tuple[str, ...] = ("rule_based",)) -> Path:
    """Write a spec of sums with its dataset."""
    rows = [{"id": f"s{i}", "question": f"What is {i} + {n}?", "target": str(i + n)} for i in range(n)]
    data = folder / f"{name}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = folder / f"{name}.yaml"
    body = {
        "name": name, "dataset": data.name, "prompt": "{{ question }}", "target": "{{ target }}",
        "models": [f"mock/{model}" for model in models], "scorer": "numeric", "request": {"max_tokens": 64},
    }  # fmt: skip
    spec.write_text(json.dumps(body))
    return spec


def run(folder: Path, spec: Path, *, new: bool = False) -> str:
    """Run a spec; give the run's id."""
    options = Invocation(options=Options(new=new))
    return pipeline.run(spec, warehouse=folder / "warehouse", invocation=options).run_id


def history(folder: Path) -> None:
    """Make a warehouse of four runs: packed, gone on with since, resting on another's answers, loose."""
    first = write_spec(folder, "sums", 4)
    run(folder, first)
    run(folder, write_spec(folder, "others", 3))
    Store(folder / "warehouse").compact(0.0)
    run(folder, first, new=True)
    run(folder, write_spec(folder, "loose", 3))


def _run(folder: Path) -> None:
    run(folder, folder / "more.yaml")


def _to_run(folder: Path) -> None:
    history(folder)
    write_spec(folder, "more", 4)


def _to_write(folder: Path) -> None:
    planned(folder / "warehouse", N_ANSWERS)
    journal = folder / "warehouse" / "journal"
    with Store(folder / "warehouse").writer(RUN, part_rows=2) as writer:
        writer.append(**answered(0))
        writer.flush()
        part = next(journal.glob("*.jsonl"))
        kept = part.read_bytes()
    part.write_bytes(kept)  # as a writer leaves it that was killed between two steps of sealing
    (folder / "promised").write_text(_promise(0))


def _promise(number: int) -> str:
    row = answered(number)["response"]
    return f"{row['run_id']}/{row['response_id']}\n"


def _write(folder: Path) -> None:
    store = Store(folder / "warehouse")
    there = {row["response_id"] for row in store.trials(RUN).to_pylist()}
    with (
        store.writer(RUN, header={"run_id": RUN}, part_rows=2) as writer,
        (folder / "promised").open("a") as said,
    ):
        for number in range(N_ANSWERS):
            row = answered(number)
            if row["response"]["response_id"] not in there:
                writer.append(**row)
                writer.flush()
                said.write(_promise(number))
                said.flush()
        writer.finish()


def _pack(folder: Path) -> None:
    Store(folder / "warehouse").compact(0.0)


def _to_grade(folder: Path) -> None:
    history(folder)
    spec = json.loads((folder / "sums.yaml").read_text())
    (folder / "again.yaml").write_text(json.dumps({**spec, "scorer": "exact", "dataset": "sums.jsonl"}))


def _grade(folder: Path) -> None:
    pipeline.score(folder / "again.yaml", warehouse=folder / "warehouse")


def _oldest(root: Path) -> str | None:
    runs = [m["run_id"] for m in Store(root, create=False).manifests() if m["task"] == "sums"]
    return min(runs) if len(runs) == 2 else None


def _to_remove(folder: Path) -> None:
    history(folder)
    (folder / "run").write_text(_oldest(folder / "warehouse") or "")


def removing(*, with_answers: bool, force: bool = False) -> Callable[[Path], None]:
    """Make the removal of the oldest run."""

    def act(folder: Path) -> None:
        root, run_id = folder / "warehouse", (folder / "run").read_text()
        remove_run(root, outlook(root, run_id, with_answers=with_answers, force=force))

    return act


def _to_import(folder: Path) -> None:
    other = folder / "other"
    other.mkdir()
    theirs = write_spec(other, "sums", 3)
    run(other, theirs)
    Store(other / "warehouse").compact(0.0)
    run(other, theirs, new=True)
    run(folder, write_spec(folder, "sums", 3))


def _import(folder: Path) -> None:
    for _ in import_warehouse(folder / "warehouse", folder / "other" / "warehouse"):
        pass


def _to_repair(folder: Path) -> None:
    history(folder)
    root = folder / "warehouse"
    for path in (next(root.glob("packs/scores-*")), next(root.glob("scores/*.parquet"))):
        path.write_bytes(path.read_bytes()[:100])


def _repair(folder: Path) -> None:
    root = folder / "warehouse"
    store = Store(root)
    store.set_aside([name for name, _ in damaged(store.storage)])


OPERATIONS = {
    "run: plan, publish, seal, fold, grade": Operation(_to_run, _run),
    "answers one by one: journal, seal, fold": Operation(_to_write, _write),
    "score": Operation(_to_grade, _grade),
    "pack and reclaim": Operation(history, _pack),
    "rm": Operation(_to_remove, removing(with_answers=False)),
    "rm --answers": Operation(_to_remove, removing(with_answers=True)),
    "rm --answers --force": Operation(_to_remove, removing(with_answers=True, force=True)),
    "import": Operation(_to_import, _import),
    "check --repair": Operation(_to_repair, _repair, begins_damaged=True),
}


def copied(template: Path, folder: Path) -> Path:
    """Give a fresh copy of what was prepared."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    return folder
