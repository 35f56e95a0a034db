"""The Linux calls that Python lacks, and what a candidate's process gives up before it runs.

Runs inside the sandbox. Invariant: after `confine` a process has no privilege and cannot get one,
cannot be read or traced by another process of the same user, and cannot make memory that the
limits do not count.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself takes as long to import as a small program takes to run
    from collections.abc import Mapping
    from typing import Any

PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 4, 22, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
SECCOMP_MODE_FILTER = 2
CAPABILITY_VERSION_3 = 0x20080522

EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT, THIRD_ARGUMENT = 0, 4, 16, 24, 32
NEW_NAMESPACE_FLAGS = 0x7E020080
"""CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
PLAIN_SOCKETS = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6: the families that a network namespace confines."""
TIOCSTI = 0x5412
SO_SNDBUF, SO_RCVBUF = 7, 8
X32_BIT = 0x40000000

# numbers of system calls come in the order of these architectures
AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
FILTERED_CALLS = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "ioctl": (16, 29),
    "setsockopt": (54, 208),
    "socket": (41, 198),
}
REFUSED_CALLS = {
    # reading, writing and driving other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    # memory that neither the address-space limit nor the folder's size counts
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "io_setup": (206, 0),
    # calls that go round the filter
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    # the machine's own state
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "personality": (135, 92),
}

SIGINT, SIG_IGN = 2, 1

_libc = ctypes.CDLL(None, use_errno=True)
_interrupts: int | None = None


def prctl(option: int, value: int = 0, pointer: Any = None) -> bool:
    """Set an attribute of this process; False if the kernel refused."""
    zero = ctypes.c_ulong(0)
    result: int = _libc.prctl(option, ctypes.c_ulong(value), pointer, zero, zero)
    return result == 0


def become_warden() -> None:
    """Make this process unreadable, deaf to interrupts, parent of orphans, and first to die of want."""
    global _interrupts  # noqa: PLW0603  one process, one handler
    if sys.platform != "linux":
        return
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
            score.write("1000")
    except OSError:
        pass  # the process that makes the tree may not say so
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    _libc.signal.restype = ctypes.c_void_p
    _interrupts = _libc.signal(SIGINT, ctypes.c_void_p(SIG_IGN))


def restore_interrupts() -> None:
    """Give a child of the warden Python's own handling of SIGINT again."""
    if _interrupts is not None:
        _libc.signal(SIGINT, ctypes.c_void_p(_interrupts))


def limit(job: Mapping[str, Any]) -> None:
    """Set what one process may use; `processes` counts those of the user."""
    bounds = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: job["cpu_s"],
        resource.RLIMIT_AS: job["memory"],
        resource.RLIMIT_FSIZE: job["file"],
        resource.RLIMIT_NOFILE: 128,
        resource.RLIMIT_MEMLOCK: 0,
    }
    if job["processes"] is not None:
        bounds[resource.RLIMIT_NPROC] = job["processes"]
    for kind, bound in bounds.items():
        # the hard CPU limit lies a second higher: the soft one says by its signal why the program died
        hard = bound + 1 if kind == resource.RLIMIT_CPU else bound
        top = resource.getrlimit(kind)[1]
        hard = hard if top == resource.RLIM_INFINITY else min(hard, top)
        try:
            resource.setrlimit(kind, (min(bound, hard), hard))
        except (OSError, ValueError):
            # other systems know fewer limits; there it is docker that sets them
            if sys.platform == "linux":
                raise


def confine(uid: int | None) -> None:
    """Give up every privilege for good; become `uid` where the caller may choose one."""
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    if sys.platform == "linux":
        _drop_capabilities()
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        _filter_calls()
        prctl(PR_SET_DUMPABLE, 0)


def _drop_capabilities() -> None:
    for capability in range(64):
        if not prctl(PR_CAPBSET_DROP, capability):
            break
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    _libc.capset(header, (ctypes.c_uint32 * 6)())


def _filter_calls() -> None:
    """Install the system-call filter; on a processor that the table lacks there is none."""
    program = filter_program(os.uname().machine)
    if not program:
        return
    code = b"".join(
        operation.to_bytes(2, sys.byteorder) + bytes((if_true, if_false)) + value.to_bytes(4, sys.byteorder)
        for operation, if_true, if_false, value in program
    )
    buffer = ctypes.create_string_buffer(code, len(code))

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Filter(len(program), ctypes.addressof(buffer))))


def filter_program(machine: str) -> list[tuple[int, int, int, int]]:
    """Assemble the filter as (operation, jump if true, jump if false, value); empty if unknown."""
    if machine not in AUDIT_ARCHITECTURES:
        return []
    column = list(AUDIT_ARCHITECTURES).index(machine)

    def number(name: str) -> int:
        return FILTERED_CALLS[name][column]

    def refuse(errno: int) -> tuple[int, int, int, int]:
        return (RETURN, 0, 0, REFUSE | errno)

    allow = (RETURN, 0, 0, ALLOW)
    program = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, AUDIT_ARCHITECTURES[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
    ]
    if machine == "x86_64":
        program += [(AT_LEAST, 0, 1, X32_BIT), refuse(EPERM)]
    for numbers in REFUSED_CALLS.values():
        program += [(EQUAL, 0, 1, numbers[column]), refuse(EPERM)]
    # clone3 keeps its flags behind a pointer: the C library falls back to clone
    program += [(EQUAL, 0, 1, number("clone3")), refuse(ENOSYS)]
    for name, argument, test, value in (
        ("clone", FIRST_ARGUMENT, ANY_BIT, NEW_NAMESPACE_FLAGS),
        ("ioctl", SECOND_ARGUMENT, EQUAL, TIOCSTI),
    ):
        block = [(LOAD, 0, 0, argument), (test, 0, 1, value), refuse(EPERM), allow]
        program += [(EQUAL, 0, len(block), number(name)), *block]
    # a larger buffer of a socket would be memory that nothing counts: it is granted and not given
    granted = (RETURN, 0, 0, REFUSE)
    sizes = [(EQUAL, 1, 0, SO_SNDBUF), (EQUAL, 0, 1, SO_RCVBUF)]
    block = [(LOAD, 0, 0, THIRD_ARGUMENT), *sizes, granted, allow]
    program += [(EQUAL, 0, len(block), number("setsockopt")), *block]
    families = [(EQUAL, len(PLAIN_SOCKETS) - place, 0, family) for place, family in enumerate(PLAIN_SOCKETS)]
    block = [(LOAD, 0, 0, FIRST_ARGUMENT), *families, refuse(EAFNOSUPPORT), allow]
    return [*program, (EQUAL, 0, len(block), number("socket")), *block, allow]
