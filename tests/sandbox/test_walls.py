"""Every way to make a sandbox keeps the same promises, and where there is none nothing is run."""

import os
import re
import shutil
import stat
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from gradetrail.errors import GradetrailError
from gradetrail.scoring.sandbox import Job, Limits, Sandbox, find_sandbox, run_many
from gradetrail.scoring.sandbox.run import probe
from gradetrail.scoring.sandbox.walls import Bubblewrap, Need, NoWalls, Unshare, candidates
from tests.sandbox.programs import DYING, ESCAPING, EXHAUSTING, FORGING, Case

TELLING = (
    *(
        "fork bomb",
        "thread bomb",
        "memory",
        "shared memory filled",
        "disk filled with files",
        "endless small files",
    ),
    *(
        "os._exit(0)",
        "killing everybody",
        "killing the warden",
        "child that outlives",
        "bytes on every descriptor",
    ),
)
CASES = [*ESCAPING, *(case for case in (*EXHAUSTING, *DYING, *FORGING) if case.name in TELLING)]
# root could be given the ways of other users too, so they are tried where the tests run as root
WAYS = [
    replace(walls, is_privileged=is_privileged)
    for walls in candidates()
    if isinstance(walls, Bubblewrap | Unshare)
    for is_privileged in {walls.is_privileged, False}
]


def kind(walls: Bubblewrap | Unshare) -> str:
    return f"{walls.name}-{'root' if walls.is_privileged else 'user'}"


def test_bubblewrap_is_there_and_holds() -> None:
    complaints = {kind(walls): probe(walls) for walls in WAYS if isinstance(walls, Bubblewrap)}
    assert None in complaints.values(), f"apt install bubblewrap: {complaints}"


@pytest.mark.parametrize("walls", WAYS, ids=kind)
def test_every_way_that_works_here_gives_the_same_verdicts(walls: Bubblewrap | Unshare) -> None:
    if probe(walls) is not None:
        with pytest.raises(GradetrailError):
            Sandbox(walls).run("pass")
        return

    jobs = [Job(case.program, case.checks, limits=case.limits) for case in CASES]
    outcomes = zip(CASES, run_many(Sandbox(walls), jobs, 2), strict=True)
    assert [(case.name, out) for case, out in outcomes if not re.fullmatch(case.verdict, out.verdict)] == []


def test_what_a_program_leaves_running_is_gone_when_the_verdict_comes(sandbox: Sandbox) -> None:
    mark = uuid.uuid4().hex
    program = f"""
import os, subprocess, sys
code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(999)"
for _ in range(3):
    subprocess.Popen([sys.executable, "-c", code, "{mark}"], start_new_session=True)
open("/tmp/{mark}", "w").close()
open("/dev/shm/{mark}", "w").close()
"""
    assert sandbox.run(program).verdict == "pass"
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(path.read_bytes())
        except OSError:
            continue
    assert not [command for command in commands if mark.encode() in command]
    assert not Path(f"/tmp/{mark}").exists()
    assert not Path(f"/dev/shm/{mark}").exists()


def test_programs_do_not_see_each_other(sandbox: Sandbox) -> None:
    program = """
import os, time
assert os.listdir("/tmp") == os.listdir("/dev/shm") == []
open("/tmp/mine", "w").close()
time.sleep(0.3)
assert len([name for name in os.listdir("/proc") if name.isdigit()]) == 2
assert os.listdir("/tmp") == ["mine"]
"""
    outcomes = list(run_many(sandbox, [Job(program)] * 4, 4))
    assert [outcome.verdict for outcome in outcomes] == ["pass"] * 4, outcomes


def tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_without_any_tool_it_refuses_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GradetrailError) as raised:
        find_sandbox()
    (fault,) = raised.value.faults
    assert "neither bwrap, unshare, docker nor podman is installed" in fault.message
    assert "apt install bubblewrap" in fault.fix
    assert "--unsafe-code" in fault.fix
    assert raised.value.exit_code == 2


def test_a_python_where_the_sandbox_has_its_own_folder_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.base_prefix", "/tmp/python")
    with pytest.raises(GradetrailError) as raised:
        find_sandbox()
    assert "not installed below /tmp or /dev/shm, as /tmp/python is" in raised.value.faults[0].fix


def test_a_tool_that_may_not_work_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool(tmp_path, "bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GradetrailError, match=r"bubblewrap: .*No permissions to create new namespace"):
        find_sandbox()


def test_a_tool_that_runs_programs_without_walls_is_found_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tool(tmp_path, "bwrap", 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path}")
    with pytest.raises(GradetrailError, match=r"bubblewrap: (fail|memory): "):
        find_sandbox()


def test_unsafe_code_is_a_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find_sandbox(allow_unsafe=True).name != "unsafe"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_sandbox(allow_unsafe=True).name == "unsafe"


def test_a_sandbox_that_breaks_is_not_a_program_that_fails() -> None:
    broken = Bubblewrap("/bin/false", is_privileged=False)
    with pytest.raises(GradetrailError, match="could not start"):
        Sandbox(broken).run("pass")


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="it is bubblewrap that is cut off here")
def test_a_sandbox_that_is_ended_is_tried_again_and_says_nothing_of_the_program(tmp_path: Path) -> None:
    tool(tmp_path, "bwrap", f'echo . >> {tmp_path}/starts; {shutil.which("bwrap")} "$@" | head -n 1')
    cut_off = Sandbox(Bubblewrap(str(tmp_path / "bwrap"), is_privileged=os.geteuid() == 0))
    outcome = cut_off.run("pass")
    assert (outcome.verdict, outcome.passed) == ("broken", 0), outcome
    assert "the sandbox ended without a verdict" in outcome.detail
    assert (tmp_path / "starts").read_text() == ".\n.\n"


def test_a_program_that_ends_its_warden_gains_nothing_where_there_are_no_walls() -> None:
    outcome = Sandbox(NoWalls()).run("import os\nos.kill(os.getppid(), 9)")
    assert (outcome.verdict, outcome.passed) == ("error", 0), outcome


UNSAFE = [
    Case("pass", "pass", "import os\nassert 'PYTEST_VERSION' not in os.environ and os.listdir() == []"),
    Case("fail", "fail", "assert False"),
    Case("checks", "pass", "def f():\n    return 1", checks=("f() == 1",)),
    Case("exit", "error", "import os\nos._exit(0)"),
    Case("memory", "memory", "x = bytearray(10**9)"),
    Case("one big file", "error", "open('x', 'wb').write(bytes(17 * 2**20))", "File too large"),
    Case(
        "too many processes",
        "error",
        "import os, time\nfor _ in range(5):\n    os.fork()\ntime.sleep(9)",
        "processes",
    ),
    Case("timeout", "timeout", "while True:\n    pass", limits=Limits(wall_s=0.5)),
    Case("output", "output", "while True:\n    print('x' * 1000)"),
    Case("privileges", "pass", "assert 'NoNewPrivs:\\t1' in open('/proc/self/status').read()"),
]


@pytest.mark.parametrize("case", UNSAFE, ids=lambda case: case.name)
def test_without_walls_limits_and_verdicts_are_the_same(case: Case) -> None:
    outcome = Sandbox(NoWalls()).run(case.program, checks=case.checks, limits=case.limits)
    assert outcome.verdict == case.verdict, outcome
    assert re.search(case.detail, outcome.detail)


def test_without_walls_what_is_left_running_is_killed_and_the_folder_removed() -> None:
    program = """
import os, time
print(os.getcwd(), flush=True)
open("file", "w").close()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(999)
    os._exit(0)
time.sleep(0.5)
"""
    outcome = Sandbox(NoWalls()).run(program)
    assert outcome.verdict == "pass", outcome
    folder, pid = outcome.stdout.split()
    assert not Path(folder).exists()
    assert not Path(f"/proc/{pid}").exists()


def test_the_command_shows_nothing_of_the_program() -> None:
    for walls in candidates():
        assert "secret" not in " ".join(walls.command(Need(2**20, 2**29, 16)))
