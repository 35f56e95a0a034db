"""Fixtures: object stores, a bucket of its own for each test, and machines that share nothing but it."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from tests.servers import azure

SECRET = "secret-of-the-tests"
_numbers = count(1)
Machine = Callable[[str], None]
"""Makes this process, and those it starts, run on the machine of a name from then on."""


@contextmanager
def serving(module: str) -> Iterator[str]:
    """Run a server on loopback; give its address."""
    pytest.importorskip("obstore")
    with subprocess.Popen(
        [sys.executable, "-m", module], text=True, cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.kill()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """Give the address of a server of S3's and Google's protocols."""
    with serving("tests.servers.s3") as url:
        yield url


@pytest.fixture(scope="session")
def azure_server() -> Iterator[str]:
    """Give the address of a server of Azure's protocol."""
    with serving("tests.servers.azure") as url:
        yield url


@pytest.fixture
def machine(s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Put this process on a machine; the first is `one`. Answers are uploaded whenever they are synced."""
    for name, value in {
        "AWS_ENDPOINT_URL": s3_server, "AWS_REGION": "us-east-1", "GRADETRAIL_UPLOAD_S": "0",
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_CONFIG_FILE": str(tmp_path / "config"), "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "keys"),
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


@pytest.fixture(params=["s3", "gs", "az"])
def any_address(
    request: pytest.FixtureRequest, address: Path, monkeypatch: pytest.MonkeyPatch, s3_server: str
) -> Path:
    """Give the address of a new warehouse, in stores of each kind."""
    if request.param == "gs":
        monkeypatch.setenv("GOOGLE_BASE_URL", s3_server)
        monkeypatch.setenv("GOOGLE_BEARER_TOKEN", SECRET)
    if request.param == "az":
        server = request.getfixturevalue("azure_server")
        monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", f"{server}/{azure.ACCOUNT}")
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", azure.ACCOUNT)
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", azure.KEY)
    return Path(str(address).replace("s3:", f"{request.param}:"))


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
