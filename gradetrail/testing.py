"""Makes tests of code that calls models fast: the waits before another attempt are left out.

Invariant: nothing else changes. The same attempts are made and the same failures are given up, as if
the time had passed: a `Retry-After` of an hour still ends a request whose `retry_for_s` is a minute.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from gradetrail.generation.retry import NO_WAITING


@contextmanager
def no_waiting() -> Iterator[None]:
    """Leave out every wait before another attempt, here and in processes that are started inside.

    Works through the environment variable GRADETRAIL_NO_WAITING, so it holds for the whole process.
    """
    before = os.environ.get(NO_WAITING)
    os.environ[NO_WAITING] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[NO_WAITING]
        else:
            os.environ[NO_WAITING] = before
