"""kill -9, full disks, folders that vanish: nothing received is lost, nothing is paid twice."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.lab import spec_text
from tests.pipeline.processes import ROOT, command, environment, quiet, started, stored_questions, truth
from tests.servers import Call, FakeApi, Reply
from tests.servers.api import Behaviour
from tests.servers.replies import Manner

KILLS = int(os.environ.get("CRASH_TEST_KILLS", "20"))
"""Rounds of the kill -9 loop."""
EVERY_STEP = int(os.environ.get("CRASH_TEST_EVERY_STEP", "7"))
"""1 tries each of the about 100 steps on disk."""
SAMPLES = 600
CONCURRENCY = 8


class Watched:
    """A server that counts what is asked, and says when enough was."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.enough = threading.Event()
        self._left = 0
        self.api = FakeApi(self._count, Behaviour(0.02, 0.015, manner=Manner(accuracy=0.7, words=12)))

    def _count(self, call: Call) -> Reply | None:
        self.asked[call.body["messages"][-1]["content"]] += 1
        self._left -= 1
        if self._left == 0:
            self.enough.set()
        return None

    def say_after(self, n: int) -> None:
        """Set `enough` after the next n requests."""
        self.asked.clear()
        self.enough.clear()
        self._left = n


@pytest.fixture
def server() -> Iterator[Watched]:
    watched = Watched()
    with watched.api:
        yield watched


def write_spec(folder: Path, api: FakeApi, samples: int = SAMPLES, **run: object) -> Path:
    rows = [
        {"id": f"s{n}", "question": f"What is {n}+{n}? [[gold={2 * n}]]", "target": str(2 * n)}
        for n in range(samples)
    ]
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = {"model": "openai_compatible/m1", "base_url": api.v1}
    path = folder / "spec.yaml"
    path.write_text(spec_text(model=model, run={"concurrency": CONCURRENCY, **run}))
    return path


@pytest.mark.timeout(900)
def test_kill_9_at_random_moments_loses_and_pays_twice_nothing_but_calls_in_flight(
    tmp_path: Path, server: Watched
) -> None:
    write_spec(tmp_path, server.api)
    assert command(tmp_path, "run", "spec.yaml", "--warehouse", "undisturbed").code == 0
    assert server.asked == dict.fromkeys(server.asked, 1)
    assert len(server.asked) == SAMPLES

    root, draw = tmp_path / "killed", random.Random(KILLS)
    total: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    stored: Counter[str] = Counter()
    for number in range(KILLS):
        # now and then before the first call, where plan and manifest are made; else among the calls
        is_early = number % 5 == 4
        server.say_after(1 if is_early else draw.randrange(1, max(2, 2 * SAMPLES // KILLS)))
        with started(tmp_path, "generate", "spec.yaml", "--warehouse", "killed") as process:
            server.enough.wait(draw.uniform(0.2, 1.5) if is_early else 60)
            threading.Event().wait(draw.uniform(0, 0.02))
            os.kill(process.pid, signal.SIGKILL)
        quiet(server.api)
        now = stored_questions(root)
        assert all(n == 1 for n in now.values()), "an answer is stored twice"
        assert stored <= now, "a stored answer is gone"
        assert not server.asked.keys() & stored.keys(), "a stored answer was asked again"
        in_flight = server.asked - now
        assert len(in_flight) <= CONCURRENCY
        assert all(n == 1 for n in server.asked.values())
        total, lost, stored = total + server.asked, lost + Counter(in_flight.keys()), now

    assert SAMPLES // 4 < len(stored) < SAMPLES, "the kills were not among the calls"
    server.say_after(0)
    assert command(tmp_path, "run", "spec.yaml", "--warehouse", "killed").code == 0
    assert not server.asked.keys() & stored.keys()
    total += server.asked
    assert total == {question: 1 + lost[question] for question in total}
    assert truth(root) == truth(tmp_path / "undisturbed")
    assert [len(list((root / folder).iterdir())) for folder in ("runs", "journal")] == [1, 0]


ADAPTER = """
import os
from pathlib import Path

class Adapter:
    model_id = "doubler"

    def generate(self, messages, sample):
        handle = os.open(Path(__file__).with_name("calls.txt"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, (sample["id"] + "\\n").encode())
        os.close(handle)
        return "Answer: " + sample["target"]
"""


def test_kill_9_before_any_step_on_disk_leaves_what_the_next_run_completes(tmp_path: Path) -> None:
    rows = [{"id": f"s{n}", "question": f"{n}+{n}?", "target": str(2 * n)} for n in range(5)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "adapter.py").write_text(ADAPTER)
    model = {"model": "python/doubler", "path": "adapter.py"}
    (tmp_path / "spec.yaml").write_text(spec_text(model=model, request=None, run={"concurrency": 1}))
    arguments = [sys.executable, "-m", "tests.pipeline.steps", tmp_path, "1", str(EVERY_STEP)]
    done = subprocess.run(arguments, cwd=ROOT, env=environment(), capture_output=True, text=True)
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rounds) > 60 // EVERY_STEP, done.stderr
    *_, undisturbed = rounds
    for one in rounds:
        assert "truth" in one, f"step {one['step']}: {done.stderr}"
        assert one["truth"] == undisturbed["truth"], one["step"]
        assert (one["n_runs"], one["n_journals"]) == (1, 0), one["step"]
        again = Counter(one["calls"]) - Counter(row["id"] for row in rows)
        assert again.total() <= 1, "more was asked again than the call in flight"


FULL = """
import json, sys
from pathlib import Path
from tests.pipeline.processes import command, stored_questions, truth
folder = Path(sys.argv[1])
root, ballast = folder / "warehouse", folder / "warehouse" / "sql" / "ballast"
ballast.parent.mkdir()
ballast.write_bytes(bytes(int(sys.argv[2])))
first = command(folder, "generate", "spec.yaml")
stored = stored_questions(root)
ballast.unlink()
second = command(folder, "run", "spec.yaml")
print(json.dumps([first.code, first.err, stored, second.code, second.err, truth(root)]))
"""


def test_a_full_disk_stops_the_run_and_keeps_what_is_stored(tmp_path: Path, server: Watched) -> None:
    write_spec(tmp_path, server.api, 200)
    assert command(tmp_path, "run", "spec.yaml", "--warehouse", "undisturbed").code == 0
    server.say_after(0)
    (tmp_path / "warehouse").mkdir()
    room = ["bwrap", "--dev-bind", "/", "/", "--size", "4000000", "--tmpfs", str(tmp_path / "warehouse")]
    arguments = [*room, sys.executable, "-c", FULL, tmp_path, "3700000"]
    done = subprocess.run(arguments, cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code, err, stored, second_code, second_err, found = json.loads(done.stdout)
    assert (code, second_code) == (3, 0), second_err
    assert "No space left on device" in err
    assert "run the same command again" in err
    assert "Traceback" not in err
    assert 20 < len(stored) < 180
    again = server.asked - Counter(dict.fromkeys(server.asked, 1))
    assert not again.keys() & stored.keys()
    assert again.total() <= CONCURRENCY
    assert found == truth(tmp_path / "undisturbed")


def test_a_file_that_may_not_grow_stops_the_run_and_keeps_what_is_stored(
    tmp_path: Path, server: Watched
) -> None:
    write_spec(tmp_path, server.api, 200)
    limited = f"ulimit -f 100; exec {sys.executable} -m gradetrail generate spec.yaml"
    done = subprocess.run(
        ["bash", "-c", limited], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 3
    assert "File too large" in done.stderr
    stored = stored_questions(tmp_path / "warehouse")
    assert 20 < len(stored) < 180
    assert set(stored.values()) == {1}
    server.asked.clear()
    ended = command(tmp_path, "run", "spec.yaml")
    assert ended.code == 0, ended.err
    assert not server.asked.keys() & stored.keys()
    assert set(stored_questions(tmp_path / "warehouse").values()) == {1}


def test_a_read_only_warehouse_is_read_and_nothing_is_asked_into_it(tmp_path: Path, server: Watched) -> None:
    write_spec(tmp_path, server.api, 20)
    root = tmp_path / "warehouse"
    assert command(tmp_path, "run", "spec.yaml").code == 0

    def closed(*arguments: str) -> subprocess.CompletedProcess[str]:
        sealed = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(root), str(root)]
        whole = [*sealed, sys.executable, "-m", "gradetrail", *arguments]
        return subprocess.run(whole, cwd=tmp_path, env=environment(), capture_output=True, text=True)

    server.asked.clear()
    assert closed("sql", "select count(*) as n from graded", "--format", "csv").stdout == "n\n20\n"
    assert closed("generate", "spec.yaml").returncode == 0
    write_spec(tmp_path, server.api, 21)
    refused = closed("generate", "spec.yaml")
    assert refused.returncode == 2
    assert "may not be written to" in refused.stderr
    assert server.asked == {}
    assert command(tmp_path, "run", "spec.yaml").code == 0
    assert server.asked.total() == 1


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_warehouse_that_vanishes_stops_the_run(tmp_path: Path, server: Watched, is_deleted: bool) -> None:
    write_spec(tmp_path, server.api, 200)
    root = tmp_path / "warehouse"
    server.say_after(50)
    with started(tmp_path, "generate", "spec.yaml") as process:
        assert server.enough.wait(60)
        root.rename(tmp_path / "elsewhere")
        if is_deleted:
            shutil.rmtree(tmp_path / "elsewhere")
        _, err = process.communicate()
    assert process.returncode == 3
    assert "the folder is gone" in err
    assert "Traceback" not in err
    assert not root.exists(), "a warehouse that vanished came back as a fragment"
    if is_deleted:
        assert server.asked.total() < 100
        return
    (tmp_path / "elsewhere").rename(root)
    stored = stored_questions(root)
    assert len(stored) >= 50
    server.asked.clear()
    assert command(tmp_path, "run", "spec.yaml").code == 0
    assert not server.asked.keys() & stored.keys()
    assert set(stored_questions(root).values()) == {1}
    assert len(stored_questions(root)) == 200
