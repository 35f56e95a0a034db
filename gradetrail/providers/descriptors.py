"""File descriptors: each call in flight is a socket.

Invariant: the limit of this process is only ever raised, and never beyond what the system allows it.
"""

from __future__ import annotations

import resource

SPARE = 200
"""Descriptors that a process needs besides its calls: files, pipes, the terminal."""


def make_room(concurrency: int) -> bool:
    """Raise the soft limit so that so many calls can be in flight; False if the system does not allow it."""
    needed = concurrency + SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return True
    if hard != resource.RLIM_INFINITY and hard < needed:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    return True


def most_allowed() -> int:
    """Give the number of calls in flight that the system allows at most."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, hard - SPARE)
