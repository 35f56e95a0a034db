"""Measures gradetrail beside the floors in the same run; writes the table of docs/benchmarks.md and README.

    python bench/run.py [--repeats 3] [--only b,d]

Every number is a whole process: interpreter start, imports, work, exit. Floor and product take turns,
so that a busy moment hits both; medians are shown.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import make_dataset
from measure import HERE, Cost, MockServer, median, run

PAGES = (HERE.parent / "docs" / "benchmarks.md", HERE.parent / "README.md")
MARKS = ("<!-- make bench: begin -->", "<!-- make bench: end -->")

SPEC = """\
name: bench
dataset: {data}
prompt: "{{{{ question }}}}\\nEnd with 'Answer: <number>'."
target: "{{{{ answer }}}}"
extract: '{pattern}'
scorer: exact
model: {{model: openai_compatible/mock-model, base_url: "http://127.0.0.1:{port}/v1", endpoint: mock}}
request: {{temperature: 0, max_tokens: 256}}
run: {{concurrency: 64}}
"""
FIRST_PATTERN = r"Answer: (-?\d+)"
OTHER_PATTERN = r"(-?\d+)\s*$"


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    key: str
    work: str
    floor_name: str
    n_samples: int | None
    """Divides CPU time; None where there is no sample."""
    goal: str
    """As DESIGN states it."""
    floor: Callable[[], Cost] | None
    product: Callable[[], Cost]


class Bench:
    """Files of one benchmark, and the commands that the rows run."""

    def __init__(self, folder: Path, n_few: int = 500, n_many: int = 10_000) -> None:
        self.folder, self.n_few, self.n_many = folder, n_few, n_many
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("GRADETRAIL_")}
        for n in (n_few, n_many):
            make_dataset.write(folder / f"{n}.jsonl", n)
        data, cache = folder / f"{n_many}.jsonl", folder / "cache.parquet"
        self.python("floor_cache.py", "fill", data, cache)
        self.python("floor_cache.py", "warm", data, cache, self.graded)

    @property
    def graded(self) -> Path:
        """Answers as the floors read them."""
        return self.folder / "graded.parquet"

    def python(self, script: str, *arguments: object) -> Cost:
        """Run one of the floor scripts."""
        command = [sys.executable, str(HERE / script), *map(str, arguments)]
        return run(command, log=self.folder / "floor.log", env=self.env)

    def code(self, text: str) -> Cost:
        """Run a line of Python."""
        return run([sys.executable, "-c", text], log=self.folder / "code.log", env=self.env)

    def gradetrail(self, warehouse: str, *arguments: object) -> Cost:
        """Run the product's command on a warehouse."""
        command = [str(Path(sys.executable).with_name("gradetrail")), *map(str, arguments)]
        env = {**self.env, "GRADETRAIL_WAREHOUSE": str(self.folder / warehouse)}
        return run(command, log=self.folder / "product.log", env=env)

    def spec(self, n: int, port: int = 1, pattern: str = FIRST_PATTERN) -> Path:
        """Write a spec; the server's `endpoint` name keeps the port out of the identities."""
        path = self.folder / "bench.yaml"
        path.write_text(SPEC.format(data=self.folder / f"{n}.jsonl", port=port, pattern=pattern))
        return path

    def fresh(self, warehouse: str, source: str | None = None) -> None:
        """Empty a warehouse, or copy another one in its place."""
        shutil.rmtree(self.folder / warehouse, ignore_errors=True)
        if source is not None:
            shutil.copytree(self.folder / source, self.folder / warehouse)

    def cold_floor(self, n: int, latency_ms: float) -> Cost:
        """Ask everything with plain aiohttp."""
        with MockServer(latency_ms) as server:
            cost = self.python("floor_client.py", "--port", server.port, "--data", self.folder / f"{n}.jsonl")
            expect(server.n_requests(), n)
        return cost

    def cold(self, n: int, latency_ms: float) -> Cost:
        """Generate into an empty warehouse."""
        with MockServer(latency_ms) as server:
            self.fresh("cold")
            cost = self.gradetrail("cold", "generate", self.spec(n, server.port))
            expect(server.n_requests(), n)
        return cost

    def fill(self) -> None:
        """Fill the warehouse `full` with graded answers to the many questions."""
        if not (self.folder / "full").exists():
            with MockServer(0) as server:
                self.gradetrail("full", "run", self.spec(self.n_many, server.port))
                expect(server.n_requests(), self.n_many)

    def on_full(self, *arguments: object, pattern: str = FIRST_PATTERN, copy: bool = False) -> Cost:
        """Run a command on the filled warehouse (or a copy of it) with no server to ask."""
        self.fill()
        if copy:
            self.fresh("copy", "full")
        spec = self.spec(self.n_many, pattern=pattern)
        given = [spec if argument == "SPEC" else argument for argument in arguments]
        return self.gradetrail("copy" if copy else "full", *given)

    def rows(self) -> list[Row]:
        """List the work that is measured."""
        few, many = self.n_few, self.n_many
        data, cache, out = (self.folder / name for name in (f"{many}.jsonl", "cache.parquet", "out.parquet"))
        return [
            Row(
                "a", f"{few:,} requests of 200 ms, 64 in flight, cold", "aiohttp script", few, "1.3x",
                lambda: self.cold_floor(few, 200), lambda: self.cold(few, 200),
            ),
            Row(
                "b", f"{many:,} requests of 20 ms, 64 in flight, cold, answers stored",
                "aiohttp script", many,
                "1.3x, under 0.35 ms CPU a sample",
                lambda: self.cold_floor(many, 20), lambda: self.cold(many, 20),
            ),
            Row(
                "c", "the same, all cached: a new run, graded", "hash, look up, grade, write", many, "3x",
                lambda: self.python("floor_cache.py", "warm", data, cache, out),
                lambda: self.on_full("run", "SPEC", "--new", copy=True),
            ),
            Row(
                "d", f"re-grade {many:,} stored answers", "DuckDB: read, extract, write", many, "3x",
                lambda: self.python("floor_duckdb.py", "regrade", self.graded, out),
                lambda: self.on_full("score", "SPEC", pattern=OTHER_PATTERN, copy=True),
            ),
            Row(
                "again", "`run` with nothing left to do", "", many, "",
                None, lambda: self.on_full("run", "SPEC"),
            ),
            Row(
                "board", f"`show leaderboard` over {many:,} answers", "DuckDB: read, mean",
                None, "under 0.3 s",
                lambda: self.python("floor_duckdb.py", "board", self.graded),
                lambda: self.on_full("show", "leaderboard"),
            ),
            Row(
                "open", "open a warehouse in Python, one query", "DuckDB: open, `select 1`",
                None, "under 0.3 s",
                lambda: self.python("floor_duckdb.py", "open"), self.open,
            ),
            Row(
                "connect", "the same by `connection()`, on which every view is", "DuckDB: open, `select 1`",
                None, "",
                lambda: self.python("floor_duckdb.py", "open"), self.connect,
            ),
            Row(
                "help", "`gradetrail --help`", "an empty Python", None, "under 0.3 s",
                lambda: self.code("pass"), lambda: self.gradetrail("none", "--help"),
            ),
        ]  # fmt: skip

    def open(self) -> Cost:
        """Open the filled warehouse and ask for its runs."""
        self.fill()
        path = str(self.folder / "full")
        return self.code(f"import gradetrail; gradetrail.Warehouse({path!r}).rows('from runs')")

    def connect(self) -> Cost:
        """Open it, make every view for a connection of DuckDB's, and ask that for its runs."""
        self.fill()
        path = str(self.folder / "full")
        return self.code(
            f"import gradetrail; gradetrail.Warehouse({path!r}).connection().execute('from runs').fetchall()"
        )


def expect(found: int, wanted: int) -> None:
    """Refuse a measurement of other work than was meant."""
    if found != wanted:
        raise RuntimeError(f"{found} requests reached the server, not {wanted}")


def line(row: Row, floors: Sequence[Cost], products: Sequence[Cost]) -> str:
    """Write a row of the table."""
    product = median(products)
    floor = median(floors) if floors else None
    spread = f"{min(c.wall_s for c in products):.2f}-{max(c.wall_s for c in products):.2f}"
    cells = [
        row.key,
        row.work,
        f"{floor.wall_s:.2f} ({row.floor_name})" if floor else "",
        f"{product.wall_s:.2f} ({spread})",
        f"{product.wall_s / floor.wall_s:.1f}x" if floor else "",
        row.goal,
        f"{product.cpu_s / row.n_samples * 1000:.2f}" if row.n_samples else "",
        f"{product.peak_mb:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def conditions(repeats: int, *, serves: bool = True) -> str:
    """Say on what the table was measured; `serves` if a server ran beside it."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("aiohttp", "duckdb", "pyarrow", "polars"))
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True, check=False
    ).stdout.strip()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"Measured at {commit or 'an unknown commit'} on {os.cpu_count()} cores and {memory:.0f} GiB, "
        f"{platform.system()}, Python {platform.python_version()}, {packages}; "
        f"medians of {repeats}, floor and product in turn"
        f"{', the server on the same machine' if serves else ''}."
    )


HEAD = """\
| row | work | floor, s | gradetrail, s (min-max) | ratio | goal | CPU, ms a sample | peak, MiB |
|---|---|---|---|---|---|---|---|"""


def publish(table: str, marks: tuple[str, str] = MARKS, pages: Sequence[Path] = PAGES) -> None:
    """Put the table between the marks of the pages that show it."""
    begin, end = marks
    section = f"{begin}\n\n{table}\n\n{end}"
    for path in pages:
        page = path.read_text(encoding="utf-8")
        path.write_text(
            re.sub(re.escape(begin) + ".*" + re.escape(end), lambda _: section, page, flags=re.DOTALL),
            encoding="utf-8",
        )


def main() -> None:
    """Measure, print the table, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="rows to measure, such as b,d; the page is left alone")
    args = parser.parse_args()
    only = set(args.only.split(",")) - {""}
    lines = [HEAD]
    with tempfile.TemporaryDirectory(prefix="gradetrail-bench-") as folder:
        for row in Bench(Path(folder)).rows():
            if only and row.key not in only:
                continue
            floors, products = [], []
            for _ in range(args.repeats):
                if row.floor is not None:
                    floors.append(row.floor())
                products.append(row.product())
            lines.append(line(row, floors, products))
            print(lines[-1], file=sys.stderr, flush=True)
    table = "\n".join(lines) + "\n\n" + conditions(args.repeats)
    print(table)
    if not only:
        publish(table)


if __name__ == "__main__":
    main()
