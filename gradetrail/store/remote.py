"""An object store: the only module that knows obstore, and what its errors mean to the user.

Invariant: an object appears whole or not at all, and `create` succeeds for one of many. Where the
answer to a creation was lost, and asking again says that the name is taken, the content decides.
Credentials come from the environment alone and are in no message.
"""

from __future__ import annotations

import contextlib
import io
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from gradetrail.errors import Fault, StoreError
from gradetrail.store.endpoints import KEYS, WHERE, endpoint_of, normal_address

RETRIES = 5
TIMEOUT_S = 600
"""The longest that one request may take, which may carry all of an object."""
CONNECT_TIMEOUT_S = 5
SILENCE_S = 60
"""A store that says nothing for so long, while no more than a part is sent to it, is taken to be away."""
BLOCK = 8_000_000
LARGE = 2 * BLOCK
"""Objects beyond it are sent in parts, where the store then puts them in place on condition."""
LARGEST = 5_000_000_000
"""What the stores take as one object in one step."""
TEMPORARY = "temporary"
"""Folder of objects that are being sent, or made to learn something of the store."""

_NO_BUCKET = ("NoSuchBucket", "specified bucket does not exist", "ContainerNotFound")
_SKEWED = ("RequestTimeTooSkewed", "RequestExpired")
_EXPIRED = ("ExpiredToken", "TokenRefreshRequired")
_WRONG_KEYS = (
    "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "AuthenticationFailed", "InvalidSecurity",
    "401 Unauthorized",
)  # fmt: skip
_DENIED = ("AccessDenied", "403 Forbidden")
_ELSEWHERE = ("PermanentRedirect", "AuthorizationHeaderMalformed", "incorrectly configured region")
_UNREACHED = ("error sending request", "connection refused", "dns error", "timed out")
_NO_KEYS = ("169.254.169.254", "InstanceCredential", "no credentials", "CredentialsError")


@dataclass(frozen=True, slots=True)
class Version:
    """One content that an object had."""

    size: int
    tag: str
    """Differs between contents, whatever the name."""
    modified: float
    """Seconds since 1970, by the store's clock."""


class Remote:
    """Objects under one address; names are below it."""

    def __init__(self, address: str) -> None:
        url = normal_address(address)
        assert url is not None
        self.url = url
        self._kind = url.partition(":")[0]
        self._endpoint = endpoint_of(url)
        self.ahead_s = 0.0
        """How far the store's clock is ahead of this machine's; 0 until it was seen."""

    @property
    def identity(self) -> str:
        """Tell this store from another of the same address at another endpoint."""
        return self._endpoint.identity

    @cached_property
    def _store(self) -> Any:
        return self._open(read_timeout=f"{SILENCE_S}s")

    @cached_property
    def _patient(self) -> Any:
        """A client that may be silent for as long as it takes to send an object whole."""
        return self._open()

    def _open(self, **timeouts: str) -> Any:
        try:
            from obstore.store import from_url
        except ImportError:
            fix = "pip install 'gradetrail[s3]'"
            raise StoreError(Fault("obstore is not installed", self.url, fix=fix)) from None
        client: Any = {
            "timeout": f"{TIMEOUT_S}s",
            "connect_timeout": f"{CONNECT_TIMEOUT_S}s",
            "allow_http": self._endpoint.allows_http,
            **timeouts,
        }
        config: Any = dict(self._endpoint.config)
        if self._kind == "s3":
            config["copy_if_not_exists"] = "multipart"
        more: Any = (
            {} if self._endpoint.provider is None else {"credential_provider": self._endpoint.provider}
        )
        retry: Any = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=SILENCE_S)}
        with self._told("open"):
            return from_url(self.url, config=config, client_options=client, retry_config=retry, **more)

    def place(self, name: str = "") -> str:
        """Say where an object is."""
        return f"{self.url}/{name}" if name else self.url

    def head(self, name: str) -> Version | None:
        """Look at an object; None if it is not there."""
        import obstore

        try:
            with self._told("look at", name):
                return _version(obstore.head(self._store, name))
        except FileNotFoundError:
            return None

    def read(self, name: str) -> bytes:
        """Read an object; FileNotFoundError if it is not there."""
        import obstore

        with self._told("read", name):
            return bytes(obstore.get(self._store, name).bytes())

    def download(self, name: str, file: BinaryIO) -> Version:
        """Write an object's content into a file; FileNotFoundError if it is not there."""
        import obstore

        with self._told("read", name):
            found = obstore.get(self._store, name)
            version = _version(found.meta)
            for block in found.stream(min_chunk_size=BLOCK):
                file.write(bytes(block))
        if file.tell() != version.size:
            raise StoreError(Fault(f"{file.tell():,} of {version.size:,} bytes came", self.place(name)))
        return version

    def list(self, folder: str) -> dict[str, Version]:
        """Give the objects right below a folder by file name."""
        import obstore

        found: dict[str, Version] = {}
        with self._told("list", folder):
            for chunk in obstore.list(self._store, folder, chunk_size=1000):
                for meta in chunk:
                    head, _, file = str(meta["path"]).rpartition("/")
                    if head == folder:
                        found[file] = _version(meta)
        return found

    def top(self) -> tuple[str, ...]:
        """List what is at the top: objects and folders."""
        import obstore

        with self._told("list"):
            found = obstore.list_with_delimiter(self._store)
        names = [str(meta["path"]) for meta in found["objects"]]
        return (*names, *(str(path).rstrip("/").rpartition("/")[2] for path in found["common_prefixes"]))

    def create(self, name: str, data: bytes | Path) -> Version | None:
        """Make an object; None if the name is taken by another content."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        size = data.stat().st_size if isinstance(data, Path) else len(data)
        if size > LARGEST:
            reason = f"{size / 1e9:.1f} GB: an object store takes {LARGEST // 10**9} GB at a time"
            raise StoreError(Fault(reason, self.place(name), fix="keep this warehouse in a folder"))
        try:
            with self._told("write", name):
                if isinstance(data, Path) and size > LARGE and self._places_once:
                    return self._create_in_parts(name, data)
                store = self._store if size <= LARGE else self._patient
                made = obstore.put(store, name, data, mode="create", use_multipart=False)
                return Version(size, str(made["e_tag"]), 0.0)
        except (AlreadyExistsError, PreconditionError):
            there = self.head(name)
            with contextlib.suppress(FileNotFoundError):
                if there is not None and there.size == size and self._holds(name, data):
                    return there
            return None

    def _create_in_parts(self, name: str, file: Path) -> Version | None:
        """Send a file in parts under a name of its own, and put it in place if the name is free."""
        import obstore

        sent = f"{TEMPORARY}/{secrets.token_hex(8)}"
        try:
            obstore.put(self._store, sent, file, chunk_size=BLOCK, max_concurrency=4)
            obstore.copy(self._patient, sent, name, overwrite=False)
            return self.head(name)
        finally:
            self.delete(sent)

    @cached_property
    def _places_once(self) -> bool:
        """Whether the store puts what was sent in place on condition, found out by two tries."""
        import obstore
        from obstore import exceptions

        if self._kind == "az":
            return False  # there a copy may be seen before it is whole
        source, target = (f"{TEMPORARY}/{secrets.token_hex(8)}" for _ in range(2))
        try:
            self.put(source, b"x")
            obstore.copy(self._store, source, target, overwrite=False)
            obstore.copy(self._store, source, target, overwrite=False)
        except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
            return True
        except exceptions.BaseError:
            return False
        finally:
            self.delete(source)
            self.delete(target)
        return False

    def _holds(self, name: str, data: bytes | Path) -> bool:
        """Say whether an object has a content of the same size."""
        import obstore

        with contextlib.ExitStack() as stack:
            stack.enter_context(self._told("read", name))
            wanted = stack.enter_context(data.open("rb") if isinstance(data, Path) else io.BytesIO(data))
            found = obstore.get(self._store, name).stream(min_chunk_size=BLOCK)
            return all(wanted.read(len(block)) == bytes(block) for block in found)

    def put(self, name: str, data: bytes) -> Version:
        """Make or replace an object."""
        import obstore

        with self._told("write", name):
            made = obstore.put(self._store, name, data, use_multipart=False)
        return Version(len(data), str(made["e_tag"]), 0.0)

    def delete(self, name: str) -> None:
        """Delete an object; one that is not there is no error."""
        import obstore

        with contextlib.suppress(FileNotFoundError), self._told("delete", name):
            obstore.delete(self._store, name)

    def now(self) -> float:
        """Ask for the time by the store's clock."""
        name = f"{TEMPORARY}/{secrets.token_hex(8)}"
        self.put(name, b"")
        found = self.head(name)
        self.delete(name)
        if found is None:
            raise StoreError(Fault("an object vanished as soon as it was written", self.place(name)))
        self.see(found)
        return found.modified

    def see(self, just_written: Version) -> None:
        """Take the time of the store's clock from what was written a moment ago."""
        self.ahead_s = just_written.modified - time.time()

    def check_creates(self) -> None:
        """Raise StoreError unless of two that create one object the second is refused."""
        name = f"{TEMPORARY}/{secrets.token_hex(8)}"
        try:
            if self.create(name, b"first") is None:
                raise StoreError(Fault("refuses to create what is not there", self.url))
            if self.create(name, b"second") is None:
                return
        finally:
            self.delete(name)
        fix = "use a store with conditional writes (If-None-Match), such as Amazon S3, or a local folder"
        raise StoreError(Fault("the object store lets two writers create one object", self.url, fix=fix))

    @contextlib.contextmanager
    def _told(self, action: str, name: str = "") -> Iterator[None]:
        """Turn errors of the object store into StoreError, but for those that are answers."""
        from obstore import exceptions

        try:
            yield
        except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
            raise
        except (exceptions.BaseError, OSError) as error:
            if isinstance(error, FileNotFoundError) and not any(sign in str(error) for sign in _NO_BUCKET):
                raise FileNotFoundError(name) from None
            raise StoreError(_fault(error, action, self.place(name), self.url)) from None


def _version(meta: Mapping[str, Any]) -> Version:
    modified = meta["last_modified"].timestamp()
    return Version(int(meta["size"]), str(meta["e_tag"] or f"{meta['size']}-{modified}"), modified)


def _fault(error: Exception, action: str, place: str, url: str) -> Fault:
    from obstore import exceptions

    text, kind = str(error), url.partition(":")[0]
    kinds = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, PermissionError)
    if any(sign in text for sign in _NO_BUCKET):
        bucket = "/".join(url.split("/")[:3])
        return Fault("the bucket does not exist", bucket, fix="make it, or give another with --warehouse")
    if isinstance(error, exceptions.NotSupportedError) or "NotImplemented" in text:
        fix = "use a store with conditional writes (If-None-Match), such as Amazon S3, or a local folder"
        return Fault("the object store cannot create on condition", url, fix=fix)
    if any(sign in text for sign in _NO_KEYS):
        fix = f"set {KEYS[kind]}, or run where a role gives them"
        return Fault("no credentials were found", url, fix=fix)
    if any(sign in text for sign in _SKEWED):
        fix = f"set it: here it is {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
        return Fault("the store refuses the time of this machine's clock", url, fix=fix)
    if any(sign in text for sign in _EXPIRED):
        return Fault("the credentials have expired", url, fix=f"get new ones: {KEYS[kind]}")
    if any(sign in text for sign in _WRONG_KEYS):
        return Fault("the credentials are refused", url, fix=f"check {KEYS[kind]}")
    if any(sign in text for sign in _ELSEWHERE):
        return Fault("the bucket is in another region", url, fix="set AWS_REGION to the bucket's")
    if isinstance(error, kinds) or any(sign in text for sign in _DENIED):
        fix = f"the credentials ({KEYS[kind]}) must be allowed to list, read, write and delete there"
        return Fault(f"access denied: cannot {action}", place, fix=fix)
    if any(sign in text for sign in _UNREACHED):
        fix = f"check the network, {WHERE[kind]}"
        return Fault(f"cannot {action}: the endpoint cannot be reached", place, fix=fix)
    # what follows a `?` may be signed
    return Fault(f"cannot {action}: {re.sub(r'[?][^ ]*', '', text.partition(chr(10))[0])[:300]}", place)
