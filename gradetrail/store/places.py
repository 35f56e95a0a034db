"""Which kind of place a warehouse is in, from how it is named.

Invariant: nothing but this module tells kinds of places apart, and a place that cannot create a name
once is refused by name, with the reason, before anything is asked of it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from gradetrail.errors import Fault, StoreError
from gradetrail.store.endpoints import ADDRESS, normal_address
from gradetrail.store.interface import Storage
from gradetrail.store.layout import FORMAT_FILE
from gradetrail.store.storage import LocalStorage

USED = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, or a folder"
_READ_ONLY = "is only read: a warehouse is written"
_NO_CONDITION = "offers no creation on condition, so two writers could both believe to have made one file"
_UNFIT = {
    **dict.fromkeys(("http", "https", "github", "hf", "data", "reference", "git", "zip", "tar"), _READ_ONLY),
    **dict.fromkeys(
        ("ftp", "sftp", "ssh", "smb", "hdfs", "webhdfs", "dbfs", "dropbox", "gdrive", "webdav", "oss", "oci"),
        _NO_CONDITION,
    ),
    "memory": "is gone with its process, and no other process sees it",
}
"""Other places that fsspec knows, and why no warehouse can be there."""


def is_address(root: str | os.PathLike[str]) -> bool:
    """Say whether a name is that of an object store."""
    return ADDRESS.match(str(root)) is not None


def storage_at(root: str | os.PathLike[str]) -> Storage:
    """Give the storage of a warehouse; nothing is opened or made yet."""
    scheme, colon, rest = str(root).partition(":/")
    if not colon or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]+", scheme):
        return LocalStorage(Path(root).absolute())
    if scheme in ("file", "local"):
        return LocalStorage(Path("/" + rest.lstrip("/")))
    address = normal_address(str(root))
    if address is None:
        reason = _UNFIT.get(scheme.lower())
        said = (
            f"is no address of a warehouse: `{scheme}` {reason}" if reason else "is no address of a warehouse"
        )
        raise StoreError(Fault(said, place_name(root), fix=f"use {USED}"))
    bucket = address.partition("://")[2].partition("/")[0]
    if "@" in bucket:
        container, _, host = bucket.partition("@")
        fix = f"write az://{container}/PREFIX, and set AZURE_STORAGE_ACCOUNT_NAME={host.partition('.')[0]}"
        raise StoreError(
            Fault("names its account, which comes from the environment", place_name(root), fix=fix)
        )
    from gradetrail.store.objects import ObjectStorage

    return ObjectStorage(address)


def home_of(root: str | os.PathLike[str]) -> Path:
    """Give a local folder with what the user added to a warehouse, which need not be there."""
    return storage_at(root).home


def place_name(root: str | os.PathLike[str]) -> str:
    """Write a warehouse's name as the user does: a path has lost a slash of `s3://`."""
    return re.sub(r"\A([a-z0-9]{2,}):/+", r"\1://", str(root))


def is_warehouse(root: str | os.PathLike[str]) -> bool:
    """Say whether there is a warehouse."""
    return storage_at(root).has(FORMAT_FILE)
