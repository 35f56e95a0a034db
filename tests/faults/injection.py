"""Makes the n-th step on disk of this process its last, or fail; for children that are forked to suffer it.

Invariant: a step is everything that changes what a warehouse holds, as another process sees it: a file
that is made, linked, renamed, removed or cut short, a folder that is made, an append (before it and in
the middle of it) and a sync. Steps count from 1, and reading is none.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

EVENTS = ("os.link", "os.rename", "os.remove", "os.mkdir")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
KILL = 0
"""In the place of an error number: kill -9."""
PAUSE = -1
"""In the place of an error number: stopped for as long as another process likes, and then going on."""
NEEDS_ROOM = frozenset({"open", "os.link", "os.mkdir", "write", "fsync"})
"""Steps that a full disk refuses; it still lets files go."""


class Steps:
    """Counts steps below a folder, and from the n-th on does what the fault does."""

    def __init__(self, root: Path, at: int, fault: int) -> None:
        self.count = 0
        self._root, self._at, self._fault = os.fspath(root), at, fault

    def install(self) -> None:
        """Watch this process from now on; there is no way back."""
        write, sync, cut = os.write, os.fsync, os.ftruncate

        def written(handle: int, data: Any) -> int:
            if not self._is_ours(handle):
                return write(handle, data)
            self.take("write")
            if self.count + 1 == self._at and len(data) > 1:
                write(handle, memoryview(data)[: len(data) // 2])
            self.take("write")
            return write(handle, data)

        def synced(handle: int) -> None:
            if self._is_ours(handle):
                self.take("fsync")
            sync(handle)

        def shortened(handle: int, length: int) -> None:
            if self._is_ours(handle):
                self.take("truncate")
            cut(handle, length)

        os.write, os.fsync, os.ftruncate = written, synced, shortened
        sys.addaudithook(self._heard)

    def take(self, step: str) -> None:
        """Count a step, and fail or die before it is made."""
        self.count += 1
        if self._fault == PAUSE:
            if self.count == self._at:
                os.kill(os.getpid(), signal.SIGSTOP)
        elif self._at and self.count >= self._at:
            if self._fault == KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            if self._fault != errno.ENOSPC or step in NEEDS_ROOM:
                raise OSError(self._fault, os.strerror(self._fault))

    def _is_ours(self, handle: int) -> bool:
        return os.readlink(f"/proc/self/fd/{handle}").startswith(self._root)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & WRITING and str(path).startswith(self._root):
                self.take("open")
        elif event in EVENTS and str(arguments[0]).startswith(self._root):
            self.take(event)


def forked(act: Callable[[], Any], meanwhile: Callable[[], Any] | None = None) -> int:
    """Run a function in a child and give its exit status, negative for a signal.

    `meanwhile` is done when the child has stopped itself; then the child goes on.
    """
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    status = os.waitpid(child, os.WUNTRACED)[1]
    if os.WIFSTOPPED(status):
        try:
            if meanwhile is not None:
                meanwhile()
        finally:
            os.kill(child, signal.SIGCONT)
        status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status)
