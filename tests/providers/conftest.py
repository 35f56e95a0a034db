from collections.abc import Iterator

import pytest

from tests.servers import FakeApi

KEY = "sk-secret-0123456789abcdef"


@pytest.fixture(scope="session")
def _server() -> Iterator[FakeApi]:
    with FakeApi() as server:
        yield server


@pytest.fixture
def api(_server: FakeApi, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    """A fresh server, and keys for the vendors whose part it plays."""
    _server.reset()
    _server.answer = None
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return _server
