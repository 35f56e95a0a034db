"""What is in the warehouse now: live files, rows that are not in files yet, and what is damaged.

Invariant: a look finds every row that was visible when it began, each exactly once, without a lock
and without writing. The record of packs is read first and must be the highest still at the end;
journals are listed before tables, so a part that is sealed meanwhile is found as
a segment; what refers is listed before what it refers to (scores, trials, calls, responses, samples,
manifests), so that no answer is missed whose trial is seen. If a file vanishes in between, or runs are
packed, the look begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from gradetrail.errors import Fault, StoreError
from gradetrail.store.choosing import is_packed
from gradetrail.store.digests import record_of
from gradetrail.store.folding import folded, piece_of
from gradetrail.store.interface import Storage
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
from gradetrail.store.live import Live
from gradetrail.store.manifests import Manifests
from gradetrail.store.packs import BODIES, Held, Record, highest, latest, missing, packed_rows
from gradetrail.store.schema import TABLES, TRIAL_KEY
from gradetrail.store.sealing import packed_piece, run_parts, trial_piece
from gradetrail.store.segments import DAMAGE_FIX, content_fault, ends_fault, footer_fault, joined
from gradetrail.store.texts import PackedTexts

if TYPE_CHECKING:
    import pyarrow as pa

Seen = TypeVar("Seen")

STATE = ("status", "error_type")
"""Columns of trials that say how far a run is."""
LOOKS = 100
"""Times that a look begins again before it gives up; each time, a writer has sealed or removed a file."""


class Look:
    """Looks at a warehouse; remembers which files were found whole, since files never change."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._whole: set[str] = set()
        self._broken: dict[str, Fault] = {}
        self.texts = PackedTexts(storage)

    def live(self) -> Live:
        """See everything."""
        return self._steadily(lambda: _Glance(self).live())

    def trials(self, run_id: str) -> pa.Table:
        """Give the trials of one run as they stand, each once."""
        return self._steadily(lambda: _Glance(self).trials(run_id))

    def states(self, run_id: str) -> pa.Table:
        """Give the columns STATE of the trials of one run as they stand, in no order."""
        return self._steadily(lambda: _Glance(self).states(run_id))

    def records(self, folder: str) -> list[dict[str, Any]]:
        """Read the JSON files of `runs`, `scorers` or `tasks` that are whole, sorted by name."""
        return self._steadily(lambda: [dict(record) for _, record in _Glance(self).records(folder)])

    def scores(self, run_id: str, scorer12: str) -> tuple[ScoreFile | None, int]:
        """Find the live scores of a run by a scorer, and the highest number that is taken (0 if none)."""
        return self._steadily(lambda: _Glance(self).scores_of(run_id, scorer12))

    def score_rows(self, score: ScoreFile) -> pa.Table | None:
        """Give the scores of a run by a scorer from the packs; None if they are in a file of their own."""
        return self._steadily(lambda: _Glance(self).packed_scores(score))

    def bodies(self, record: Record, kind: str) -> dict[str, str]:
        """Give the texts of a kind that are packed; each pack is read once."""
        return self.texts.bodies(record, kind)

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

    def suspect(self, table: str, names: Collection[str], *, is_thorough: bool = False) -> list[Fault]:
        """Read footers, or all of it, of files; those that cannot be read are left out from now on."""
        found = {}
        for name in names:
            if table in BODIES:
                fault = self.texts.fault(name)
            else:
                fault = (content_fault if is_thorough else footer_fault)(self.storage, table, name)
            if fault is not None:
                found[name] = fault
        self._broken |= found
        self._whole.difference_update(names)
        return list(found.values())

    def _steadily(self, look: Callable[[], Seen]) -> Seen:
        for _ in range(LOOKS):
            try:
                return look()
            except FileNotFoundError:
                continue
        raise StoreError(
            Fault("files vanish as fast as they are listed", self.storage.place(), fix="try again")
        )


class _Glance:
    """One attempt at a look; FileNotFoundError means that it must begin again."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.storage = look.storage
        self.damaged: list[Fault] = []
        self._journals: dict[Part, Journal] = {}
        self._highest = highest(self.storage)
        self.record = latest(self.storage, self.damaged)
        self._masked: dict[str, set[Held]] = {"trials": set(), "scores": set()}

    def _end(self) -> None:
        """Begin again if runs were packed meanwhile."""
        if highest(self.storage) != self._highest:
            raise FileNotFoundError

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
            parts = [part for part in journals if not self.record.has_part(table, part)]
            rows = [self._journal(part).tables[table] for part in unsealed(parts, segments[table])]
            if any(piece.num_rows for piece in rows):
                tables[table] = joined(rows, table)
        manifests = self._manifests()
        tasks = [
            {"task": named[0], "n": named[1], **record}
            for file, record in self.records("tasks")
            if (named := parse_task(file))
        ]
        partly: dict[str, dict[str, frozenset[Held]]] = {}
        self.storage.fetch(pack.name for pack in self.record.files)
        absolute = {table: [str(self.storage.local(name)) for name in found[table]] for table in TABLES}
        for pack in self.record.files:
            if self._has_pack(pack.name):
                path = str(self.storage.local(pack.name))
                newer = {h for h in self._masked.get(pack.table, ()) if pack.first <= h[0] <= pack.last}
                if masked := pack.masked | newer:
                    partly.setdefault(pack.table, {})[path] = masked
                else:
                    absolute[pack.table].append(path)
        locks = [file.removesuffix(LOCK) for file in journal_files if file.endswith(LOCK)]
        self._end()
        return Live(
            files=absolute,
            loose=tables,
            manifests=manifests,
            scorers=[dict(record) for _, record in self.records("scorers")],
            tasks=sorted(tasks, key=lambda task: (task["task"], task["n"])),
            damaged=self.damaged,
            running={run_id for run_id in locks if self.storage.is_claimed(run_lock(run_id))},
            partly=partly,
            replaced={table: frozenset(held) for table, held in self._masked.items()},
            record=self.record,
        )

    def trials(self, run_id: str) -> pa.Table:
        rows = self._merged(run_id, *self._sources_of(run_id))
        self._end()
        return rows

    def states(self, run_id: str) -> pa.Table:
        import pyarrow as pa

        sources, loose = self._sources_of(run_id)
        pieces = [] if sources or loose else [packed_piece(self.storage, self._whole_packs(), run_id)]
        if self._is_one_file(run_id, sources, loose):
            pieces = [trial_piece(self.storage.local(sources[0].segment("trials")))]
        for piece in pieces:
            # what cannot be read is looked into below
            with suppress(OSError, pa.ArrowException):
                rows = joined(piece(STATE), "trials", STATE)
                self._end()
                return rows
        return self.trials(run_id).select(list(STATE))

    def _sources_of(self, run_id: str) -> tuple[list[Part], dict[Part, pa.Table]]:
        journals = run_parts(self.storage, "journal", run_id)
        return self._sources(run_id, self._segments("trials", f"{run_id}."), journals)

    def _is_one_file(self, run_id: str, sources: list[Part], loose: Mapping[Part, pa.Table]) -> bool:
        is_packed = self.record.number_of("trials", run_id) >= 0
        return len(sources) == 1 and not loose and (sources[0].is_fold or not is_packed)

    def scores_of(self, run_id: str, scorer12: str) -> tuple[ScoreFile | None, int]:
        files = self._files("scores", f"{run_id}.{scorer12}.")
        named = [score for file in files if (score := parse_scores(file))]
        packed = self.record.number_of("scores", run_id, scorer12)
        live = highest_scores(
            [score for score in named if score.number > packed and self._is_whole(score.name)]
        )
        if not live and packed > 0:
            live = [ScoreFile(run_id, scorer12, packed)]
        self._end()
        return live[0] if live else None, max([packed, 0, *(score.number for score in named)])

    def packed_scores(self, score: ScoreFile) -> pa.Table | None:
        if score.number != self.record.number_of("scores", score.run_id, score.scorer12):
            return None
        held = (score.run_id, score.scorer12)
        rows = joined(packed_rows(self.storage, self._whole_packs(), "scores", held), "scores")
        self._end()
        return rows

    def records(self, folder: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the JSON objects of a folder by file name; a damaged one is noted and left out."""
        whole = self._whole(folder)
        found = {**self._packed_manifests(), **whole} if folder == "runs" else whole
        for file in sorted(found):
            yield file, found[file]

    def _whole(self, folder: str) -> dict[str, Mapping[str, Any]]:
        """Read the JSON files of a folder."""
        listed = [file for file in self.storage.list(folder) if file.endswith(".json")]
        whole: dict[str, Mapping[str, Any]] = {}
        names = [f"{folder}/{file}" for file in listed]
        for file, name, data in zip(listed, names, self.storage.read_all(names), strict=True):
            try:
                whole[file] = record_of(data)
            except ValueError:
                self.damaged.append(
                    Fault("damaged: not a JSON object", self.storage.place(name), fix=DAMAGE_FIX)
                )
        return whole

    def _manifests(self) -> Sequence[Mapping[str, Any]]:
        """Read manifests; those that are packed when they are asked for."""
        loose, pack = self._whole("runs"), self.record.bodies.get("runs")
        if pack is None or not self._has_pack(pack):
            return [loose[file] for file in sorted(loose)]
        later = partial(self.look.texts.manifests_later, self.record, self.damaged)
        return Manifests(str(self.storage.local(pack)), loose, later)

    def _packed_manifests(self) -> Mapping[str, Mapping[str, Any]]:
        """Give packed manifests by the names of the files that they were."""
        is_there = self._has_pack(name) if (name := self.record.bodies.get("runs")) else False
        return self.look.texts.manifests(self.record, self.damaged) if is_there else {}

    def _files(self, table: str, prefix: str = "") -> Iterator[str]:
        files = [f for f in self.storage.list(table) if f.endswith(PARQUET) and f.startswith(prefix)]
        self.storage.fetch(f"{table}/{file}" for file in files if not is_packed(self.record, table, file))
        yield from files

    def _is_whole(self, name: str) -> bool:
        fault = self.look.fault(name)
        if fault is not None:
            self.damaged.append(fault)
        return fault is None

    def _has_pack(self, name: str) -> bool:
        """Say whether a pack is whole; one that is gone, and was not packed anew, is damage too."""
        try:
            return self._is_whole(name)
        except FileNotFoundError:
            self._end()
            self.damaged.append(missing(self.storage, name))
            return False

    def _foreign(self, table: str, file: str) -> None:
        place = self.storage.place(f"{table}/{file}")
        self.damaged.append(
            Fault("not a name that gradetrail gives", place, fix="move the file out of the warehouse")
        )

    def _segments(self, table: str, prefix: str = "") -> list[Part]:
        parts = []
        for file in self._files(table, prefix):
            part = parse_part(file)
            if part is None or (part.is_fold and table != "trials"):
                self._foreign(table, file)
            elif not self.record.has_part(table, part) and self._is_whole(part.segment(table)):
                parts.append(part)
        return parts

    def _scores(self) -> list[ScoreFile]:
        files = []
        for file in self._files("scores"):
            score = parse_scores(file)
            if score is None:
                self._foreign("scores", file)
            elif not self.record.has_scores(score) and self._is_whole(score.name):
                files.append(score)
                if self.record.number_of("scores", score.run_id, score.scorer12) >= 0:
                    self._masked["scores"].add((score.run_id, score.scorer12))
        return highest_scores(files)

    def _samples(self) -> list[str]:
        known = self.record.absorbed["samples"]
        files = (file for file in self._files("samples") if (file.removesuffix(PARQUET), "") not in known)
        return [name for file in files if self._is_whole(name := f"samples/{file}")]

    def _journal(self, part: Part) -> Journal:
        if part not in self._journals:
            journal = parse(self.storage.read(part.journal), self.storage.place(part.journal))
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
            sources, loose = self._sources(run_id, *runs[run_id])
            if not sources and not loose:
                continue
            if self.record.number_of("trials", run_id) >= 0:
                self._masked["trials"].add((run_id, ""))
            if self._is_one_file(run_id, sources, loose):
                files.append(sources[0].segment("trials"))
            else:
                merged.append(self._merged(run_id, sources, loose))
        return files, joined(merged, "trials") if merged else None

    def _sources(
        self, run_id: str, segments: list[Part], journals: list[Part]
    ) -> tuple[list[Part], dict[Part, pa.Table]]:
        """Choose segments and journal rows that count for the trials of one run."""
        packed = self.record.number_of("trials", run_id)
        sources, unsealed_parts = trial_sources(segments, journals, packed)
        loose = {part: self._journal(part).tables["trials"] for part in unsealed_parts}
        return sources, {part: rows for part, rows in loose.items() if rows.num_rows}

    def _whole_packs(self) -> Record:
        """Give the record without packs that are damaged."""
        files = tuple(pack for pack in self.record.files if self._has_pack(pack.name))
        return replace(self.record, files=files)

    def _merged(self, run_id: str, segments: list[Part], loose: dict[Part, pa.Table]) -> pa.Table:
        """Give the trials of a run as they stand: what is packed unless there is a newer fold, and these."""
        import pyarrow as pa

        pieces = [
            piece_of(loose[part])
            if part in loose
            else trial_piece(self.storage.local(part.segment("trials")))
            for part in sorted([*segments, *loose])
        ]
        if not any(part.is_fold for part in segments):
            pieces.insert(0, packed_piece(self.storage, self._whole_packs(), run_id))
        try:
            return joined(folded(pieces, TRIAL_KEY, is_sorted=False), "trials")
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException) as error:
            # a file that is whole at both ends and yet cannot be read: find it, and look again without it
            names = [part.segment("trials") for part in segments]
            names += [pack.name for pack in self.record.holders("trials", (run_id, ""))]
            if self.look.suspect("trials", names, is_thorough=True):
                raise FileNotFoundError from None
            raise StoreError(Fault(f"trials cannot be read: {error}", self.storage.place())) from error
