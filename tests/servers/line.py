"""A line to a server on loopback that can be cut and mended: what is on it breaks, and nobody answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


class Line:
    """Passes bytes on between a port of its own and that of a server."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listening: socket.socket | None = None
        self.port = 0
        self.mend()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def mend(self) -> None:
        """Take calls, at the same port as before."""
        listening = socket.create_server(("127.0.0.1", self.port))
        self.port = int(listening.getsockname()[1])
        self._listening = listening
        threading.Thread(target=self._accept, args=(listening,), daemon=True).start()

    def cut(self) -> None:
        """Break every call, and refuse what comes."""
        with self._lock:
            if self._listening is None:
                return
            # `shutdown` wakes the thread that accepts; `close` alone would leave the port open in it
            self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            self._listening = None
            for end in self._open:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
            self._open.clear()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                caller, _ = listening.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._server))
            with self._lock:
                self._open += [caller, server]
            for source, sink in ((caller, server), (server, caller)):
                threading.Thread(target=_pass, args=(source, sink), daemon=True).start()


def _pass(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def line_to(url: str) -> Iterator[Line]:
    """Give a line to a server, which is cut at the end."""
    line = Line(int(url.rpartition(":")[2]))
    try:
        yield line
    finally:
        line.cut()
