"""The writer of one run: answers go to the journal first, and into Parquet behind the caller's back.

Invariant: what `flush` returned for is seen by every reader and outlasts this process; what `sync`
returned for outlasts a power cut. The engine flushes about every 50 ms, before an answer counts, and
syncs at least each second. A part that is full is sealed on a thread of its own, so that `append`
stays cheap. One writer at a time has a run; its lock ends with its process.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from gradetrail.errors import BrokenOffError, Fault, RunLockedError, StoreError
from gradetrail.store.interface import Holding, Storage
from gradetrail.store.journal import LineEncoder, Row, encode_header
from gradetrail.store.layout import Part, run_lock
from gradetrail.store.salvage import take_up
from gradetrail.store.sealing import absorb, fold, latest, next_number, seal
from gradetrail.store.segments import publish

if TYPE_CHECKING:
    import pyarrow as pa

PART_ROWS = 2_000
PART_BYTES = 8_000_000
"""A journal part has at most so many rows and bytes, so that reading one takes milliseconds."""
BUFFER_BYTES = 1_000_000
"""`append` flushes by itself when so much waits."""
WAITING_PARTS = 8
"""Full parts that may wait for sealing before `append` waits too."""


class RunWriter:
    """Appends to a run, which no other process can do until this one is closed or dead."""

    def __init__(
        self, storage: Storage, run_id: str, *, header: Row | None = None, part_rows: int = PART_ROWS
    ) -> None:
        """Lock the run and seal what dead writers left; RunLockedError names the process that has it."""
        self.run_id = run_id
        self._storage = storage
        self._run_claim = _claim_run(storage, run_id)
        try:
            self._number = next_number(storage, run_id)
            self.absorbed = absorb(storage, run_id)
            """What dead writers of this run left."""
            self._number = take_up(storage, run_id, self._number)
        except BaseException:
            self._run_claim.release()
            raise
        self._header = encode_header(header) if header is not None else b""
        self._part_rows = part_rows
        self._encode = LineEncoder(run_id)
        self._lock = threading.Lock()
        self._disk = threading.Lock()  # held while syncing and while a part's file is closed
        self._buffer: list[bytes] = []
        self._buffered = self._rows = self._bytes = 0
        self._part: Part | None = None
        self._claims: dict[Part, Holding] = {}
        self._full: queue.Queue[Part | None] = queue.Queue(WAITING_PARTS)
        self._sealer: threading.Thread | None = None
        self._failure: StoreError | None = None
        self._unsealed: StoreError | None = None
        # why no part is sealed any more; the journal still takes what calls in flight bring
        self._is_finished = self._is_closed = False

    def append(self, *, response: Row | None, calls: Sequence[Row], trials: Sequence[Row]) -> None:
        """Add what one request came to; a row may leave out columns that are NULL. Not yet on disk."""
        line = self._encode(response, calls, trials)
        n_rows = max(1, len(trials))
        with self._lock:
            self._check()
            if self._rows and (self._rows + n_rows > self._part_rows or self._bytes + len(line) > PART_BYTES):
                self._retire()
            if self._part is None:
                self._begin()
            self._buffer.append(line)
            self._rows += n_rows
            self._bytes += len(line)
            self._buffered += len(line)
            if self._buffered > BUFFER_BYTES:
                self._write()

    def add_trials(self, rows: pa.Table) -> None:
        """Publish trials at once, as a part of their own: hits, or an extension of the plan."""
        if rows.num_rows == 0:
            return
        with self._lock:
            self._check()
            self._retire()
            part, self._number = Part(self.run_id, self._number), self._number + 1
            with self._failing():
                if not publish(self._storage, "trials", part.stem, latest(rows)):
                    raise _overtaken(part.segment("trials"))

    def flush(self) -> None:
        """Hand everything to the operating system: readers see it, and it outlasts this process."""
        with self._lock:
            self._check()
            self._write()

    def sync(self) -> None:
        """Make everything that was flushed outlast a power cut; may be called from another thread.

        On failure no further answer should be asked for; those that were are still taken.
        """
        with self._lock:
            self._check()
            claims = list(self._claims.values())
        if self._unsealed is not None:
            raise self._unsealed
        with self._disk, self._failing():
            for claim in claims:
                claim.sync()

    def finish(self) -> None:
        """Flush, seal and fold, and keep the lock: what is to be said of the run can be said now.

        On failure, what is in the journal stays for the next writer.
        """
        with self._lock:
            if self._is_finished:
                return
            self._is_finished = True
            with contextlib.suppress(StoreError):  # remembered, and raised when the sealer has ended
                if self._failure is None:
                    self._retire()
        if self._sealer is not None:
            self._full.put(None)
            self._sealer.join()
        if failure := self._failure or self._unsealed:
            raise failure
        fold(self._storage, self.run_id)

    def close(self) -> None:
        """Finish and unlock."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self.finish()
        finally:
            for claim in self._claims.values():
                claim.release()
            self._claims.clear()
            self._run_claim.release(delete=True)

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except StoreError as second:
            error.add_note(f"closing the run failed too: {second}")

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._is_finished:
            raise StoreError(Fault("the writer is closed", self.run_id))

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Remember the first failure of the journal itself: after that it takes nothing."""
        try:
            yield
        except (BrokenOffError, RunLockedError):
            raise
        except StoreError as error:
            self._failure = self._failure or error
            raise

    def _begin(self) -> None:
        with self._failing():
            claim = None
            while claim is None:
                part = Part(self.run_id, self._number)
                self._number += 1
                claim = self._storage.claim_new(part.journal)
        self._part, self._claims[part] = part, claim
        self._rows, self._bytes = 0, len(self._header)
        if self._header:
            self._buffer.append(self._header)
            self._header = b""

    def _write(self) -> None:
        if self._part is not None and self._buffer:
            with self._failing():
                self._claims[self._part].append(b"".join(self._buffer))
            self._buffer.clear()
            self._buffered = 0

    def _retire(self) -> None:
        """Close the open part and leave it to the sealer."""
        if self._part is None:
            return
        self._write()
        if self._sealer is None:
            self._sealer = threading.Thread(target=self._seal_parts, name="gradetrail-sealer", daemon=True)
            self._sealer.start()
        self._full.put(self._part)
        self._part = None
        self._rows = self._bytes = 0

    def _seal_parts(self) -> None:
        while (part := self._full.get()) is not None:
            # after a failure the queue is still emptied, so that `append` is never left waiting
            if self._failure is None and self._unsealed is None:
                try:
                    self._seal(part)
                except StoreError as error:
                    self._unsealed = error
                except Exception as error:
                    place = self._storage.place(part.journal)
                    self._unsealed = StoreError(Fault(f"cannot be sealed, but is kept: {error!r}", place))

    def _seal(self, part: Part) -> None:
        with self._disk:
            self._claims[part].complete()
        if seal(self._storage, part).n_taken:
            raise _overtaken(part.journal)
        with self._disk:
            self._claims.pop(part).release(delete=True)


def _overtaken(name: str) -> StoreError:
    fix = "run the same command again: what was answered here is kept, and is brought in then"
    return RunLockedError(Fault("another process took the run over and wrote this part", name, fix=fix))


def _claim_run(storage: Storage, run_id: str) -> Holding:
    name = run_lock(run_id)
    claim = storage.claim(name)
    if claim is None:
        owner = storage.owner(name)
        who = f"process {owner['pid']} on {owner['host']}" if owner else "another process"
        fix = "wait for it or end it; what it answered is kept, and the same command then goes on"
        raise RunLockedError(Fault(f"{who} is generating into run {run_id}", storage.place(name), fix=fix))
    claim.sign()
    return claim
