"""Kills a process at each request that changes an object store, before it and after it.

    python -m tests.objects.steps s3://BUCKET FOLDER FIRST EVERY

What is done: a run is planned, answered in several parts, graded, packed, gone on with, packed again,
and another run is removed with its answers. Each time another process reads what is there, a third
does it all again, and a fourth on another machine, with an empty cache, reads how it ended. Prints one
JSON line for each kill.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401 - imported before the forks
import obstore
import pyarrow.json
import pyarrow.parquet  # noqa: F401
from obstore.store import from_url

from gradetrail.store import Store, remote
from gradetrail.store.places import place_name
from gradetrail.store.removal import Removal
from tests.store.rows import OTHER, RUN, SCORER, answered, rows_of, score, statuses, table_of, trial

N = 6
KEYS = {
    "trials": "run_id, model, prompt, sample_id, epoch",
    "responses": "run_id, response_id",
    "calls": "run_id, call_id",
    "scores": "run_id, scorer_id, metric, model, prompt, sample_id, epoch",
}
CHANGES = ("put", "copy", "delete")
LARGE = 8_000
"""Bytes beyond which an object is sent in parts here, as packs are."""


def begin(root: Path) -> None:
    """Make a warehouse in which another run is done, which will be removed."""
    write(Store(root), OTHER, range(3), Path(os.devnull))


def copied(source: Path, target: Path) -> None:
    """Copy every object below one address to below another."""
    stores = [from_url(place_name(place), client_options={"allow_http": True}) for place in (source, target)]
    for chunk in obstore.list(stores[0]):
        for meta in chunk:
            obstore.put(stores[1], meta["path"], obstore.get(stores[0], meta["path"]).bytes())


def write(store: Store, run_id: str, numbers: range, promised: Path) -> None:
    """Answer the trials that have no answer yet; each is promised when it was synced."""
    if store.trials(run_id).num_rows == 0:
        rows = [trial(number, run_id=run_id) for number in range(N)]
        store.start_plan(run_id, table_of("trials", rows))
    with store.writer(run_id, part_rows=2) as writer:
        done = {row["sample_id"] + row["model"] for row in answers(store, run_id)}
        for number in numbers:
            row = answered(number, run_id)
            if row["trials"][0]["sample_id"] + row["trials"][0]["model"] not in done:
                writer.append(**row)
                writer.flush()
                writer.sync()
                with promised.open("a") as file:
                    file.write(row["response"]["response_id"] + "\n")
        writer.finish()
        store.write_manifest(run_id, {"run_id": run_id, "task": "t", "status": "complete"})


def answers(store: Store, run_id: str) -> list[dict[str, Any]]:
    return [row for row in store.trials(run_id).to_pylist() if row["status"] == "answered"]


def act(root: Path, promised: Path) -> None:
    """Do all of it; what is done already stays as it is."""
    store = Store(root)
    write(store, RUN, range(4), promised)
    scores = [score(number, value=1.0, run_id=RUN) for number in range(N)]
    store.publish_scores(RUN, SCORER, table_of("scores", scores), {"scored_at": "now"})
    store.compact(0.0)
    write(store, RUN, range(4, N), promised)
    store.compact(0.0)
    if any(manifest["run_id"] == OTHER for manifest in store.manifests()):
        store.remove(Removal(OTHER, with_answers=True), {})


def seen(root: Path, promised: Path) -> dict[str, Any]:
    """Count what is lost and doubled, and say what is there."""
    live = Store(root, create=False).live()
    facts: dict[str, Any] = {"damaged": [str(fault) for fault in live.damaged], "doubled": 0}
    for table, columns in KEYS.items():
        facts["doubled"] += sum(n - 1 for n in Counter(rows_of(live, table, columns)).values())
    stored = {row[0] for row in rows_of(live, "responses", "response_id")}
    wanted = set(promised.read_text().split()) if promised.exists() else set()
    facts["lost"] = len(wanted - stored)
    facts["unfounded"] = len({row[0] for row in rows_of(live, "trials", "response_id") if row[0]} - stored)
    facts["end"] = [
        sorted(statuses(live).items()), len(stored), sorted(m["run_id"] for m in live.manifests),
        len(rows_of(live, "scores", "run_id")), len(rows_of(live, "calls", "run_id")),
    ]  # fmt: skip
    return facts


class Strike:
    """Kills this process at one of the requests that change something."""

    def __init__(self, at: int) -> None:
        self.count, self._at = 0, at

    def install(self) -> None:
        """Watch obstore from now on: each request counts twice, before and after it."""
        for name in CHANGES:
            setattr(obstore, name, self._watching(getattr(obstore, name)))

    def _watching(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **more: Any) -> Any:
            self._step()
            done = real(*arguments, **more)
            self._step()
            return done

        return watched

    def _step(self) -> None:
        self.count += 1
        if self.count == self._at:
            os.kill(os.getpid(), signal.SIGKILL)


class Trials:
    """Kills, each in a place of its own."""

    def __init__(self, bucket: str, folder: Path) -> None:
        self.bucket, self.folder = bucket, folder
        self.template = Path(f"{bucket}/template")
        assert self.child(folder / "template", lambda: begin(self.template))[0] == 0

    def child(self, machine: Path, work: Callable[[], Any]) -> tuple[int, Any]:
        """Do work in a process on a machine; give its exit status, and what it returned."""
        said = self.folder / "said"
        said.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.environ["GRADETRAIL_CACHE"] = str(machine / "cache")
                os.environ["XDG_STATE_HOME"] = str(machine / "state")
                remote.LARGE = LARGE
                said.write_text(json.dumps(work()))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code, json.loads(said.read_text()) if said.exists() else None

    def at(self, step: int) -> dict[str, Any]:
        """Kill at a step, read, do it again, and read on another machine."""
        root = Path(f"{self.bucket}/step-{step}")
        one, two = self.folder / f"one-{step}", self.folder / f"two-{step}"
        promised = self.folder / f"promised-{step}"
        assert self.child(one, lambda: copied(self.template, root))[0] == 0

        def struck() -> None:
            Strike(step).install()
            act(root, promised)

        facts: dict[str, Any] = {"step": step, "code": self.child(one, struck)[0]}
        facts["after"] = self.child(two, lambda: seen(root, promised))[1]
        facts["again"] = self.child(one, lambda: act(root, promised))[0]
        facts["finally"] = self.child(self.folder / f"three-{step}", lambda: seen(root, promised))[1]
        return facts


def main() -> None:
    """Kill at a step, and then each time some later, until all is done before the kill."""
    bucket, folder, step, every = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    trials = Trials(bucket, folder)
    while True:
        facts = trials.at(step)
        print(json.dumps(facts), flush=True)
        if facts["code"] == 0:
            return
        step += every


if __name__ == "__main__":
    main()
