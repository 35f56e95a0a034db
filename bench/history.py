"""Measures what a long history costs to open and to ask: time and peak memory of whole processes.

    python bench/history.py [--runs 1000] [--scores 1000000] [--pack] [--keep DIR]

One run per task is made by the pipeline itself; the others are copies of it, written through the store's
own writer, under other ids and with a twentieth of the scores turned round. `--pack` merges the files before
asking. The history is written by a process of its own: a child's peak begins with its parent's size.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from measure import Cost, run

if TYPE_CHECKING:
    import pyarrow as pa

TASKS = 20
MODELS = ("a", "b", "c", "d")
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
WORK = (
    ("open", ("sql", "select 1")),
    ("leaderboard", ("show", "leaderboard")),
    ("diff", ("diff", "LATER~1", "LATER", "--limit", "20")),
    ("history", ("show", "history", "--task", "t00", "--limit", "20")),
    ("pairwise", ("show", "pairwise", "--task", "t00")),
    ("category_scores", ("show", "category_scores", "LATER")),
    ("run_scores of a run", ("show", "run_scores", "LATER")),
    ("run_scores of all", ("sql", "select count(*), avg(mean) from run_scores")),
    ("scores, all counted", ("sql", "select model, count(*), avg(score) from scores group by all")),
)
HEAD = """\
| runs | scores | files | command | wall, s | CPU, s | peak, MiB |
|---|---|---|---|---|---|---|"""


@dataclass(frozen=True)
class Size:
    """How much history is made."""

    runs: int
    scores: int

    @property
    def samples(self) -> int:
        """Samples of each task."""
        return max(1, self.scores // self.runs // len(MODELS))


def first_run(root: Path, task: str, size: Size) -> str:
    """Make a run of a task, of answers that a mock gives; return its id."""
    import gradetrail as gt

    spec = {
        "name": task,
        "dataset": {"category": "kind"},
        "prompt": "{{ question }}",
        "target": "{{ answer }}",
        "scorer": "numeric",
        "models": [{"model": "mock/rule_based", "as": name, "seed": n} for n, name in enumerate(MODELS)],
    }
    rows = [{"question": f"What is {n} + {n}?", "answer": 2 * n, "kind": n % 5} for n in range(size.samples)]
    return gt.run(spec, frame=rows, warehouse=root).run_id


def copies(root: Path, task: str, source: str, n_copies: int, first: int) -> None:
    """Write copies of a run, a minute apart, each with other scores."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from gradetrail.store import Store
    from gradetrail.store.layout import Part
    from gradetrail.store.segments import read

    store = Store(root)
    trials = store.trials(source)
    stem = next(path for path in (root / "scores").glob(f"{source}.*"))
    scores, manifest = read(stem, "scores"), store.manifest(source)
    draw = np.random.default_rng(first)
    for number in range(n_copies):
        moment = FIRST + timedelta(minutes=first + number)
        run_id = store.new_run_id(task, moment)
        stated = {"run_id": run_id, "started_at": moment.isoformat(), "ended_at": moment.isoformat()}
        turned = pa.array(draw.random(scores.num_rows) < 0.05)
        store.publish("trials", f"{Part(run_id, 0).stem}f", renamed(trials, run_id))
        flipped = renamed(scores, run_id)
        for column, other in (
            ("score", pc.subtract(1.0, scores["score"])),
            ("is_pass", pc.invert(scores["is_pass"])),
        ):
            place = flipped.schema.get_field_index(column)
            value = pc.if_else(turned, other, scores[column])
            flipped = flipped.set_column(place, flipped.schema.field(place), value)
        store.publish_scores(
            run_id, scores["scorer_id"][0].as_py(), flipped, {"scored_at": moment.isoformat()}
        )
        store.write_manifest(run_id, {**manifest, **stated})


def renamed(rows: pa.Table, run_id: str) -> pa.Table:
    """Give the rows as another run's."""
    import pyarrow as pa

    place = rows.schema.get_field_index("run_id")
    field = rows.schema.field(place)
    return rows.set_column(place, field, pa.array([run_id] * rows.num_rows, type=field.type))


def make(root: Path, size: Size, *, is_packed: bool) -> None:
    """Write the whole history, and say how long it took."""
    from gradetrail.store import Store

    begun = monotonic()
    each = size.runs // TASKS
    for n in range(TASKS):
        task = f"t{n:02}"
        copies(root, task, first_run(root, task, size), each - 1, n * each)
    print(f"written in {monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    if is_packed:
        begun = monotonic()
        Store(root).compact()
        print(f"packed in {monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


def asked(root: Path, folder: Path) -> Iterator[tuple[str, Cost]]:
    """Run every command; yield what it took."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GRADETRAIL_")}
    env["GRADETRAIL_WAREHOUSE"] = str(root)
    program = str(Path(sys.executable).with_name("gradetrail"))
    for name, words in WORK:
        command = [program, *(word.replace("LATER", "t00@latest") for word in words)]
        if name == "diff":
            command[2:4] = newest(program, env, "t00")
        yield name, run(command, log=folder / "log", env=env, timeout_s=600)


def newest(program: str, env: dict[str, str], task: str) -> list[str]:
    """Name the two newest runs of a task, the older first."""
    query = "select run_id from manifests where task = $task order by run_id desc limit 2"
    command = [program, "sql", query, "--param", f"task={task}", "--format", "csv"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return sorted(done.stdout.split()[1:])


def main() -> None:
    """Make, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--scores", type=int, default=1_000_000)
    parser.add_argument("--pack", action="store_true")
    parser.add_argument("--keep", type=Path, help="Use the history in this folder, or make it there.")
    parser.add_argument("--make", action="store_true", help="Write the history only.")
    args = parser.parse_args()
    size = Size(args.runs, args.scores)
    with tempfile.TemporaryDirectory(prefix="gradetrail-history-") as scratch:
        root = args.keep or Path(scratch) / "warehouse"
        if args.make:
            make(root, size, is_packed=args.pack)
            return
        if not (root / "gradetrail.json").exists():
            subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], "--make", "--keep", str(root)], check=True
            )
        n_files = sum(1 for _ in root.rglob("*.parquet"))
        print(HEAD)
        for name, cost in asked(root, Path(scratch)):
            cells = (f"{size.runs:,}", f"{size.scores:,}", f"{n_files:,}", name,
                     f"{cost.wall_s:.2f}", f"{cost.cpu_s:.2f}", f"{cost.peak_mb:.0f}")  # fmt: skip
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
