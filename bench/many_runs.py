"""Many small runs in one warehouse: packing time and memory, and how long opening takes before and after.

    python bench/many_runs.py [--runs 10000] [--samples 10]

Writes runs as an earlier packing would find them: a fold of trials, answers, calls, grades, a manifest.
While they are packed, a reader in a process of its own opens the warehouse again and again and counts;
ends with 1 if a count was ever wrong.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from gradetrail.store import Store
from gradetrail.store.layout import Part
from gradetrail.store.schema import arrow_schema

ROOT = Path(__file__).parents[1]
START = datetime(2026, 1, 1, tzinfo=UTC)
SCORER = "ab" * 32
OPEN = """
import sys, time
start = time.perf_counter()
from gradetrail.warehouse import Warehouse
imported = time.perf_counter()
with Warehouse(sys.argv[1]) as opened:
    looked = time.perf_counter()
    opened.connection("views", "base")
    ready = time.perf_counter()
    n = opened.rows("select count(*) from leaderboard")[1][0][0]
    board = time.perf_counter()
print(looked - imported, ready - looked, ready - imported, board - ready, n)
"""
PACK = """
import sys, time, resource
from gradetrail.store import Store
start = time.perf_counter()
done = Store(sys.argv[1]).compact(0.0)
seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(seconds, peak / 1024, done.packed.n_files)
"""
READ = """
import sys
from gradetrail.warehouse import Warehouse
print("ready", flush=True)
while True:
    with Warehouse(sys.argv[1]) as opened:
        tables = ("trials", "responses", "calls", "scores", "runs")
        counts = [opened.rows(f"select count(*) from {table}")[1][0][0] for table in tables]
        print(*counts, int(opened.is_partial), flush=True)
"""


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Make a stored table's rows."""
    return pa.Table.from_pylist(rows, schema=arrow_schema(name))


def write_run(store: Store, number: int, n_samples: int) -> None:
    """Write one finished run of one model."""
    began = START + timedelta(minutes=number)
    run_id, task = f"{began:%Y%m%dT%H%M%SZ}-task{number % 20}-{number:06x}", f"task{number % 20}"
    model = {"model": f"m{number % 7}", "model_id": f"{number % 7:064x}", "provider": "mock", "name": "m"}
    trials, answers, calls, scores = [], [], [], []
    for n in range(n_samples):
        key, answer = f"{number:032x}{n:032x}", f"{number:031x}a{n:032x}"
        base = {
            "run_id": run_id, "task": task, "model": model["model"], "model_id": model["model_id"],
            "prompt": "default", "sample_id": f"s{n:05d}", "epoch": 1, "response_id": answer,
        }  # fmt: skip
        trials.append({
            **base, "sample_hash": f"{n:064x}", "dataset_id": f"{number % 20:064x}",
            "input_hash": f"{n:064x}", "request_key": key, "response_run_id": run_id, "status": "answered",
            "is_hit": False, "stop_reason": "stop", "latency_ms": 10.0, "ended_at": began,
        })  # fmt: skip
        answers.append({
            "run_id": run_id, "response_id": answer, "request_key": key, "provider": "mock", "model": "m",
            "messages": json.dumps([{"role": "user", "content": f"question {n} " * 20}]), "request": "{}",
            "text": f"answer {number} {n} " * 30, "stop_reason": "stop", "origin": "mock",
            "created_at": began,
        })  # fmt: skip
        calls.append({
            "call_id": key, "run_id": run_id, "request_key": key, "response_id": answer, "provider": "mock",
            "model": "m", "role": "subject", "purpose": "answer", "turn": 1, "attempt": 1, "status": "ok",
            "started_at": began, "latency_ms": 10.0, "input_tokens": 100, "output_tokens": 20,
        })  # fmt: skip
        value = float((number + n) % 3 == 0)
        scores.append({
            **base, "scorer": "strict", "scorer_id": SCORER, "metric": "score", "outcome": "scored",
            "score": value, "is_pass": value == 1.0, "target": "x",
        })  # fmt: skip
    store.publish("responses", Part(run_id, 1).stem, table("responses", answers))
    store.publish("calls", Part(run_id, 1).stem, table("calls", calls))
    store.publish("trials", Part(run_id, 1, is_fold=True).stem, table("trials", trials))
    store.publish_scores(run_id, SCORER, table("scores", scores), {"trials": f"{run_id}.1f", "open": "0"})
    store.write_manifest(run_id, {
        "run_id": run_id, "task": task, "name": task, "status": "complete", "models": [model],
        "prompts": {"default": "p"}, "scorers": {"strict": SCORER}, "primary": "strict", "epochs": 1,
        "dataset_id": f"{number % 20:064x}", "n_samples": n_samples, "n_trials": n_samples,
        "started_at": began.isoformat(), "ended_at": began.isoformat(), "plan_id": f"{number % 20:064x}",
    })  # fmt: skip


def in_process(script: str, root: Path) -> list[float]:
    """Run a script in a process of its own; give the numbers that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", script, str(root)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


def packed_beside_a_reader(root: Path, n_runs: int, n_samples: int) -> bool:
    """Pack while a reader counts; say whether no count was wrong."""
    right = [str(n) for n in (*[n_runs * n_samples] * 4, n_runs, 0)]
    with subprocess.Popen(
        [sys.executable, "-c", READ, str(root)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout is not None
        looks = [reader.stdout.readline().split(), reader.stdout.readline().split()]
        seconds, rss, n_packed = in_process(PACK, root)
        looks.append(
            reader.stdout.readline().split()
        )  # one that ends after the packing, and one begun after it
        looks.append(reader.stdout.readline().split())
        reader.terminate()
        looks += [line.split() for line in reader.stdout if line.count(" ") == len(right) - 1]
    wrong = [look for look in looks[1:] if look != right]
    print(f"packed {n_packed:,.0f} files in {seconds:.1f} s, peak {rss:.0f} MB", flush=True)
    print(
        f"a reader looked {len(looks) - 1} times meanwhile; wrong counts: {len(wrong)}",
        *wrong[:3],
        flush=True,
    )
    return not wrong


def main() -> None:
    """Write, pack, open."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    root = given.folder or Path(tempfile.mkdtemp(prefix="gradetrail-bench-")) / "warehouse"
    store = Store(root)
    store.publish_scorer(SCORER, {
        "scorer_id": SCORER, "definition": {"type": "exact"}, "score_min": 0.0, "score_max": 1.0,
        "higher_is_better": True, "pass_threshold": 0.999999,
    })  # fmt: skip
    for task in range(20):
        store.publish_task(f"task{task}", {"scorers": {"strict": SCORER}, "primary": "strict"})
    start = time.perf_counter()
    for number in range(given.runs):
        write_run(store, number, given.samples)
    n_files = sum(1 for path in root.rglob("*") if path.is_file())
    print(
        f"{given.runs:,} runs in {n_files:,} files, written in {time.perf_counter() - start:.0f} s",
        flush=True,
    )
    is_right = packed_beside_a_reader(root, given.runs, given.samples)
    for _ in range(3):
        look, views, ready, board, n = in_process(OPEN, root)
        print(
            f"opened in {ready:.3f} s (files and manifests {look:.3f}, all views {views:.3f}); "
            f"then the leaderboard of {n:.0f} rows in {board:.3f} s"
        )
    print(f"this script: peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
