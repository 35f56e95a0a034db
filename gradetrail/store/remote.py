"""An object store: the only module that knows obstore, and what its errors mean to the user.

Invariant: an object appears whole or not at all, and `create` succeeds for one of many. Where the
answer to a creation was lost, and asking again says that the name is taken, the content decides.
Credentials come from the environment alone and are in no message.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

from gradetrail.errors import Fault, StoreError

ADDRESS = re.compile(r"(s3|gs|az):/+([^/].*?)/*\Z")
"""`s3://bucket/prefix`, also as pathlib writes it, with one slash."""
RETRIES = 5
TIMEOUT_S = 600
CONNECT_TIMEOUT_S = 5
BLOCK = 8_000_000

_NO_BUCKET = ("NoSuchBucket", "specified bucket does not exist", "ContainerNotFound")
_DENIED = ("AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "403 Forbidden", "401 Unauthorized")
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
        found = ADDRESS.match(address)
        assert found is not None
        self.url = f"{found[1]}://{found[2]}"
        self._opened: Any = None

    @property
    def identity(self) -> str:
        """Tell this store from another of the same address at another endpoint."""
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
        return f"{self.url} {endpoint}" if self.url.startswith("s3:") else self.url

    @property
    def _store(self) -> Any:
        if self._opened is None:
            try:
                from obstore.store import from_url
            except ImportError:
                fix = "pip install 'gradetrail[s3]'"
                raise StoreError(Fault("obstore is not installed", self.url, fix=fix)) from None
            endpoint = self.identity.rpartition(" ")[2]
            client: Any = {
                "timeout": f"{TIMEOUT_S}s",
                "connect_timeout": f"{CONNECT_TIMEOUT_S}s",
                "allow_http": endpoint.startswith("http://"),
            }
            retry: Any = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=60)}
            config: Any = {"endpoint": endpoint} if self.url.startswith("s3:") and endpoint else {}
            with self._told("open"):
                self._opened = from_url(self.url, config=config, client_options=client, retry_config=retry)
        return self._opened

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
        try:
            with self._told("write", name):
                made = obstore.put(self._store, name, data, mode="create", use_multipart=False)
                return Version(size, str(made["e_tag"]), 0.0)
        except (AlreadyExistsError, PreconditionError):
            there = self.head(name)
            if there is None or there.size != size:
                return None
            content = data.read_bytes() if isinstance(data, Path) else data
            with contextlib.suppress(FileNotFoundError):
                if self.read(name) == content:
                    return there
            return None

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
        name = f"clock/{secrets.token_hex(8)}"
        self.put(name, b"")
        found = self.head(name)
        self.delete(name)
        if found is None:
            raise StoreError(Fault("an object vanished as soon as it was written", self.place(name)))
        return found.modified

    def check_creates(self) -> None:
        """Raise StoreError unless of two that create one object the second is refused."""
        name = f"clock/{secrets.token_hex(8)}"
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

    text = str(error)
    kinds = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, PermissionError)
    if any(sign in text for sign in _NO_BUCKET):
        bucket = "/".join(url.split("/")[:3])
        return Fault("the bucket does not exist", bucket, fix="make it, or give another with --warehouse")
    if isinstance(error, exceptions.NotSupportedError) or "NotImplemented" in text:
        fix = "use a store with conditional writes (If-None-Match), such as Amazon S3, or a local folder"
        return Fault("the object store cannot create on condition", url, fix=fix)
    if any(sign in text for sign in _NO_KEYS):
        fix = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role gives them"
        return Fault("no credentials were found", url, fix=fix)
    if isinstance(error, kinds) or any(sign in text for sign in _DENIED):
        fix = "check the credentials (AWS_ACCESS_KEY_ID, ...): they must list, read, write and delete there"
        return Fault(f"access denied: cannot {action}", place, fix=fix)
    if any(sign in text for sign in _UNREACHED):
        fix = "check the network, AWS_ENDPOINT_URL and AWS_REGION"
        return Fault(f"cannot {action}: the endpoint cannot be reached", place, fix=fix)
    # what follows a `?` may be signed
    return Fault(f"cannot {action}: {re.sub(r'[?][^ ]*', '', text.partition(chr(10))[0])[:300]}", place)
