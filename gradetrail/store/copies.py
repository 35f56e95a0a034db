"""Local copies of objects, for DuckDB and pyarrow to read; shared by all processes of a user.

Invariant: a copy is named by the object's name and the tag of its content, is whole when its name
appears, and never changes. Any of them may be deleted at any time: it is fetched again.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from gradetrail.errors import Fault, StoreError
from gradetrail.store.remote import Version

_UNFIT = re.compile(r"[^A-Za-z0-9-]+")
FILLING = "filling"
"""Folder of copies that are being written."""
DEAD_AFTER_S = 3600.0


def cache_folder() -> Path:
    """Give where copies are: `$GRADETRAIL_CACHE`, else below the user's cache folder."""
    named = os.environ.get("GRADETRAIL_CACHE")
    if named:
        return Path(named).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gradetrail" / "warehouses"


class Copies:
    """The copies of one warehouse."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str, version: Version) -> Path:
        """Give where the copy of a version is, if it is there."""
        return self.folder / _UNFIT.sub("", version.tag) / name

    def has(self, name: str, version: Version) -> bool:
        """Say whether there is a copy of the right size."""
        try:
            return self.path(name, version).stat().st_size == version.size
        except OSError:
            return False

    def write(self, write: Callable[[BinaryIO], object]) -> Path:
        """Write a file that is no copy yet; FileNotFoundError is what `write` raised."""
        folder = self.folder / FILLING
        file = folder / secrets.token_hex(8)
        with self._told():
            folder.mkdir(parents=True, exist_ok=True)
            sink = file.open("xb")
        try:
            with self._told(passing=FileNotFoundError), sink:
                write(sink)
        except BaseException:
            file.unlink(missing_ok=True)
            raise
        return file

    @contextlib.contextmanager
    def _told(self, passing: type[OSError] | tuple[()] = ()) -> Iterator[None]:
        """Turn errors of the disk into StoreError, but for one that has another meaning."""
        try:
            yield
        except passing:
            raise
        except OSError as error:
            fix = "free some space there, or set GRADETRAIL_CACHE to a folder that you may write to"
            reason = f"cannot keep copies of objects: {error.strerror or error}"
            raise StoreError(Fault(reason, str(self.folder), fix=fix)) from error

    def keep(self, file: Path, name: str, version: Version) -> Path:
        """Make a written file the copy of a version."""
        path = self.path(name, version)
        with self._told():
            while True:
                path.parent.mkdir(parents=True, exist_ok=True)
                try:
                    file.replace(path)
                    return path
                except FileNotFoundError:
                    if not file.exists():  # somebody emptied the folder
                        raise

    def drop(self, name: str, version: Version) -> None:
        """Delete the copy of a version."""
        path = self.path(name, version)
        path.unlink(missing_ok=True)
        for folder in (path.parent, self.folder / _UNFIT.sub("", version.tag)):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def tidy(self, current: Mapping[str, Version], folders: frozenset[str], older_than_s: float) -> None:
        """Delete copies in some folders that are of no current version, and what dead processes left."""
        before = time.time() - older_than_s
        for path, name in self._all():
            version = current.get(name)
            is_current = version is not None and path == self.path(name, version)
            with contextlib.suppress(OSError):
                if name.partition("/")[0] in folders and not is_current and path.stat().st_mtime <= before:
                    path.unlink()
                    path.parent.rmdir()
                    path.parent.parent.rmdir()
        with contextlib.suppress(OSError):
            for file in (self.folder / FILLING).iterdir():
                if file.stat().st_mtime <= time.time() - DEAD_AFTER_S:
                    file.unlink()

    def _all(self) -> Iterator[tuple[Path, str]]:
        # unlike pathlib's, it passes over folders that another process deletes meanwhile
        for file in glob.iglob(f"{glob.escape(str(self.folder))}/*/*/*"):
            path = Path(file)
            yield path, f"{path.parent.name}/{path.name}"
