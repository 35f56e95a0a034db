"""Builds the sandbox's file tree, where no bubblewrap is there to do it.

Runs inside the fresh namespaces that `unshare` made, before anything else. Invariant: afterwards the
host's tree cannot be reached, and nothing but the folders given can be written to.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
AT_FDCWD, AT_RECURSIVE, MNT_DETACH = -100, 0x8000, 2
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
MOUNT_SETATTR = 442
DEVICES = ("null", "zero", "full", "random", "urandom")
PROC_COVERED = ("sys", "sysrq-trigger", "irq", "bus")
"""Parts of /proc through which root changes the machine."""

_libc = ctypes.CDLL(None, use_errno=True)


def build(plan: Mapping[str, Any]) -> None:
    """Make a tree of `binds` (pairs of paths), `links` and `folders` (path to bytes); move into it."""
    _mount("", "/", "", MS_REC | MS_PRIVATE)
    _mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")  # noqa: S108  a mount point that exists everywhere
    os.makedirs("/tmp/old")  # noqa: S108
    _pivot("/tmp", "/tmp/old")  # noqa: S108
    os.mkdir("/new")
    _mount("tmpfs", "/new", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    for source, target in plan["binds"]:
        _bind(f"/old{source}", f"/new{target}", is_device=False)
    for target, path in plan["links"]:
        Path(f"/new{path}").parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, f"/new{path}")
    for device in DEVICES:
        _bind(f"/old/dev/{device}", f"/new/dev/{device}", is_device=True)
    os.symlink("/proc/self/fd", "/new/dev/fd")
    os.mkdir("/new/proc")
    _mount("proc", "/new/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for name in PROC_COVERED:
        if os.path.exists(f"/new/proc/{name}"):
            _bind(f"/new/proc/{name}", f"/new/proc/{name}", is_device=False)
    for path, size in plan["folders"].items():
        Path(f"/new{path}").mkdir(parents=True, exist_ok=True)
        _mount("tmpfs", f"/new{path}", "tmpfs", MS_NOSUID | MS_NODEV, f"mode=1777,size={size}")
    _pivot("/new", "/new")
    _check(_libc.umount2(b".", MNT_DETACH), "umount", ".")
    _restrict("/", ATTR_RDONLY, 0)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    result = _libc.mount(
        source.encode() or None,
        target.encode(),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    _check(result, "mount", target)


def _bind(source: str, target: str, *, is_device: bool) -> None:
    """Show a file or folder of the host, read-only with all that is mounted below it."""
    if not os.path.exists(target):
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(target).mkdir() if os.path.isdir(source) else Path(target).touch()
    _mount(source, target, "", MS_BIND | MS_REC)
    _restrict(target, ATTR_NOSUID if is_device else ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, AT_RECURSIVE)


def _restrict(target: str, attributes: int, flags: int) -> None:
    wanted = (ctypes.c_uint64 * 4)(attributes, 0, 0, 0)
    result = _libc.syscall(
        ctypes.c_long(MOUNT_SETATTR),
        ctypes.c_int(AT_FDCWD),
        target.encode(),
        ctypes.c_uint(flags),
        wanted,
        ctypes.c_size_t(ctypes.sizeof(wanted)),
    )
    _check(result, "mount_setattr", target)


def _pivot(new: str, old: str) -> None:
    result = _libc.syscall(ctypes.c_long(PIVOT_ROOT[os.uname().machine]), new.encode(), old.encode())
    _check(result, "pivot_root", new)
    os.chdir("/")


def _check(result: int, call: str, target: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}", target)
