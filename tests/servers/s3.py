"""Run an S3 server on loopback as a process: `python -m tests.servers.s3`; prints its port when it is ready.

It is moto's, which keeps objects in memory and refuses a conditional creation as Amazon S3 does. One
request is served at a time: moto itself looks and writes in two steps. Buckets whose names begin with
`denied-`, `careless-`, `forgetful-` and `weary-` behave so.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

Reply = Callable[..., Any]
Server = Callable[[dict[str, Any], Reply], Iterable[bytes]]


class Manners:
    """A server before which some buckets misbehave."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._forgotten: set[str] = set()
        self._wearied: Counter[str] = Counter()

    def __call__(self, environ: dict[str, Any], reply: Reply) -> Iterable[bytes]:
        """Answer one request."""
        path, is_creation = str(environ["PATH_INFO"]), environ.get("HTTP_IF_NONE_MATCH") == "*"
        if path.startswith("/denied-") and not (path.count("/") == 1 and environ["REQUEST_METHOD"] == "PUT"):
            return _refusal(reply, "403 Forbidden", "AccessDenied")
        if path.startswith("/careless-"):
            environ.pop("HTTP_IF_NONE_MATCH", None)
        if path.startswith("/forgetful-") and is_creation and path not in self._forgotten:
            # the object is made, and the answer is lost
            self._forgotten.add(path)
            list(self._server(environ, lambda *_: None))
            return _refusal(reply, "500 Internal Server Error", "InternalError")
        if path.startswith("/weary-") and not is_creation and environ["REQUEST_METHOD"] == "PUT":
            self._wearied[path] += 1
            if 1 < self._wearied[path] < 10:
                return _refusal(reply, "503 Service Unavailable", "SlowDown")
        return self._server(environ, reply)


def _refusal(reply: Reply, status: str, code: str) -> Iterable[bytes]:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
    reply(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
    return [body]


def main() -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").disabled = True
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    server = Manners(DomainDispatcherApplication(create_backend_app))
    serving = make_server("127.0.0.1", port, server, threaded=False)
    print(serving.server_port, flush=True)
    serving.serve_forever()


if __name__ == "__main__":
    main()
