"""Which failures are tried again, for how long, and what a wait is."""

from __future__ import annotations

import random

import pytest

from gradetrail.errors import ProviderError
from gradetrail.generation.retry import BACKOFF_CAP_S, Retry


def retry(max_retries: int = 3, retry_for_s: float = 600) -> Retry:
    return Retry(max_retries, retry_for_s, random.Random(1))


def waits(state: Retry, error: ProviderError, n: int, *, now: float = 0.0) -> list[float | None]:
    return [state.wait_s(error, now, is_reached=True) for _ in range(n)]


@pytest.mark.parametrize("kind", ["timeout", "server"])
@pytest.mark.parametrize("max_retries", [0, 1, 3])
def test_faults_of_the_request_itself_use_up_max_retries(kind: str, max_retries: int) -> None:
    found = waits(retry(max_retries), ProviderError(kind, "x"), max_retries + 1)
    assert all(wait is not None for wait in found[:-1])
    assert found[-1] is None


@pytest.mark.parametrize("kind", ["rate_limit", "overloaded", "connection"])
def test_faults_that_all_share_are_retried_until_the_time_is_spent(kind: str) -> None:
    state, error = retry(max_retries=0), ProviderError(kind, "x")
    assert all(wait is not None for wait in waits(state, error, 100))
    assert state.wait_s(error, 601.0, is_reached=True) is None


@pytest.mark.parametrize(
    "kind", ["bad_request", "auth", "not_found", "quota", "over_context", "filtered", "no_answer", "adapter"]
)
def test_fatal_faults_are_not_tried_again(kind: str) -> None:
    assert retry().wait_s(ProviderError(kind, "x"), 0.0, is_reached=True) is None


def test_a_fault_that_is_called_final_is_not_tried_again() -> None:
    error = ProviderError("bad_reply", "a reply of more than 64 MiB", is_final=True)
    assert retry().wait_s(error, 0.0, is_reached=True) is None


def test_a_host_that_never_answered_is_fatal_at_once() -> None:
    error = ProviderError("connection", "refused", is_unreachable=True)
    assert retry().wait_s(error, 0.0, is_reached=False) is None
    assert retry().wait_s(error, 0.0, is_reached=True) is not None


def test_a_connection_that_breaks_is_tried_again_also_if_it_is_the_first() -> None:
    assert retry().wait_s(ProviderError("connection", "reset"), 0.0, is_reached=False) is not None


def test_waits_are_full_jitter_doubling_from_half_a_second_to_the_cap() -> None:
    ceilings = [0.5, 1, 2, 4, 8, 16, BACKOFF_CAP_S, BACKOFF_CAP_S]
    worst = [0.0] * len(ceilings)
    for seed in range(400):
        state = Retry(8, 600, random.Random(seed))
        for n, wait in enumerate(waits(state, ProviderError("timeout", "x"), 8)):
            assert wait is not None
            assert 0 <= wait <= ceilings[n]
            worst[n] = max(worst[n], wait)
    assert all(found > 0.95 * ceiling for found, ceiling in zip(worst, ceilings, strict=True))


@pytest.mark.parametrize("seconds", [0.0, 3.0, 120.0])
def test_retry_after_is_honoured_in_full(seconds: float) -> None:
    wait = retry().wait_s(ProviderError("rate_limit", "x", retry_after_s=seconds), 0.0, is_reached=True)
    assert wait is not None
    assert wait >= seconds


def test_a_retry_after_beyond_the_time_left_fails_at_once() -> None:
    error = ProviderError("rate_limit", "x", retry_after_s=700)
    assert retry(retry_for_s=600).wait_s(error, 0.0, is_reached=True) is None
