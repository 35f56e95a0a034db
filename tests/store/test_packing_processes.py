"""Real processes: writers, packers and readers on one warehouse, with kill -9 at random moments."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from gradetrail.store import Store
from tests.store.rows import RUN, planned, rows_of, statuses, texts
from tests.store.test_processes import lines_of, python

ROUNDS = int(os.environ.get("CONCURRENCY_TEST_ROUNDS", "2"))
RUNS, TRIALS = 3, 12

WRITE = """
import random
from tests.store.rows import SCORER, score, trial
first, n_trials, seed = numbers
run_id, store, draw = f"{RUN[:-6]}{first:06x}", Store(root), random.Random(seed)
if not store.storage.list("trials") or not store.trials(run_id).num_rows:
    store.start_plan(run_id, table_of("trials", [trial(n, run_id=run_id) for n in range(n_trials)]))
print("ready", flush=True)
for turn in range(1000):
    number = seed * 1000 + turn
    with store.writer(run_id, part_rows=2) as writer:
        row = answered(turn % n_trials, run_id, text=f"{run_id} {number}", response_id=f"{number}")
        row["calls"][0]["call_id"] = f"{run_id} {number}"
        row["trials"][0]["response_id"] = f"{number}"
        writer.append(**row)
        writer.flush()
        writer.sync()
        print(f"{turn % n_trials} {number}", flush=True)
        store.write_manifest(run_id, {"run_id": run_id, "task": "t", "status": "complete", "n": number})
    if draw.random() < 0.3:
        rows = table_of("scores", [score(n, value=number / 1e6, run_id=run_id) for n in range(n_trials)])
        store.publish_scores(run_id, SCORER, rows, {"trials": str(number)})
"""

PACK = """
store = Store(root)
print("ready", flush=True)
while True:
    done = store.compact(0.0)
    print("packed" if done and done.packed.n_files else "idle", flush=True)
"""


def check(store: Store, promised: dict[tuple[str, int], int]) -> None:
    """Look once; everything that was promised before must be there, once."""
    live = store.live()
    assert live.damaged == []
    trials = rows_of(live, "trials", "run_id, model, sample_id, response_id")
    keys = Counter(row[:3] for row in trials)
    assert max(keys.values(), default=0) <= 1, "a trial twice"
    found = {row[:3]: int(row[3]) for row in trials if row[3]}
    for (run_id, number), answer in promised.items():
        key = (run_id, f"m{number % 2}", f"s{number // 2:05d}")
        assert found.get(key, -1) >= answer, "a trial missing or old"
    responses = rows_of(live, "responses", "run_id, response_id")
    assert len(responses) == len(set(responses)), "an answer twice"
    assert {(run_id, str(answer)) for (run_id, _), answer in promised.items()} <= set(responses)
    used = {(row[0], row[3]) for row in trials if row[3]}
    assert used <= set(responses), "a trial without its answer"
    scores = Counter(rows_of(live, "scores", "run_id, model, sample_id"))
    assert max(scores.values(), default=1) == 1, "a grade twice"


def seen(store: Store, promised: dict[tuple[str, int], int]) -> None:
    """Check, and look again where a file that was seen has been reclaimed before it was read."""
    import duckdb

    for _ in range(50):
        try:
            return check(store, promised)
        except duckdb.IOException as error:
            if "No files found" not in str(error) and "No such file" not in str(error):
                raise
    raise AssertionError("files vanish faster than they are read")


def test_writers_packers_and_readers_with_kill_9_lose_and_double_nothing(  # noqa: C901 - one story
    root: Path,
) -> None:
    store = planned(root, 1, f"{RUN[:-6]}ffffff")
    draw = random.Random(ROUNDS)
    promised: dict[tuple[str, int], int] = {}
    n_packed = 0
    for turn in range(ROUNDS):
        with ExitStack() as stack:
            writers = {
                f"{RUN[:-6]}{n:06x}": stack.enter_context(python(WRITE, root, n, TRIALS, turn + 1))
                for n in range(RUNS)
            }
            packers = [stack.enter_context(python(PACK, root)) for _ in range(2)]
            streams = {name: lines_of(process) for name, process in writers.items()}
            packed = [lines_of(process) for process in packers]
            for lines in [*streams.values(), *packed]:
                assert next(lines) == "ready"
            for _ in range(draw.randrange(4, 10)):
                for run_id, lines in streams.items():
                    number, answer = map(int, next(lines).split())
                    promised[run_id, number] = answer
                n_packed += sum(next(lines) == "packed" for lines in packed)
                seen(store, promised)
                seen(Store(root, create=False), promised)
            for process in [*writers.values(), *packers]:
                os.kill(process.pid, signal.SIGKILL)
            for run_id, lines in streams.items():
                for line in lines:
                    if len(words := line.split()) == 2 and words[1].isdigit():
                        promised[run_id, int(words[0])] = int(words[1])
            for process in [*writers.values(), *packers]:
                process.wait()
        seen(store, promised)
    assert n_packed > 0
    for run_id in {run_id for run_id, _ in promised}:
        store.writer(run_id).close()
    for _ in range(2):
        check(store, promised)
        assert store.compact(0.0) is not None
    live = store.live()
    assert sum(statuses(live).values()) == RUNS * TRIALS + 1
    assert len(live.files["trials"]) <= 2 + RUNS
    assert len(texts(live)) >= len(promised)
    for manifest in live.manifests:
        last = max(a for (run_id, _), a in promised.items() if run_id == manifest["run_id"])
        # the answer is told before the manifest is written; numbers begin anew with each round
        assert manifest["n"] >= last - 1 or last % 1000 == 0
