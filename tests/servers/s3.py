"""Run an object store on loopback as a process: `python -m tests.servers.s3`; prints its port when ready.

It is moto's S3, which keeps objects in memory and refuses a conditional creation as Amazon S3 does. One
request is served at a time: moto itself looks and writes in two steps. Google's store speaks the same
with headers of its own, which are put into S3's. Buckets whose names begin with `denied-`, `careless-`,
`hasty-`, `forgetful-`, `weary-`, `slow-` and the names of `REFUSED` behave so.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

Reply = Callable[..., Any]
Server = Callable[[dict[str, Any], Reply], Iterable[bytes]]
REFUSED = {
    "/denied-": ("403 Forbidden", "AccessDenied"),
    "/stranger-": ("403 Forbidden", "InvalidAccessKeyId"),
    "/forger-": ("403 Forbidden", "SignatureDoesNotMatch"),
    "/expired-": ("400 Bad Request", "ExpiredToken"),
    "/skewed-": ("403 Forbidden", "RequestTimeTooSkewed"),
    "/elsewhere-": ("400 Bad Request", "AuthorizationHeaderMalformed"),
}
"""Buckets that refuse everything."""


class Manners:
    """A server before which some buckets misbehave."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._forgotten: set[str] = set()
        self._wearied: Counter[str] = Counter()
        self._slowed: set[tuple[str, str, str]] = set()

    def __call__(self, environ: dict[str, Any], reply: Reply) -> Iterable[bytes]:
        """Answer one request."""
        reply = self._translated(environ, reply)
        path, is_creation = str(environ["PATH_INFO"]), environ.get("HTTP_IF_NONE_MATCH") == "*"
        is_making_a_bucket = path.count("/") == 1 and environ["REQUEST_METHOD"] == "PUT"
        for prefix, (status, code) in REFUSED.items():
            if path.startswith(prefix) and not is_making_a_bucket:
                return _refusal(reply, status, code)
        is_completion = environ["REQUEST_METHOD"] == "POST"
        if path.startswith("/careless-") or (path.startswith("/hasty-") and is_completion):
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
        asked = (str(environ["REQUEST_METHOD"]), path, str(environ.get("QUERY_STRING")))
        if path.startswith("/slow-") and not is_making_a_bucket and asked not in self._slowed:
            # each thing is refused when it is first asked
            self._slowed.add(asked)
            return _refusal(reply, "503 Service Unavailable", "SlowDown")
        return self._server(environ, reply)

    def _translated(self, environ: dict[str, Any], reply: Reply) -> Reply:
        """Put what Google's client says into S3's words; the reply gets what that client looks for."""
        if not environ.get("HTTP_AUTHORIZATION", "").startswith("Bearer "):
            return reply
        for name in ("RAW_URI", "REQUEST_URI"):
            environ[name] = environ[name].replace("%2D", "-")  # moto looks for the bucket as it is written
        if environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None) == "0":
            environ["HTTP_IF_NONE_MATCH"] = "*"
        if (source := environ.pop("HTTP_X_GOOG_COPY_SOURCE", None)) is not None:
            environ["HTTP_X_AMZ_COPY_SOURCE"] = source.replace("%2D", "-")
        return lambda status, headers, *more: reply(status, [*headers, ("x-goog-generation", "1")], *more)


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
