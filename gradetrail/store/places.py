"""Which kind of place a warehouse is in, from how it is named.

Invariant: nothing but this module tells kinds of places apart.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from gradetrail.errors import Fault, StoreError
from gradetrail.store.interface import Storage
from gradetrail.store.layout import FORMAT_FILE
from gradetrail.store.remote import ADDRESS
from gradetrail.store.storage import LocalStorage


def is_address(root: str | os.PathLike[str]) -> bool:
    """Say whether a name is that of an object store."""
    return ADDRESS.match(str(root)) is not None


def storage_at(root: str | os.PathLike[str]) -> Storage:
    """Give the storage of a warehouse; nothing is opened or made yet."""
    scheme, colon, rest = str(root).partition(":/")
    if not colon or not scheme.isalnum() or len(scheme) < 2:
        return LocalStorage(Path(root).absolute())
    if scheme == "file":
        return LocalStorage(Path("/" + rest.lstrip("/")))
    if not is_address(root):
        fix = "write s3://BUCKET/PREFIX (or gs://, az://), or give a folder"
        raise StoreError(Fault("is no address of a warehouse", place_name(root), fix=fix))
    from gradetrail.store.objects import ObjectStorage

    return ObjectStorage(str(root))


def place_name(root: str | os.PathLike[str]) -> str:
    """Write a warehouse's name as the user does: a path has lost a slash of `s3://`."""
    return re.sub(r"\A([a-z0-9]{2,}):/+", r"\1://", str(root))


def is_warehouse(root: str | os.PathLike[str]) -> bool:
    """Say whether there is a warehouse."""
    return storage_at(root).has(FORMAT_FILE)
