"""Runs hostile SQL against a warehouse behind its wall, and measures what each text costs.

`python -m tests.hostile_sql` prints the table of `docs/warehouse.md`; `--each` prints every text as well.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from gradetrail.errors import GradetrailError, LimitError
from gradetrail.sql_child import Limits
from gradetrail.warehouse.locked import LockedWarehouse

CASES = Path(__file__).parent / "sql_child" / "hostile.txt"
LIMITS = Limits(wall_s=2.0, cpu_s=60, memory_mb=512, result_mb=64, file_mb=256)
"""What texts get that are expected to meet a limit; the others must end by themselves."""
PATIENT = replace(LIMITS, wall_s=60.0)
LOOK_S = 0.005
"""How often the memory of the child is looked at."""
OUT_OF_REACH = re.compile(
    r"Permission Error|disabled by configuration|configuration has been locked|extension|not allowed"
)
"""How DuckDB says that files, settings or extensions are out of reach."""
ENDINGS = {
    "gate": "the gate",
    "wall": "the lock",
    "limit": "a limit",
    "none": "DuckDB's own refusal",
    "harmless": "nothing: harmless",
}


@dataclass(frozen=True)
class Case:
    """A line of the file."""

    line: int
    kind: str
    ending: str
    text: str

    def sql(self, places: dict[str, str]) -> str:
        """Give the text with the places of a warehouse in it, and what is repeated written out."""
        text = self.text
        for name, place in {**places, "\\n": "\n"}.items():
            text = text.replace("{" + name + "}", place)
        return re.sub(r"\{(\d+)\*(.*?)\}", lambda found: int(found[1]) * found[2], text)


@dataclass(frozen=True)
class Seen:
    """What came of a text."""

    ending: str
    said: str
    seconds: float
    mib: float
    """Most memory that the child held, beyond what it held before."""


def cases() -> list[Case]:
    """Read the file."""
    found = []
    for number, line in enumerate(CASES.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.startswith("#"):
            kind, ending, text = line.split(" | ", 2)
            found.append(Case(number, kind, ending, text))
    return found


def places_of(warehouse: Path, beside: Path) -> dict[str, str]:
    """Lay out what the texts name: a live file, a folder beside the warehouse, a link, a secret."""
    beside.mkdir(exist_ok=True)
    (warehouse.parent / "outside.txt").write_text("secret")
    (beside / "link").symlink_to("/etc/passwd")
    live = min(warehouse.glob("trials/*f.parquet"))  # a fold: what is below it is read no more
    return {"W": str(warehouse), "T": str(beside), "F": str(live)}


class Behind:
    """One warehouse behind two walls: with little time, and with much; a context manager."""

    def __init__(self, warehouse: Path) -> None:
        self.hasty = LockedWarehouse(warehouse, limits=LIMITS)
        self.patient = LockedWarehouse(warehouse, limits=PATIENT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.hasty.close()
        self.patient.close()

    def asked(self, case: Case) -> LockedWarehouse:
        """Give the one that a text is for."""
        return self.hasty if case.ending == "limit" else self.patient

    def tried(self, case: Case, places: dict[str, str]) -> Seen:
        """Ask a text."""
        return tried(self.asked(case), case.sql(places))


def tried(opened: LockedWarehouse, sql: str) -> Seen:
    """Ask one text; give how it ended and what it cost."""
    opened.rows("select 1")
    with _watched(opened.pid) as peak:
        began = time.monotonic()
        try:
            opened.rows(sql)
            ending, said = "harmless", ""
        except LimitError as error:
            ending, said = "limit", str(error)
        except GradetrailError as error:
            said = str(error)
            gate = ("a query is one SELECT", "there is no statement")
            ending = (
                "gate"
                if any(words in said for words in gate)
                else "wall"
                if OUT_OF_REACH.search(said)
                else "none"
            )
        seconds = time.monotonic() - began
    return Seen(ending, said, seconds, max(0.0, peak[-1] - peak[0]))


@contextmanager
def _watched(pid: int) -> Iterator[list[float]]:
    """Look at the memory of a process again and again; the list holds MiB at first, and at most."""
    held = [_mib(pid) or 0.0] * 2
    done = threading.Event()

    def watch() -> None:
        while not done.wait(LOOK_S):
            held[1] = max(held[1], _mib(pid) or 0.0)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield held
    finally:
        done.set()
        thread.join()


def _mib(pid: int) -> float | None:
    try:
        text = Path(f"/proc/{pid}/statm").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def table(results: list[tuple[Case, Seen]]) -> str:
    """Give a line for each kind: how many texts, what stopped them, and the worst of what they took."""
    lines = ["| kind | texts | stopped by | worst s | worst MiB |", "| --- | ---: | --- | ---: | ---: |"]
    for kind in dict.fromkeys(case.kind for case, _ in results):
        seen = [what for case, what in results if case.kind == kind]
        counts = {ending: sum(what.ending == ending for what in seen) for ending in ENDINGS}
        stopped = ", ".join(f"{ENDINGS[ending]} {count}" for ending, count in counts.items() if count)
        seconds, mib = max(what.seconds for what in seen), max(what.mib for what in seen)
        lines.append(f"| {kind} | {len(seen)} | {stopped} | {seconds:.1f} | {mib:,.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    from tests.cli.command import gradetrail

    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        gradetrail("demo", "ten_tasks")
        warehouse = Path(scratch) / "warehouse"
        places = places_of(warehouse, Path(scratch) / "beside")
        results = []
        with Behind(warehouse) as behind:
            for case in cases():
                seen = behind.tried(case, places)
                results.append((case, seen))
                if "--each" in sys.argv:
                    print(f"{case.line}: {case.text[:90]}\n    {seen}", flush=True)
        print(table(results))


if __name__ == "__main__":
    main()
