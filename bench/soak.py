"""Answers 50,000 questions through faults, three kill -9 and a full disk; compares with an undisturbed run.

    python bench/soak.py [--calls 50000] [--seed 1] [--kills 3]

The server on loopback answers each question in the same way whenever it is asked, after 0 to 5 ms.
In the disturbed run 2 % of the requests suffer a fault, each kind in turn. The process is killed at
random moments, and once the disk is filled; then the same command goes on. Everything happens on a
small file system in memory, inside a mount namespace of its own (bwrap). Prints the facts and the
memory as tables; ends with 1 if a fact does not hold.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import make_dataset

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gradetrail.warehouse import Warehouse  # noqa: E402 - the tests' servers need the root first
from tests.pipeline.processes import quiet, started, stored_questions, table, until  # noqa: E402
from tests.servers import Call, FakeApi, Reply  # noqa: E402
from tests.servers.api import Behaviour  # noqa: E402
from tests.servers.replies import Manner  # noqa: E402

CONCURRENCY = 64
TIMEOUT_S = 5
FAULTY_SHARE = 0.02
INSIDE = "GRADETRAIL_SOAK_INSIDE"
"""Set in the process that has the small file system."""
BYTES_A_CALL = 8_192
"""Room on the file system, for both runs with their journals."""

SLOW_DOWN = {"error": {"message": "slow down", "type": "rate_limit_error"}}
BROKEN = {"error": {"message": "broken", "type": "server_error"}}
KINDS: dict[str, Reply] = {
    "429": Reply(429, SLOW_DOWN),
    "429 with Retry-After": Reply(429, SLOW_DOWN, {"retry-after": "1"}),
    "529": Reply(529, {"error": {"message": "overloaded", "type": "overloaded_error"}}),
    "503 with Retry-After": Reply(503, BROKEN, {"retry-after": "1"}),
    "500": Reply(500, BROKEN),
    "502, a page of HTML": Reply(502, "<html>bad gateway</html>", content_type="text/html"),
    "408": Reply(408, BROKEN),
    "409": Reply(409, BROKEN),
    "200, a page of HTML": Reply(200, "<html>sign in</html>", content_type="text/html"),
    "200, half of the JSON": Reply(200, '{"id": "x", "choices": [{"mess'),
    "200, nothing": Reply(200, b""),
    "200, an error inside": Reply(200, BROKEN),
    "no reply": Reply(fault="hang"),
    "a stall after the headers": Reply(fault="stall"),
    "a byte now and then": Reply(fault="drip"),
    "an end in mid-body": Reply(fault="cut"),
    "a reset": Reply(fault="reset"),
}
"""Faults that a later attempt can mend, by name."""


@dataclass
class Tally:
    """What the server did in one run."""

    whole: Counter[str] = field(default_factory=Counter)
    """Questions that were to be answered whole, and how often."""
    faults: Counter[str] = field(default_factory=Counter)
    """Faults by name."""


class Server:
    """Answers, or makes a share of the requests suffer a fault; counts both."""

    def __init__(self, seed: int) -> None:
        self.share = 0.0
        self.tally = Tally()
        self.asked: Counter[str] = Counter()
        """All questions that were asked since `begin`, faults included."""
        self.n_whole = 0
        self._random = random.Random(seed)
        self._turn = 0
        manner = Manner(accuracy=0.7, words=60)
        self.api = FakeApi(self._reply, Behaviour(0.0025, 0.0025, manner=manner, keep_calls=False))

    def _reply(self, call: Call) -> Reply | None:
        question = call.body["messages"][-1]["content"]
        self.asked[question] += 1
        if self._random.random() < self.share:
            name = list(KINDS)[self._turn % len(KINDS)]
            self._turn += 1
            self.tally.faults[name] += 1
            return KINDS[name]
        self.tally.whole[question] += 1
        self.n_whole += 1
        return None

    def begin(self, share: float) -> None:
        """Start a run with none asked yet."""
        self.share, self.n_whole, self.tally = share, 0, Tally()


@dataclass
class Memory:
    """Resident memory of one process, MiB, once a second from its start to its end."""

    name: str
    samples: list[float] = field(default_factory=list)
    peak: float = 0.0
    """The kernel's own high-water mark."""

    def look(self, pid: int) -> None:
        """Take a sample; nothing where the process is gone."""
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return
        found = dict(line.split(":", 1) for line in status.splitlines() if line.startswith("Vm"))
        if "VmRSS" in found:
            self.samples.append(int(found["VmRSS"].split()[0]) / 1024)
            self.peak = max(self.peak, int(found["VmHWM"].split()[0]) / 1024)

    def at(self, share: float) -> float:
        """Give the memory after a share of the process' life."""
        return self.samples[min(len(self.samples) - 1, int(share * len(self.samples)))]


@contextmanager
def sampled(process: subprocess.Popen[str], name: str) -> Iterator[Memory]:
    """Watch the memory of a process while it runs."""
    memory, ended = Memory(name), threading.Event()

    def watch() -> None:
        while not ended.wait(1.0):
            memory.look(process.pid)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield memory
    finally:
        ended.set()
        thread.join()


@dataclass
class Disturbance:
    """How a process was ended, and what that cost."""

    kind: str
    code: int
    err: str
    n_stored: int
    in_flight: Counter[str]
    """Questions that were to be answered whole, and are not stored."""
    n_asked_again: int
    """Questions that were stored before and were asked again all the same."""


class Soak:
    """One folder with the data, the spec and two warehouses."""

    def __init__(self, folder: Path, calls: int, seed: int) -> None:
        self.folder, self.calls = folder, calls
        self.server = Server(seed)
        self.random = random.Random(seed)
        self.memories: list[Memory] = []
        self.seconds: dict[str, float] = {}
        make_dataset.write(folder / "data.jsonl", calls)

    def write_spec(self) -> None:
        """Write the spec for the server's port; the name of its endpoint stands for it in identities."""
        model = {"model": "openai_compatible/m1", "base_url": self.server.api.v1, "endpoint": "soak"}
        spec = {
            "name": "soak", "dataset": "data.jsonl", "prompt": "{{ question }}", "target": "{{ answer }}",
            "extract": r"Answer:\s*(.+)", "scorer": "numeric", "model": model,
            "request": {"max_tokens": 256, "temperature": 0},
            "run": {"concurrency": CONCURRENCY, "timeout_s": TIMEOUT_S},
        }  # fmt: skip
        (self.folder / "spec.yaml").write_text(json.dumps(spec))

    def run(
        self, warehouse: str, name: str, disturb: Callable[[subprocess.Popen[str]], None]
    ) -> tuple[int, str]:
        """Run the command to its end; give its exit code and what it said."""
        self.server.asked = Counter()
        begun = time.monotonic()
        with (
            started(
                self.folder, "run", "spec.yaml", "--warehouse", warehouse, GRADETRAIL_NO_WAITING="1"
            ) as process,
            sampled(process, name) as memory,
        ):
            disturb(process)
            _, err = process.communicate()
        quiet(self.server.api)
        self.seconds[name] = time.monotonic() - begun
        if memory.samples:
            self.memories.append(memory)
        return process.returncode, err

    def undisturbed(self) -> tuple[int, str]:
        """Make the run that nothing happens to."""
        self.server.begin(0.0)
        return self.run("undisturbed", "undisturbed", lambda _: None)

    def disturbed(self, kills: int) -> list[Disturbance]:
        """Make the same run through faults, kills and a full disk; give how each process ended."""
        self.server.begin(FAULTY_SHARE)
        places = range(self.calls // 20, self.calls * 9 // 10)
        moments = sorted(self.random.sample(places, kills + 1))
        kinds = ["kill -9"] * kills + ["full disk"]
        self.random.shuffle(kinds)
        ends = []
        stored: Counter[str] = Counter()
        for number, (kind, moment) in enumerate(zip(kinds, moments, strict=True), start=1):
            before = self.server.tally.whole.copy()
            act = self.kill if kind == "kill -9" else self.fill
            code, err = self.run("disturbed", f"until {kind} {number}", partial(act, moment))
            (self.folder / "ballast").unlink(missing_ok=True)
            now = stored_questions(self.folder / "disturbed")
            again = self.server.asked.keys() & stored.keys()
            in_flight = Counter((self.server.tally.whole - before).keys()) - now
            ends.append(Disturbance(kind, code, err, len(now), in_flight, len(again)))
            stored = now
        code, err = self.run("disturbed", "to the end", lambda _: None)
        again = self.server.asked.keys() & stored.keys()
        return [*ends, Disturbance("end", code, err, self.calls, Counter(), len(again))]

    def when(self, moment: int, process: subprocess.Popen[str]) -> None:
        """Wait until so many requests were answered whole in this run."""
        until(lambda: self.server.n_whole >= moment or process.poll() is not None, 3600)
        threading.Event().wait(self.random.uniform(0, 0.05))

    def kill(self, moment: int, process: subprocess.Popen[str]) -> None:
        """Kill the process after so many answers."""
        self.when(moment, process)
        process.kill()

    def fill(self, moment: int, process: subprocess.Popen[str]) -> None:
        """Leave no room on the disk after so many answers, until the process has ended."""
        self.when(moment, process)
        handle = os.open(self.folder / "ballast", os.O_WRONLY | os.O_CREAT)
        for size in (1 << 20, 4096):
            try:
                while process.poll() is None:
                    os.write(handle, bytes(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
        os.close(handle)

    def truth(self, warehouse: str) -> dict[str, Counter[str]]:
        """Give what must be equal in both warehouses, times and the number of attempts apart."""
        board = ("run_id", "latency_p50_ms", "latency_p95_ms", "oldest_answer_at")
        with Warehouse(self.folder / warehouse) as opened:
            assert opened.damaged == ()
            found = {name: table(opened, name) for name in ("responses", "trials", "scores", "samples")}
            query = "select task, status, n_trials, n_answered, n_failed, n_pending from runs"
            runs = Counter(json.dumps(row) for row in opened.rows(query)[1])
            return {**found, "leaderboard": table(opened, "leaderboard", board), "runs": runs}


@dataclass(frozen=True)
class Fact:
    """Something that must hold, and the figure that says so."""

    name: str
    holds: bool
    figure: str


def facts(
    calls: int,
    tally: Tally,
    ends: list[Disturbance],
    truths: tuple[dict[str, Counter[str]], dict[str, Counter[str]]],
) -> list[Fact]:
    """Judge the disturbed run; `truths` are those of the undisturbed run and of the disturbed one."""
    expected, found = truths
    in_flight = sum(end.in_flight.total() for end in ends)
    twice = tally.whole.total() - len(tally.whole)
    n_faults, n_requests = tally.faults.total(), tally.faults.total() + tally.whole.total()
    at_most = max(end.in_flight.total() for end in ends)
    by_kill = [end for end in ends if end.kind == "kill -9"]
    by_disk = [end for end in ends if end.kind == "full disk"]
    done = json.dumps(["soak", "complete", calls, calls, 0, 0])
    return [
        Fact("every question was answered", len(tally.whole) == calls, f"{len(tally.whole):,}"),
        Fact(
            "requests suffered a fault, of every kind", set(tally.faults) == set(KINDS),
            f"{n_faults:,} of {n_requests:,} ({n_faults / n_requests:.1%}), {len(tally.faults)} kinds",
        ),
        Fact(
            "kill -9 ended the process", all(end.code == -signal.SIGKILL for end in by_kill),
            f"{len(by_kill)} times, at {', '.join(f'{end.n_stored:,}' for end in by_kill)} answers",
        ),
        Fact(
            "a full disk ended it with 3 and said so",
            all(end.code == 3 and "No space left on device" in end.err for end in by_disk),
            f"{len(by_disk)} times, at {', '.join(f'{end.n_stored:,}' for end in by_disk)} answers",
        ),
        Fact("the last command ended with 0", ends[-1].code == 0, str(ends[-1].code)),
        Fact(
            "no stored answer was asked for again", not any(end.n_asked_again for end in ends),
            f"{sum(end.n_asked_again for end in ends)}",
        ),
        Fact(
            f"at most {CONCURRENCY} answers were lost each time", at_most <= CONCURRENCY,
            ", ".join(str(end.in_flight.total()) for end in ends[:-1]),
        ),
        Fact(
            "answered twice: no more than were in flight", twice <= in_flight, f"{twice} of {in_flight}"
        ),
        Fact("nothing is pending, in one run", found["runs"] == Counter([done]), f"{calls:,} answered"),
        *(
            Fact(
                f"`{name}` is equal row for row", expected[name] == found[name],
                f"{found[name].total():,} rows, {(found[name] - expected[name]).total()} differ",
            )
            for name in expected
        ),
    ]  # fmt: skip


def report(soak: Soak, judged: list[Fact]) -> str:
    """Write the tables of facts and memory."""
    lines = ["| fact | figure | holds |", "|---|---|---|"]
    lines += [f"| {fact.name} | {fact.figure} | {'yes' if fact.holds else 'NO'} |" for fact in judged]
    lines += [
        "",
        "| process | seconds | RSS at 10 % | 50 % | 100 % | peak, MiB |",
        "|---|---|---|---|---|---|",
    ]
    for one in soak.memories:
        cells = [f"{value:.0f}" for value in (one.at(0.1), one.at(0.5), one.at(1.0), one.peak)]
        lines.append(f"| {one.name} | {soak.seconds[one.name]:.0f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def soaked(folder: Path, calls: int, seed: int, kills: int) -> bool:
    """Run both and print; tell whether all facts hold."""
    soak = Soak(folder, calls, seed)
    with soak.server.api:
        soak.write_spec()
        code, err = soak.undisturbed()
        if code != 0:
            print(f"the undisturbed run ended with {code}:\n{err}", file=sys.stderr)
            return False
        ends = soak.disturbed(kills)
    judged = facts(calls, soak.server.tally, ends, (soak.truth("undisturbed"), soak.truth("disturbed")))
    print(report(soak, judged))
    if not all(fact.holds for fact in judged):
        for end in ends:
            print(f"{end.kind}, which ended with {end.code}, said:\n{end.err}", file=sys.stderr)
    return all(fact.holds for fact in judged)


def main() -> None:
    """Parse the command line; begin again inside a small file system, and soak there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=3)
    args: Any = parser.parse_args()
    if os.environ.get(INSIDE):
        sys.exit(0 if soaked(Path(os.environ[INSIDE]), args.calls, args.seed, args.kills) else 1)
    with tempfile.TemporaryDirectory(prefix="gradetrail-soak-") as folder:
        size = 64 * 2**20 + BYTES_A_CALL * args.calls
        room = ["bwrap", "--dev-bind", "/", "/", "--size", str(size), "--tmpfs", folder]
        environment = {**os.environ, INSIDE: folder}
        inside = subprocess.run([*room, sys.executable, *sys.argv], env=environment, check=False)
        sys.exit(inside.returncode)


if __name__ == "__main__":
    main()
