"""The child's side: answers one frame after another until its input ends.

Invariant: the process ends with its parent; what a library prints never gets among the frames.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Callable
from typing import Any

from gradetrail.sql_child.wire import framed, read_frame, write_all

Reply = Callable[[dict[str, Any], "bytes | memoryview"], None]
"""Sends a frame to the parent."""
Answer = Callable[[dict[str, Any], bytes, Reply], None]
"""Answers one frame with one or more."""


class TooLargeError(Exception):
    """A result has more bytes than it may have."""


def serve(answer: Answer) -> None:
    """Answer frames until the input ends; where memory or room runs out, say so and go on."""
    handle = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    frames: queue.Queue[tuple[dict[str, Any], bytes]] = queue.Queue()
    threading.Thread(target=_receive, args=(frames,), daemon=True).start()

    def reply(header: dict[str, Any], body: bytes | memoryview = b"") -> None:
        write_all(handle, framed(header, body))

    while True:
        header, body = frames.get()
        try:
            answer(header, body, reply)
        except MemoryError:
            reply({"kind": "memory"})
        except TooLargeError:
            reply({"kind": "result"})


def _receive(frames: queue.Queue[tuple[dict[str, Any], bytes]]) -> None:
    """Read frames while the main thread works; end the process as soon as the parent is gone."""
    try:
        while True:
            frames.put(read_frame(_take, 1 << 40))
    finally:
        os._exit(0)


def _take(size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = os.read(0, min(size - len(data), 1 << 20))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
