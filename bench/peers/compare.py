"""Measures other tools at the same work, beside gradetrail and the floors of the same run.

    python bench/peers/compare.py [--peers lm-eval,promptfoo] [--only b,c] [--scale 0.05] [--repeats 1]

Each tool is installed into an environment of its own below `.bench/peers` (kept between runs). All ask
the same server the same questions. A tool that cannot be installed, or whose command fails, is named
with the reason. With all tools, all rows and full size the table goes into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from measure import Cost, median  # noqa: E402 - the folder above comes first
from run import OTHER_PATTERN, Bench, conditions, publish  # noqa: E402
from tools import N_RUNS, DeepEval, Inspect, LmEval, NotInstalledError, Place, Promptfoo, Work, pinned  # noqa: E402

MARKS = ("<!-- make bench-peers: begin -->", "<!-- make bench-peers: end -->")
PAGE = ROOT / "docs" / "benchmarks.md"
FLOOR = "the floor"
PRODUCT = "gradetrail"
REPEATS = 3
"""Measurements of the floor and of gradetrail, which are short."""
HEAD = """\
| row | tool | wall, s | CPU, s | peak, MiB | to the floor | how |
|---|---|---|---|---|---|---|"""


def rows(n_few: int, n_many: int) -> dict[str, str]:
    """Name the work of each row."""
    return {
        "a": f"{n_few:,} requests of 200 ms, 64 in flight, nothing stored",
        "b": f"{n_many:,} requests of 20 ms, 64 in flight, nothing stored",
        "c": "the same as b, every answer in the tool's cache",
        "d": f"grade {n_many:,} stored answers by another regular expression, asking no model",
        "e": f"the accuracy of each of {N_RUNS} runs of {n_many:,} answers",
    }


MEANS = """\
import duckdb
print(duckdb.connect().execute(
    "select filename, avg(score) from read_parquet($files, filename = true) group by filename",
    {{"files": {files!r}}},
).fetchall())"""


def floors(bench: Bench) -> Iterable[Work]:
    """Give the least that each row takes."""
    many, few = bench.n_many, bench.n_few
    data, cache = bench.folder / f"{many}.jsonl", bench.folder / "cache.parquet"
    out = bench.folder / "out.parquet"
    files = [str(bench.graded)]
    for number in range(1, N_RUNS):
        copy = bench.folder / f"graded-{number}.parquet"
        copy.write_bytes(bench.graded.read_bytes())
        files.append(str(copy))
    yield Work("a", "aiohttp script", lambda: bench.cold_floor(few, 200))
    yield Work("b", "aiohttp script", lambda: bench.cold_floor(many, 20))
    yield Work(
        "c", "hash, look up, grade, write", lambda: bench.python("floor_cache.py", "warm", data, cache, out)
    )
    yield Work(
        "d", "DuckDB: read, extract, write",
        lambda: bench.python("floor_duckdb.py", "regrade", bench.graded, out),
    )  # fmt: skip
    yield Work("e", "DuckDB: read, mean", lambda: bench.code(MEANS.format(files=files)))


def product(bench: Bench) -> Iterable[Work]:
    """Give what gradetrail does for each row."""
    many, few = bench.n_many, bench.n_few

    def means() -> Cost:
        if not (bench.folder / "runs20").exists():
            bench.fill()
            bench.fresh("runs20", "full")
            for _ in range(N_RUNS - 1):
                bench.gradetrail("runs20", "run", bench.spec(many), "--new")
        query = "select run_id, mean from run_scores"
        return bench.gradetrail("runs20", "sql", query, "--format", "csv")

    yield Work("a", "`generate`, answers stored", lambda: bench.cold(few, 200))
    yield Work("b", "`generate`, answers stored", lambda: bench.cold(many, 20))
    yield Work("c", "`run --new`", lambda: bench.on_full("run", "SPEC", "--new", copy=True))
    yield Work("d", "`score`", lambda: bench.on_full("score", "SPEC", pattern=OTHER_PATTERN, copy=True))
    yield Work("e", "`sql` over `run_scores`", means)


def peers(place: Place, bench: Bench) -> dict[str, Callable[[], Iterable[Work]]]:
    """Give the tools by name; calling one installs it."""
    return {
        "lm-eval": lambda: LmEval(place).works(),
        "promptfoo": lambda: Promptfoo(place).works(),
        "deepeval": lambda: DeepEval(place, bench.graded).works(),
        "inspect-tuned": lambda: Inspect(place, tuned=True).works(),
        "inspect": lambda: Inspect(place, tuned=False).works(),
    }


TOOLS = {
    "lm-eval": ("lm-eval", "lm_eval", ""),
    "promptfoo": ("promptfoo", "promptfoo", ""),
    "deepeval": ("deepeval", "deepeval", ""),
    "inspect-tuned": ("inspect-ai", "inspect_ai", ", tuned"),
    "inspect": ("inspect-ai", "inspect_ai", ""),
}
"""Folder, package and variant of each tool."""


def label(peer: str) -> str:
    """Name a tool with the version that is installed, as the table shows it."""
    folder, package, variant = TOOLS[peer]
    return f"{folder} {pinned(folder, package)}{variant}"


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def short(error: BaseException) -> str:
    """Give the line of a failure that says most: the last with the word error, else the last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()] or lines or [type(error).__name__]
    return telling[-1].replace("|", "\\|")[:200]


class Table:
    """Collects measurements, floors first, and prints each as it comes."""

    def __init__(self, only: set[str]) -> None:
        self.only = only
        self.floor: dict[str, float] = {}
        self.lines: dict[str, list[str]] = {}
        self.remarks: list[str] = []

    def measure(self, tool: str, works: Iterable[Work], repeats: int) -> None:
        """Measure a tool's rows; one that fails is a line with the reason."""
        for work in works:
            if self.only and work.row not in self.only:
                continue
            try:
                cost = median([work.measure() for _ in range(repeats)])
            except (RuntimeError, OSError, ValueError) as error:
                self.add(work.row, f"| {work.row} | {tool} | failed | | | | {work.note}: {short(error)} |")
                continue
            if tool == FLOOR:
                self.floor[work.row] = cost.wall_s
            ratio = cost.wall_s / self.floor[work.row] if work.row in self.floor else None
            cells = [
                work.row,
                tool,
                f"{cost.wall_s:.2f}",
                f"{cost.cpu_s:.2f}",
                f"{cost.peak_mb:,.0f}",
                f"{ratio:.1f}x" if ratio is not None else "",
                work.note,
            ]
            self.add(work.row, f"| {' | '.join(cells)} |")

    def add(self, row: str, line: str) -> None:
        """Keep a line and show it."""
        self.lines.setdefault(row, []).append(line)
        print(line, file=sys.stderr, flush=True)

    def text(self) -> str:
        """Write the table, row by row, and what could not be measured."""
        lines = [line for row in sorted(self.lines) for line in self.lines[row]]
        return "\n".join([HEAD, *lines, *(["", *self.remarks] if self.remarks else [])])


def main() -> None:
    """Measure, print the table, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", default="", help=f"some of {', '.join(TOOLS)}")
    parser.add_argument("--only", default="", help="rows, such as b,d")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the samples")
    parser.add_argument("--repeats", type=int, default=1, help="measurements of each tool; medians are shown")
    args = parser.parse_args()
    wanted, only = set(args.peers.split(",")) - {""}, set(args.only.split(",")) - {""}
    if wanted - TOOLS.keys():
        parser.error(f"unknown: {', '.join(sorted(wanted - TOOLS.keys()))}; known: {', '.join(TOOLS)}")
    n_few, n_many = (max(1, round(n * args.scale)) for n in (500, 10_000))
    table = Table(only)
    with tempfile.TemporaryDirectory(prefix="gradetrail-peers-") as name:
        folder = Path(name)
        bench = Bench(folder, n_few, n_many)
        table.measure(FLOOR, floors(bench), REPEATS)
        table.measure(PRODUCT, product(bench), REPEATS)
        place = Place(ROOT / ".bench" / "peers", folder, n_few, n_many, free_port())
        for peer, works in peers(place, bench).items():
            if wanted and peer not in wanted:
                continue
            try:
                table.measure(label(peer), works(), args.repeats)
            except NotInstalledError as error:
                table.remarks.append(f"{label(peer)} could not be installed: {short(error)}")
                print(table.remarks[-1], file=sys.stderr)
    work = "\n".join(f"- **{row}**: {what}" for row, what in rows(n_few, n_many).items())
    text = f"{work}\n\n{table.text()}\n\n{conditions(REPEATS)} The other tools: {args.repeats} each."
    print(text)
    if not wanted and not only and args.scale == 1:
        publish(text, MARKS, [PAGE])


if __name__ == "__main__":
    main()
