"""What a warehouse needs of the place that it is in: the whole of it, and nothing more.

Invariant: a name appears with its whole content or not at all, and of several that create one name a
single one succeeds. Everything else of the store is built on that, and on claims, which only spare
two processes the same work or turn the second away.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol


class Holding(Protocol):
    """Something that this process alone has, until it is released or the process ends."""

    def append(self, data: bytes) -> None:
        """Write all of `data` or nothing, so that it outlasts this process."""

    def sync(self) -> None:
        """Make what was appended outlast a power cut."""

    def complete(self) -> None:
        """Make all that was appended visible to every reader; nothing is appended after that."""

    def sign(self) -> None:
        """Write who holds the claim, for the message that another process gets."""

    def release(self, *, delete: bool = False) -> None:
        """Give it up; `delete` removes what was claimed too."""


class Storage(Protocol):
    """Where a warehouse is; names are `folder/file`."""

    @property
    def root(self) -> Path:
        """What opens the same storage again."""

    @property
    def home(self) -> Path:
        """A local folder with what the user adds (`sql/`, `prices.yaml`), and for logs."""

    def place(self, name: str = "") -> str:
        """Say where a name is, for messages."""

    def name(self, file: str | Path) -> str:
        """Give the name of which `local` gave a file; ValueError for any other file."""

    def prepare(self) -> Sequence[str]:
        """Make the place if need be, find out whether it serves, and list what is at its top."""

    def check_writable(self) -> None:
        """Raise StoreError if nothing may be written."""

    def exists(self) -> bool:
        """Say whether the place is there, whatever it holds."""

    def list(self, folder: str) -> list[str]:
        """List file names, sorted, without temporary ones; a folder that was never used is empty."""

    def sizes(self, folder: str, suffix: str) -> Mapping[str, int]:
        """Give the sizes of a folder's files in bytes; one that vanishes meanwhile is left out."""

    def has(self, name: str) -> bool:
        """Say whether a file is there."""

    def size(self, name: str) -> int:
        """Give a file's bytes; FileNotFoundError if it is not there."""

    def modified(self, name: str) -> float:
        """Say when a file was written, in seconds since 1970; FileNotFoundError if it is not there."""

    def now(self) -> float:
        """Say the time by the place's clock, as far as this process knows it; whoever has a claim does."""

    def read(self, name: str) -> bytes:
        """Read a whole file as it is now; FileNotFoundError if it is not there."""

    def read_all(self, names: Collection[str]) -> Iterator[bytes]:
        """Read files that were just listed, in their order; FileNotFoundError if one is gone."""

    def ends(self, name: str, head: int, tail: int) -> tuple[int, bytes, bytes]:
        """Give size, first and last bytes of a file; FileNotFoundError if it is not there."""

    def local(self, name: str, *, afresh: bool = False) -> Path:
        """Give a local file with the content of a Parquet file.

        FileNotFoundError if it is not there, here or when it is opened. `afresh` trusts no copy.
        """

    def fetch(self, names: Iterable[str]) -> None:
        """Get ready what is to be read; a file that is gone is left to `local`."""

    def forget(self, names: Iterable[str]) -> None:
        """Drop local copies, which may be damaged while the original is not."""

    def tidy(self, older_than_s: float) -> None:
        """Drop local copies that are so old, of what is not there any more."""

    def create(self, name: str, write: Callable[[BinaryIO], object]) -> bool:
        """Publish what `write` writes under a new name; False if the name is taken."""

    def replace(self, name: str, data: bytes) -> None:
        """Put `data` in the place of whatever the name held; readers see the old or the new."""

    def delete(self, name: str) -> None:
        """Delete a file; one that is not there is no error."""

    def move(self, name: str, folder: str) -> None:
        """Move a file into another folder under a name that is free there."""

    def delete_temporary(self, folder: str, prefix: str) -> None:
        """Delete what dead writers left half-written under names that begin with `prefix`."""

    def old_temporary(self, folder: str, before: float) -> Iterator[str]:
        """List half-written files that were not touched since `before`: their writers are dead."""

    def claim(self, name: str) -> Holding | None:
        """Claim a name, whether it is there or not; None if another holder has it."""

    def claim_new(self, name: str) -> Holding | None:
        """Claim a name to append to; None if it is taken, whoever has it."""

    def owner(self, name: str) -> dict[str, Any] | None:
        """Read who holds a claim: host and pid; None if the holder has not signed it yet."""

    def is_claimed(self, name: str) -> bool:
        """Say whether a live process holds the claim; writes nothing."""

    def stranded(self, run_id: str | None = None) -> Sequence[Path]:
        """List what dead writers (of one run) on this machine appended, and no reader may see yet."""
