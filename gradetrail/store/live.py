"""What a look at a warehouse finds: files, rows that are not in files yet, and which rows do not count.

Invariant: of every unit (a run's trials, a run's scores by one scorer) exactly one version counts,
whether it is in a file of its own, in a pack, or loose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail.errors import Fault
from gradetrail.store.layout import PARQUET, Part, ScoreFile, parse_part, parse_scores
from gradetrail.store.manifests import Manifests
from gradetrail.store.packs import FOLDER, Held, Record
from gradetrail.store.schema import TABLES

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Live:
    """The warehouse at one moment."""

    files: dict[str, list[str]]
    """Parquet files of every table of which all rows count, absolute; an empty list if there are none."""
    loose: dict[str, pa.Table]
    """Rows that are not in those files, by table; a table without any is absent."""
    manifests: Sequence[Mapping[str, Any]]
    """Sorted by run_id; `Manifests` where some are packed."""
    scorers: list[dict[str, Any]]
    """Sorted by scorer_id."""
    tasks: list[dict[str, Any]]
    """`{"task", "n", ...definition}`, sorted by both; the highest n of a task is current."""
    damaged: list[Fault]
    """Files and lines that had to be left out: a result from this look is partial if there are any."""
    running: set[str]
    """Runs that a live process generates into now."""
    partly: dict[str, dict[str, frozenset[Held]]] = field(default_factory=dict)
    """By table: packs, absolute, each with the runs (runs by scorer) whose rows in it do not count."""
    replaced: Mapping[str, frozenset[Held]] = field(default_factory=dict)
    """By table: what is packed and does not count, since a newer file has it."""
    record: Record = field(default_factory=Record)
    """What is packed, whether it counts or not."""

    @cached_property
    def packed(self) -> dict[str, frozenset[Held]]:
        """By table: what counts in packs."""
        absorbed = self.record.absorbed
        return {table: frozenset(absorbed[table]) - self.replaced.get(table, frozenset()) for table in TABLES}

    def stems(self, table: str) -> list[str]:
        """Name what counts of a table, as files are named before they are packed; without suffix."""
        loose = [Path(file).stem for file in self.files.get(table, ()) if Path(file).parent.name != FOLDER]
        return loose + [self._stem(table, held) for held in sorted(self.packed.get(table, ()))]

    def is_graded(self, run_id: str, scorer_id: str) -> bool:
        """Say whether a run has grades by a definition; a file of another kind of name may hold them."""
        held = (run_id, scorer_id[:12])
        return held in self.packed.get("scores", ()) or any(
            score is None or (score.run_id, score.scorer12) == held for score in self._loose_scores()
        )

    def _loose_scores(self) -> Iterator[ScoreFile | None]:
        for file in map(Path, self.files.get("scores", ())):
            if file.parent.name != FOLDER:
                yield parse_scores(file.name)

    def _stem(self, table: str, held: Held) -> str:
        key, scorer12 = held
        number = self.record.number_of(table, key, scorer12)
        if table == "scores":
            return ScoreFile(key, scorer12, number).stem
        return key if table == "samples" else Part(key, number, is_fold=table == "trials").stem

    @cached_property
    def numbers(self) -> dict[str, dict[Held, int]]:
        """Highest numbers of what counts as a whole: a run's trials, and a run's scores by a scorer."""
        trials = [part for stem in self.stems("trials") if (part := parse_part(f"{stem}{PARQUET}"))]
        scores = [score for stem in self.stems("scores") if (score := parse_scores(f"{stem}{PARQUET}"))]
        found: dict[str, dict[Held, int]] = {"trials": {}, "scores": {}}
        for part in sorted(trials):
            found["trials"][part.run_id, ""] = part.number
        for score in sorted(scores):
            found["scores"][score.run_id, score.scorer12] = score.number
        return found

    @cached_property
    def score_files(self) -> dict[Held, str]:
        """Files of their own with a run's scores by a scorer."""
        named = [(parse_scores(Path(file).name), file) for file in self.files.get("scores", ())]
        return {(score.run_id, score.scorer12): file for score, file in named if score is not None}

    def all_files(self) -> list[str]:
        """List every file that is read."""
        whole = [file for files in self.files.values() for file in files]
        packs = [file for partly in self.partly.values() for file in partly]
        return [*whole, *packs, *([self.manifests.pack] if isinstance(self.manifests, Manifests) else ())]

    def without_scores(self, replaced: frozenset[Held]) -> Live:
        """Give the same without the scores of some runs by some scorers."""
        kept, partly = [], dict(self.partly.get("scores", {}))
        for file in self.files.get("scores", ()):
            score = parse_scores(Path(file).name)
            if score is None:
                partly[file] = frozenset()
            elif (score.run_id, score.scorer12) not in replaced:
                kept.append(file)
        masks = {file: masked | replaced for file, masked in partly.items()}
        files, partly_by_table = {**self.files, "scores": kept}, {**self.partly, "scores": masks}
        gone = {**self.replaced, "scores": self.replaced.get("scores", frozenset()) | replaced}
        return replace(self, files=files, partly=partly_by_table, replaced=gone)
