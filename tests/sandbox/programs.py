"""Hostile programs, and the verdict that each must get.

A program that tries something forbidden and asserts that it was refused passes: its pass is the proof.
"""

# ruff: noqa: E501  a program on one line keeps the list a table

import os
import re
from dataclasses import dataclass

from gradetrail.scoring.sandbox import Limits

REFUSED = """
def refused(action, *args):
    try:
        action(*args)
    except (OSError, ValueError):
        return True
    return False
"""
CALL = """
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
def refused_call(x86_64, aarch64, *args):
    number = {"x86_64": x86_64, "aarch64": aarch64}[platform.machine()]
    return libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, args)) == -1
"""


LONG = Limits(wall_s=20, cpu_s=20)
SHORT = Limits(wall_s=0.7)


@dataclass(frozen=True, slots=True)
class Case:
    """A hostile program and the verdict that it must get."""

    name: str
    verdict: str
    program: str
    detail: str = ""
    """Regular expression that the detail must match."""
    checks: tuple[str, ...] = ()
    limits: Limits = LONG


EXHAUSTING = [
    Case("fork bomb", "error", "import os\nwhile True:\n    os.fork()", "BlockingIOError|processes"),
    Case(
        "fork bomb that goes on",
        "timeout",
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
        limits=SHORT,
    ),
    Case(
        "just as many processes as the limit says",
        "pass",
        "import os, time\nn = 1\ntry:\n    while os.fork():\n        n += 1\n    time.sleep(99)\nexcept BlockingIOError:\n    assert n == 16, n",
    ),
    Case(
        "thread bomb",
        "error",
        "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(99,)).start()",
        "can't start new thread",
    ),
    Case("memory", "memory", "data = []\nwhile True:\n    data.append(bytearray(10**7))", "MemoryError"),
    Case("memory in one piece", "memory", "b'x' * 10**12"),
    Case(
        "memory that the processes share out",
        "memory",
        "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        x = b'x' * (150 * 2**20)\n        time.sleep(99)\ntime.sleep(99)",
        "more than 512 MB",
    ),
    Case(
        "memory that the processes share in maps of no file",
        "memory",
        "import mmap, os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        shared = mmap.mmap(-1, 150 * 2**20)\n        shared.write(bytes(150 * 2**20))\n        time.sleep(99)\ntime.sleep(99)",
        "more than 512 MB",
    ),
    Case(
        "memory in the queues of sockets",
        "memory|error",
        "import os, socket, time\ndef fill():\n    kept = []\n    while True:\n        server = socket.create_server(('127.0.0.1', 0))\n        client = socket.create_connection(server.getsockname())\n        other, _ = server.accept()\n        server.close()\n        kept += [client, other]\n        for end in (client, other):\n            end.setblocking(False)\n            try:\n                while True:\n                    end.send(bytes(2**20))\n            except BlockingIOError:\n                pass\nfor _ in range(12):\n    if os.fork() == 0:\n        try:\n            fill()\n        finally:\n            time.sleep(99)\nfill()",
        "more than 512 MB|unreachable",
    ),
    Case(
        "buffers of sockets made larger",
        "pass",
        "import socket\na, b = socket.socketpair()\na.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**22)\nb.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**22)\na.setblocking(False)\nsent = 0\ntry:\n    while True:\n        sent += a.send(bytes(2**16))\nexcept BlockingIOError:\n    assert sent < 2**20, sent",
    ),
    Case("memory map", "error", "import mmap\nmmap.mmap(-1, 2**32)", "OSError"),
    Case(
        "memory without a limit of its own",
        "pass",
        CALL + "assert refused_call(319, 279, 0, 0)\nassert refused_call(29, 194, 0, 2**28, 0o1600)",
    ),
    Case("shared memory filled", "error", "open('/dev/shm/x', 'wb').write(bytes(15 * 2**20))", "No space left"),
    Case("one big file", "error", "open('x', 'wb').write(bytes(17 * 2**20))", "File too large"),
    Case(
        "disk filled with files",
        "error",
        "for n in range(100):\n    open(str(n), 'wb').write(bytes(2**20))",
        "No space left",
    ),
    Case("endless small files", "memory", "n = 0\nwhile True:\n    n += 1\n    open(str(n), 'w').close()", "10000 files"),
    Case("endless folders", "memory", "import os\nwhile True:\n    os.mkdir('d')\n    os.chdir('d')", "10000 files"),
    Case("endless output", "output", "while True:\n    print('x' * 1000)"),
    Case("endless output past Python", "output", "import os\nwhile True:\n    os.write(1, b'x' * 65536)"),
    Case("ten gigabytes of output", "output", "import os\ndata = bytes(2**20)\nfor _ in range(10 * 2**10):\n    os.write(1, data)"),
    Case("endless stderr", "output", "import sys\nwhile True:\n    sys.stderr.write('x' * 1000)"),
    Case("endless output of children", "output", "import os\nos.fork()\nos.fork()\nwhile True:\n    os.write(1, b'x' * 1000)"),
    Case("deep recursion", "error", "def f(n):\n    return f(n + 1)\nf(0)", "RecursionError"),
    Case(
        "recursion without a limit",
        "error|memory|timeout",
        "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __getattr__(self, name):\n        return getattr(self, name)\nA().x",
        limits=Limits(wall_s=5),
    ),
    Case("a number too large", "timeout", "9**9**9", limits=SHORT),
    Case("regular expression that never ends", "timeout", "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')", limits=SHORT),
    Case("sleep", "timeout", "import time\ntime.sleep(99)", limits=SHORT),
    Case(
        "loop deaf to every signal",
        "timeout",
        "import signal\nfor n in range(1, 65):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\nwhile True:\n    pass",
        limits=SHORT,
    ),
    Case("stopped by itself", "timeout", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", limits=SHORT),
    Case("limits raised again", "pass", REFUSED + "import resource as r\nassert all(refused(r.setrlimit, k, (r.RLIM_INFINITY,) * 2) for k in (r.RLIMIT_AS, r.RLIMIT_CPU, r.RLIMIT_FSIZE, r.RLIMIT_CORE))"),
    Case("spared by the memory killer", "pass", REFUSED + "assert refused(open, '/proc/self/oom_score_adj', 'w')"),
]  # fmt: skip

ESCAPING = [
    Case(
        "environment",
        "pass",
        "import os\nassert set(os.environ) <= {'HOME', 'LANG', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'PATH', 'PYTHONHASHSEED', 'TMPDIR', 'TZ'}, os.environ\nassert os.environ['HOME'] == os.getcwd()",
    ),
    Case("home", "pass", "import os\nassert not os.path.exists('/home')\nassert os.listdir(os.path.expanduser('~')) == []"),
    Case("password file", "pass", REFUSED + "assert refused(open, '/etc/shadow') and refused(open, '/etc/passwd')"),
    Case("host's folders", "pass", f"import os\nassert not os.path.exists({os.getcwd()!r})\nassert not os.path.exists({__file__!r})"),
    Case(
        "network",
        "pass",
        REFUSED + "import socket\nfor address in ('1.1.1.1', '169.254.169.254', '10.0.0.1'):\n    assert refused(socket.create_connection, (address, 80), 1)\nassert refused(socket.getaddrinfo, 'example.com', 80)",
    ),
    Case(
        "network past the namespace",
        "pass",
        REFUSED + "import socket\nassert all(refused(socket.socket, family, socket.SOCK_RAW) for family in (16, 17, 38, 40))\nassert refused(socket.socket, 2, socket.SOCK_RAW, 1)",
    ),
    Case("sockets of the host", "pass", "import glob, os\nassert not [p for p in ('/run', '/var', '/mnt', '/sys', '/boot') if os.path.exists(p)]"),
    Case(
        "writing outside",
        "pass",
        REFUSED + "for path in ('/x', '/usr/x', '/usr/bin/python3', '/etc/x', '/dev/x', '/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/python/x'):\n    assert refused(open, path, 'w'), path\nimport os\nassert refused(os.mkdir, '/home') and refused(os.symlink, '/', '/x')",
    ),
    Case("deleting everything", "pass", "import subprocess\nsubprocess.run(['rm', '-rf', '/bin', '/etc', '/dev', '/python', '/tmp', '/proc/1'], stderr=subprocess.DEVNULL)\nassert 1 + 1 == 2"),
    Case(
        "symbolic links",
        "pass",
        REFUSED + "import os\nfor n, target in enumerate(('/etc/shadow', '/root/.ssh', '../../../../etc/shadow', '/proc/1/root/etc/shadow', '/proc/1/cwd', '/proc/1/environ')):\n    os.symlink(target, str(n))\n    assert refused(open, str(n)), target",
    ),
    Case(
        "process table",
        "pass",
        "import os\npids = {int(n) for n in os.listdir('/proc') if n.isdigit()}\nassert pids == {1, os.getpid()}, pids",
    ),
    Case(
        "memory and files of the warden",
        "pass",
        REFUSED + "import os\nfor name in ('environ', 'mem', 'maps', 'stack'):\n    assert refused(lambda: open(f'/proc/1/{name}', 'rb').read(1)), name\nfor name in ('exe', 'root', 'cwd', 'fd/0', 'fd/1'):\n    assert refused(os.readlink, f'/proc/1/{name}'), name\nassert refused(open, '/proc/1/fd/1', 'w')",
    ),
    Case("kernel log and devices", "pass", REFUSED + "assert refused(open, '/proc/kmsg') and refused(open, '/proc/kcore') and refused(open, '/dev/mem') and refused(open, '/dev/sda') and refused(open, '/dev/vda')"),
    Case("trace the warden", "pass", CALL + "assert refused_call(101, 117, 16, 1, 0, 0)\nassert refused_call(101, 117, 0, 0, 0, 0)"),
    Case("read another process", "pass", CALL + "assert refused_call(310, 270, 1, 0, 0, 0, 0, 0)\nassert refused_call(438, 438, 0, 0, 0)"),
    Case("new namespaces", "pass", CALL + "assert refused_call(272, 97, 0x10000000)\nassert refused_call(272, 97, 0x20000)\nassert refused_call(56, 220, 0x10000011, 0, 0, 0, 0)"),
    Case("mounts", "pass", CALL + "assert all(refused_call(*n, 0, 0, 0, 0, 0) for n in ((165, 40), (166, 39), (161, 51), (155, 41), (428, 428), (430, 430)))"),
    Case("calls past the filter", "pass", CALL + "assert refused_call(425, 425, 8, 0)\nassert refused_call(321, 280, 0, 0, 0)\nassert refused_call(323, 282, 0)\nassert refused_call(298, 241, 0, 0, 0, 0, 0)"),
    Case("other users", "pass", REFUSED + "import os\nassert refused(os.setuid, 0 if os.getuid() else 1) and refused(os.setgroups, [0])\nassert refused(os.chown, '/usr', os.getuid(), os.getgid())"),
    Case("privileges", "pass", "status = dict(line.split(':\\t', 1) for line in open('/proc/self/status') if ':\\t' in line)\nassert int(status['CapEff'], 16) == int(status['CapPrm'], 16) == int(status['CapBnd'], 16) & ~0 == 0 or int(status['CapEff'], 16) == 0\nassert status['NoNewPrivs'].strip() == '1' and status['Seccomp'].strip() == '2'"),
    Case("set-user programs", "pass", "import os, subprocess\nr = subprocess.run(['/usr/bin/su', '-c', 'id'], stdin=subprocess.DEVNULL, capture_output=True) if os.path.exists('/usr/bin/su') else None\nassert r is None or r.returncode != 0"),
    Case("host name and clock", "pass", REFUSED + "import socket, time\nassert socket.gethostname() in ('sandbox', '(none)') or True\nassert refused(socket.sethostname, 'x') and refused(time.clock_settime, time.CLOCK_REALTIME, 0)"),
    Case("argument too long", "error", "import subprocess\nsubprocess.run(['/bin/true', 'x' * 2**21])", "Argument list too long"),
]  # fmt: skip

DYING = [
    Case("sys.exit(0)", "error", "import sys\nsys.exit(0)", re.escape("sys.exit(0)")),
    Case("sys.exit without a code", "error", "import sys\nsys.exit()"),
    Case("exit()", "error", "exit()"),
    Case("raise SystemExit", "error", "raise SystemExit"),
    Case("os._exit(0)", "error", "import os\nos._exit(0)", "exit code 0 before the program was over"),
    Case("KeyboardInterrupt", "error", "raise KeyboardInterrupt"),
    Case("an exit handler that takes back a failure", "fail", "import atexit, os\natexit.register(os._exit, 0)\nassert False"),
    Case("a weak reference that takes back a failure", "fail", "import os, weakref\nclass A:\n    pass\na = A()\nweakref.finalize(a, os._exit, 0)\nassert False"),
    Case("exit in an exit handler", "error", "import atexit, os, sys\natexit.register(os._exit, 0)\nsys.exit(1)"),
    Case("SIGKILL", "error", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL"),
    Case("SIGTERM", "error", "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", "killed by SIGTERM"),
    Case("a signal without a name", "error", "import os\nos.kill(os.getpid(), 40)", "killed by signal 40"),
    Case("abort", "error", "import os\nos.abort()", "killed by SIGABRT"),
    Case("crash in C", "error", "import ctypes\nctypes.string_at(0)", "killed by SIGSEGV"),
    Case("forbidden architecture", "error|pass", "import ctypes\nctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 + 39))"),
    Case("another program", "error", "import os\nos.execv('/bin/true', ['true'])", "exit code 0 before"),
    Case("another Python that prints a pass", "error", "import os, sys\nos.execv(sys.executable, ['python', '-c', 'print(\"ready\\\\npass 1 1.0 0 0 0\")'])"),
    Case("exit from a thread", "error", "import os, threading, time\nthreading.Timer(0.05, os._exit, (0,)).start()\ntime.sleep(9)"),
    Case("exit from a finaliser", "error", "import os\nclass A:\n    def __del__(self):\n        os._exit(0)\nA()"),
    Case("exit from an audit hook", "error", "import os, sys\nsys.addaudithook(lambda *_: os._exit(0))\nopen('x', 'w')"),
    Case("exit from a trace function", "error", "import os, sys\ndef f():\n    pass\nsys.settrace(lambda *_: os._exit(0))\nf()"),
    Case("killing everybody", "pass", "import os, signal\ntry:\n    os.kill(-1, signal.SIGKILL)\nexcept ProcessLookupError:\n    pass"),
    Case("signals to the parent", "fail", "import os, signal\nfor number in sorted(signal.valid_signals()):\n    try:\n        os.kill(os.getppid(), number)\n    except OSError:\n        pass\nassert False"),
    Case("killing the warden", "pass", "import os\nfor number in range(1, 65):\n    try:\n        os.kill(1, number)\n    except OSError:\n        pass"),
    Case("zombies", "pass", "import os, time\nfor _ in range(10):\n    if os.fork() == 0:\n        os._exit(0)\ntime.sleep(0.1)"),
    Case("thread that outlives", "pass", "import threading, time\nthreading.Thread(target=time.sleep, args=(999,)).start()"),
    Case("child that outlives", "pass", "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(999)"),
    Case("closed descriptors", "error", "import os\nos.closerange(0, 1024)"),
    Case("the control channel closed", "error", "import os, time\nos.close(3)\nos.write(4, b'end\\n\\0')\ntime.sleep(9)", "control channel"),
    Case("closed standard streams", "pass", "import sys\nsys.stdout.close()\nsys.stderr.close()\nsys.stdin.close()"),
]  # fmt: skip

FORGING = [
    Case("printed verdict", "fail", "print('ready\\npass 1 1.0 0 0 0')\nprint('{\"passed\": 2, \"total\": 2}')\nassert False"),
    Case(
        "bytes on every descriptor",
        "error",
        "import os\nfor data in (b'pass\\n\\0', b'end\\n\\0', b'1\\npass\\n', b'ready\\npass 1 1.0 0 0 0\\n', bytes(32)):\n    for fd in range(3, 1024):\n        try:\n            os.write(fd, data)\n        except OSError:\n            pass\nos._exit(0)",
        "control channel",
    ),
    Case(
        "one end too early, then a failing test",
        "error|fail",
        "import os\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b'end\\n\\0')\n    except OSError:\n        pass\nassert False",
    ),
    Case(
        "secrets from frames and objects",
        "error",
        "import gc, os, sys\nfound = {o for o in gc.get_objects() if isinstance(o, bytes)}\nframe = sys._getframe()\nwhile frame:\n    for space in (frame.f_locals, frame.f_globals):\n        for value in list(space.values()):\n            if isinstance(value, (bytes, bytearray)):\n                found.add(bytes(value))\n            elif isinstance(value, dict):\n                found |= {v for v in value.values() if isinstance(v, bytes)}\n    frame = frame.f_back\nfor data in found | {b'0' * 32}:\n    os.write(4, data)\nos._exit(0)",
    ),
    Case(
        "descriptors turned round",
        "error",
        "import os\nos.dup2(4, 1)\nos.dup2(4, 2)\nprint('end\\n\\0' * 3, flush=True)\nos.write(2, bytes(32))\nos._exit(0)",
        "control channel",
    ),
    Case("result pipe replaced", "timeout", "import os\nr, w = os.pipe()\nos.dup2(w, 4)\nos.dup2(r, 3)", limits=SHORT),
    Case(
        "descriptors by way of /proc",
        "error",
        "import glob, os\nfor path in glob.glob('/proc/*/fd/*') + glob.glob('/proc/*/task/*/fd/*') + glob.glob('/dev/fd/*'):\n    for data in (b'ready\\npass 1 1.0 0 0 0\\n', b'pass\\n\\0', b'1\\npass\\n'):\n        try:\n            with open(path, 'wb', buffering=0) as other:\n                other.write(data)\n        except OSError:\n            pass\nos._exit(0)",
        "control channel|before the program was over",
    ),
    Case("functions of the harness replaced", "fail", "import os, sys, builtins\nos.write = os.read = os._exit = print = lambda *a: None\nsys.exit = lambda *a: None\nassert False"),
    Case("AssertionError replaced", "fail", "import builtins\nbuiltins.AssertionError = type('Nothing', (Exception,), {})\nassert False"),
    Case("excepthook replaced", "fail", "import sys\nsys.excepthook = lambda *_: __import__('os')._exit(0)\nassert False"),
]  # fmt: skip

LYING = [
    Case("equal to everything", "fail", "class E:\n    def __eq__(self, other):\n        return True\n    __hash__ = None\ndef f():\n    return E()", checks=("f() == 4", "assert f() == 4", "4 == f()", "assert not f() != 4", "f() in [1, 2]", "[f()] == [4]", "{'a': f()} == {'a': 4}")),
    Case("a number equal to everything", "fail", "class E(int):\n    def __eq__(self, other):\n        return True\n    def __ne__(self, other):\n        return False\n    __hash__ = int.__hash__\ndef f():\n    return E(3)", checks=("f() == 4", "not f() != 4", "[f()] == [4]", "f() == 4.0", "f() in (4, 5)")),
    Case("a list equal to everything", "fail", "class E(list):\n    def __eq__(self, other):\n        return True\ndef f():\n    return E([1])", checks=("f() == [2]", "[2] == f()")),
    Case("ordered before and after everything", "fail", "class E:\n    __lt__ = __gt__ = __le__ = __ge__ = lambda *_: True\ndef f():\n    return E()", checks=("f() < 4", "4 > f()", "3 <= f() <= 4")),
    Case("close to everything", "fail", "class E:\n    def __sub__(self, other):\n        return 0.0\n    __rsub__ = __sub__\n    def __abs__(self):\n        return 0.0\ndef f():\n    return E()", checks=("abs(f() - 4) < 1e-6", "abs(4 - f()) < 1e-6")),
    Case("contains everything", "fail", "class E:\n    def __contains__(self, other):\n        return True\ndef f():\n    return E()", checks=("3 in f()",)),
    Case("built-ins replaced", "error|fail", "import builtins\nfor name in ('all', 'any', 'abs', 'len', 'sorted', 'set', 'sum', 'isinstance', 'bool', 'round'):\n    setattr(builtins, name, lambda *a, **k: 1)\ndef f():\n    return [2]", checks=("all(x == 1 for x in f())", "set(f()) == {1}", "sorted(f()) == [1]", "len(f()) == 2", "abs(f()[0]) == 1", "isinstance(f(), str)")),
    Case("built-ins shadowed", "fail", "def set(*_):\n    return {1}\ndef sorted(*_):\n    return [1]\ndef all(*_):\n    return True\ndef f():\n    return [2]", checks=("set(f()) == set([3])", "sorted(f()) == sorted([3])", "all(x == 1 for x in f())")),
    Case("a library shadowed", "fail", "class math:\n    isclose = staticmethod(lambda *a, **k: True)\ndef f():\n    return 2", checks=("math.isclose(f(), 3)",)),
    Case("a library patched", "fail", "import math, sys, unittest\nmath.isclose = lambda *a, **k: True\nunittest.TestCase.assertEqual = lambda *a: None\ndef f():\n    return 2", checks=("math.isclose(f(), 3)", "import unittest\nunittest.TestCase().assertEqual(f(), 3)")),
    Case("a pickle that would run", "fail", "import os\nclass P:\n    def __reduce__(self):\n        return os._exit, (0,)\n    __getstate__ = __reduce__\ndef f():\n    return P()", "", ("f() == 4", "[f()] == [4]")),
    Case("comparison of integers rewritten in memory", "error|fail", "import ctypes\nkind = ctypes.CFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int)\nsame = kind(lambda a, b, operation: True)\ndef f():\n    ctypes.c_void_p.from_address(id(int) + 200).value = ctypes.cast(same, ctypes.c_void_p).value\n    return 5", "", ("f() == 4",)),
    Case("forged answers on the wire", "error|fail", "import json\njson.dumps = lambda *_: '[\"ok\", {\"plain\": 1, \"ref\": true, \"verdict\": \"pass\"}]'\ndef f():\n    return 3", "", ("f() == 4", "f() == 4")),
    Case("descriptors closed in the middle of a check", "error", "import os\ndef f():\n    os.closerange(0, 1024)\n    return 4", "", ("f() == 4",)),
    Case("leaving in the middle of a check", "error", "import os\ndef f():\n    os._exit(0)", "exit code 0 before", ("f() == 4",)),
    Case("sys.exit in the middle of a check", "fail", "import sys\ndef f():\n    sys.exit(0)", "SystemExit", ("f() == 4", "assert f() == 4")),
    Case("a check that expects an error, left instead", "error", "import os\ndef f():\n    os._exit(0)", "", ("try:\n    f()\nexcept BaseException:\n    pass",)),
    Case("killing the judge", "error|fail", "import os\ndef f():\n    for pid in range(2, 99):\n        if pid != os.getpid():\n            try:\n                os.kill(pid, 9)\n            except OSError:\n                pass", "", ("f() == 4",)),
    Case("reading the check from the judge", "pass", REFUSED + "import os\ndef f():\n    others = [n for n in os.listdir('/proc') if n.isdigit() and int(n) != os.getpid()]\n    return [refused(lambda: open(f'/proc/{n}/{name}', 'rb').read(1)) for n in others for name in ('mem', 'environ', 'maps')]", "", ("all(f())", "len(f()) == 6")),
    Case("looking for the expected value in its own process", "pass", "import gc, sys\ndef f(x):\n    texts = [o for o in gc.get_objects() if isinstance(o, (str, tuple, list, dict))]\n    frame, seen = sys._getframe(), ''\n    while frame:\n        seen += repr(frame.f_locals)\n        frame = frame.f_back\n    return 'wanted' + chr(45) + 'value' in seen + repr(texts)", "", ("(f(1), 'wanted-value') == (False, 'wanted-value')",)),
    Case("tracing the checks", "error|fail", "import sys\ndef jump(frame, event, arg):\n    try:\n        frame.f_lineno += 1\n    except ValueError:\n        pass\n    return jump\ndef f():\n    sys.settrace(jump)\n    frame = sys._getframe()\n    while frame:\n        frame.f_trace = jump\n        frame = frame.f_back\n    return 1", "", ("assert f() == 4", "if f() != 4:\n    raise ValueError\nx = 1")),
    Case("an error that claims to be another", "fail", "class AssertionError(BaseException):\n    pass\ndef f():\n    raise AssertionError('4')", "", ("f() == 4",)),
    Case("arguments changed in place to be equal", "fail", "def f(expected):\n    expected.clear()\n    return []", "", ("f([1]) == [1]",)),
]  # fmt: skip
