"""The child's side: answers one frame after another until its input ends.

Invariant: the process ends with its parent; what a library prints never gets among the frames.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import threading
from collections.abc import Callable
from typing import Any

from gradetrail.sql_child.wire import framed, read_frame, write_all

SCRATCH = "GRADETRAIL_SCRATCH"
"""Environment variable that names the temporary folder, which is this process's own."""

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

    def reply(header: dict[str, Any], body: bytes | memoryview = b"") -> None:
        write_all(handle, framed(header, body))

    # not the main thread: that would start another one for each query, to be able to interrupt it
    threading.Thread(target=_answer, args=(frames, answer, reply), daemon=True).start()
    _receive(frames)


def _answer(frames: queue.Queue[tuple[dict[str, Any], bytes]], answer: Answer, reply: Reply) -> None:
    try:
        while True:
            header, body = frames.get()
            try:
                answer(header, body, reply)
            except MemoryError:
                reply({"limit": "memory"}, b"")
            except TooLargeError:
                reply({"limit": "result"}, b"")
    finally:
        os._exit(1)


def _receive(frames: queue.Queue[tuple[dict[str, Any], bytes]]) -> None:
    """Read frames while another thread works; end the process as soon as the parent is gone."""
    try:
        while True:
            frames.put(read_frame(_take, 1 << 40))
    finally:
        # the parent does so itself, unless it was killed
        if scratch := os.environ.get(SCRATCH):
            shutil.rmtree(scratch, ignore_errors=True)
        os._exit(0)


def _take(size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = os.read(0, min(size - len(data), 1 << 20))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
