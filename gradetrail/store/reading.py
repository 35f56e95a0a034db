"""What is in the warehouse now: live files, rows that are not in files yet, and what is damaged.

Invariant: a look finds every row that was visible when it began, each exactly once, without a lock
and without writing. Journals are listed before tables, so a part that is sealed meanwhile is found as
a segment; what refers is listed before what it refers to (scores, trials, calls, responses, samples,
manifests), so that no answer is missed whose trial is seen. If a file vanishes in between, the look
begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from gradetrail.errors import Fault, StoreError
from gradetrail.store.folding import folded, piece_of
from gradetrail.store.journal import Journal, parse
from gradetrail.store.layout import (
    JOURNAL,
    LOCK,
    PARQUET,
    Part,
    ScoreFile,
    highest_scores,
    parse_part,
    parse_scores,
    parse_task,
    run_lock,
    trial_sources,
    unsealed,
)
from gradetrail.store.schema import TABLES, TRIAL_KEY, arrow_schema
from gradetrail.store.sealing import run_parts, trial_piece
from gradetrail.store.segments import DAMAGE_FIX, content_fault, ends_fault, footer_fault
from gradetrail.store.storage import LocalStorage

if TYPE_CHECKING:
    import pyarrow as pa

Seen = TypeVar("Seen")

LOOKS = 100
"""Times that a look begins again before it gives up; each time, a writer has sealed or removed a file."""


@dataclass(frozen=True)
class Live:
    """The warehouse at one moment."""

    files: dict[str, list[str]]
    """Live Parquet files of every table, absolute; an empty list if there are none."""
    loose: dict[str, pa.Table]
    """Rows that are not in those files, by table; a table without any is absent."""
    manifests: list[dict[str, Any]]
    """Sorted by run_id."""
    scorers: list[dict[str, Any]]
    """Sorted by scorer_id."""
    tasks: list[dict[str, Any]]
    """`{"task", "n", ...definition}`, sorted by both; the highest n of a task is current."""
    damaged: list[Fault]
    """Files and lines that had to be left out: a result from this look is partial if there are any."""
    running: set[str]
    """Runs that a live process generates into now."""


class Look:
    """Looks at a warehouse; remembers which files were found whole, since files never change."""

    def __init__(self, storage: LocalStorage) -> None:
        self.storage = storage
        self._whole: set[str] = set()
        self._broken: dict[str, Fault] = {}

    def live(self) -> Live:
        """See everything."""
        return self._steadily(lambda: _Glance(self).live())

    def trials(self, run_id: str) -> pa.Table:
        """Give the trials of one run as they stand, each once."""
        return self._steadily(lambda: _Glance(self).trials(run_id))

    def records(self, folder: str) -> list[dict[str, Any]]:
        """Read the JSON files of `runs`, `scorers` or `tasks` that are whole, sorted by name."""
        return self._steadily(lambda: [record for _, record in _Glance(self).records(folder)])

    def scores(self, run_id: str, scorer12: str) -> tuple[ScoreFile | None, int]:
        """Find the live scores of a run by a scorer, and the highest number that is taken (0 if none)."""
        return self._steadily(lambda: _Glance(self).scores_of(run_id, scorer12))

    def fault(self, name: str) -> Fault | None:
        """Say what is wrong with a file, as far as its two ends tell; looks at each file once."""
        if name in self._whole:
            return None
        if name not in self._broken:
            fault = ends_fault(self.storage, name)
            if fault is None:
                self._whole.add(name)
                return None
            self._broken[name] = fault
        return self._broken[name]

    def suspect(self, table: str, names: Iterable[str], *, is_thorough: bool = False) -> list[Fault]:
        """Read footers, or all of it, of files; those that cannot be read are left out from now on."""
        found = {}
        for name in names:
            fault = (content_fault if is_thorough else footer_fault)(self.storage, table, name)
            if fault is not None:
                found[name] = fault
        self._broken |= found
        self._whole -= found.keys()
        return list(found.values())

    def _steadily(self, look: Callable[[], Seen]) -> Seen:
        for _ in range(LOOKS):
            try:
                return look()
            except FileNotFoundError:
                continue
        raise StoreError(
            Fault("files vanish as fast as they are listed", str(self.storage.root), fix="try again")
        )


class _Glance:
    """One attempt at a look; FileNotFoundError means that it must begin again."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.storage = look.storage
        self.damaged: list[Fault] = []
        self._journals: dict[Part, Journal] = {}

    def live(self) -> Live:
        journal_files = self.storage.list("journal")
        journals = [part for file in journal_files if (part := parse_part(file, JOURNAL))]
        scores = [score.name for score in self._scores()]
        segments = {table: self._segments(table) for table in ("trials", "calls", "responses")}
        files, loose = self._trials(segments["trials"], journals)
        found = {"scores": scores, "trials": files, "samples": self._samples()}
        tables = {"trials": loose} if loose is not None else {}
        for table in ("calls", "responses"):
            found[table] = [part.segment(table) for part in segments[table]]
            rows = [self._journal(part).tables[table] for part in unsealed(journals, segments[table])]
            if any(piece.num_rows for piece in rows):
                tables[table] = _joined(rows, table)
        manifests = [record for _, record in self.records("runs")]
        tasks = [
            {"task": named[0], "n": named[1], **record}
            for file, record in self.records("tasks")
            if (named := parse_task(file))
        ]
        locks = [file.removesuffix(LOCK) for file in journal_files if file.endswith(LOCK)]
        return Live(
            files={table: [str(self.storage.path(name)) for name in found[table]] for table in TABLES},
            loose=tables,
            manifests=manifests,
            scorers=[record for _, record in self.records("scorers")],
            tasks=sorted(tasks, key=lambda task: (task["task"], task["n"])),
            damaged=self.damaged,
            running={run_id for run_id in locks if self.storage.is_claimed(run_lock(run_id))},
        )

    def trials(self, run_id: str) -> pa.Table:
        journals = run_parts(self.storage, "journal", run_id)
        return self._merged(*self._sources(self._segments("trials", f"{run_id}."), journals))

    def scores_of(self, run_id: str, scorer12: str) -> tuple[ScoreFile | None, int]:
        files = self._files("scores", f"{run_id}.{scorer12}.")
        named = [score for file in files if (score := parse_scores(file))]
        live = highest_scores([score for score in named if self._is_whole(score.name)])
        return live[0] if live else None, max((score.number for score in named), default=0)

    def records(self, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the JSON objects of a folder by file name; a damaged one is noted and left out."""
        for file in self.storage.list(folder):
            if not file.endswith(".json"):
                continue
            name = f"{folder}/{file}"
            try:
                record = orjson.loads(self.storage.read(name))
            except orjson.JSONDecodeError as error:
                record = error
            if isinstance(record, dict):
                yield file, record
            else:
                self.damaged.append(
                    Fault("damaged: not a JSON object", str(self.storage.path(name)), fix=DAMAGE_FIX)
                )

    def _files(self, table: str, prefix: str = "") -> Iterator[str]:
        for file in self.storage.list(table):
            if file.endswith(PARQUET) and file.startswith(prefix):
                yield file

    def _is_whole(self, name: str) -> bool:
        fault = self.look.fault(name)
        if fault is not None:
            self.damaged.append(fault)
        return fault is None

    def _foreign(self, table: str, file: str) -> None:
        place = str(self.storage.path(f"{table}/{file}"))
        self.damaged.append(
            Fault("not a name that gradetrail gives", place, fix="move the file out of the warehouse")
        )

    def _segments(self, table: str, prefix: str = "") -> list[Part]:
        parts = []
        for file in self._files(table, prefix):
            part = parse_part(file)
            if part is None or (part.is_fold and table != "trials"):
                self._foreign(table, file)
            elif self._is_whole(part.segment(table)):
                parts.append(part)
        return parts

    def _scores(self) -> list[ScoreFile]:
        files = []
        for file in self._files("scores"):
            score = parse_scores(file)
            if score is None:
                self._foreign("scores", file)
            elif self._is_whole(score.name):
                files.append(score)
        return highest_scores(files)

    def _samples(self) -> list[str]:
        names = [f"samples/{file}" for file in self._files("samples")]
        return [name for name in names if self._is_whole(name)]

    def _journal(self, part: Part) -> Journal:
        if part not in self._journals:
            journal = parse(self.storage.read(part.journal), str(self.storage.path(part.journal)))
            self.damaged.extend(journal.faults)
            self._journals[part] = journal
        return self._journals[part]

    def _trials(self, segments: list[Part], journals: list[Part]) -> tuple[list[str], pa.Table | None]:
        """Find the files that hold all trials of a run each, and merge what is in pieces."""
        runs: dict[str, tuple[list[Part], list[Part]]] = {}
        for part in segments:
            runs.setdefault(part.run_id, ([], []))[0].append(part)
        for part in journals:
            runs.setdefault(part.run_id, ([], []))[1].append(part)
        files, merged = [], []
        for run_id in sorted(runs):
            sources, loose = self._sources(*runs[run_id])
            if len(sources) == 1 and not loose:
                files.append(sources[0].segment("trials"))
            elif sources or loose:
                merged.append(self._merged(sources, loose))
        return files, _joined(merged, "trials") if merged else None

    def _sources(self, segments: list[Part], journals: list[Part]) -> tuple[list[Part], dict[Part, pa.Table]]:
        """Choose segments and journal rows that count for the trials of one run."""
        sources, unsealed_parts = trial_sources(segments, journals)
        loose = {part: self._journal(part).tables["trials"] for part in unsealed_parts}
        return sources, {part: rows for part, rows in loose.items() if rows.num_rows}

    def _merged(self, segments: list[Part], loose: dict[Part, pa.Table]) -> pa.Table:
        import pyarrow as pa

        pieces = [
            piece_of(loose[part]) if part in loose else trial_piece(self.storage.path(part.segment("trials")))
            for part in sorted([*segments, *loose])
        ]
        try:
            return _joined(folded(pieces, TRIAL_KEY, is_sorted=False), "trials")
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException) as error:
            # a file that is whole at both ends and yet cannot be read: find it, and look again without it
            names = [part.segment("trials") for part in segments]
            if self.look.suspect("trials", names, is_thorough=True):
                raise FileNotFoundError from None
            raise StoreError(Fault(f"trials cannot be read: {error}", str(self.storage.root))) from error


def _joined(tables: Iterable[pa.Table], table: str) -> pa.Table:
    import pyarrow as pa

    schema = arrow_schema(table)
    return pa.concat_tables([schema.empty_table(), *(rows.cast(schema) for rows in tables)])
