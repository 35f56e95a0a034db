"""Tests of the user's own code need not wait: the same attempts, no time."""

from __future__ import annotations

import os
import random

import pytest

from gradetrail.errors import ProviderError
from gradetrail.generation.retry import Retry
from gradetrail.testing import no_waiting


def waits(error: ProviderError, retry: Retry, n: int) -> list[float | None]:
    return [retry.wait_s(error, 0.0, is_reached=True) for _ in range(n)]


def test_waits_are_left_out_inside_and_come_back_after() -> None:
    error = ProviderError("rate_limit", "slow down", retry_after_s=30)
    with no_waiting():
        assert waits(error, Retry(5, 600, random.Random(1)), 3) == [0.0, 0.0, 0.0]
    after = waits(error, Retry(5, 600, random.Random(1)), 1)[0]
    assert after is not None
    assert after >= 30


def test_a_wait_that_is_left_out_is_spent_all_the_same() -> None:
    error = ProviderError("rate_limit", "slow down", retry_after_s=250)
    with no_waiting():
        assert waits(error, Retry(5, 600, random.Random(1)), 3) == [0.0, 0.0, None]


def test_max_retries_holds() -> None:
    with no_waiting():
        assert waits(ProviderError("server", "boom"), Retry(2, 600, random.Random(1)), 3) == [0.0, 0.0, None]


@pytest.mark.parametrize("before", [None, "0", "1"])
def test_the_environment_is_as_it_was(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    if before is not None:
        monkeypatch.setenv("GRADETRAIL_NO_WAITING", before)
    with no_waiting(), no_waiting():
        assert os.environ["GRADETRAIL_NO_WAITING"] == "1"
    assert os.environ.get("GRADETRAIL_NO_WAITING") == before


@pytest.mark.parametrize(("value", "is_waiting"), [("", True), ("0", True), ("1", False)])
def test_the_environment_variable_does_the_same(
    monkeypatch: pytest.MonkeyPatch, value: str, is_waiting: bool
) -> None:
    monkeypatch.setenv("GRADETRAIL_NO_WAITING", value)
    wait = waits(ProviderError("rate_limit", "x", retry_after_s=5), Retry(5, 600, random.Random(1)), 1)[0]
    assert (wait != 0.0) is is_waiting
