"""Run a server of Azure's blobs on loopback as a process: `python -m tests.servers.azure`; prints its port.

It keeps blobs in memory, and knows what a warehouse asks for: a blob is
written whole, on condition that its name is free or not, read, looked at, deleted and listed in pages.
Containers are there as soon as they are named, but for those whose names begin with `missing-`. Keys are
not looked at. Refusals are those of Azurite, Microsoft's own emulator.
"""

from __future__ import annotations

import hashlib
import re
import sys
import time
from collections.abc import Mapping
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

ACCOUNT = "devstoreaccount1"
KEY = "a2V5IG9mIHRoZSB0ZXN0cw=="
PAGE = 5
"""Blobs in one page of a listing."""


class Blobs(BaseHTTPRequestHandler):
    """Answers requests for `/ACCOUNT/CONTAINER/BLOB`."""

    protocol_version = "HTTP/1.1"
    contents: ClassVar[dict[str, tuple[bytes, str, str]]] = {}
    """Content, tag and time by name."""

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self._is_refused():
            return
        tag = f'"0x{hashlib.sha256(data + str(time.time_ns()).encode()).hexdigest()[:15].upper()}"'
        blob = data, tag, formatdate(usegmt=True)
        if self.headers.get("If-None-Match") != "*":
            self.contents[self._name] = blob
        elif self.contents.setdefault(self._name, blob) is not blob:  # one step, for all threads
            self._refuse(409, "BlobAlreadyExists")
            return
        self._answer(201)

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if self._is_refused():
            return
        if query.get("comp") == ["list"]:
            self._list(query)
        elif self._name in self.contents:
            self._answer(200, self.contents[self._name][0])
        else:
            self._refuse(404, "BlobNotFound")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        """Delete what a batch names."""
        data = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self._is_refused():
            return
        parts = []
        for number, path in enumerate(re.findall(r"^DELETE (\S+) HTTP", data, re.MULTILINE)):
            is_there = self.contents.pop(_name_of(path), None) is not None
            said = "202 Accepted" if is_there else "404 Not Found\r\nx-ms-error-code: BlobNotFound"
            head = f"Content-Type: application/http\r\nContent-ID: {number}"
            parts.append(f"--batch\r\n{head}\r\n\r\nHTTP/1.1 {said}\r\nContent-Length: 0\r\n\r\n")
        self._answer(
            202, "".join([*parts, "--batch--"]).encode(), {"Content-Type": "multipart/mixed; boundary=batch"}
        )

    def _list(self, query: dict[str, list[str]]) -> None:
        prefix, marker = query.get("prefix", [""])[0], query.get("marker", [""])[0]
        below, delimiter = f"{self._name}/", query.get("delimiter", [""])[0]
        blobs = {
            name.removeprefix(below): blob
            for name, blob in dict(self.contents).items()
            if name.startswith(below)
        }
        wanted = [name for name in sorted(blobs) if name.startswith(prefix) and name >= marker]
        folders, following = [], ""
        if delimiter:
            inside = [name for name in wanted if delimiter in name.removeprefix(prefix)]
            folders = sorted({prefix + name.removeprefix(prefix).partition(delimiter)[0] for name in inside})
            wanted = [name for name in wanted if name not in inside]
        elif len(wanted) > PAGE:
            wanted, following = wanted[:PAGE], wanted[PAGE]
        listed = "".join(_described(name, *blobs[name]) for name in wanted)
        listed += "".join(
            f"<BlobPrefix><Name>{escape(name + delimiter)}</Name></BlobPrefix>" for name in folders
        )
        body = f"<Blobs>{listed}</Blobs><NextMarker>{escape(following)}</NextMarker>"
        self._answer(200, f"<?xml version='1.0'?><EnumerationResults>{body}</EnumerationResults>".encode())

    @property
    def _name(self) -> str:
        """`CONTAINER/BLOB`."""
        return _name_of(self.path)

    def _is_refused(self) -> bool:
        is_missing = self._name.startswith("missing-")
        if is_missing:
            self._refuse(404, "ContainerNotFound")
        return is_missing

    def _answer(self, status: int, body: bytes = b"", more: Mapping[str, str] | None = None) -> None:
        _, tag, at = self.contents.get(self._name, (b"", "", formatdate(usegmt=True)))
        self.send_response(status)
        headers = {"ETag": tag, "Last-Modified": at, "x-ms-blob-type": "BlockBlob", **(more or {})}
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self._end(body)

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("x-ms-error-code", code)
        self._end(
            f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        )

    def _end(self, body: bytes) -> None:
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _name_of(path: str) -> str:
    return unquote(urlsplit(path).path).removeprefix(f"/{ACCOUNT}/")


def _described(name: str, data: bytes, tag: str, at: str) -> str:
    facts = {
        "Last-Modified": at, "Etag": tag.strip('"'), "Content-Length": len(data),
        "Content-Type": "application/octet-stream", "BlobType": "BlockBlob",
    }  # fmt: skip
    properties = "".join(f"<{key}>{value}</{key}>" for key, value in facts.items())
    return f"<Blob><Name>{escape(name)}</Name><Properties>{properties}</Properties></Blob>"


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Blobs)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
