"""Starts one sandbox for one program, and reads its verdict.

Invariant: every run ends within its wall limit, a patience and a grace, and leaves neither process nor file;
a sandbox that does not come up raises, and one that is ended is never mistaken for a program that fails.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType

from gradetrail.errors import Fault, GradetrailError
from gradetrail.scoring.sandbox.walls import ENVIRONMENT, Container, Need, NoWalls, Walls, advice, candidates

PACKAGE = "gradetrail.scoring.sandbox.inside"
MODULES = ("kernel", "wire", "candidate", "server", "judge", "mounts", "warden")
NEEDED_FOR_CHECKS = ("wire", "server", "judge")
BOOT = """
import builtins, marshal, os, sys
def take(size):
    data = bytearray()
    while len(data) < size:
        data += os.read(0, size - len(data))
    return bytes(data)
modules, job = marshal.loads(take(int.from_bytes(take(8), "big")))
for name, code in modules:
    sys.modules[name] = module = type(sys)(name)
    module.__builtins__ = vars(builtins).copy()
    parent, _, short = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], short, module)
    exec(code, module.__dict__)
module.main(job)
"""
"""What the sandbox's Python runs: it takes our modules, then the job, and leaves the checks unread.

Each module has built-ins of its own, which a program that replaces Python's does not reach.
"""
MARSHAL_VERSION = 4
READY = b"ready\n"
STARTS = 2
"""How often a sandbox that does not come up is tried."""
PATIENCE_S = 10.0
"""Beyond the wall limit, for a program that waits for a core: a busy machine is no wrong answer."""
GRACE_S = 10.0
"""Beyond both, for starting and ending the sandbox itself."""
PROBE = """
import collections, dataclasses, json, math, os, re, typing
assert os.getppid() == 1
assert len([name for name in os.listdir("/proc") if name.isdigit()]) <= 3
assert not os.path.exists({MARKER})
assert [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]] in ([], ["lo"])
assert os.listdir(".") == []
open("probe", "w").close()
status = open("/proc/self/status").read()
assert "NoNewPrivs:\t1" in status
assert "Seccomp:\t2" in status or os.uname().machine not in ("x86_64", "aarch64")
try:
    open("/probe", "w")
except OSError:
    pass
else:
    raise AssertionError("the root folder can be written to")
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use."""

    wall_s: float = 5.0
    """Seconds on the clock, without those in which the program waited for a core."""
    cpu_s: float = 5.0
    """CPU seconds of one process."""
    memory_mb: int = 512
    """Address space of one process, and private memory of all together."""
    processes: int = 16
    """Processes and threads."""
    file_mb: int = 16
    """Size of one file, and of the whole folder."""
    output_kb: int = 256
    """Bytes on standard output, and as many on standard error."""


@dataclass(frozen=True, slots=True)
class Job:
    """One program and how it is judged."""

    program: str
    checks: tuple[str, ...] = ()
    """Boolean expressions or test code, judged in turn after the program."""
    stdin: str = ""
    expect_stdout: str | None = None
    """What the program must print, but for white space at line ends; None does not judge it."""
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one program."""

    verdict: str
    """`pass`, `fail`, `error`, `syntax`, `timeout`, `memory` or `output`; `broken` if the sandbox itself was
    ended twice, which says nothing of the program."""
    detail: str
    """Why it is not a pass; empty if it is."""
    stdout: str
    stderr: str
    passed: int
    """Checks that hold; 0 if the program did not come to its end."""
    total: int
    """Checks; the expected output counts as one; 1 for a program that holds its own tests."""
    wall_ms: float
    """Milliseconds from the start of the program, without the sandbox's own start."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A way to run programs that was found to work on this machine."""

    walls: Walls
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.walls.name)

    def run(
        self,
        program: str,
        *,
        checks: Sequence[str] = (),
        stdin: str = "",
        expect_stdout: str | None = None,
        limits: Limits = Limits(),
    ) -> Outcome:
        """Run one program in a sandbox of its own; GradetrailError if that does not come up."""
        return self.run_job(Job(program, tuple(checks), stdin, expect_stdout, limits))

    def run_job(self, job: Job) -> Outcome:
        """Run one job in a sandbox of its own; GradetrailError if that does not come up."""
        order = self._order(job)
        is_walled = not isinstance(self.walls, NoWalls)
        reply, complaint = b"", ""
        for _ in range(STARTS):
            with contextlib.ExitStack() as stack:
                folder = None if is_walled else stack.enter_context(tempfile.TemporaryDirectory())
                reply, complaint = self._start(order, job, folder)
            outcome = _outcome(job, reply.removeprefix(READY)) if reply.startswith(READY) else None
            if outcome is not None:
                return outcome
        if reply.startswith(READY):
            # without walls a program can end its warden, and gains nothing by it
            verdict = "broken" if is_walled else "error"
            detail = f"the sandbox ended without a verdict: {complaint or 'it said nothing'}"
            return Outcome(verdict, detail, "", "", 0, _n_checks(job), 0.0)
        raise GradetrailError(
            Fault(
                f"the sandbox {self.name} could not start: {complaint or 'it said nothing'}",
                fix="look for a full disk, too little memory or a limit of processes, and run again",
            )
        )

    def _need(self, limits: Limits) -> Need:
        return Need(limits.file_mb << 20, limits.memory_mb << 20, limits.processes)

    def _order(self, job: Job) -> bytes:
        limits = job.limits
        need = self._need(limits)
        order = {
            "program": job.program,
            "has_checks": bool(job.checks),
            "stdin": job.stdin.encode("utf-8", "surrogatepass"),
            "is_script": job.expect_stdout is not None and not job.checks,
            "wall_s": limits.wall_s,
            "patience_s": PATIENCE_S,
            "cpu_s": max(1, -int(-limits.cpu_s // 1)),
            "memory": need.memory_bytes,
            "file": need.folder_bytes,
            "output": limits.output_kb << 10,
            "processes_watched": limits.processes,
            "environment": ENVIRONMENT,
            **self.walls.job(need),
        }
        left_out = {"mounts"} if order["mounts"] is None else set()
        left_out |= set() if job.checks else set(NEEDED_FOR_CHECKS)
        is_compiled = not isinstance(self.walls, Container) or self.walls.uses_own_interpreter
        parents = [(".".join(PACKAGE.split(".")[:depth]), "") for depth in range(1, PACKAGE.count(".") + 2)]
        modules = [
            (f"{PACKAGE}.{name}", _compiled(name) if is_compiled else _source(name))
            for name in MODULES
            if name not in left_out
        ]
        first = marshal.dumps(([*parents, *modules], order), MARSHAL_VERSION)
        # the checks come apart, so that they are read when the candidate's process is there already,
        # and stand nowhere in its memory
        return len(first).to_bytes(8, "big") + first + marshal.dumps(job.checks, MARSHAL_VERSION)

    def _start(self, order: bytes, job: Job, folder: str | None) -> tuple[bytes, str]:
        """Run the command to its end; give what the warden said, and what the command complained of."""
        process = subprocess.Popen(  # noqa: S603  the command is ours; the program goes in by stdin
            [*self.walls.command(self._need(job.limits)), BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            start_new_session=True,
        )
        try:
            reply, complaint = process.communicate(order, timeout=job.limits.wall_s + PATIENCE_S + GRACE_S)
        except subprocess.TimeoutExpired as error:
            has_begun = (error.stdout or b"").startswith(READY)
            return READY if has_begun else b"", f"no verdict {GRACE_S:g} s after the time limit"
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        return reply, complaint.decode("utf-8", "replace").strip()[-300:]


@cache
def _source(name: str) -> str:
    return (Path(__file__).parent / "inside" / f"{name}.py").read_text("utf-8")


@cache
def _compiled(name: str) -> CodeType:
    return compile(_source(name), f"<sandbox>/{name}.py", "exec", dont_inherit=True)


def _n_checks(job: Job) -> int:
    return len(job.checks) + (job.expect_stdout is not None) or 1


def _outcome(job: Job, reply: bytes) -> Outcome | None:
    """Read what the warden says; None if it ended without a verdict."""
    head, is_whole, body = reply.partition(b"\n")
    if not is_whole:
        return None
    verdict, held, wall_ms, *lengths = head.decode("ascii").split()
    sizes = [int(length) for length in lengths]
    if len(body) < sum(sizes):
        return None
    parts, start = [], 0
    for size in sizes:
        parts.append(body[start : start + size].decode("utf-8", "replace"))
        start += size
    detail, stdout, stderr = parts
    passed = int(held)
    if job.expect_stdout is not None and verdict in ("pass", "fail"):
        is_equal = _lines(stdout) == _lines(job.expect_stdout)
        passed = (passed if job.checks else 0) + is_equal
        if not is_equal:
            verdict, detail = "fail", detail or _first_difference(_lines(job.expect_stdout), _lines(stdout))
    return Outcome(verdict, detail, stdout, stderr, passed, _n_checks(job), float(wall_ms))


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _first_difference(wanted: Sequence[str], printed: Sequence[str]) -> str:
    for place, (want, got) in enumerate(zip(wanted, printed, strict=False), start=1):
        if want != got:
            return f"output line {place} is {got[:100]!r}, not {want[:100]!r}"
    return f"the output has {len(printed)} lines, not {len(wanted)}"


def find_sandbox(allow_unsafe: bool = False) -> Sandbox:
    """Find the best way to make a sandbox here, by running a program that feels its walls.

    GradetrailError, with how to get one, where none works. `allow_unsafe` then takes none at all.
    """
    refusals = []
    for walls in candidates():
        complaint = probe(walls)
        if complaint is None:
            return Sandbox(walls)
        refusals.append(f"{walls.name}: {complaint}")
    if allow_unsafe:
        return Sandbox(NoWalls())
    tried = "; ".join(dict.fromkeys(refusals)) or "neither bwrap, unshare, docker nor podman is installed"
    raise GradetrailError(
        Fault(
            f"code that a model wrote is not run without a sandbox, and none can be made ({tried})",
            fix=advice(),
        )
    )


def probe(walls: Walls) -> str | None:
    """Run a program that feels the walls; None if they hold, else what is wrong."""
    try:
        if isinstance(walls, Container):
            walls.prepare()
        with tempfile.NamedTemporaryFile() as marker:
            program = PROBE.replace("{MARKER}", repr(marker.name))
            outcome = Sandbox(walls).run(program, checks=("1 + 1 == 2",), limits=Limits(wall_s=20.0))
    except subprocess.CalledProcessError as error:
        return str(error.stderr.decode("utf-8", "replace").strip()[-300:])
    except (OSError, subprocess.TimeoutExpired, GradetrailError) as error:
        return str(error)
    return None if outcome.verdict == "pass" else f"{outcome.verdict}: {outcome.detail}"


def run_many(sandbox: Sandbox, jobs: Iterable[Job], workers: int | None = None) -> Iterator[Outcome]:
    """Run jobs in parallel, one sandbox each; give the outcomes in the order of the jobs.

    `workers` None is one for each core. At most two jobs a worker wait at a time.
    """
    workers = workers or (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    pool = ThreadPoolExecutor(workers)
    waiting: deque[Future[Outcome]] = deque()
    try:
        for job in jobs:
            waiting.append(pool.submit(sandbox.run_job, job))
            if len(waiting) >= 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
