"""Files that one process holds for its life: the lock of a run, and the journal part that it appends to.

Invariant: at most one live process holds a claim, and it ends with its holder. `flock` is released by
the kernel however a process ends, kill -9 included; a forked child drops its copies of the parent's
claims, so that it cannot keep them alive. Two processes that race cannot both win, even if the winner
deletes the file when it is done: after locking, the loser sees that the name stands for another file
by now, and begins again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import weakref
from collections.abc import Iterator
from pathlib import Path

from gradetrail.errors import Fault, StoreError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_UNLOCKABLE = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}


def store_error(error: OSError, action: str, place: str) -> StoreError:
    """Turn an operating system's error into one that says what to do."""
    reason, fix = error.strerror or str(error), ""
    if error.errno in _FULL:
        fix = "free some space and run the same command again: what was answered so far is kept"
    elif error.errno in _CLOSED:
        fix = "give a folder that you may write to: --warehouse DIR or GRADETRAIL_WAREHOUSE"
    elif error.errno == errno.ENOENT:
        reason, fix = "the folder is gone", "bring the warehouse back, or give another with --warehouse DIR"
    elif error.errno in _UNLOCKABLE:
        fix = "put the warehouse on a file system with locks and hard links, such as a local disk"
    return StoreError(Fault(f"cannot {action}: {reason}", place, fix=fix))


@contextlib.contextmanager
def told(action: str, place: Path | str) -> Iterator[None]:
    """Turn errors of the operating system into StoreError."""
    try:
        yield
    except OSError as error:
        raise store_error(error, action, str(place)) from error


def sync_folder(path: Path) -> None:
    """Make the names in a folder outlast a power cut."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_held: weakref.WeakSet[Claim] = weakref.WeakSet()


class Claim:
    """A locked file that this process alone may append to, until it is released."""

    def __init__(self, handle: int, path: Path) -> None:
        self.path = path
        self.length = 0
        """Bytes that were appended."""
        self._handle = handle
        self._is_dirty = False
        self._is_named = False
        _held.add(self)

    def append(self, data: bytes) -> None:
        """Write all of `data` or nothing; readers see it at once."""
        with told("write", self.path):
            if os.fstat(self._handle).st_nlink == 0:
                raise FileNotFoundError(errno.ENOENT, "deleted")
            view, done = memoryview(data), 0
            try:
                while done < len(view):
                    done += os.write(self._handle, view[done:])
            except OSError:
                os.ftruncate(self._handle, self.length)
                raise
        self.length += len(data)
        self._is_dirty = True

    def sync(self) -> None:
        """Make what was appended, and the file's name, outlast a power cut."""
        if self._handle < 0:
            return
        with told("write", self.path):
            if self._is_dirty:
                self._is_dirty = False
                os.fsync(self._handle)
            if not self._is_named:
                self._is_named = True
                sync_folder(self.path.parent)

    def complete(self) -> None:
        """Sync: every reader sees what is appended anyway."""
        self.sync()

    def sign(self) -> None:
        """Write who holds the claim, for the message that another process gets."""
        owner = {"host": socket.gethostname(), "pid": os.getpid()}
        with told("write", self.path):
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, json.dumps(owner).encode(), 0)

    def release(self, *, delete: bool = False) -> None:
        """Unlock; `delete` removes the file while it is still locked."""
        if self._handle < 0:
            return
        _held.discard(self)
        handle, self._handle = self._handle, -1
        try:
            if delete:
                with told("delete", self.path):
                    self.path.unlink(missing_ok=True)
        finally:
            os.close(handle)

    def forget(self) -> None:
        """Drop a forked child's copy, which leaves the parent's lock as it is."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)


def _forget_all() -> None:
    for claim in list(_held):
        claim.forget()
    _held.clear()


os.register_at_fork(after_in_child=_forget_all)


def lock(handle: int, kind: int) -> bool:
    """Lock an open file without waiting; False if another holder has it."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_named(handle: int, path: Path) -> bool:
    """Say whether the path still stands for the open file."""
    try:
        there, mine = path.stat(), os.fstat(handle)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
