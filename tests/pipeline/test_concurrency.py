"""Many processes on one warehouse at once: the same truth as one after the other, at every moment."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradetrail.warehouse import Warehouse
from tests.pipeline.lab import spec_text
from tests.pipeline.processes import TIMED, Ended, Forks, forks, table
from tests.servers import FakeApi
from tests.servers.api import Behaviour
from tests.servers.replies import Manner

ROUNDS = int(os.environ.get("CONCURRENCY_TEST_ROUNDS", "4"))
"""Rounds of eight processes each."""
PROCESSES = 8
REFUSED = re.compile(rf"process \d+ on {re.escape(socket.gethostname())} is generating into run ")


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi(
        behaviour=Behaviour(0.01, 0.005, manner=Manner(accuracy=0.7, words=6), keep_calls=False)
    ) as server:
        yield server


def write_specs(folder: Path, api: FakeApi) -> list[str]:
    """Write eight specs over four overlapping pieces of one dataset, half of them with a second model."""
    rows = [
        {"id": f"s{n}", "question": f"What is {n}+{n}? [[gold={2 * n}]]", "target": str(2 * n)}
        for n in range(60)
    ]
    names = []
    for number in range(PROCESSES):
        piece = rows[(number % 4) * 10 :][:30]
        (folder / f"data{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in piece))
        models = [{"model": f"openai_compatible/m{m}", "base_url": api.v1} for m in range(1 + number // 4)]
        parts = {"name": f"sums{number}", "dataset": f"data{number}.jsonl", "run": {"concurrency": 4}}
        names.append(f"spec{number}.yaml")
        (folder / names[-1]).write_text(spec_text(models=models, **parts))
    return names


SEEN = """
with paid as (select run_id, response_id from responses),
planned as (select run_id, model, prompt, sample_id, epoch from trials),
used as (
    select paid.run_id
    from trials inner join paid
        on trials.response_run_id = paid.run_id and trials.response_id = paid.response_id
)
select
    (select count(*) from paid) as n,
    (select count(*) from (select distinct * from paid)) as n_distinct,
    (select count(*) from planned) as n_trials,
    (select count(*) from (select distinct * from planned)) as n_distinct_trials,
    (select count(*) from trials where status = 'answered') as n_answered,
    (select count(*) from used) as n_used
"""


class Reader:
    """Asks the warehouse again and again, each time in a process of its own."""

    def __init__(self, read: Forks, root: Path) -> None:
        self._read, self._root = read, root
        self.seen: list[dict[str, int]] = []
        self.errors: list[Ended] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._loop)

    def _loop(self) -> None:
        while not self._is_over.is_set():
            (ended,) = self._read(["sql", SEEN, "--format", "json", "--warehouse", self._root])
            if ended.code == 0:
                self.seen += json.loads(ended.out)
            elif self.seen or not any(said in ended.err for said in ("does not exist", "is not a warehouse")):
                self.errors.append(ended)
            self._is_over.wait(0.05)

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def check(self) -> None:
        """Fail if anything was doubled, or vanished, or an answer was missed whose trial was seen."""
        assert self.errors == []
        assert self.seen
        for now in self.seen:
            assert now["n"] == now["n_distinct"]
            assert now["n_trials"] == now["n_distinct_trials"]
            assert now["n_used"] == now["n_answered"]
        for name in ("n", "n_trials", "n_answered"):
            assert [now[name] for now in self.seen] == sorted(now[name] for now in self.seen)


def truth(root: Path) -> dict[str, Any]:
    """Give what must be equal however many processes did the work; which of them paid is chance."""
    with Warehouse(root) as opened:
        assert opened.damaged == ()
        answers = table(opened, "responses")
        board = table(opened, "leaderboard", (*TIMED, "latency_p50_ms", "latency_p95_ms", "oldest_answer_at"))
        return {
            "trials": table(opened, "trials", (*TIMED, "is_hit")),
            "scores": table(opened, "scores"),
            "leaderboard": board,
            "samples": table(opened, "samples"),
            "answers": sorted(answers),
        }


KINDS = {"eight specs": 8, "four specs, each twice": 4, "one spec, eight times": 1}


@pytest.mark.timeout(1200)
def test_eight_processes_at_once_come_to_the_truth_of_one_after_the_other(
    tmp_path: Path, api: FakeApi
) -> None:
    specs = write_specs(tmp_path, api)
    expected: dict[int, Any] = {}
    with forks(tmp_path, "write") as write, forks(tmp_path, "read") as read:
        for n_specs in KINDS.values():
            root = tmp_path / f"in-turn-{n_specs}"
            for spec in specs[:n_specs]:
                assert write(["run", spec, "--warehouse", root])[0].code == 0
            expected[n_specs] = truth(root)
        for number in range(ROUNDS):
            n_specs = list(KINDS.values())[number % len(KINDS)]
            root = tmp_path / f"at-once-{number}"
            with Reader(read, root) as reader:
                ended = write(*(["run", specs[n % n_specs], "--warehouse", root] for n in range(PROCESSES)))
            reader.check()
            for n in range(n_specs):
                same = ended[n::n_specs]
                assert min(one.code for one in same) == 0, same
                for one in same:
                    assert one.code == 0 or (one.code == 2 and REFUSED.search(one.err)), one
            assert truth(root) == expected[n_specs]
            assert len(list((root / "runs").glob("*.json"))) == n_specs, "a spec was run twice"
        n_calls = api.n_calls
        again = write(*(["generate", spec, "--warehouse", root] for spec in specs[:n_specs]))
        assert [one.code for one in again] == [0] * n_specs
        assert api.n_calls == n_calls
