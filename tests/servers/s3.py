"""Run an S3 server on loopback as a process: `python -m tests.servers.s3`; prints its port when it is ready.

It is moto's, which keeps objects in memory and refuses a conditional creation as Amazon S3 does. One
request is served at a time: moto itself looks and writes in two steps.
"""

from __future__ import annotations

import logging
import sys


def main() -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").disabled = True
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    server = make_server("127.0.0.1", port, DomainDispatcherApplication(create_backend_app), threaded=False)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
