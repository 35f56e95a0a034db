"""Model servers on loopback, for tests and benchmarks: real HTTP, scripted faults, counted calls."""

from tests.servers.api import Call, FakeApi, Reply

__all__ = ["Call", "FakeApi", "Reply"]
