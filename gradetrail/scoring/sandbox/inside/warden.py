"""The one trusted process inside the sandbox: starts the candidate, watches it, says the verdict.

Runs as process 1 of the sandbox's process namespace, where no signal of the candidate reaches it
and where its end ends everything; it holds the only descriptor that leads out.

Invariant: `pass` is said only when the candidate's process lived to the end of what judges it:
the judge's last check, or the program's last line. An exit code, a signal, output, anything
written to a descriptor by a program that does not speak this protocol: none of these is a pass.
(A script whose output is compared outside may end with exit code 0 as it likes.)
"""

from __future__ import annotations

import os
import select
import time

from gradetrail.scoring.sandbox.inside import kernel
from gradetrail.scoring.sandbox.inside.candidate import NONCE_BYTES, live

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself takes as long to import as a small program takes to run
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, NoReturn

READY = b"ready\n"
TICK_MS = 20
MESSAGE_LIMIT = 4096
FILES_LIMIT = 10_000
"""Files and folders that a candidate may make: each takes memory that no other limit counts."""
SIGKILL, SIGXCPU = 9, 24
MEMORY_LINES = ("RssAnon:", "RssShmem:")
SOCKET_BUFFER = 212_992
"""Bytes that the kernel lets wait in a socket whose buffer nobody has made larger; TCP makes its own so."""
LAST_MOMENT_S = 1.0
"""How long an end of the candidate is waited for that the judge has noticed."""
FORGED = "the program wrote to the control channel"

Verdict = tuple[str, str, int]
"""The verdict, its detail, and how many checks hold (1 for a program without checks that passes)."""


class Warden:
    """One candidate's life, from its start to its verdict."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.job = job
        self.stdin = memoryview(job["stdin"])
        self.captured = {"stdout": bytearray(), "stderr": bytearray()}
        self.message, self.report, self.nonce = bytearray(), bytearray(), b""
        self.judge_pid, self.broken_off_at = 0, 0.0
        self.checks: tuple[str, ...] = ()
        self.poll = select.poll()
        self.on_data: dict[int, Callable[[bytes], Verdict | None]] = {}

    def run(self) -> Verdict:
        """Start the candidate and wait for whatever decides."""
        started = time.monotonic()
        self._start_candidate()
        self.checks = _read_checks()
        while True:
            for descriptor, _ in self.poll.poll(TICK_MS):
                verdict = self._serve(descriptor)
                if verdict:
                    return verdict
            verdict = self._reap() or self._find_break() or self._find_excess()
            if verdict:
                return verdict
            if self._is_late(time.monotonic() - started):
                return "timeout", f"not over after {self.job['wall_s']:g} s", 0

    def _is_late(self, elapsed_s: float) -> bool:
        """Say whether the time is over; what was spent waiting for a core does not count."""
        wall_s = self.job["wall_s"]
        if elapsed_s <= wall_s:
            return False
        # several processes may keep each other waiting
        if set(self._pids()) - {self.candidate_pid, self.judge_pid}:
            return True
        waited_s = sum(_waited_s(pid) for pid in (self.candidate_pid, self.judge_pid) if pid)
        return bool(elapsed_s - min(waited_s, self.job["patience_s"]) > wall_s)

    def _start_candidate(self) -> None:
        stdin, self.to_stdin = os.pipe()
        from_stdout, stdout = os.pipe()
        from_stderr, stderr = os.pipe()
        self.from_candidate, report = os.pipe()
        orders, self.to_candidate = os.pipe()
        theirs = (stdin, stdout, stderr, orders, report)
        self.candidate_pid = self._start(live, theirs, self.job["uid"])
        for descriptor in theirs:
            os.close(descriptor)
        self._listen(from_stdout, lambda data: self._capture("stdout", data))
        self._listen(from_stderr, lambda data: self._capture("stderr", data))
        self._listen(self.from_candidate, self._hear)
        os.set_blocking(self.to_stdin, False)
        self.poll.register(self.to_stdin, select.POLLOUT)

    def _start_judge(self) -> None:
        """Hand the candidate's pipes to a fresh process, which evaluates the checks."""
        from gradetrail.scoring.sandbox.inside.judge import report_on

        self._forget(self.from_candidate)
        os.set_blocking(self.from_candidate, True)
        from_judge, report = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        theirs = (null, null, null, self.from_candidate, self.to_candidate, report)
        uid = self.job["uid"]
        judge = lambda job: report_on(job, self.checks)  # noqa: E731  a name for the two lines
        self.judge_pid = self._start(judge, theirs, None if uid is None else uid + 1)
        for descriptor in theirs[2:]:
            os.close(descriptor)
        self._listen(from_judge, self._take)

    def _start(
        self, live: Callable[[Mapping[str, Any]], NoReturn], descriptors: tuple[int, ...], uid: int | None
    ) -> int:
        """Fork a confined process with just these descriptors, numbered from 0; give its pid."""
        pid = os.fork()
        if pid:
            return pid
        try:
            os.setsid()
            for place, descriptor in enumerate(descriptors):
                os.dup2(descriptor, 100 + place)
            for place in range(len(descriptors)):
                os.dup2(100 + place, place, inheritable=place < 3)
            os.closerange(len(descriptors), 256)
            kernel.restore_interrupts()
            kernel.limit(self.job)
            kernel.confine(uid)
            live(self.job)
        finally:
            os._exit(70)

    def _listen(self, descriptor: int, on_data: Callable[[bytes], Verdict | None]) -> None:
        os.set_blocking(descriptor, False)
        self.on_data[descriptor] = on_data
        self.poll.register(descriptor, select.POLLIN)

    def _forget(self, descriptor: int) -> None:
        self.poll.unregister(descriptor)
        self.on_data.pop(descriptor, None)

    def _serve(self, descriptor: int) -> Verdict | None:
        """Move what can be moved on one descriptor; give the verdict if that decides it."""
        if descriptor == self.to_stdin:
            self._feed()
        if descriptor not in self.on_data:
            return None
        data, on_data = os.read(descriptor, 65536), self.on_data[descriptor]
        if not data:
            self._forget(descriptor)
        return on_data(data) if data or on_data == self._take else None

    def _feed(self) -> None:
        try:
            self.stdin = self.stdin[os.write(self.to_stdin, self.stdin[:65536]) :]
        except OSError:
            # the program has closed its standard input
            self.stdin = self.stdin[:0]
        if not self.stdin:
            self._forget(self.to_stdin)
            os.close(self.to_stdin)
            self.to_stdin = -1

    def _capture(self, name: str, data: bytes) -> Verdict | None:
        kept, limit = self.captured[name], self.job["output"]
        room = limit - len(kept)
        kept += data[:room]
        return ("output", f"more than {limit // 1024} KiB on {name}", 0) if len(data) > room else None

    def _hear(self, data: bytes) -> Verdict | None:
        """Hear how the program ended: kind, newline, detail, NUL; `end` is confirmed by the nonce."""
        self.message += data
        if self.nonce:
            if self.message == self.nonce:
                return "pass", "", 1
            return None if self.nonce.startswith(self.message) else ("error", FORGED, 0)
        if b"\0" not in self.message:
            return ("error", FORGED, 0) if len(self.message) > MESSAGE_LIMIT else None
        text, _, rest = bytes(self.message).partition(b"\0")
        kind, _, detail = text.decode("utf-8", "replace").partition("\n")
        if rest or kind not in ("end", "syntax", "fail", "memory", "error"):
            return "error", FORGED, 0
        if kind != "end":
            return kind, detail, 0
        self.message.clear()
        if self.checks:
            self._start_judge()
        else:
            self.nonce = os.urandom(NONCE_BYTES)
            try:
                os.write(self.to_candidate, self.nonce)
            except BrokenPipeError:
                return "error", FORGED, 0
        return None

    def _take(self, data: bytes) -> Verdict | None:
        """Take the judge's word, if the candidate has lived to hear its last question."""
        self.report += data
        if data:
            return None
        ended = self._reap()
        if ended:
            return ended
        held, _, rest = self.report.decode("utf-8", "replace").partition("\n")
        verdict, _, detail = rest.partition("\n")
        if verdict:
            return verdict, detail, int(held)
        # a candidate that left has closed its descriptors a moment before it can be buried
        self.broken_off_at = time.monotonic()
        return None

    def _reap(self) -> Verdict | None:
        """Bury what has ended; give the verdict if the candidate has."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return None
            if pid == 0:
                return None
            if pid == self.candidate_pid:
                return self._explain(status, usage.ru_utime + usage.ru_stime)

    def _explain(self, status: int, cpu_s: float) -> Verdict:
        """Say what an end of the candidate's process means that no message announced."""
        code = os.waitstatus_to_exitcode(status)
        if code == -SIGXCPU or (code == -SIGKILL and cpu_s >= self.job["cpu_s"]):
            return "timeout", f"more than {self.job['cpu_s']} s of CPU time", 0
        if code < 0:
            return "error", f"killed by {_signal_name(-code)}", 0
        if code == 0 and self.job["is_script"]:
            return "pass", "", 1
        return "error", f"the process ended with exit code {code} before the program was over", 0

    def _find_break(self) -> Verdict | None:
        """Notice that the judge has left without a word, and that no end of the candidate explains it."""
        is_broken = self.broken_off_at and time.monotonic() - self.broken_off_at > LAST_MOMENT_S
        return ("error", "the checks broke off", 0) if is_broken else None

    def _find_excess(self) -> Verdict | None:
        """Notice what no limit of a single process forbids: too much of all together."""
        pids = [pid for pid in self._pids() if pid != self.judge_pid]
        if len(pids) > self.job["processes_watched"]:
            return "error", f"more than {self.job['processes_watched']} processes", 0
        queued = _queued_bytes() if os.getpid() == 1 else 0
        if sum(map(_own_memory, pids)) + queued > self.job["memory"]:
            return "memory", f"more than {self.job['memory'] >> 20} MB", 0
        for folder in self.job["folders"]:
            state = os.statvfs(folder)
            if state.f_files - state.f_ffree > FILES_LIMIT:
                return "memory", f"more than {FILES_LIMIT} files", 0
        return None

    def _pids(self) -> Iterator[int]:
        """List the processes of the sandbox; without a namespace, the descendants."""
        if os.getpid() == 1:
            yield from (int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1")
            return
        found = [os.getpid()]
        for pid in found:
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as children:
                        found.extend(map(int, children.read().split()))
            except OSError:
                continue
        yield from found[1:]

    def end_all(self) -> None:
        """Kill every process but this one, and take what they had still written."""
        while True:
            if os.getpid() == 1:
                _kill(-1)
            else:
                for pid in (*self._pids(), -self.candidate_pid):
                    _kill(pid)
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        for descriptor, on_data in self.on_data.items():
            try:
                while on_data != self._hear and (data := os.read(descriptor, 65536)):
                    on_data(data)
            except BlockingIOError:
                continue


def _read_checks() -> tuple[str, ...]:
    """Take what is left of the order, now that the candidate's process cannot have a copy."""
    import marshal

    data = bytearray()
    while part := os.read(0, 1 << 20):
        data += part
    checks: tuple[str, ...] = marshal.loads(data)  # noqa: S302  what the host has sent
    return checks


def _kill(pid: int) -> None:
    try:
        os.kill(pid, SIGKILL) if pid > 0 or pid == -1 else os.killpg(-pid, SIGKILL)
    except OSError:
        return


def _signal_name(number: int) -> str:
    from signal import Signals

    return Signals(number).name if number in set(Signals) else f"signal {number}"


def _waited_s(pid: int) -> float:
    """Give the seconds that a process was ready and had no core; 0 where the kernel does not count them."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as schedstat:
            return int(schedstat.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _own_memory(pid: int) -> int:
    """Measure the bytes that a process holds and shares with no file on disk; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
            lines = status.read().split("\n")
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(MEMORY_LINES))


def _queued_bytes() -> int:
    """Bound the bytes that wait in sockets, which no limit of a process counts."""
    with open("/proc/net/sockstat", encoding="ascii") as counts:
        n_sockets = int(counts.readline().split()[2])
    total = n_sockets * SOCKET_BUFFER
    for name in ("tcp", "tcp6") if n_sockets else ():
        try:
            with open(f"/proc/net/{name}", encoding="ascii") as sockets:
                queues = [line.split()[4].split(":") for line in sockets.read().splitlines()[1:]]
        except OSError:
            # a kernel without this protocol
            continue
        total += sum(int(part, 16) for pair in queues for part in pair)
    return total


def main(job: Mapping[str, Any]) -> None:
    """Run the job; write `ready`, then the verdict, to standard output, which only this process has."""
    if job["mounts"]:
        from gradetrail.scoring.sandbox.inside import mounts

        mounts.build(job["mounts"])
        os.chdir(job["folders"][0])
    os.write(1, READY)
    kernel.become_warden()
    warden = Warden(job)
    started = time.monotonic()
    verdict, detail, held = warden.run()
    wall_ms = (time.monotonic() - started) * 1000
    warden.end_all()
    parts = (detail.encode("utf-8", "replace"), *map(bytes, warden.captured.values()))
    head = f"{verdict} {held} {wall_ms:.3f} {' '.join(str(len(part)) for part in parts)}\n"
    rest = memoryview(head.encode() + b"".join(parts))
    while rest:
        rest = rest[os.write(1, rest) :]
