"""The parent's side of a child: starts it, sends and receives frames, and says what became of it.

Invariant: a frame arrives within the time that is left for its question, or there is an error that says
why it does not; no child outlives its parent, or the block that opened it.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from gradetrail.errors import Fault, InterruptError, LimitError
from gradetrail.sql_child.limits import MB, Limits
from gradetrail.sql_child.serving import SCRATCH
from gradetrail.sql_child.wire import WireError, framed, read_frame, write_all

START_S = 30.0
"""Wall-clock seconds for the child to come up."""
LOOK_S = 0.1
"""How often a wait looks whether Ctrl-C was pressed."""
KEPT_VARIABLES = (
    "PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME",
    "VIRTUAL_ENV", "GRADETRAIL_PRICES",
)  # fmt: skip
"""What of the environment the child sees: enough to start, and no secret."""


_EARLY: dict[str, tuple[subprocess.Popen[bytes], str]] = {}
"""By module: processes that were started before anybody had a question."""


@contextlib.contextmanager
def started_early(module: str) -> Iterator[None]:
    """Start a program that will be needed, so that it loads meanwhile; one that nobody takes is ended."""
    _EARLY[module] = _started(module, None)
    try:
        yield
    finally:
        if module in _EARLY:
            _end(*_EARLY.pop(module))


def _started(module: str, environment: Mapping[str, str] | None) -> tuple[subprocess.Popen[bytes], str]:
    """Give the process, and its temporary folder."""
    scratch = tempfile.mkdtemp(prefix="gradetrail-")
    if environment is None:
        environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    process = subprocess.Popen(  # noqa: S603 - a module of ours
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={
            **environment,
            "TZ": "UTC",
            "TMPDIR": scratch,
            SCRATCH: scratch,
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            # an arena reserves 64 MB of address space; eight a processor are more than some limits
            "MALLOC_ARENA_MAX": str(os.cpu_count() or 1),
        },
        start_new_session=True,
    )
    return process, scratch


def _end(process: subprocess.Popen[bytes], scratch: str) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()
    shutil.rmtree(scratch, ignore_errors=True)


class ChildLostError(LimitError):
    """The process is gone; another one is needed for the next statement."""


class ChildProcess:
    """A Python program that keeps frames of `wire`, in a session of its own; a context manager.

    `fixes` says what to do about each limit: `wall`, `cpu`, `memory`, `result`. Its temporary folder is its
    own and goes with it. Without `environment` it sees none of the variables that may be secret.
    """

    def __init__(
        self,
        module: str,
        limits: Limits,
        fixes: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.limits = limits
        self.fixes = fixes or {}
        self._left_s = START_S
        early = _EARLY.pop(module, None) if environment is None else None
        self._process, self._scratch = early or _started(module, environment)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    @property
    def is_gone(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End the process, whatever it does."""
        _end(self._process, self._scratch)

    def send(self, header: dict[str, Any], body: bytes | memoryview = b"", *, wall_s: float) -> None:
        """Ask; what is received from now on must come within so many seconds of waiting for it."""
        self._left_s = wall_s
        assert self._process.stdin is not None
        with self._guarded():
            # the child reads in a thread of its own, so writing never waits for its work
            write_all(self._process.stdin.fileno(), framed(header, body))

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """Wait for the next frame; ChildLostError if the process did not live to send it.

        One that says a `limit` that was met is the last of its answer; `met` gives it in words.
        """
        with self._guarded():
            return read_frame(self._take, self.limits.result_mb * MB + 16 * MB)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self.close()
            raise InterruptError(Fault("the query was stopped")) from None
        except (WireError, OSError, ValueError) as error:
            raise self._lost() from error

    def _take(self, size: int) -> bytes:
        assert self._process.stdout is not None
        handle, data = self._process.stdout.fileno(), bytearray()
        while len(data) < size:
            began = time.monotonic()
            # a signal may reach another thread than this one, which then has to look for itself
            ready, _, _ = select.select([handle], [], [], max(0.0, min(self._left_s, LOOK_S)))
            self._left_s -= time.monotonic() - began
            if not ready and self._left_s > 0:
                continue
            piece = os.read(handle, min(size - len(data), 1 << 20)) if ready else b""
            if not piece:
                raise WireError
            data += piece
        return bytes(data)

    def met(self, kind: str) -> Fault:
        """Say which limit was met, and what to do about it."""
        limits = self.limits
        said = {
            "wall": f"it took more than {limits.wall_s:g} s",
            "cpu": f"it took more than {limits.cpu_s} s of processor time",
            "memory": f"it needs more than {limits.memory_mb:,} MB of memory",
            "result": f"its result is larger than {limits.result_mb:,} MB",
        }
        return Fault(said.get(kind, kind), fix=self.fixes.get(kind, ""))

    def _lost(self) -> ChildLostError:
        """Say why the process is gone, and make sure that it is."""
        is_late = self._left_s <= 0
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0 if is_late else 1)
        code = self._process.returncode
        self.close()
        if is_late and code is None:
            return ChildLostError(self.met("wall"))
        if code == -signal.SIGXCPU:
            return ChildLostError(self.met("cpu"))
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            memory = f"it may have needed more than {self.limits.memory_mb:,} MB of memory"
            message = f"the process that ran it was ended by {name}: {memory}"
            return ChildLostError(Fault(message, fix=self.fixes.get("memory", "")))
        return ChildLostError(f"the process that ran it ended by itself (code {code})")
