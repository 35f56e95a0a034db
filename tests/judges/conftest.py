from collections.abc import Iterator
from pathlib import Path

import pytest

from gradetrail.testing import no_waiting
from tests.judges.bench import Bench
from tests.pipeline.lab import lab_in


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A lab whose server answers as model `m1` and judges as model `judge`; nothing waits."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-0123456789")
    monkeypatch.chdir(tmp_path)
    with no_waiting(), lab_in(tmp_path) as lab:
        yield Bench(lab)
