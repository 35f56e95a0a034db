from __future__ import annotations

from pathlib import Path

import pytest

from tests.gate.workshop import Workshop


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A folder with a spec of 40 questions and a replayed model; it is the working folder."""
    monkeypatch.chdir(tmp_path)
    made = Workshop(tmp_path)
    made.questions(40)
    made.spec()
    made.answers(wrong=4)
    return made
