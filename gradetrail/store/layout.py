"""Names of files in a warehouse, and which of them count.

Invariant: what a file holds follows from its name alone, so the rules of visibility below need no
file to be opened: a segment hides the journal part of its name, a fold hides every lower part of its
run, and of several score files of (run, scorer) the highest number counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from gradetrail.errors import Fault, StoreError

FORMAT_FILE = "gradetrail.json"
PARQUET, JOURNAL, LOCK = ".parquet", ".jsonl", ".lock"

_NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,159}\Z")
_NUMBER = re.compile(r"(0|[1-9][0-9]{0,17})\Z")


def checked(name: str, what: str) -> str:
    """Return a name that may become part of a file name; raise StoreError for any other."""
    if not _NAME.match(name):
        fix = "use ASCII letters, digits, `_`, `.` and `-`, no `..`, at most 160 characters"
        raise StoreError(Fault(f"`{name}` is no {what}", fix=fix))
    return name


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """One numbered piece of a run's rows in one table."""

    run_id: str
    number: int
    is_fold: bool = False
    """True for all trials of the run up to `number`."""

    @property
    def stem(self) -> str:
        """File name without folder and suffix."""
        return f"{self.run_id}.{self.number}{'f' if self.is_fold else ''}"

    @property
    def journal(self) -> str:
        """Name of the journal part."""
        return f"journal/{self.run_id}.{self.number}{JOURNAL}"

    def segment(self, table: str) -> str:
        """Name of the Parquet file in `table`."""
        return f"{table}/{self.stem}{PARQUET}"


@dataclass(frozen=True, slots=True, order=True)
class ScoreFile:
    """All scores of one run by one scorer, as of its number."""

    run_id: str
    scorer12: str
    """First 12 digits of the scorer_id."""
    number: int

    @property
    def stem(self) -> str:
        """File name without folder and suffix."""
        return f"{self.run_id}.{self.scorer12}.{self.number}f"

    @property
    def name(self) -> str:
        """Name in the warehouse."""
        return f"scores/{self.stem}{PARQUET}"


def run_lock(run_id: str) -> str:
    """Name the file whose lock says that a process generates into the run."""
    return f"journal/{run_id}{LOCK}"


def plan_lock(plan_id: str) -> str:
    """Name the file whose lock says that a process decides which run a plan belongs to."""
    return f"runs/{plan_id}{LOCK}"


def parse_part(file: str, suffix: str = PARQUET) -> Part | None:
    """Read the name of a segment or journal part; None for any other file."""
    if not file.endswith(suffix):
        return None
    run_id, dot, tail = file[: -len(suffix)].rpartition(".")
    is_fold = tail.endswith("f")
    number = tail[:-1] if is_fold else tail
    if not dot or not _NUMBER.match(number) or not _NAME.match(run_id):
        return None
    return Part(run_id, int(number), is_fold)


def parse_scores(file: str) -> ScoreFile | None:
    """Read the name of a score file; None for any other file."""
    part = parse_part(file)
    if part is None or not part.is_fold:
        return None
    run_id, dot, scorer12 = part.run_id.rpartition(".")
    return ScoreFile(run_id, scorer12, part.number) if dot and run_id else None


def parse_task(file: str) -> tuple[str, int] | None:
    """Read task and number out of `<task>.<n>.json`; None for any other file."""
    part = parse_part(file, ".json")
    return None if part is None or part.is_fold else (part.run_id, part.number)


def unsealed(journals: Collection[Part], segments: Collection[Part]) -> list[Part]:
    """List the journal parts that count for a table; journals must have been listed first."""
    return sorted(set(journals) - set(segments))


def trial_sources(
    segments: Collection[Part], journals: Collection[Part], packed: int = -1
) -> tuple[list[Part], list[Part]]:
    """Choose what the trials of ONE run are made of: segments that count, and journal parts that count.

    They are the highest fold and the parts above it; where a trial is in several, the highest number
    wins, whether it is a segment or still a journal part. Up to the number `packed` all is in a pack,
    which comes before these unless there is a fold among them.
    """
    folds = [part for part in segments if part.is_fold and part.number > packed]
    fold = max(folds, key=lambda part: part.number, default=None)
    floor = packed if fold is None else fold.number
    plain = sorted(part for part in segments if not part.is_fold and part.number > floor)
    above = [part for part in unsealed(journals, segments) if part.number > floor]
    return ([fold] if fold else []) + plain, above


def highest_scores(files: Collection[ScoreFile]) -> list[ScoreFile]:
    """Keep the highest number of each run and scorer, sorted."""
    best: dict[tuple[str, str], ScoreFile] = {}
    for file in files:
        key = (file.run_id, file.scorer12)
        if key not in best or best[key].number < file.number:
            best[key] = file
    return sorted(best.values())
