"""Makes a warehouse suffer every fault it is built against, and writes the table of docs/warehouse.md.

    python bench/faults.py [--minutes 10] [--only steps,storm,packers,clock,bits,cuts,vanished] [--every 1]
        [--faults kill ENOSPC EROFS pause] [--operations rm 'check --repair']

Rows that were measured before stay in the table until they are measured again (.bench/faults.json).
Ends with 1 if a row was lost or doubled, damage went unnoticed, or a command did not complete.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.faults import damage, storm  # noqa: E402 - the tests' tools need the root first
from tests.faults.operations import OPERATIONS  # noqa: E402

RESULTS = ROOT / ".bench" / "faults.json"
PAGE = ROOT / "docs" / "warehouse.md"
BEGIN, END = "<!-- faults: written by make faults -->", "<!-- end of faults -->"
NAMES = {
    "kill": "kill -9 before each step of `{}`",
    "ENOSPC": "disk full from each step of `{}` on",
    "EROFS": "disk read-only from each step of `{}` on",
    "pause": "stopped before each step of `{}` while others, without a lock, pack and do it",
}

OTHERS = {"packers": 20, "clock": 5, "cuts": 200, "vanished": 0}
"""Trials of the kinds that take no argument; 0 is each file once."""


@dataclass(frozen=True)
class Row:
    """What came of one fault."""

    fault: str
    trials: int
    lost: int
    doubled: int
    unnoticed: int
    """Damage that `check` did not notice, commands that did not complete, and wrong counts that were read."""


def struck(fault: str, operations: Iterable[str], every: int) -> Iterator[Row]:
    """Strike operations at each step, or at some."""
    for name in operations:
        with tempfile.TemporaryDirectory(prefix="gradetrail-") as folder:
            arguments = [sys.executable, "-m", "tests.faults.steps", folder, name, fault, str(every)]
            done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
        trials = [json.loads(line) for line in done.stdout.splitlines()]
        bad = [t for t in trials if "has_failed" in t or not t["is_known_end"] or not t["is_completed"]]
        if bad or not trials or not trials[-1]["is_last"]:
            print(*bad, done.stderr[-3000:], sep="\n", file=sys.stderr)
            bad = bad or [{}]
        lost, doubled = (sum(t.get(what, 1) for t in trials) for what in ("lost", "doubled"))
        said = NAMES[fault].format(name)
        if every > 1:
            said = said.replace("each step", f"one in {every} steps")
        yield Row(said, len(trials), lost, doubled, len(bad))


def steps(given: argparse.Namespace) -> Iterator[Row]:
    """Strike with each fault."""
    for fault in given.faults:
        # a plan or an import that is stopped holds others up for minutes
        names = [
            name for name in given.operations if fault != "pause" or not name.startswith(("run", "import"))
        ]
        yield from struck(fault, names, given.every)


def storms(minutes: float) -> Iterator[Row]:
    """Let writers, readers and a packer loose on one warehouse, killing some of them all the time."""
    said = storm.storm(minutes * 60)
    print(json.dumps(said), file=sys.stderr)
    name = (
        f"{said['writers']} writers, {said['readers']} readers, 1 packer for {minutes:g} min: "
        f"{said['kills']:,} kill -9, {said['looks']:,} looks, {said['answers']:,} answers"
    )
    yield Row(name, said["kills"], said["lost"], said["doubled"], said["wrong"])


def damages(kind: str, n: int) -> Iterator[Row]:
    """Damage one file at a time."""
    for name, trials in damage.KINDS[kind](n):
        for trial in trials:
            if trial.is_unnoticed or trial.lost or trial.doubled:
                print(trial, file=sys.stderr)
        lost, doubled = sum(t.lost for t in trials), sum(t.doubled for t in trials)
        yield Row(name, len(trials), lost, doubled, sum(t.is_unnoticed for t in trials))


def _damaging(kind: str, n: int) -> Callable[[argparse.Namespace], Iterator[Row]]:
    return lambda _: damages(kind, n)


def kept(rows: Iterator[Row]) -> bool:
    """Write each row to the results and the page as it comes; say whether all are as they should be."""
    is_good = True
    for row in rows:
        print(f"{row.fault}: {row.trials:,} trials, lost {row.lost}, doubled {row.doubled}, "
              f"unnoticed or not completed {row.unnoticed}", flush=True)  # fmt: skip
        is_good = is_good and not (row.lost or row.doubled or row.unnoticed)
        RESULTS.parent.mkdir(exist_ok=True)
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        key = row.fault.partition(" min: ")[0]
        RESULTS.write_text(json.dumps(known | {key: asdict(row)}, indent=1))
        write_page([Row(**stored) for stored in json.loads(RESULTS.read_text()).values()])
    return is_good


def write_page(rows: list[Row]) -> None:
    """Put the table between its marks."""
    lines = [
        "| fault | trials | rows lost | rows doubled | unnoticed or not completed |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [f"| {r.fault} | {r.trials:,} | {r.lost} | {r.doubled} | {r.unnoticed} |" for r in rows]
    text = PAGE.read_text()
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    PAGE.write_text("\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{after}"]))


def main() -> None:
    """Suffer what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--flips", type=int, default=1_000)
    parser.add_argument("--faults", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--operations", nargs="+", choices=OPERATIONS, default=list(OPERATIONS))
    sections: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
        "steps": steps,
        "storm": lambda given: storms(given.minutes),
        "bits": lambda given: damages("bits", given.flips),
        **{kind: _damaging(kind, n) for kind, n in OTHERS.items()},
    }
    parser.add_argument("--only", default=",".join(sections))
    given = parser.parse_args()
    is_good = [kept(sections[name](given)) for name in given.only.split(",")]
    sys.exit(0 if all(is_good) else 1)


if __name__ == "__main__":
    main()
