"""A thousand calls in flight, from a process that may open few files at first."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradetrail.providers.descriptors import make_room
from tests.pipeline.lab import Lab, lab_in
from tests.servers.api import Behaviour
from tests.servers.replies import Manner

ROOT = Path(__file__).parents[2]
N = 1000
FEW = 256


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    assert make_room(N), "the server of this test needs a socket for each call too"
    with lab_in(tmp_path) as opened:
        yield opened


def generate(
    lab: Lab, *, hard: int, concurrency: int = N, **parts: object
) -> subprocess.CompletedProcess[str]:
    """Generate in a process that may open few files, and may raise that to `hard`."""
    lab.data([{"id": f"s{k}", "question": f"What is {k}+{k}?", "target": str(2 * k)} for k in range(N)])
    spec = lab.write(run={"concurrency": concurrency, "timeout_s": 120}, **parts)
    return subprocess.run(
        [sys.executable, "-m", "gradetrail", "generate", str(spec), "--warehouse", str(lab.warehouse)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, hard)),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=lab.folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("provider", ["openai_compatible", "openai"])
def test_a_thousand_calls_are_in_flight_at_once_and_all_are_answered(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-0123456789")
    lab.api.behaviour = Behaviour(latency_s=0.2, manner=Manner(1.0, 4), gather=N)
    done = generate(lab, hard=N + 500, model=lab.model(provider))
    assert done.returncode == 0, done.stderr
    assert (lab.api.max_in_flight, lab.api.n_calls) == (N, N)
    assert lab.row("select count(*) as n, count(error_type) as errors from calls") == {"n": N, "errors": 0}
    assert lab.row("select count(*) as n from trials where status = 'answered'") == {"n": N}


def test_more_calls_than_the_system_allows_are_refused_before_the_first(lab: Lab) -> None:
    done = generate(lab, hard=FEW)
    assert done.returncode == 2
    assert "1,000 calls in flight need more open files than the system allows" in done.stderr
    assert "at most 56" in done.stderr
    assert "run.concurrency" in done.stderr
    assert lab.api.n_calls == 0
    assert not lab.warehouse.exists()
