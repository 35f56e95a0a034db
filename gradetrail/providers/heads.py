"""Reads the head of a reply that llhttp refuses although it has one meaning (RFC 9112).

Invariant: only what has one meaning is mended: folded lines (5.2), the same length said twice
(RFC 9110, 8.6), and what comes after a preliminary reply (1xx), whatever that says of itself. Lengths
that differ are left as they are, and so refused.
"""

from __future__ import annotations

import re

import httptools

END = re.compile(rb"\r?\n\r?\n")
FOLD = re.compile(rb"[ \t]*\r?\n[ \t]+")
LENGTH = re.compile(rb"\r?\ncontent-length:([^\r\n]*)", re.IGNORECASE)
PRELIMINARY = re.compile(rb"HTTP/1\.[01] 1(?!01)\d\d\b")


def is_mendable(begin: bytes) -> bool:
    """Say whether what a reply begins with, up to the first fault, may be worth reading on."""
    if not begin.startswith(b"HTTP/1."):
        return False
    return any(pattern.search(begin) is not None for pattern in (FOLD, LENGTH, PRELIMINARY))


def mended(begin: bytes) -> bytes | None:
    """Give a reply from the head that counts on, mended; None as long as that has not come whole."""
    start = 0
    while (end := END.search(begin, start)) is not None:
        if PRELIMINARY.match(begin, start) is None:
            return _mended_head(begin[start : end.start()]) + begin[end.start() :]
        start = end.end()
    return None


def _mended_head(head: bytes) -> bytes:
    head = FOLD.sub(b" ", head)
    said = {length.strip() for lengths in LENGTH.findall(head) for length in lengths.split(b",")}
    return LENGTH.sub(b"", head) + b"\r\ncontent-length: " + said.pop() if len(said) == 1 else head


class MendingParser:
    """Parses one reply from its first byte, once its head can be mended."""

    def __init__(self, parser: httptools.HttpResponseParser) -> None:
        self._parser = parser
        self._begin: bytes | None = b""
        """What has come until the head was whole; None afterwards."""

    def feed_data(self, data: bytes) -> None:
        """Parse what has come, or keep it; raises as llhttp does."""
        if self._begin is not None:
            self._begin += data
            whole = mended(self._begin)
            if whole is None:
                return
            self._begin, data = None, whole
        self._parser.feed_data(data)

    def should_keep_alive(self) -> bool:
        """Say whether the connection may stay."""
        return self._parser.should_keep_alive()

    def get_status_code(self) -> int:
        """Give the status."""
        return self._parser.get_status_code()
