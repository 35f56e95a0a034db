"""The sandbox under test, and proof after every test that nothing of it is left on the host."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradetrail.scoring.sandbox import Sandbox, find_sandbox


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """The best sandbox of this machine; where none can be made the tests fail and say how to get one."""
    return find_sandbox()


def children() -> set[str]:
    """Processes that this one has started and that have not ended."""
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has just ended
            found.update((task / "children").read_text().split())
    return found


@pytest.fixture(autouse=True)
def _leaves_no_process() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before
