"""The ways to wall a process in, each as a command line that starts Python inside.

Invariant: inside there is the interpreter, its libraries, and one empty folder of bounded size;
no home, no warehouse, no network, no environment, no process of the host.
"""

from __future__ import annotations

import itertools
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

FOLDER, SHARED_MEMORY = "/tmp", "/dev/shm"  # noqa: S108  places inside the sandbox
SHARED_MEMORY_BYTES = 4 * 2**20
PYTHON_FLAGS = ("-s", "-S", "-P", "-B", "-X", "utf8", "-c")
ENVIRONMENT = {
    "HOME": FOLDER,
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/usr/bin:/bin",
    "PYTHONHASHSEED": "0",
    "TMPDIR": FOLDER,
    "TZ": "UTC",
}
CAPABILITIES = ("SETUID", "SETGID", "KILL")
"""What the warden needs to give the candidate another user than its own, and to end it."""
PROC_COVERED = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
"""Parts of /proc through which root, even without privileges, changes the machine."""
EMPTY_IMAGE = "gradetrail-empty:1"
PYTHON_IMAGE = f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"
UIDS = (range(0x70000000, 0x78000000), range(20_000, 60_000))
"""Users that no system gives out, and where so many are not mapped, users that few systems do."""
EXACT_PROCESS_LIMIT = (5, 14)
"""From this Linux on, a user namespace counts its own processes."""

_turns = itertools.count()


@dataclass(frozen=True, slots=True)
class Need:
    """What one program is to be given, in the units of the kernel."""

    folder_bytes: int
    memory_bytes: int
    processes: int


class Walls(Protocol):
    """One way to make a sandbox."""

    @property
    def name(self) -> str:
        """What to call it in messages."""
        ...

    def command(self, need: Need) -> list[str]:
        """Give the command line, up to and without the Python code to run."""
        ...

    def job(self, need: Need) -> dict[str, Any]:
        """Give what the warden must know: uid, process limit, Python's path, folders, mounts."""
        ...


def interpreter() -> str:
    """Find the interpreter itself, behind any virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def libraries() -> dict[str, str]:
    """Map each folder of `sys.path` with Python's or installed code to its place inside."""
    places: dict[str, str] = {}
    base = os.path.realpath(sys.base_prefix)
    for number, entry in enumerate(sys.path):
        path = os.path.realpath(entry)
        if not os.path.isdir(path) or not entry:
            continue
        is_ours = any(Path(path).is_relative_to(root) for root in (base, "/usr"))
        if is_ours:
            places[path] = path
        elif Path(path).name in ("site-packages", "dist-packages"):
            places[path] = f"/python/{number}"
    return places


def view() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Give what of the host is shown: binds (source, place) and symbolic links (target, place)."""
    binds: dict[str, str] = {}
    links = []
    for root in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"):
        if os.path.islink(root):
            links.append((os.readlink(root), root))
        elif os.path.isdir(root):
            binds[root] = root
    binds |= {path: path for path in ("/etc/ld.so.cache", "/etc/alternatives") if os.path.exists(path)}
    base = os.path.realpath(sys.base_prefix)
    wanted = {base: base, **libraries()}
    for source, place in wanted.items():
        if not any(source == place and Path(source).is_relative_to(root) for root in binds):
            binds[source] = place
    return list(binds.items()), links


def _uid() -> int:
    """Choose a user that nobody else is, so that its processes can be counted; OSError if none is mapped."""
    lines = Path("/proc/self/uid_map").read_text("ascii").splitlines()
    mapped = [range(first, first + count) for first, _, count in (map(int, line.split()) for line in lines)]
    turn = os.getpid() * 4096 + next(_turns) * 2
    for uids in UIDS:
        # the judge is the next user
        uid = uids[turn % (len(uids) - 1)]
        if any(uid in known and uid + 1 in known for known in mapped):
            return uid
    raise OSError("root has no other users here to run the code as")


def _scrubbed() -> list[str]:
    return ["/usr/bin/env", "-i", *("=".join(item) for item in ENVIRONMENT.items())]


def _job(need: Need, *, uid: int | None, extra_processes: int) -> dict[str, Any]:
    release = tuple(
        int("".join(filter(str.isdigit, part)) or 0) for part in platform.release().split(".")[:2]
    )
    is_counted = uid is not None or release >= EXACT_PROCESS_LIMIT
    return {
        "uid": uid,
        "processes": need.processes + (extra_processes if uid is None else 0) if is_counted else None,
        "path": list(dict.fromkeys(libraries().values())),
        "folders": [FOLDER, SHARED_MEMORY],
        "mounts": None,
    }


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """bubblewrap: as root with a user of the candidate's own, else in a user namespace."""

    path: str
    is_privileged: bool
    name: str = "bubblewrap"

    def command(self, need: Need) -> list[str]:
        """Give the command line, up to and without the Python code to run."""
        binds, links = view()
        tree = ["--proc", "/proc", "--dev", "/dev"]
        options = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        if self.is_privileged:
            options += [
                "--cap-drop",
                "ALL",
                *(part for name in CAPABILITIES for part in ("--cap-add", f"CAP_{name}")),
            ]
        else:
            options += ["--unshare-user"]
            tree += [part for path in PROC_COVERED for part in ("--ro-bind-try", path, path)]
        options += ["--hostname", "sandbox", "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]
        options += [part for item in ENVIRONMENT.items() for part in ("--setenv", *item)]
        folders = {SHARED_MEMORY: SHARED_MEMORY_BYTES, FOLDER: need.folder_bytes}
        options += tree
        for folder, size in folders.items():
            options += ["--perms", "1777", "--size", str(size), "--tmpfs", folder]
        # folders that bubblewrap makes by itself are closed to every other user
        parents = {str(parent) for _, place in binds for parent in Path(place).parents}
        options += [part for parent in sorted(parents) for part in ("--perms", "0755", "--dir", parent)]
        options += [part for bind in binds for part in ("--ro-bind", *bind)]
        options += [part for link in links for part in ("--symlink", *link)]
        options += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", FOLDER]
        return [self.path, *options, "--", interpreter(), *PYTHON_FLAGS]

    def job(self, need: Need) -> dict[str, Any]:
        """Give what the warden must know."""
        return _job(need, uid=_uid() if self.is_privileged else None, extra_processes=1)


@dataclass(frozen=True, slots=True)
class Unshare:
    """unshare of util-linux makes the namespaces, and the warden builds the file tree itself."""

    path: str
    is_privileged: bool
    name: str = "unshare"

    def command(self, need: Need) -> list[str]:  # noqa: ARG002  the warden makes the folders
        """Give the command line, up to and without the Python code to run."""
        options = ["--mount", "--net", "--ipc", "--uts", "--pid", "--cgroup", "--fork", "--kill-child"]
        if not self.is_privileged:
            options += ["--user", "--map-root-user"]
        return [self.path, *options, "--", *_scrubbed(), interpreter(), *PYTHON_FLAGS]

    def job(self, need: Need) -> dict[str, Any]:
        """Give what the warden must know, the file tree too."""
        binds, links = view()
        folders = {FOLDER: need.folder_bytes, SHARED_MEMORY: SHARED_MEMORY_BYTES}
        mounts = {"binds": binds, "links": links, "folders": folders}
        uid = _uid() if self.is_privileged else None
        return {**_job(need, uid=uid, extra_processes=2), "mounts": mounts}


@dataclass(frozen=True, slots=True)
class Container:
    """docker or podman: an empty image with the host's interpreter on Linux, else Python's own image."""

    path: str
    name: str

    def command(self, need: Need) -> list[str]:
        """Give the command line, up to and without the Python code to run."""
        options = ["run", "--rm", "--interactive", "--pull", "never", "--network", "none", "--read-only"]
        options += ["--hostname", "sandbox", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        options += [part for name in CAPABILITIES for part in ("--cap-add", name)]
        options += ["--pids-limit", str(need.processes + 4), "--memory", str(need.memory_bytes + 2**28)]
        options += [
            "--ulimit",
            "nofile=1024:1024",
            "--ulimit",
            "nproc=4096:4096",
            "--shm-size",
            str(SHARED_MEMORY_BYTES),
            "--workdir",
            FOLDER,
        ]
        options += ["--read-only-tmpfs=false"] if self.name == "podman" else []
        options += ["--tmpfs", f"{FOLDER}:rw,exec,nosuid,nodev,mode=1777,size={need.folder_bytes}"]
        options += [part for item in ENVIRONMENT.items() for part in ("--env", "=".join(item))]
        if not self.uses_own_interpreter:
            return [self.path, *options, PYTHON_IMAGE, "python3", *PYTHON_FLAGS]
        binds, links = view()
        # an image that holds nothing has no symbolic links: what they lead to is mounted in their places
        binds += [(os.path.realpath(link), link) for _, link in links]
        options += [part for source, place in binds for part in ("--volume", f"{source}:{place}:ro")]
        return [self.path, *options, EMPTY_IMAGE, interpreter(), *PYTHON_FLAGS]

    @property
    def uses_own_interpreter(self) -> bool:
        """Whether the container runs this very Python, for which the host's code is compiled."""
        return sys.platform == "linux"

    def job(self, need: Need) -> dict[str, Any]:
        """Give what the warden must know; the container's own limit counts processes."""
        job = {**_job(need, uid=65532, extra_processes=0), "processes": None}
        return job if self.uses_own_interpreter else {**job, "path": None}

    def prepare(self) -> None:
        """Make the empty image; OSError or CalledProcessError where there is no daemon or no right to it."""
        if self.uses_own_interpreter:
            command = [self.path, "import", "-", EMPTY_IMAGE]
            subprocess.run(command, input=bytes(10240), capture_output=True, check=True, timeout=60)  # noqa: S603


@dataclass(frozen=True, slots=True)
class NoWalls:
    """No sandbox at all: limits and a scrubbed environment, nothing that keeps a hostile program in."""

    name: str = "unsafe"

    def command(self, need: Need) -> list[str]:  # noqa: ARG002  nothing is made for it
        """Give the command line, up to and without the Python code to run."""
        return [*_scrubbed(), interpreter(), *PYTHON_FLAGS]

    def job(self, need: Need) -> dict[str, Any]:
        """Give what the warden must know; the host's folders are not watched."""
        paths = list(libraries())
        return {**_job(need, uid=None, extra_processes=0), "processes": None, "path": paths, "folders": []}


def candidates() -> list[Walls]:
    """List the ways to try on this machine, the best first."""
    ways: list[Walls] = []
    is_root = sys.platform == "linux" and os.geteuid() == 0
    for program, kind in (("bwrap", Bubblewrap), ("unshare", Unshare)):
        path = shutil.which(program) if sys.platform == "linux" else None
        if path:
            ways.append(kind(path, is_root))
    ways += [Container(path, program) for program in ("docker", "podman") if (path := shutil.which(program))]
    return ways


def advice() -> str:
    """Say how to get a sandbox on this machine."""
    restriction = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    lines = ["install bubblewrap (`apt install bubblewrap`, `dnf install bubblewrap`)"]
    if restriction.exists() and restriction.read_text("ascii").strip() == "1":
        lines.append("allow it user namespaces (`sysctl kernel.apparmor_restrict_unprivileged_userns=0`)")
    lines.append("in a container, start it with `--security-opt seccomp=unconfined --cap-add SYS_ADMIN`")
    if sys.platform != "linux":
        lines = [f"start docker or podman, and fetch its image once: `docker pull {PYTHON_IMAGE}`"]
    base = os.path.realpath(sys.base_prefix)
    if any(Path(base).is_relative_to(folder) for folder in (FOLDER, SHARED_MEMORY)):
        lines = [f"use a Python that is not installed below {FOLDER} or {SHARED_MEMORY}, as {base} is"]
    lines.append("or run the code without a sandbox, at your own risk: `--unsafe-code`")
    return "; ".join(lines)
