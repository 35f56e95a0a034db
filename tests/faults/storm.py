"""Writers, readers and a packer on one warehouse, all real processes, some of them killed all the time.

Invariant: a reader reads first what writers promised, and then the warehouse; what was promised must be
there, once, and what one reader has seen never becomes less.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradetrail.store import Store
from gradetrail.store.places import is_address
from tests.pipeline.processes import ROOT, environment
from tests.store.rows import RUN, SCORER, answered, planned, rows_of, score, table_of, trial

TRIALS = 12
"""Of each writer's run."""
READY = "at work"
PAUSE_S = 0.3
"""Between two packings, and two looks of a reader."""
LIFE_S = 12.0
"""Mean life of a writer or packer, of which the start takes a second, or several on a busy machine."""


def run_of(number: int) -> str:
    """Name the run of a writer."""
    return f"{RUN[:-6]}{number:06x}"


def write(root: Path, promises: Path, number: int, life: int) -> None:
    """Answer the trials of a run again and again, each time as an invocation of its own."""
    run_id, store, draw = run_of(number), Store(root), random.Random(life)
    handle = os.open(promises / run_id, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    if not store.trials(run_id).num_rows:
        store.start_plan(run_id, table_of("trials", [trial(n, run_id=run_id) for n in range(TRIALS)]))
    print(READY, flush=True)
    for turn in range(100_000):
        answer, place = life * 100_000 + turn, turn % TRIALS
        row = answered(place, run_id, text=f"{run_id} {answer}", response_id=f"{answer}")
        row["calls"][0]["call_id"] = f"{run_id} {answer}"
        row["trials"][0]["response_id"] = f"{answer}"
        with store.writer(run_id, part_rows=2) as writer:
            writer.append(**row)
            writer.flush()
            if is_address(root):
                writer.sync()  # until then it is on this machine alone
            os.write(handle, f"{place} {answer}\n".encode())
            store.write_manifest(run_id, {"run_id": run_id, "task": "t", "status": "complete", "n": answer})
        if draw.random() < 0.3:
            rows = [score(n, value=answer / 1e9, run_id=run_id) for n in range(TRIALS)]
            store.publish_scores(run_id, SCORER, table_of("scores", rows), {"trials": str(answer)})


def pack(root: Path, promises: Path, number: int, life: int) -> None:
    """Pack, and delete what is packed without a grace period."""
    print(READY, flush=True)
    while True:
        Store(root).compact(0.0)
        threading.Event().wait(PAUSE_S)


def read(root: Path, promises: Path, number: int, life: int) -> None:
    """Look again and again; print what was wrong with each look."""
    n_seen = 0
    while True:
        facts = steadily(lambda: look(root, promised_in(promises)))
        facts["wrong"] += facts["n_answers"] < n_seen
        n_seen = facts["n_answers"]
        print(json.dumps(facts | {"reader": number, "life": life}), flush=True)
        threading.Event().wait(PAUSE_S)


def promised_in(promises: Path) -> dict[tuple[str, int], list[int]]:
    """Give the answers that were promised, in their order, by run and trial."""
    found: dict[tuple[str, int], list[int]] = {}
    for path in promises.iterdir():
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                place, answer = map(int, line.split())
                found.setdefault((path.name, place), []).append(answer)
    return found


def look(root: Path, promised: dict[tuple[str, int], list[int]]) -> dict[str, int]:
    """Count what is lost of what was promised, what is there twice, and what does not go together."""
    live = Store(root, create=False).live()
    trials = rows_of(live, "trials", "run_id, model, sample_id, response_id")
    responses = rows_of(live, "responses", "run_id, response_id")
    calls = rows_of(live, "calls", "call_id")
    scores = rows_of(live, "scores", "run_id, model, sample_id")
    stored = set(responses)
    latest = {row[:3]: int(row[3]) for row in trials if row[3]}
    lost = 0
    for (run_id, place), answers in promised.items():
        lost += latest.get((run_id, f"m{place % 2}", f"s{place // 2:05d}"), -1) < answers[-1]
        lost += sum((run_id, str(answer)) not in stored for answer in answers)
    doubled = sum(
        len(rows) - len(set(rows)) for rows in ([row[:3] for row in trials], responses, calls, scores)
    )
    wrong = len({(row[0], row[3]) for row in trials if row[3]} - stored) + len(live.damaged)
    return {"lost": lost, "doubled": doubled, "wrong": wrong, "n_answers": len(responses)}


def steadily(act: Callable[[], dict[str, int]]) -> dict[str, int]:
    """Look again where a file that was listed has been reclaimed before it was read."""
    import duckdb

    while True:
        try:
            return act()
        except duckdb.IOException as error:
            if "No files found" not in str(error) and "No such file" not in str(error):
                raise


PARTS = {"write": write, "pack": pack, "read": read}


class Process:
    """One process, which is started anew when it was killed."""

    def __init__(self, folder: Path, root: Path, part: str, number: int) -> None:
        self._folder, self._root, self._part, self._number, self.life = folder, root, part, number, 0
        self.output = folder / f"{part}-{number}.txt"
        self.start()

    def start(self) -> None:
        """Begin another life."""
        self.life += 1
        self._n_ready = self.output.read_text().count(READY) if self.output.exists() else 0
        arguments = [self._part, self._root, self._folder / "promises", self._number, self.life]
        with self.output.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.storm", *map(str, arguments)],
                cwd=ROOT, env=environment(), stdout=out, stderr=out,
            )  # fmt: skip

    def is_at_work(self) -> bool:
        """Say whether this life has begun to write."""
        return self.output.read_text().count(READY) >= self._n_ready + 1

    def kill(self) -> None:
        """Kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def storm(seconds: float, writers: int = 8, readers: int = 4, root: Path | None = None) -> dict[str, Any]:
    """Let it go on for so long; give what was lost, doubled and wrong in all looks, and at the end.

    `root` is a warehouse that is not there yet; None for one in a folder, which is deleted.
    """
    draw = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="gradetrail-") as scratch:
        folder = Path(scratch)
        (folder / "promises").mkdir()
        root = root or folder / "warehouse"
        planned(root, 1)
        mortal = [Process(folder, root, "write", number) for number in range(writers)]
        mortal.append(Process(folder, root, "pack", 0))
        watching = [Process(folder, root, "read", number) for number in range(readers)]
        kills = failed = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            threading.Event().wait(draw.uniform(0, 2 * LIFE_S / len(mortal)))
            failed += sum(process.process.poll() is not None for process in [*mortal, *watching])
            at_work = [process for process in mortal if process.is_at_work()]
            if at_work:
                chosen = draw.choice(at_work)
                chosen.kill()
                chosen.start()
                kills += 1
        for process in [*mortal, *watching]:
            failed += process.process.poll() is not None
            process.kill()
        found = [line for process in watching for line in process.output.read_text().splitlines()]
        looks = [json.loads(line) for line in found if line.startswith('{"lost"') and line.endswith("}")]
        last = at_rest(root, folder / "promises", writers)
        total = {what: sum(facts[what] for facts in [*looks, last]) for what in ("lost", "doubled", "wrong")}
        errors = [
            p.output.read_text()[-2000:] for p in [*mortal, *watching] if "Error" in p.output.read_text()
        ]
        for text in errors[:3]:
            print(text, file=sys.stderr)
        return {
            "writers": writers, "readers": readers, "kills": kills, "looks": len(looks),
            "answers": last["n_answers"], **total, "wrong": total["wrong"] + failed + len(errors),
        }  # fmt: skip


def at_rest(root: Path, promises: Path, writers: int) -> dict[str, int]:
    """Let every run be ended, pack, and look."""
    store = Store(root)
    for number in range(writers):
        store.writer(run_of(number)).close()
    promised = promised_in(promises)
    first = look(root, promised)
    store.compact(0.0)
    second = look(root, promised)
    return {what: max(first[what], second[what]) for what in first}


if __name__ == "__main__":
    name, where, said, which, life_number = sys.argv[1:]
    PARTS[name](Path(where), Path(said), int(which), int(life_number))
