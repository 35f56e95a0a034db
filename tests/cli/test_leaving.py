"""The command ends its process without taking it apart, and loses nothing by it."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import atexit, sys, threading
from gradetrail.cli.lean import Leaving

class Loud:
    def __del__(self):
        print("taken apart")

leaving = Leaving(sys._getframe())
loud = Loud()
atexit.register(print, "registered")
thread = threading.Thread(target=print, args=("a thread",))
try:
    {ending}
except SystemExit as ending:
    leaving.note(ending)
    thread.start()
    raise
"""


def ended(folder: Path, name: str, ending: str) -> tuple[int, list[str]]:
    """Run a script of that name to its end; give its exit code and lines."""
    script = folder / name
    script.write_text(SCRIPT.format(ending=ending))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize(("ending", "code"), [("sys.exit()", 0), ("sys.exit(3)", 3)])
def test_threads_and_registered_functions_end_first_and_the_code_is_kept(
    tmp_path: Path, ending: str, code: int
) -> None:
    assert ended(tmp_path, "gradetrail", ending) == (code, ["a thread", "registered"])


def test_a_program_that_calls_the_command_line_goes_on_after_it(tmp_path: Path) -> None:
    assert ended(tmp_path, "program.py", "sys.exit(3)")[1][-1] == "taken apart"


def test_an_ending_of_another_kind_is_left_to_the_interpreter(tmp_path: Path) -> None:
    assert ended(tmp_path, "gradetrail", "sys.exit('why')") == (1, ["a thread", "registered", "taken apart"])


def test_what_was_said_reaches_a_pipe_to_the_last_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gradetrail", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].split()[0] == "rm"
