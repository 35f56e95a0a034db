"""Real processes: locks, races for one name, and kill -9 at random moments."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gradetrail.errors import RunLockedError
from gradetrail.store import Store
from gradetrail.store import storage as storage_module
from gradetrail.store.segments import read
from gradetrail.store.storage import LocalStorage
from tests.store.rows import RUN, answered, planned, rows_of, statuses, texts

KILLS = int(os.environ.get("STORE_TEST_KILLS", "10"))
"""Rounds of the kill -9 loop."""
ROUND = 120
"""Trials that a round may answer."""

ROOT = Path(__file__).parents[2]
BEGIN = """
import os, sys
from pathlib import Path
from gradetrail.errors import RunLockedError
from gradetrail.store import Store
from tests.store.rows import RUN, answered, response, table_of
root, numbers = Path(sys.argv[1]), list(map(int, sys.argv[2:]))
"""

WRITE = """
first, part_rows, end = numbers
with Store(root).writer(RUN, part_rows=part_rows) as writer:
    print("ready", flush=True)
    for number in range(first, end):
        writer.append(**answered(number))
        if number % 3 == 0:
            writer.flush()
            writer.sync()
            print(number, flush=True)
    print("closing", flush=True)
print("closed", flush=True)
"""


@contextmanager
def python(script: str, root: Path, *numbers: int) -> Iterator[subprocess.Popen[str]]:
    """Run a script in a process of its own, which is dead at the end."""
    arguments = [sys.executable, "-c", BEGIN + script, str(root), *map(str, numbers)]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    with process:
        try:
            yield process
        finally:
            process.kill()


def outputs(script: str, root: Path, *numbers: int) -> list[str]:
    """Run a script once for each number, from the same moment on; give what each printed."""
    waiting = 'print("ready", flush=True)\nsys.stdin.readline()\n'
    with ExitStack() as stack:
        processes = [stack.enter_context(python(waiting + script, root, number)) for number in numbers]
        for process in processes:
            assert next(lines_of(process)) == "ready"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [" ".join(lines_of(process)) for process in processes]


def lines_of(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    for line in process.stdout:
        yield line.strip()


def test_a_writer_in_another_process_keeps_others_out_until_it_is_killed(root: Path) -> None:
    store = planned(root, 2)
    with python(WRITE, root, 0, 2_000, 10_000_000) as process:
        assert next(lines_of(process)) == "ready"
        assert store.live().running == {RUN}
        with pytest.raises(RunLockedError, match=f"process {process.pid} on "):
            store.writer(RUN)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert store.live().running == set()
    with store.writer(RUN) as writer:
        writer.append(**answered(1))


def test_a_claim_on_a_file_that_was_deleted_meanwhile_is_no_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "journal").mkdir()
    storage, name, path = LocalStorage(tmp_path), "journal/x.lock", tmp_path / "journal" / "x.lock"
    real, calls = storage_module.lock, []

    def lock_late(handle: int, kind: int) -> bool:
        if (
            not calls
        ):  # between the opening and the locking, the holder deletes its file and a third makes it anew
            path.unlink()
            path.touch()
        calls.append(handle)
        return real(handle, kind)

    monkeypatch.setattr(storage_module, "lock", lock_late)
    claim = storage.claim(name)
    assert claim is not None
    assert LocalStorage(tmp_path).claim(name) is None
    claim.release(delete=True)
    assert not path.exists()


ASK = """
storage = Store(root, create=False).storage
print("ready", flush=True)
while True:
    storage.is_claimed(f"journal/{RUN}.lock")
"""


def test_readers_that_ask_who_is_running_never_turn_a_writer_away(tmp_path: Path) -> None:
    store = planned(tmp_path, 2)
    with python(ASK, tmp_path) as one, python(ASK, tmp_path) as other:
        assert [next(lines_of(one)), next(lines_of(other))] == ["ready", "ready"]
        for _ in range(100):
            store.writer(RUN).close()


FORK = """
writer = Store(root).writer(RUN)
if os.fork() == 0:
    print("child", flush=True)
    os.read(0, 1)
    os._exit(0)
os.kill(os.getpid(), 9)
"""


def test_a_forked_child_does_not_keep_its_parents_run_locked(tmp_path: Path) -> None:
    # a sandbox or worker that outlives a killed driver must not hold the run
    store = planned(tmp_path, 2)
    with python(FORK, tmp_path) as process:
        assert next(lines_of(process)) == "child"
        process.wait()
        store.writer(RUN).close()


PUBLISH = """
rows = table_of("responses", [response(n, text=f"by {numbers[0]}") for n in range(3_000)])
print(Store(root).publish("responses", f"{RUN}.1", rows))
"""


def test_of_eight_processes_that_publish_one_name_one_wins_and_its_content_is_whole(
    root: Path, tmp_path: Path
) -> None:
    outcomes = outputs(PUBLISH, root, *range(8))
    assert sorted(outcomes) == ["False"] * 7 + ["True"]
    rows = read(Store(root).storage.local(f"responses/{RUN}.1.parquet"), "responses")
    assert set(rows.column("text").to_pylist()) == {f"by {outcomes.index('True')}"}
    assert rows.num_rows == 3_000
    assert list(tmp_path.rglob("*.tmp")) == []


TAKE_TURNS = """
store, n_had = Store(root), 0
while n_had < 12:
    try:
        with store.writer(RUN) as writer:
            writer.append(**answered(numbers[0] + n_had))
        n_had += 1
    except RunLockedError:
        pass
print(n_had)
"""


def test_processes_that_race_for_a_run_take_turns_and_lose_nothing(root: Path) -> None:
    store = planned(root, 36)
    assert outputs(TAKE_TURNS, root, 0, 12, 24) == ["12", "12", "12"]
    live = store.live()
    assert statuses(live) == {"answered": 36}
    assert texts(live) == sorted(f"answer {number}" for number in range(36))


def test_kill_9_at_any_moment_loses_nothing_that_was_flushed_and_doubles_nothing(root: Path) -> None:
    store = planned(root, KILLS * ROUND)
    draw = random.Random(KILLS)
    promised: set[str] = set()
    for _ in range(KILLS):
        begin = len(texts(store.live()))
        end, part_rows = begin + draw.randrange(30, ROUND), draw.choice([5, 20, 60])
        with python(WRITE, root, begin, part_rows, end) as process:
            lines, n_lines = lines_of(process), draw.randrange(2, 40)
            said = list(itertools.takewhile(lambda line: line != "closing", itertools.islice(lines, n_lines)))
            os.kill(process.pid, signal.SIGKILL)
            said += lines  # what it still said before it died
        last = max((int(line) for line in said if line.isdigit()), default=begin - 1)
        promised |= {f"answer {number}" for number in range(begin, last + 1)}
        check(store, promised)
        check(Store(root, create=False), promised)
        store.writer(RUN).close()
        check(store, promised)
        assert store.live().loose == {}
    assert len(promised) > KILLS


def check(store: Store, promised: set[str]) -> None:
    live = store.live()
    found = texts(live)
    assert len(found) == len(set(found)), "an answer is there twice"
    assert promised <= set(found), "an answer that was flushed is gone"
    assert live.damaged == []
    assert statuses(live).get("answered", 0) == len(found)
    stored = {row[0] for row in rows_of(live, "responses", "response_id")}
    used = {row[0] for row in rows_of(live, "trials", "response_id") if row[0]}
    assert used <= stored, "a trial whose answer is not stored"


def test_a_reader_beside_a_writer_sees_answers_grow_and_never_shrink(root: Path) -> None:
    store = planned(root, 300)
    with python(WRITE, root, 0, 5, 300) as process:
        lines = lines_of(process)
        assert next(lines) == "ready"
        found: set[str] = set()
        promised: set[str] = set()
        for line in lines:
            if line.isdigit():
                promised |= {f"answer {number}" for number in range(int(line) + 1)}
            if line.isdigit() and int(line) % 30 == 0:
                check(store, promised)
                now = set(texts(store.live()))
                assert found <= now
                found = now
        assert process.wait() == 0
    live = store.live()
    assert statuses(live) == {"answered": 300}
    assert live.loose == {}
