"""Frames between the two sides: a header in JSON and a body of bytes, each after its length.

Invariant: nothing that comes from the child is evaluated; a frame that is longer than it may be is
refused before it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

HEADER_BYTES = 1_000_000
"""Most that a header may take."""
LENGTH = 8


class WireError(Exception):
    """The other side is gone, or says what it must not."""


def framed(header: dict[str, Any], body: bytes | memoryview = b"") -> list[bytes | memoryview]:
    """Give the pieces of a frame."""
    text = json.dumps(header).encode()
    return [len(text).to_bytes(LENGTH, "big"), len(body).to_bytes(LENGTH, "big"), text, body]


def read_frame(take: Callable[[int], bytes], body_limit: int) -> tuple[dict[str, Any], bytes]:
    """Read one frame with `take`, which gives exactly so many bytes; WireError for one that is too long."""
    header_size = int.from_bytes(take(LENGTH), "big")
    body_size = int.from_bytes(take(LENGTH), "big")
    if header_size > HEADER_BYTES or body_size > body_limit:
        raise WireError("a frame is too long")
    header = json.loads(take(header_size))
    if not isinstance(header, dict):
        raise WireError("a header is no object")
    return header, take(body_size)


def write_all(handle: int, pieces: list[bytes | memoryview]) -> None:
    """Write pieces to a file descriptor; OSError where nobody reads."""
    for piece in pieces:
        view = memoryview(piece)
        while view:
            view = view[os.write(handle, view) :]
