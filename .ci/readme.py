"""Runs the commands that README.md shows, and writes or checks the output beneath them.

    python .ci/readme.py            write README.md with the output that its commands print now
    python .ci/readme.py --check    exit 1 naming the command whose output differs

A ```console block holds `$ command` lines, each followed by its output; a ```python block is run as a
script, and a ```text block right after it holds what it prints. All run in one empty folder, in order.
Run ids, durations and dates are made equal before comparing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(console|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VOLATILE = (
    (re.compile(r"\b\d{8}T\d{6}Z-"), "<time>-"),
    (re.compile(r"(<time>-[\w.-]*?-)[0-9a-f]{6}\b"), r"\1<hex>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z?)?"), "<date>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s)\b"), "<duration>"),
    (re.compile(r"[\d,]+ tokens/s"), "<rate>"),
    (re.compile(r"[ \u2500]+"), " "),
)
NOT_RUN = ("make ", "git clone", "cd ", "pip install", "python -m venv")


def run(command: list[str] | str, folder: Path) -> str:
    """Run a command in `folder`; give stdout and stderr as a terminal would show them."""
    own = Path(sys.executable).parent
    env = {
        "PATH": f"{own}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=folder,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        timeout=600,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"README: `{command}` ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def console(body: str, folder: Path) -> Iterator[str]:
    """Give a console block again, with the output of each command."""
    kept: list[str] = []
    for line in body.splitlines():
        if not line.startswith("$ "):
            kept.append(line)
            continue
        command = line.removeprefix("$ ")
        yield line
        if not command.startswith(NOT_RUN):
            yield from run(command, folder).rstrip("\n").splitlines()
            kept = []


def rebuilt(text: str, folder: Path) -> str:
    """Give README.md with all output fresh."""
    printed = ""

    def block(match: re.Match[str]) -> str:
        nonlocal printed
        kind, body = match[1], match[2]
        if kind == "console":
            if all(
                line.removeprefix("$ ").startswith(NOT_RUN)
                for line in body.splitlines()
                if line.startswith("$ ")
            ):
                return match[0]
            return "```console\n" + "".join(line + "\n" for line in console(body, folder)) + "```"
        if kind == "python":
            printed = run([sys.executable, "-c", body], folder)
            return match[0]
        return f"```text\n{printed}```" if printed else match[0]

    return BLOCK.sub(block, text)


def settled(text: str) -> str:
    """Replace what differs from run to run."""
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    return text


def main() -> int:
    """Write README.md, or compare it."""
    text = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "specs", folder / "specs")
        fresh = rebuilt(text, folder)
    if "--check" not in sys.argv[1:]:
        README.write_text(fresh, encoding="utf-8")
        return 0
    old, new = settled(text).splitlines(), settled(fresh).splitlines()
    differing = [(a, b) for a, b in zip(old, new, strict=False) if a != b]
    for a, b in differing[:10]:
        print(f"README.md is not in step, run `make docs`:\n  - {a}\n  + {b}", file=sys.stderr)
    if len(old) != len(new) and not differing:
        print("README.md is not in step: run `make docs`", file=sys.stderr)
    return 1 if differing or len(old) != len(new) else 0


if __name__ == "__main__":
    sys.exit(main())
