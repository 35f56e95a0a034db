from collections.abc import Iterator
from pathlib import Path

import pytest

from gradetrail.testing import no_waiting
from tests.pipeline.lab import Lab, lab_in


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """A lab with keys for the vendors, in which nothing waits; it is the working folder."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-test-key-0123456789")
    monkeypatch.chdir(tmp_path)
    with no_waiting(), lab_in(tmp_path) as opened:
        yield opened
