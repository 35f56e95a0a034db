"""Grading on a Ray cluster whose workers are another machine, with a cache of their own."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gradetrail import pipeline
from tests.cli.command import gradetrail
from tests.objects.places import SECRET, Machine
from tests.pipeline.processes import environment, until
from tests.scoring.test_distribution import BLOCKED, answered, grades

RAY = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
CLUSTER = """
import sys, ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.readline()
"""


@contextmanager
def cluster() -> Iterator[str]:
    """Start a cluster of two workers on the present machine; give its address."""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", CLUSTER], env=environment(**RAY), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("127.") or line.count(".") == 3:
                yield line.strip()
                break
        process.communicate("\n")


@pytest.mark.timeout(280)
def test_workers_on_another_machine_give_the_grades_of_a_folder_though_one_is_killed(
    address: Path, machine: Machine, tmp_path: Path
) -> None:
    desk = answered(tmp_path, (12, 12, 12, 12))
    desk.write("blocked.py", BLOCKED.replace("HERE", str(tmp_path)))
    gate = tmp_path / "gate"
    gate.touch()
    scorers = {
        "number": "numeric", "found": {"type": "regex", "pattern": r"A: {{ answer }}\s*$"},
        "blocked": {"type": "python", "path": "blocked.py"},
    }  # fmt: skip
    spec = desk.spec(scorers, extract="number", run={"workers": 2})
    pipeline.score(spec, warehouse=tmp_path / "local")
    imported = gradetrail("import", tmp_path / "ray", "--warehouse", address)
    assert imported.code == 0, imported.err
    # the driver's copies are in a place that the workers cannot see
    shutil.rmtree(tmp_path / "one" / "cache")
    (tmp_path / "one" / "cache").mkdir()
    own = set(tmp_path.glob("worker-*"))

    def workers() -> list[int]:
        return [int(path.name.removeprefix("worker-")) for path in set(tmp_path.glob("worker-*")) - own]

    machine("two")
    with cluster() as ray_address, gate.open("w") as held:
        machine("one")
        fcntl.flock(held, fcntl.LOCK_EX)
        words = ("score", "spec.yaml", "--executor", "ray", "--warehouse", str(address))
        alone = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", str(tmp_path / "one" / "cache")]
        with subprocess.Popen(
            [*alone, sys.executable, "-m", "gradetrail", *words], cwd=tmp_path, text=True,
            env=environment(**RAY, RAY_ADDRESS=ray_address), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as driver:  # fmt: skip
            until(lambda: len(workers()) == 2 or driver.poll() is not None, seconds=120)
            assert len(workers()) == 2, driver.communicate()
            os.kill(workers()[0], signal.SIGKILL)
            until(lambda: len(workers()) == 3, seconds=120)
            fcntl.flock(held, fcntl.LOCK_UN)
            _, err = driver.communicate()
        assert driver.returncode == 0, err
    assert list((tmp_path / "two" / "cache").rglob("*.parquet")), "workers read no copies but their own"
    assert not list((tmp_path / "two" / "state").rglob("*.jsonl")), "workers write nothing"
    assert grades(address) == grades(tmp_path / "local")
    assert sum(grades(address).values()) == 4 * 12 * 2 * 3
    assert SECRET not in err
