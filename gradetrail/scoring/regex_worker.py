"""Runs Python's `re` in a process of its own, with a time limit for each text.

A program, not a module: `python -I -S regex_worker.py SECONDS`. It imports nothing but the standard
library, so that it starts in a hundredth of a second. A pattern that takes too long again and again is
given up as a whole, since each such answer costs the whole limit.

Invariant: one line in gives one line out for each text, in order, whatever the pattern does. A job is
`{"pattern", "flags", "mode", "source", "items"}`, where `source` names the patterns that are given up
together; an answer is null (no match), `[group, whole]`, or
`{"failure"}` that says what went wrong. A signal interrupts a match on the main thread, which nothing
else can.
"""

import json
import re
import resource
import signal
import sys
import warnings

MEMORY_BYTES = 2 << 30
MOST_SLOW = 20
"""Answers on which a pattern may fail before it may be given up."""
SLOW_SHARE = 0.1
"""Share of the answers searched on which it must have failed by then."""


class OvertimeError(Exception):
    """A match took longer than it may."""


def _stop(_signal: int, _frame: object) -> None:
    raise OvertimeError


def find(pattern: "re.Pattern[str]", mode: str, text: str) -> "list[str] | None":
    """Give [group 1 or the whole match, whole match] of the match that counts.

    `search` takes the first match as it is; `first` and `last` pass over those whose group is blank.
    """
    group = 1 if pattern.groups and mode != "search" else 0
    found = None
    for match in pattern.finditer(text):
        value = match[group] or ""
        if mode == "search":
            return [value, match[0]]
        if value and not value.isspace():
            found = [value, match[0]]
            if mode == "first":
                break
    return found


def answer(
    pattern: "re.Pattern[str]", mode: str, text: str, seconds: float
) -> "list[str] | dict[str, str] | None":
    """Find within the time limit, which counts the process's own time and not that of a busy machine."""
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            return find(pattern, mode, text)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except OvertimeError:
        return {"failure": f"the pattern took more than {seconds:g} s on this answer"}
    except (MemoryError, RecursionError) as error:
        return {"failure": f"the pattern failed on this answer: {type(error).__name__}"}


class Patience:
    """How often a pattern has failed so far."""

    def __init__(self) -> None:
        self.n_searched = 0
        self.n_slow = 0

    @property
    def is_over(self) -> bool:
        """Whether the pattern is given up."""
        return self.n_slow >= MOST_SLOW and self.n_slow >= SLOW_SHARE * self.n_searched

    def answer(
        self, pattern: "re.Pattern[str]", mode: str, text: str, seconds: float
    ) -> "list[str] | dict[str, str] | None":
        """Find within the time limit, or say that nothing is searched any more."""
        if self.is_over:
            return {"failure": f"the pattern was given up after it had failed on {self.n_slow} answers"}
        reply = answer(pattern, mode, text, seconds)
        self.n_searched += 1
        self.n_slow += isinstance(reply, dict)
        return reply


def main() -> None:
    """Answer jobs until the input ends."""
    patience: dict[str, Patience] = {}
    seconds = float(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGVTALRM, _stop)
    warnings.simplefilter("ignore")
    for line in sys.stdin.buffer:
        job = json.loads(line)
        pattern = re.compile(job["pattern"], job["flags"])
        for text in job["items"]:
            reply = patience.setdefault(job["source"], Patience()).answer(pattern, job["mode"], text, seconds)
            sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
            if isinstance(reply, dict):
                sys.stdout.buffer.flush()
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
