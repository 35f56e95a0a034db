"""Unpacks the body of a reply that a server compressed although no coding was asked for.

Invariant: a body is unpacked as other clients do it, whole or not at all, and to no more than a reply
may have. What follows the last member of gzip and begins none is ignored, as httpx and gzip(1) do
(curl ends with an error there, even for zeros); members after the first count, also after zeros.
"""

from __future__ import annotations

import zlib

from gradetrail.providers.reply import MOST_BYTES, too_long

GZIP = zlib.MAX_WBITS | 16
RAW = -zlib.MAX_WBITS
"""Deflate without a header, which some servers send for `deflate`."""
CODINGS = frozenset({"gzip", "x-gzip", "deflate"})
MOST_CODINGS = 5
"""As curl has it: each can make much out of little."""
GZIP_MARK = b"\x1f\x8b"


def codings(header: str) -> list[str]:
    """Give the codings that a header names, in the order they were applied; without those that do nothing."""
    names = [name.strip().lower() for name in header.split(",")]
    return [name for name in names if name not in ("", "identity")]


def unpacked(packed: bytes, applied: list[str]) -> bytes:
    """Unpack a body to which these of CODINGS were applied in turn; zlib.error if it is damaged or cut off.

    Raises ProviderError for one that unpacks to too much.
    """
    if len(applied) > MOST_CODINGS:
        raise zlib.error(f"more than {MOST_CODINGS} codings")
    for coding in reversed(applied):
        packed = _unpacked_once(packed, coding)
    return packed


def _unpacked_once(packed: bytes, coding: str) -> bytes:
    if coding == "deflate":
        return _member(packed, zlib.MAX_WBITS if _has_header(packed) else RAW, 0)[0]
    pieces: list[bytes] = []
    n_bytes = 0
    while packed.startswith(GZIP_MARK) or not pieces:
        piece, packed = _member(packed, GZIP, n_bytes)
        pieces.append(piece)
        n_bytes += len(piece)
        packed = packed.lstrip(b"\0")
    return b"".join(pieces)


def _member(packed: bytes, window: int, n_before: int) -> tuple[bytes, bytes]:
    """Unpack one member, after so many bytes of others; give it and what follows it."""
    unpacking = zlib.decompressobj(window)
    body = unpacking.decompress(packed, MOST_BYTES - n_before + 1)
    if n_before + len(body) > MOST_BYTES:
        raise too_long()
    if not unpacking.eof:
        raise zlib.error("it is cut off")
    return body, unpacking.unused_data


def _has_header(packed: bytes) -> bool:
    """Say whether deflated bytes begin as zlib's do (RFC 1950)."""
    return len(packed) > 1 and packed[0] & 0x0F == zlib.DEFLATED and (packed[0] << 8 | packed[1]) % 31 == 0
