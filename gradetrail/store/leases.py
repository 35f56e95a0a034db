"""Claims in an object store, which has no locks: a claim is an object that its holder keeps fresh.

Invariant: of the objects `<name>.<number>` the highest is the claim, and it is made by conditional
create, so one claimant has it. A holder that gave no sign for LAPSE_S, by the store's own clock, may
be followed by the next number, and stops when it finds out. On one machine `flock` says more: whoever
has the file of that name in the spool knows that a former holder from there is dead. Claims only save
work and turn the second away: what counts is decided by names alone, whoever believes to hold a claim.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from gradetrail.errors import BrokenOffError, Fault, RunLockedError, StoreError
from gradetrail.store.claim import Claim
from gradetrail.store.remote import Remote, Version

BEAT_S = 10.0
"""A holder gives a sign so often."""
LAPSE_S = 60.0
"""A claim without a sign for so long may be taken over."""
UPLOAD_S = 5.0
"""Answers are in the object store after so long, so that a lost machine loses no more."""

AGAIN = "run the same command again: what was answered here is kept, and is brought in then"

_NUMBERED = re.compile(r"(.*lock)\.([1-9][0-9]{0,8})\Z")


def upload_every_s() -> float:
    """Give `$GRADETRAIL_UPLOAD_S`, else UPLOAD_S."""
    text = os.environ.get("GRADETRAIL_UPLOAD_S", str(UPLOAD_S))
    try:
        return float(text)
    except ValueError:
        raise StoreError(Fault(f"`{text}` is no number of seconds", "GRADETRAIL_UPLOAD_S")) from None


def claims_in(files: Mapping[str, Version]) -> dict[str, dict[int, Version]]:
    """Collect the numbers of claims among file names, by the name that is claimed."""
    found: dict[str, dict[int, Version]] = {}
    for file, version in files.items():
        if named := _NUMBERED.match(file):
            found.setdefault(named[1], {})[int(named[2])] = version
    return found


def numbers_of(remote: Remote, name: str) -> dict[int, Version]:
    """List the numbers of a claim as they are now."""
    folder, _, file = name.rpartition("/")
    return claims_in(remote.list(folder)).get(file, {})


def holder(remote: Remote, name: str, number: int) -> dict[str, Any]:
    """Read who made a claim; FileNotFoundError if it is given up."""
    try:
        said = orjson.loads(remote.read(f"{name}.{number}"))
    except orjson.JSONDecodeError:
        said = None
    return said if isinstance(said, dict) else {}


def take(remote: Remote, name: str, spool: str, local: Claim) -> Lease | None:
    """Claim a name whose file in the spool is locked by this process; None if another machine has it."""
    said = {"host": socket.gethostname(), "pid": os.getpid(), "spool": spool, "token": secrets.token_hex(8)}
    while True:
        numbers = numbers_of(remote, name)
        last = max(numbers, default=0)
        if last and not _is_over(remote, name, last, numbers[last], spool):
            return None
        number = last + 1
        if remote.create(f"{name}.{number}", orjson.dumps(said)) is None:
            continue
        # who slept between the listing and the creation may have been overtaken
        numbers = numbers_of(remote, name)
        if max(numbers, default=number) > number:
            remote.delete(f"{name}.{number}")
            return None
        if number in numbers:
            remote.see(numbers[number])
        for former in numbers:
            if former < number:
                remote.delete(f"{name}.{former}")
        return Lease(remote, name, number, orjson.dumps(said), local)


def _is_over(remote: Remote, name: str, number: int, version: Version, spool: str) -> bool:
    try:
        said = holder(remote, name, number)
    except FileNotFoundError:
        return True
    return said.get("spool") == spool or remote.now() - version.modified > LAPSE_S


class Lease:
    """A claim that this process keeps fresh until it is released."""

    def __init__(self, remote: Remote, name: str, number: int, said: bytes, local: Claim) -> None:
        self.name = name
        self._remote = remote
        self._number = number
        self._said = said
        self._local = local
        self._pid = os.getpid()
        self._fresh = time.monotonic()
        self._is_lost = False
        self._ended = threading.Event()
        self._beating = threading.Thread(target=self._beat, name="gradetrail-claim", daemon=True)
        self._beating.start()

    def check(self) -> None:
        """Raise RunLockedError if another process may have taken the claim over."""
        if not self._is_lost and time.monotonic() - self._fresh > LAPSE_S / 2:
            self._renew()
        if self._is_lost:
            raise RunLockedError(
                Fault(
                    "the claim lapsed, and another process has it", self._remote.place(self.name), fix=AGAIN
                )
            )

    def append(self, data: bytes) -> None:  # noqa: ARG002 - nothing can be appended
        """Refuse: nothing is kept in a claim."""
        raise StoreError(Fault("holds nothing", self._remote.place(self.name)))

    def sync(self) -> None:
        """Do nothing: a claim need not outlast a power cut."""

    def complete(self) -> None:
        """Do nothing: a claim holds nothing."""

    def sign(self) -> None:
        """Do nothing: a claim is signed from the beginning."""

    def release(self, *, delete: bool = False) -> None:
        """Give the claim up; one that cannot be deleted lapses by itself."""
        if self._ended.is_set() or self._pid != os.getpid():
            return
        self._ended.set()
        self._beating.join()
        with contextlib.suppress(StoreError):
            if self._is_mine():
                self._remote.delete(f"{self.name}.{self._number}")
        self._local.release(delete=delete)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S) and not self._is_lost:
            with contextlib.suppress(StoreError):
                self._renew()

    def _renew(self) -> None:
        begun = time.monotonic()
        if not self._is_mine():
            self._is_lost = True
            return
        self._remote.put(f"{self.name}.{self._number}", self._said)
        self._fresh = begun
        if max(numbers_of(self._remote, self.name), default=0) > self._number:
            self._is_lost = True
            self._remote.delete(f"{self.name}.{self._number}")

    def _is_mine(self) -> bool:
        """Say whether the claim is there, and this holder's: a number may be used again."""
        try:
            return self._remote.read(f"{self.name}.{self._number}") == self._said
        except FileNotFoundError:
            return False


class SpooledPart:
    """A journal part: appended to in the spool, and put into the object store every UPLOAD_S."""

    def __init__(
        self, remote: Remote, name: str, local: Claim, lease: Lease | None, *, mark: bytes = b""
    ) -> None:
        """`mark` is what the object is to be made with, if the store was away when the part began."""
        self._remote = remote
        self._name = name
        self._local = local
        self._mark = mark
        self._lease = lease
        self._every_s = upload_every_s()
        self._uploaded = 0
        self._uploaded_at = time.monotonic()

    @property
    def path(self) -> Path:
        """The file in the spool."""
        return self._local.path

    def append(self, data: bytes) -> None:
        """Write all of `data` or nothing into the spool, also if another process has the claim by now."""
        self._local.append(data)

    def sync(self) -> None:
        """Make what was appended outlast a power cut, and the machine if it is old enough."""
        self._local.sync()
        waited_s = time.monotonic() - self._uploaded_at
        if waited_s >= self._every_s:
            try:
                self._upload()
            except RunLockedError:
                raise
            except StoreError as error:
                # what is in the spool can wait for a store that is away for a moment
                if waited_s > LAPSE_S:
                    raise BrokenOffError(*error.faults) from error

    def complete(self) -> None:
        """Put all that was appended into the object store."""
        self._local.sync()
        self._upload()

    def sign(self) -> None:
        """Do nothing: the run's claim is signed."""

    def release(self, *, delete: bool = False) -> None:
        """Close the file in the spool; `delete` removes it, when all of it is in the object store."""
        self._local.release(delete=delete)

    def _upload(self) -> None:
        length = self._local.length
        if length > self._uploaded:
            if self._lease is not None:
                self._lease.check()
            if self._mark and self._remote.create(self._name, self._mark) is None:
                raise RunLockedError(
                    Fault("another process wrote this part", self._remote.place(self._name), fix=AGAIN)
                )
            self._mark = b""
            self._remote.put(self._name, self._local.path.read_bytes()[:length])
            self._uploaded = length
        self._uploaded_at = time.monotonic()
