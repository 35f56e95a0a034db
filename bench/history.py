"""Measures what a long history costs to open and to ask: time and peak memory of whole processes.

    python bench/history.py [--runs 1000] [--scores 1000000] [--pack] [--keep DIR]

`stored_history.py` writes the history; `--pack` as packs, otherwise as loose files. It is written by a
process of its own: a child's peak begins with its parent's size.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import Cost, run
from stored_history import Size, make

WORK = (
    ("open", ("sql", "select 1")),
    ("leaderboard", ("show", "leaderboard")),
    ("diff", ("diff", "LATER~1", "LATER", "--limit", "20")),
    ("history", ("show", "history", "--task", "t00", "--limit", "20")),
    ("pairwise", ("show", "pairwise", "--task", "t00")),
    ("category_scores", ("show", "category_scores", "LATER")),
    ("run_scores of a run", ("show", "run_scores", "LATER")),
    ("run_scores of all", ("sql", "select count(*), avg(mean) from run_scores")),
    ("scores, all counted", ("sql", "select model, count(*), avg(score) from scores group by all")),
)
HEAD = """\
| runs | scores | files | command | wall, s | CPU, s | peak, MiB |
|---|---|---|---|---|---|---|"""


def asked(root: Path, folder: Path) -> Iterator[tuple[str, Cost]]:
    """Run every command; yield what it took."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GRADETRAIL_")}
    env["GRADETRAIL_WAREHOUSE"] = str(root)
    program = str(Path(sys.executable).with_name("gradetrail"))
    for name, words in WORK:
        command = [program, *(word.replace("LATER", "t00@latest") for word in words)]
        if name == "diff":
            command[2:4] = newest(program, env, "t00")
        yield name, run(command, log=folder / "log", env=env, timeout_s=600)


def newest(program: str, env: dict[str, str], task: str) -> list[str]:
    """Name the two newest runs of a task, the older first."""
    query = "select run_id from manifests where task = $task order by run_id desc limit 2"
    command = [program, "sql", query, "--param", f"task={task}", "--format", "csv"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return sorted(done.stdout.split()[1:])


def main() -> None:
    """Make, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--scores", type=int, default=1_000_000)
    parser.add_argument("--pack", action="store_true")
    parser.add_argument("--keep", type=Path, help="Use the history in this folder, or make it there.")
    parser.add_argument("--make", action="store_true", help="Write the history only.")
    args = parser.parse_args()
    size = Size(args.runs, args.scores)
    with tempfile.TemporaryDirectory(prefix="gradetrail-history-") as scratch:
        root = args.keep or Path(scratch) / "warehouse"
        if args.make:
            make(root, size, is_packed=args.pack)
            return
        if not (root / "gradetrail.json").exists():
            subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], "--make", "--keep", str(root)], check=True
            )
        n_files = sum(1 for _ in root.rglob("*.parquet"))
        print(HEAD)
        for name, cost in asked(root, Path(scratch)):
            cells = (f"{size.runs:,}", f"{size.scores:,}", f"{n_files:,}", name,
                     f"{cost.wall_s:.2f}", f"{cost.cpu_s:.2f}", f"{cost.peak_mb:.0f}")  # fmt: skip
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
