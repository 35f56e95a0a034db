"""Unpacks the body of a reply that a server compressed although no coding was asked for.

Invariant: a body is unpacked as other clients do it, whole or not at all, and to no more than a reply
may have.
"""

from __future__ import annotations

import zlib

from gradetrail.providers.reply import MOST_BYTES, too_long

GZIP = zlib.MAX_WBITS | 16
RAW = -zlib.MAX_WBITS
"""Deflate without a header, which some servers send for `deflate`."""
CODINGS = frozenset({"gzip", "x-gzip", "deflate"})
GZIP_MARK = b"\x1f\x8b"


def unpacked(packed: bytes, coding: str) -> bytes:
    """Unpack a body of one of CODINGS; zlib.error if it is damaged or cut off.

    Raises ProviderError for one that unpacks to too much.
    """
    if coding == "deflate":
        return _member(packed, zlib.MAX_WBITS if _has_header(packed) else RAW, 0)[0]
    pieces: list[bytes] = []
    n_bytes = 0
    # gzip may consist of several members; what follows the last is padding
    while packed.startswith(GZIP_MARK) or not pieces:
        piece, packed = _member(packed, GZIP, n_bytes)
        pieces.append(piece)
        n_bytes += len(piece)
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
