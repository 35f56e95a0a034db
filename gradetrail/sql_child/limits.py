"""What SQL of others may use, and how a process is bound to it.

Invariant: a limit holds for the whole process, since DuckDB's own do not hold inside scalar functions; a
limit that was set cannot be raised again from inside.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from dataclasses import dataclass

MB = 1 << 20
OPEN_FILES = 256
"""Beside the files that queries may read."""
SHARE_OF_MACHINE = 0.5
"""Of the machine's memory, or of what a container may have."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one statement may use."""

    wall_s: float = 60.0
    """Seconds for which its rows are waited for; the time in which nobody takes them is not counted."""
    cpu_s: int = 60
    """Seconds of processor time, of all threads together."""
    memory_mb: int = 2048
    """Address space beyond what the process has when it is ready."""
    result_mb: int = 256
    """Size of what is handed over at once: a whole result, or where rows are streamed one row."""
    file_mb: int = 0
    """Size of a file that it may write; 0 is none."""


def machine_memory_mb() -> int:
    """Give the part of the machine's memory that one program may have."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError), open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
        memory = min(memory, int(file.read()))
    return int(memory * SHARE_OF_MACHINE) // MB


def bind(limits: Limits, n_files: int) -> None:
    """Bind this process, once and for good; where memory runs out it is the first to be ended."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")
    for kind, value in (
        (resource.RLIMIT_AS, _address_space() + limits.memory_mb * MB),
        (resource.RLIMIT_FSIZE, limits.file_mb * MB),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES + n_files),
    ):
        _, hard = resource.getrlimit(kind)
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (least, least))


def allow_cpu(seconds: int) -> None:
    """Let this process run for so many more seconds of processor time; then the kernel ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = int(used.ru_utime + used.ru_stime) + 1 + seconds
    resource.setrlimit(
        resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
    )


def _address_space() -> int:
    """Give the bytes that the process has mapped; what it maps at its start is no fault of a query."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux
        return 4 << 30
