"""A warehouse in an object store, as local as DuckDB needs it.

Invariant: what every reader sees is what is in the object store, and nothing else. Immutable objects
are read from local copies. A journal part is appended to in a spool on the writer's machine, below the
user's state folder, and put into the object store whole every few seconds; what a dead writer left in
the spool is brought in by the next writer of the run on that machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from gradetrail.errors import Fault, StoreError
from gradetrail.store.copies import Copies, cache_folder
from gradetrail.store.layout import JOURNAL, LOCK, parse_part, run_lock
from gradetrail.store.leases import LAPSE_S, Lease, SpooledPart, claims_in, holder, numbers_of, take
from gradetrail.store.packs import FOLDER
from gradetrail.store.remote import TEMPORARY, Remote, Version
from gradetrail.store.storage import LocalStorage

AT_ONCE = 8
"""Objects that are fetched at a time."""
LOGS = "logs/"
"""Logs stay on the machine that wrote them."""
_TRIED = "creates-once"
"""Marks in the spool that the store was seen to refuse a second creation."""


def state_folder() -> Path:
    """Give where spools and logs are: below `$XDG_STATE_HOME`, else below the user's state folder."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "gradetrail"


class ObjectStorage:
    """Objects below `s3://bucket/prefix`; names are `folder/file`."""

    def __init__(self, address: str) -> None:
        self._remote = Remote(address)
        self.root = Path(self._remote.url)
        digest = hashlib.sha256(self._remote.identity.encode()).hexdigest()[:16]
        label = re.sub(r"[^A-Za-z0-9]+", "-", self._remote.url)[:60]
        self._copies = Copies(cache_folder() / f"{label}-{digest}")
        self._spool = LocalStorage(state_folder() / "warehouses" / f"{label}-{digest}")
        self._seen: dict[str, Version] = {}
        self._listed: set[str] = set()
        self._leases: dict[str, Lease] = {}
        self._tidied = math.inf

    @cached_property
    def home(self) -> Path:
        """A local folder with the user's SQL and prices as they are now, and with logs."""
        wanted = {f"sql/{file}": version for file, version in self._remote.list("sql").items()}
        prices = self._remote.head("prices.yaml")
        if prices is not None:
            wanted["prices.yaml"] = prices
        home = self._spool.root
        self._make_spool("sql")
        there = {f"sql/{path.name}" for path in (home / "sql").iterdir()} | {"prices.yaml"}
        for name in there - wanted.keys():
            self._spool.delete(name)
        for name in wanted:
            with contextlib.suppress(FileNotFoundError):
                data = self._remote.read(name)
                if name not in there or not self._spool.has(name) or self._spool.read(name) != data:
                    self._spool.replace(name, data)
        return home

    def place(self, name: str = "") -> str:
        """Say where a name is, for messages."""
        return self._remote.place(name)

    def name(self, file: str | Path) -> str:
        """Give the name of a copy; ValueError for any other file."""
        return Path(*Path(file).relative_to(self._copies.folder).parts[1:]).as_posix()

    def prepare(self) -> tuple[str, ...]:
        """List what is at the top; where that is nothing, find out whether the store serves."""
        names = tuple(name for name in self._remote.top() if name != TEMPORARY)
        if not names:
            self.check_writable()
        return names

    def check_writable(self) -> None:
        """Raise StoreError unless a second creation is refused; on each machine that is tried once."""
        if self._spool.root.exists() and self._spool.has(_TRIED):
            return
        self._remote.check_creates()
        self._make_spool()
        self._spool.create(_TRIED, lambda file: file.write(b""))

    def exists(self) -> bool:
        """Say whether anything is there."""
        return bool(self._remote.top())

    def list(self, folder: str) -> list[str]:
        """List file names, sorted."""
        found = self._remote.list(folder)
        for name in [name for name in self._seen if name.startswith(f"{folder}/")]:
            del self._seen[name]
        self._listed.add(folder)
        claims = claims_in(found)
        current = {file: numbers[max(numbers)] for file, numbers in claims.items()}
        numbered = {f"{claim}.{number}" for claim, numbers in claims.items() for number in numbers}
        current |= {file: version for file, version in found.items() if file not in numbered}
        self._seen.update({f"{folder}/{file}": version for file, version in current.items()})
        return sorted(current)

    def sizes(self, folder: str, suffix: str) -> dict[str, int]:
        """Give the sizes of a folder's files in bytes."""
        files = [file for file in self.list(folder) if file.endswith(suffix)]
        return {file: self._seen[f"{folder}/{file}"].size for file in files}

    def _version(self, name: str) -> Version:
        """Give the version that was listed last, or that is there now."""
        version = self._seen.get(name) or self._remote.head(name)
        if version is None:
            raise FileNotFoundError(name)
        return version

    def has(self, name: str) -> bool:
        """Say whether an object is there now."""
        return self._remote.head(name) is not None

    def size(self, name: str) -> int:
        """Give an object's bytes; FileNotFoundError if it is not there."""
        return self._spool.size(name) if name.startswith(LOGS) else self._version(name).size

    def modified(self, name: str) -> float:
        """Say when an object was written, by the store's clock; FileNotFoundError if it is not there."""
        return self._version(name).modified

    def now(self) -> float:
        """Say the time by the store's clock, as far as this process knows it."""
        return time.time() + self._remote.ahead_s

    def read(self, name: str) -> bytes:
        """Read an object as it is now; FileNotFoundError if it is not there."""
        return self._remote.read(name)

    def read_all(self, names: Collection[str]) -> Iterator[bytes]:
        """Read objects that were just listed, in their order; FileNotFoundError if one is gone."""
        self.fetch(names)
        for name in names:
            yield self.local(name).read_bytes()

    def ends(self, name: str, head: int, tail: int) -> tuple[int, bytes, bytes]:
        """Give size, first and last bytes of an object; FileNotFoundError if it is not there."""
        with self.local(name).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            first = file.read(head)
            file.seek(max(0, size - tail))
            return size, first, file.read(tail)

    def local(self, name: str, *, afresh: bool = False) -> Path:
        """Give a copy of the version that was listed last; FileNotFoundError if there is none any more."""
        version = self._seen.get(name)
        if version is not None and not afresh and self._copies.has(name, version):
            return self._copies.path(name, version)
        return self._download(name)

    def _download(self, name: str) -> Path:
        found: list[Version] = []
        file = self._copies.write(lambda sink: found.append(self._remote.download(name, sink)))
        self._seen[name] = found[0]
        return self._copies.keep(file, name, found[0])

    def fetch(self, names: Iterable[str]) -> None:
        """Fetch what there are no copies of, several at a time."""

        def fetch(name: str) -> None:
            with contextlib.suppress(FileNotFoundError):
                self._download(name)

        missing = [
            name
            for name in dict.fromkeys(names)
            if (version := self._seen.get(name)) is None or not self._copies.has(name, version)
        ]
        if len(missing) > 1:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                list(pool.map(fetch, missing))

    def forget(self, names: Iterable[str]) -> None:
        """Drop copies, which may be damaged while the object is not."""
        for name in names:
            if (version := self._seen.get(name)) is not None:
                self._copies.drop(name, version)

    def tidy(self, older_than_s: float) -> None:
        """Drop copies of what is not there any more, and is that old."""
        if older_than_s >= self._tidied:
            return
        self._tidied = older_than_s
        self._copies.tidy(self._seen, frozenset(self._listed), older_than_s)

    def create(self, name: str, write: Callable[[BinaryIO], object]) -> bool:
        """Publish what `write` writes under a new name; False if the name is taken."""
        if self.has(name):
            return False
        file = self._copies.write(write)
        try:
            version = self._remote.create(name, file)
            if version is None:
                return False
            self._seen.pop(name, None)
            self._copies.keep(file, name, version)
        finally:
            file.unlink(missing_ok=True)
        return True

    def replace(self, name: str, data: bytes) -> None:
        """Put `data` in the place of whatever the name held; readers see the old or the new."""
        self._remote.put(name, data)
        self._seen.pop(name, None)

    def delete(self, name: str) -> None:
        """Delete an object and its copy; one that is not there is no error."""
        if name.startswith(LOGS):
            self._spool.delete(name)
            return
        self._remote.delete(name)
        if (version := self._seen.pop(name, None)) is not None:
            self._copies.drop(name, version)

    def move(self, name: str, folder: str) -> None:
        """Move an object into another folder under a name that is free there."""
        data, file = self._remote.read(name), name.rpartition("/")[2]
        target = f"{folder}/{file}"
        while self._remote.create(target, data) is None:
            target = f"{folder}/{file}.{secrets.token_hex(2)}"
        self.delete(name)

    def delete_temporary(self, folder: str, prefix: str) -> None:
        """Do nothing: an object is there whole or not at all."""

    def old_temporary(self, folder: str, before: float) -> Iterator[str]:
        """List what dead writers were sending, beside the packs, before that moment of the store's clock."""
        if folder == FOLDER:
            for file, version in self._remote.list(TEMPORARY).items():
                if version.modified <= before:
                    yield f"{TEMPORARY}/{file}"

    def _make_spool(self, folder: str = "") -> None:
        try:
            self._spool.path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = f"cannot keep answers until they are uploaded: {error.strerror or error}"
            fix = "set XDG_STATE_HOME to a folder that you may write to"
            raise StoreError(Fault(reason, str(self._spool.root), fix=fix)) from error

    @cached_property
    def _spool_id(self) -> str:
        self._make_spool()
        self._spool.create("spool-id", lambda file: file.write(secrets.token_hex(16).encode()))
        return self._spool.read("spool-id").decode()

    def claim(self, name: str) -> Lease | None:
        """Claim a name; None if another holder has it."""
        spool_id = self._spool_id
        local = self._spool.claim(name)
        if local is None:
            return None
        lease = None
        try:
            lease = take(self._remote, name, spool_id, local)
        finally:
            if lease is None:
                local.release()
        if lease is not None:
            self._leases[name] = lease
        return lease

    def claim_new(self, name: str) -> SpooledPart | None:
        """Make an empty journal part; None if the name is taken."""
        part = parse_part(name.rpartition("/")[2], JOURNAL)
        if part is None:
            raise StoreError(Fault("is no journal part", self.place(name)))
        token = secrets.token_hex(4)
        # no newline: a mark of whose part it is, which no reader takes for a line
        mark = token.encode()
        with contextlib.suppress(StoreError):  # an answer that came while the store is away is kept
            if self.has(name) or self._remote.create(name, mark) is None:
                return None
            mark = b""
        local = self._spool.claim_new(f"{name.removesuffix(JOURNAL)}.{token}{JOURNAL}")
        if local is None:
            return None
        lease = self._leases.get(run_lock(part.run_id))
        return SpooledPart(self._remote, name, local, lease, mark=mark)

    def stranded(self, run_id: str | None = None) -> tuple[Path, ...]:
        """List what dead writers (of one run) left in the spool: `<run_id>.<part>.<token>.jsonl`."""
        found = []
        for file in self._spool.list("journal") if self._spool.root.exists() else ():
            is_part = file.endswith(JOURNAL) and run_id in (None, file.rsplit(".", 3)[0])
            if is_part and not self._spool.is_claimed(f"journal/{file}"):
                found.append(self._spool.path(f"journal/{file}"))
        return tuple(found)

    def owner(self, name: str) -> dict[str, Any] | None:
        """Read who holds a claim: host and pid; None if it is given up by now."""
        numbers = numbers_of(self._remote, name)
        with contextlib.suppress(FileNotFoundError):
            said = holder(self._remote, name, max(numbers)) if numbers else {}
            return said if said.keys() >= {"host", "pid"} else None
        return None

    def is_claimed(self, name: str) -> bool:
        """Say whether a live process holds the claim, as far as can be told without writing."""
        if not name.endswith(LOCK) and not name.endswith("/lock"):
            return False  # a journal part belongs to whoever has the run
        numbers = numbers_of(self._remote, name)
        if not numbers:
            return False
        try:
            said = holder(self._remote, name, max(numbers))
        except FileNotFoundError:
            return False
        if said.get("spool") == self._known_spool_id():
            return self._spool.is_claimed(name)
        return self.now() - numbers[max(numbers)].modified < LAPSE_S

    def _known_spool_id(self) -> str | None:
        try:
            return self._spool.read("spool-id").decode()
        except FileNotFoundError:
            return None
