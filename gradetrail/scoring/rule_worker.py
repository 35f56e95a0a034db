"""Judges answers in a process of its own, with a time limit for each.

A program, not a module: `python -P rule_worker.py SECONDS`, with PYTHONPATH set to where the package is.

Invariant: one line in gives one line out for each answer, in order. What interrupts is no Exception, so
that no library takes it for an error of its own and goes on; and a judgement that was interrupted never
counts, even if it came to an end.
"""

import importlib
import json
import resource
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

MEMORY_BYTES = 3 << 30
GRACE_SECONDS = 1.0
"""Time after the limit in which what was interrupted may end."""


class OvertimeError(BaseException):
    """An answer took longer than it may."""


class Clock:
    """Interrupts what takes too long; counts the process's own time and not that of a busy machine."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.is_over = False
        signal.signal(signal.SIGVTALRM, self._stop)

    def _stop(self, _signal: int, _frame: object) -> None:
        self.is_over = True
        raise OvertimeError

    def judged(self, judge: Callable[[Any], Any], item: Any) -> Any:
        """Judge within the limit; `{"failure"}` where that cannot be."""
        self.is_over = False
        reply: Any = None
        try:
            # again and again, in case something swallows the first
            signal.setitimer(signal.ITIMER_VIRTUAL, self.seconds, 0.5)
            signal.setitimer(signal.ITIMER_PROF, self.seconds + GRACE_SECONDS)
            try:
                reply = judge(item)
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                signal.setitimer(signal.ITIMER_PROF, 0)
        except OvertimeError:
            self.is_over = True
        except Exception as error:  # whatever a library raises is no fault of the answer
            reply = {"failure": f"{type(error).__name__}: {error}"[:300]}
        if self.is_over:
            return {"failure": f"took more than {self.seconds:g} s"}
        return reply


def main() -> None:
    """Answer jobs until the input ends: `{"module", "options", "items"}`, items as texts of JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    warnings.simplefilter("ignore")
    clock = Clock(float(sys.argv[1]))
    made: Any = None
    for line in sys.stdin.buffer:
        job = json.loads(line)
        if made != (job["module"], job["options"]):
            made = job["module"], job["options"]
            judge = importlib.import_module(job["module"]).judge_of(job["options"])
        for item in job["items"]:
            reply = clock.judged(judge, json.loads(item))
            sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
