"""Fixtures: an S3 server, a bucket of its own for each test, and machines that share nothing but it."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

SECRET = "secret-of-the-tests"
_numbers = count(1)
Machine = Callable[[str], None]
"""Makes this process, and those it starts, run on the machine of a name from then on."""


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """Give the address of an S3 server on loopback."""
    pytest.importorskip("obstore")
    command = [sys.executable, "-m", "tests.servers.s3"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.kill()


@pytest.fixture
def machine(s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Put this process on a machine; the first is `one`. Answers are uploaded whenever they are synced."""
    for name, value in {
        "AWS_ENDPOINT_URL": s3_server, "AWS_REGION": "us-east-1", "GRADETRAIL_UPLOAD_S": "0",
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": SECRET,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)

    def move(name: str) -> None:
        monkeypatch.setenv("GRADETRAIL_CACHE", str(tmp_path / name / "cache"))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name / "state"))

    move("one")
    return move


@pytest.fixture
def address(machine: Machine, s3_server: str) -> Path:
    """Give the address of a warehouse in a new bucket, as the command line passes it on."""
    return in_bucket(s3_server, "bucket")


def in_bucket(server: str, kind: str) -> Path:
    """Make a bucket; see `tests.servers.s3` for kinds."""
    bucket = f"{kind}-{os.getpid()}-{next(_numbers)}"
    request = urllib.request.Request(f"{server}/{bucket}", method="PUT")
    with urllib.request.urlopen(request):
        return Path(f"s3://{bucket}/evals")


@pytest.fixture(params=["folder", "objects"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Give a place for a warehouse: a folder, then an object store."""
    if request.param == "folder":
        return tmp_path / "warehouse"
    found: Path = request.getfixturevalue("address")
    return found
