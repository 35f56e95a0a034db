"""An object store that goes away while answers come in: the run ends, and each answer is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradetrail.store import Store, leases
from gradetrail.warehouse import Warehouse
from tests.cli.command import gradetrail
from tests.objects.places import Machine
from tests.pipeline.lab import Lab, lab_in, question_of
from tests.servers import Call, Reply
from tests.servers.api import Behaviour
from tests.servers.line import Line, line_to

N = 60


@pytest.fixture
def line(machine: Machine, s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    with line_to(s3_server) as found:
        monkeypatch.setenv("AWS_ENDPOINT_URL", found.url)
        yield found


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with lab_in(tmp_path) as opened:
        opened.api.behaviour = Behaviour(0.25)
        rows = [
            {"id": f"s{k}", "question": f"What is {k}+{k}? [[gold={2 * k}]]", "target": str(2 * k)}
            for k in range(N)
        ]
        opened.data(rows)
        yield opened


@pytest.mark.parametrize("at", [1, 20])
def test_an_endpoint_that_dies_in_the_middle_of_a_run_ends_it_with_3_and_costs_no_answer(
    line: Line, address: Path, lab: Lab, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(call: Call) -> Reply | None:
        if lab.api.n_calls >= at:
            line.cut()
        return None

    spec = lab.write(run={"concurrency": 2})
    lab.api.answer = answer
    with monkeypatch.context() as impatient:
        impatient.setattr(leases, "LAPSE_S", 0.0)
        broken = gradetrail("run", spec, "--warehouse", address)
    assert broken.code == 3, broken.err
    assert "the endpoint cannot be reached" in broken.err
    assert "the run broke off; what was answered is kept" in broken.err
    asked = Counter(question_of(call) for call in lab.api.calls)
    assert at <= len(asked) < N
    lab.api.answer = lambda _: None
    lab.api.behaviour = Behaviour()
    line.mend()
    again = gradetrail("run", spec, "--warehouse", address)
    assert again.code == 0, again.err
    asked = Counter(question_of(call) for call in lab.api.calls)
    assert asked == Counter(dict.fromkeys(asked, 1)), "what was received was asked for again"
    assert len(asked) == N
    assert Store(address).storage.stranded() == ()
    with Warehouse(address) as opened:
        _, rows = opened.rows("select count(*), count(distinct response_id) from responses")
        assert rows == [(N, N)]
        assert opened.rows("select status, n_answered from runs")[1] == [("complete", N)]
