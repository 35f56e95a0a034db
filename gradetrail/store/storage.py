"""A warehouse in a folder of a local disk: create if absent, replace, list, read, delete, claim.

Invariant: a name appears with its whole content or not at all, and once it is there its content never
changes (but for manifests, which are replaced whole, and claims, which grow). `create` writes a
temporary name, syncs it, links it to the final name, which fails if that is taken, and syncs the
folder.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from gradetrail.errors import Fault, StoreError
from gradetrail.store.claim import Claim, is_named, lock, store_error, sync_folder, told

TEMPORARY = ".tmp"
CLAIM_PATIENCE_S = 0.25
"""A reader that asks whether a claim is held locks it for an instant; a claimant outwaits that."""


class LocalStorage:
    """A folder on a local disk; names are `folder/file`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def home(self) -> Path:
        """The folder itself: what the user adds and logs are beside the rest."""
        return self.root

    def path(self, name: str) -> Path:
        """Give the absolute path of a name."""
        return self.root / name

    def place(self, name: str = "") -> str:
        """Say where a name is, for messages."""
        return str(self.root / name)

    def local(self, name: str, *, afresh: bool = False) -> Path:  # noqa: ARG002 - there are no copies
        """Give the file itself."""
        return self.root / name

    def name(self, file: str | Path) -> str:
        """Give the name of a file."""
        return Path(file).relative_to(self.root).as_posix()

    def fetch(self, names: Iterable[str]) -> None:
        """Do nothing: what is here is at hand."""

    def forget(self, names: Iterable[str]) -> None:
        """Do nothing: there are no copies."""

    def tidy(self, older_than_s: float) -> None:
        """Do nothing: there are no copies."""

    def stranded(self, run_id: str | None = None) -> tuple[Path, ...]:  # noqa: ARG002 - a part is in `journal` or nowhere
        """Find nothing: every reader sees what a dead writer appended."""
        return ()

    def prepare(self) -> tuple[str, ...]:
        """Make the folder if need be, and list what is at its top, hidden and temporary files apart."""
        if self.root.exists() and not self.root.is_dir():
            raise StoreError(
                Fault("is a file, not a folder", str(self.root), fix="give a folder: --warehouse DIR")
            )
        with told("make a warehouse", self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            names = os.listdir(self.root)
        return tuple(name for name in names if not name.startswith(".") and not name.endswith(TEMPORARY))

    def exists(self) -> bool:
        """Say whether the folder is there."""
        return self.root.exists()

    def check_writable(self) -> None:
        """Raise StoreError if nothing may be written."""
        if not os.access(self.root, os.W_OK):
            fix = "give a folder that you may write to: --warehouse DIR or GRADETRAIL_WAREHOUSE"
            raise StoreError(Fault("may not be written to", str(self.root), fix=fix))

    def list(self, folder: str) -> list[str]:
        """List file names, sorted, without temporary ones; a folder that was never used is empty."""
        with told("list", self.path(folder)):
            try:
                names = os.listdir(self.path(folder))
            except FileNotFoundError:
                self.root.stat()
                return []
        return sorted(name for name in names if not name.endswith(TEMPORARY))

    def sizes(self, folder: str, suffix: str) -> dict[str, int]:
        """Give the sizes of a folder's files in bytes; one that vanishes meanwhile is left out."""
        found = {}
        for file in self.list(folder):
            if file.endswith(suffix):
                with contextlib.suppress(FileNotFoundError):
                    found[file] = self.path(f"{folder}/{file}").stat().st_size
        return found

    def has(self, name: str) -> bool:
        """Say whether a file is there."""
        return self.path(name).exists()

    def size(self, name: str) -> int:
        """Give a file's bytes; FileNotFoundError if it is not there."""
        return self.path(name).stat().st_size

    def read_all(self, names: Collection[str]) -> Iterator[bytes]:
        """Read files in their order; FileNotFoundError if one is gone."""
        return map(self.read, names)

    def read(self, name: str) -> bytes:
        """Read a whole file; FileNotFoundError if it is not there."""
        try:
            return self.path(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(name) from None
        except OSError as error:
            raise store_error(error, "read", str(self.path(name))) from error

    def ends(self, name: str, head: int, tail: int) -> tuple[int, bytes, bytes]:
        """Give size, first and last bytes of a file; FileNotFoundError if it is not there."""
        try:
            handle = os.open(self.path(name), os.O_RDONLY | os.O_CLOEXEC)
            try:
                size = os.fstat(handle).st_size
                return size, os.pread(handle, head, 0), os.pread(handle, tail, max(0, size - tail))
            finally:
                os.close(handle)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise store_error(error, "read", str(self.path(name))) from error

    def create(self, name: str, write: Callable[[BinaryIO], object]) -> bool:
        """Publish what `write` writes under a new name; False if the name is taken."""
        path = self.path(name)
        with told("write", path):
            if path.exists():
                return False
            temporary = self._write(path, write)
            try:
                os.link(temporary, path)
            except FileExistsError:
                return False
            except PermissionError as error:
                # what was just written here may be named twice, unless the file system has no such thing
                raise OSError(errno.ENOTSUP, "the file system makes no hard links") from error
            finally:
                temporary.unlink(missing_ok=True)
            sync_folder(path.parent)
        return True

    def replace(self, name: str, data: bytes) -> None:
        """Put `data` in the place of whatever the name held; readers see the old or the new."""
        path = self.path(name)
        with told("write", path):
            temporary = self._write(path, lambda file: file.write(data))
            try:
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            sync_folder(path.parent)

    def _write(self, path: Path, write: Callable[[BinaryIO], object]) -> Path:
        # one level only: a warehouse that vanished must not come back as a fragment of itself
        if path.parent != self.root:
            path.parent.mkdir(exist_ok=True)
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}{TEMPORARY}")
        try:
            with temporary.open("xb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        return temporary

    def delete(self, name: str) -> None:
        """Delete a file; one that is not there is no error."""
        with told("delete", self.path(name)):
            self.path(name).unlink(missing_ok=True)

    def move(self, name: str, folder: str) -> None:
        """Move a file into another folder under a name that is free there."""
        path = self.path(name)
        with told("move", path):
            self.path(folder).mkdir(exist_ok=True)
            target = self.path(folder) / path.name
            while target.exists():
                target = target.with_name(f"{target.name}.{secrets.token_hex(2)}")
            path.rename(target)
            sync_folder(target.parent)

    def delete_temporary(self, folder: str, prefix: str) -> None:
        """Delete what dead writers left half-written under names that begin with `prefix`."""
        with told("delete", self.path(folder)):
            if self.path(folder).is_dir():
                for name in os.listdir(self.path(folder)):
                    if name.startswith(prefix) and name.endswith(TEMPORARY):
                        self.path(f"{folder}/{name}").unlink(missing_ok=True)

    def modified(self, name: str) -> float:
        """Say when a file was written, in seconds since 1970; FileNotFoundError if it is not there."""
        return self.path(name).stat().st_mtime

    def now(self) -> float:
        """Say the time."""
        return time.time()

    def old_temporary(self, folder: str, before: float) -> Iterator[str]:
        """List half-written files that were not touched since `before`: their writers are dead."""
        try:
            names = os.listdir(self.path(folder))
        except FileNotFoundError:
            return
        for file in names:
            with contextlib.suppress(FileNotFoundError):
                if file.endswith(TEMPORARY) and self.modified(f"{folder}/{file}") <= before:
                    yield f"{folder}/{file}"

    def claim(self, name: str) -> Claim | None:
        """Lock a file, which is made if need be; None if another holder has it."""
        path = self.path(name)
        patience = time.monotonic() + CLAIM_PATIENCE_S
        with told("lock", path):
            path.parent.mkdir(exist_ok=True)
            while True:
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
                try:
                    if lock(handle, fcntl.LOCK_EX) and is_named(handle, path):
                        claim, handle = Claim(handle, path), -1
                        return claim
                finally:
                    if handle >= 0:
                        os.close(handle)
                if time.monotonic() > patience:
                    return None
                threading.Event().wait(0.01)

    def claim_new(self, name: str) -> Claim | None:
        """Make and lock a file; None if the name is taken, whoever has it."""
        path = self.path(name)
        with told("write", path):
            path.parent.mkdir(exist_ok=True)
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666)
            except FileExistsError:
                return None
            if not lock(handle, fcntl.LOCK_EX):
                os.close(handle)
                return None
            return Claim(handle, path)

    def owner(self, name: str) -> dict[str, Any] | None:
        """Read who holds a claim: host and pid; None if the holder has not signed it yet."""
        try:
            owner = json.loads(self.path(name).read_bytes())
        except (OSError, ValueError):
            return None
        return owner if isinstance(owner, dict) and owner.keys() >= {"host", "pid"} else None

    def is_claimed(self, name: str) -> bool:
        """Say whether a live process holds the claim; writes nothing."""
        try:
            handle = os.open(self.path(name), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return not lock(handle, fcntl.LOCK_SH)
        except OSError:
            return False
        finally:
            os.close(handle)
