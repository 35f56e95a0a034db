"""Measures re-grading of stored answers beside DuckDB alone; writes a table of docs/benchmarks.md.

    python bench/grading.py [--large] [--repeats 3] [--only regex,numeric] [--rows 1000000] [--stored FOLDER]

The answers (about 300 characters each) are stored once, through the product's own store, and beside it
as one flat file for the floor. The fair floor reads the stored tables instead, joins them and writes all
columns. Every number is a whole process: interpreter start, imports, work, exit; floors and product take
turns. CPU seconds are compared, since they suffer least from a busy machine. `--large` needs about 8 GB of
disk: what a row of the table stored is deleted once no later row needs it, unless it is in a FOLDER of one's
own, for a next time. Ten million answers are measured once, whatever `--repeats` says.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import HERE, Cost, median, run
from run import conditions, publish
from stored_answers import Shape

MARKS = ("<!-- make bench-grading: begin -->", "<!-- make bench-grading: end -->")
PAGE = HERE.parent / "docs" / "benchmarks.md"
N_QUESTIONS = 1_319
N_EPOCHS_AND_MODELS = 758
"""Answers to each question: 1,319 x 758 is a million."""
MOST_REPEATED = 2_000_000
"""Answers beyond which a row is measured once."""

SPEC = """\
dataset: unused.jsonl
prompt: "{{ question }}"
model: mock/recorded
name: grading
"""
SPECS = {
    "regex": "target: '{{ answer }}'\nextract: 'Answer: (-?\\d+)'\nscorer: exact\n",
    "numeric": "target: '{{ answer }}'\nscorer: numeric\n",
    "templated": "scorer: {type: regex, pattern: 'Answer: {{ answer }}\\s*$'}\n",
}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    key: str
    work: str
    shape: Shape
    scorer: str
    """Key of SPECS, and of the floor's queries."""
    goal: str
    """As DESIGN states it; empty where it states none."""


def rows(is_large: bool, n: int | None = None) -> list[Row]:
    """List the work that is measured; `n` answers instead of a million."""
    per_question = N_EPOCHS_AND_MODELS if n is None else max(1, n // N_QUESTIONS)
    few, million = Shape(N_QUESTIONS, 8), Shape(N_QUESTIONS, per_question)
    singles = Shape(million.n_answers, 1)
    ten = Shape(N_QUESTIONS, 10 * per_question)
    listed = [
        Row("few", "constant regex", few, "regex", "3x"),
        Row("regex", "constant regex", million, "regex", "1.5x"),
        Row("large", "constant regex", ten, "regex", "1.2x"),
        Row("numeric", "last number", million, "numeric", ""),
        Row("large-numeric", "last number", ten, "numeric", ""),
        Row("templated", f"{N_QUESTIONS:,} templated patterns", million, "templated", "1.5x"),
        Row("singles", "constant regex, a sample each", singles, "regex", ""),
    ]
    return [row for row in listed if is_large or row.shape != ten]


class Bench:
    """Stored answers of each shape, and what is done to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("GRADETRAIL_")}

    def stored(self, shape: Shape) -> Path:
        """Give the folder with the answers of a shape; they are made when first asked for."""
        folder = self.folder / f"{shape.n_questions}-{shape.n_each}"
        if not folder.exists():
            spec = self._spec(folder, "regex")
            # in a process of its own: a child's peak memory begins at what its parent holds
            making = [sys.executable, str(HERE / "stored_answers.py"), str(folder), str(spec)]
            sizes = [str(shape.n_questions), str(shape.n_each)]
            run([*making, *sizes], log=self.folder / "making.log", env=self.env, timeout_s=3600)
        return folder

    def _spec(self, folder: Path, scorer: str) -> Path:
        folder.mkdir(exist_ok=True)
        path = folder / f"{scorer}.yaml"
        path.write_text(SPEC + SPECS[scorer])
        return path

    def floor(self, row: Row, source: str) -> Cost:
        """Grade with DuckDB alone: `flat.parquet`, or the stored tables of `warehouse`."""
        folder = self.stored(row.shape)
        command = [sys.executable, str(HERE / "floor_grading.py"), row.scorer]
        paths = [str(folder / source), str(folder / "out.parquet")]
        return run([*command, *paths], log=self.folder / "floor.log", env=self.env, timeout_s=3600)

    def forget(self, shape: Shape) -> None:
        """Delete what is stored of a shape."""
        shutil.rmtree(self.folder / f"{shape.n_questions}-{shape.n_each}", ignore_errors=True)

    def product(self, row: Row) -> Cost:
        """Grade the stored run; the grades of the last time are gone."""
        folder = self.stored(row.shape)
        for table in ("scores", "scorers", "tasks"):
            shutil.rmtree(folder / "warehouse" / table, ignore_errors=True)
        spec = self._spec(folder, row.scorer)
        program = str(Path(sys.executable).with_name("gradetrail"))
        env = {**self.env, "GRADETRAIL_WAREHOUSE": str(folder / "warehouse")}
        return run([program, "score", str(spec)], log=self.folder / "product.log", env=env, timeout_s=3600)


HEAD = """\
| row | work | answers | floor: CPU s (wall, MiB) | fair floor | gradetrail | CPU to floor | to fair | goal |
|---|---|---|---|---|---|---|---|---|"""


def line(row: Row, floors: Sequence[Cost], fair: Sequence[Cost], products: Sequence[Cost]) -> str:
    """Write a row of the table."""
    sides = [median(costs) for costs in (floors, fair, products)]
    told = (f"{each.cpu_s:.2f} ({each.wall_s:.2f}, {each.peak_mb:.0f})" for each in sides)
    ratios = (f"{sides[-1].cpu_s / each.cpu_s:.1f}x" for each in sides[:-1])
    cells = [row.key, row.work, f"{row.shape.n_answers:,}", *told, *ratios, row.goal]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure, print the table, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="ten million answers as well")
    parser.add_argument("--only", default="", help="rows to measure, such as regex; the page is left alone")
    parser.add_argument("--rows", type=int, help="answers instead of a million; the page is left alone")
    parser.add_argument("--stored", type=Path, help="folder for answers, which are kept and taken from there")
    args = parser.parse_args()
    only = set(args.only.split(",")) - {""}
    lines = [HEAD]
    with tempfile.TemporaryDirectory(prefix="gradetrail-grading-") as folder:
        bench = Bench(args.stored or Path(folder))
        wanted = [row for row in rows(args.large, args.rows) if not only or row.key in only]
        for number, row in enumerate(wanted):
            bench.stored(row.shape)
            floors, fair, products = [], [], []
            for _ in range(1 if row.shape.n_answers > MOST_REPEATED else args.repeats):
                floors.append(bench.floor(row, "flat.parquet"))
                fair.append(bench.floor(row, "warehouse"))
                products.append(bench.product(row))
            lines.append(line(row, floors, fair, products))
            print(lines[-1], file=sys.stderr, flush=True)
            if args.stored is None and all(later.shape != row.shape for later in wanted[number + 1 :]):
                bench.forget(row.shape)
    busy = ", ".join(f"{load:.0f}" for load in os.getloadavg())
    table = "\n".join(lines) + f"\n\n{conditions(args.repeats, serves=False)} Load at the end: {busy}."
    print(table)
    if not only and args.rows is None:
        publish(table, MARKS, [PAGE])


if __name__ == "__main__":
    main()
