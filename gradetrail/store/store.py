"""One warehouse: opened and checked, and everything that may be written to it but a run's answers.

Invariant: a folder is taken for a warehouse only if `gradetrail.json` says so, and is never touched
if a newer version wrote it. What is published stays as it is: a second attempt changes nothing, or
gets the next number.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from gradetrail.errors import Fault, QueryError, RunLockedError, StoreError, did_you_mean
from gradetrail.store.choosing import LOOSE_FILES, loose_files
from gradetrail.store.digests import certified, format_of, record_of
from gradetrail.store.interface import Storage
from gradetrail.store.journal import Row
from gradetrail.store.layout import (
    FORMAT_FILE,
    JOURNAL,
    LOCK,
    Part,
    checked,
    parse_task,
    plan_lock,
)
from gradetrail.store.live import Live
from gradetrail.store.packing import Packed, pack
from gradetrail.store.packs import PACK_LOCK, Record, latest, table_of
from gradetrail.store.places import storage_at
from gradetrail.store.reading import Look
from gradetrail.store.reclaiming import GRACE_S, Reclaimed, reclaim
from gradetrail.store.schema import FORMAT_VERSION, TABLES
from gradetrail.store.scores import publish_scores
from gradetrail.store.segments import ordered, publish, publish_batches
from gradetrail.store.spool import Spool
from gradetrail.store.writer import PART_ROWS, RunWriter

if TYPE_CHECKING:
    import pyarrow as pa

    from gradetrail.store.removal import Freed, Removal

PLANNING_PATIENCE_S = 300.0
_USERS_OWN = {"sql", "prices.yaml"}
"""What a user may have put into a folder before it becomes a warehouse, hidden files apart."""


def this_program() -> str:
    """Say which version this is, as a warehouse records what wrote it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"gradetrail {version('gradetrail')}"
    except PackageNotFoundError:
        return "gradetrail"


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did."""

    packed: Packed
    reclaimed: Reclaimed


class Store:
    """A warehouse; `create=False` opens it for reading, writes nothing and may be on a read-only disk."""

    def __init__(self, root: Path, *, create: bool = True) -> None:
        self.storage: Storage = storage_at(root)
        self.root = self.storage.root
        self._may_write = create
        self._look = Look(self.storage)
        if create:
            self._make()
        self._check()

    def _make(self) -> None:
        others = [name for name in self.storage.prepare() if name not in _USERS_OWN]
        # looked for after the listing: another process may be making the same warehouse
        if self.storage.has(FORMAT_FILE):
            return
        if others:
            fix = "give a new or empty folder: --warehouse DIR"
            raise StoreError(
                Fault(f"is not a warehouse, and holds `{min(others)}`", self.storage.place(), fix=fix)
            )
        record = certified({"format": FORMAT_VERSION, "written_by": this_program()})
        self.storage.create(FORMAT_FILE, lambda file: file.write(record))

    def _check(self) -> None:
        place = self.storage.place(FORMAT_FILE)
        try:
            record = record_of(self.storage.read(FORMAT_FILE))
            version, author = format_of(record), str(record.get("written_by", "another program"))
        except FileNotFoundError:
            reason = "is not a warehouse" if self.storage.exists() else "does not exist"
            fix = "give a warehouse with --warehouse DIR; the first `gradetrail run` makes one"
            raise StoreError(Fault(reason, self.storage.place(), fix=fix)) from None
        except ValueError:
            fix = f'if it is a warehouse, restore the file: {{"format": {FORMAT_VERSION}}}'
            raise StoreError(Fault("is damaged", place, fix=fix)) from None
        if version > FORMAT_VERSION:
            reason = f"{author} wrote it in format {version}; {this_program()} knows up to {FORMAT_VERSION}"
            raise StoreError(Fault(reason, place, fix="install a newer gradetrail"))
        if self._may_write:
            self.storage.check_writable()

    def _writing(self) -> Storage:
        if not self._may_write:
            raise StoreError(Fault("was opened for reading", self.storage.place()))
        return self.storage

    def new_run_id(self, name: str, now: datetime) -> str:
        """Make an id such as `20261130T083112Z-gsm8k-5f0c2a` that no run has."""
        checked(name, "name of a run")
        while True:
            run_id = f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{name}-{secrets.token_hex(3)}"
            if not self.storage.has(f"runs/{run_id}.json"):
                return run_id

    def write_manifest(self, run_id: str, manifest: Mapping[str, Any]) -> None:
        """Put a run's manifest in the place of its former one."""
        data = certified(manifest, orjson.OPT_INDENT_2)
        self._writing().replace(f"runs/{checked(run_id, 'run id')}.json", data)

    def manifest(self, run_id: str) -> dict[str, Any]:
        """Read a run's manifest; StoreError if there is none or it is damaged."""
        name = f"runs/{checked(run_id, 'run id')}.json"
        with contextlib.suppress(FileNotFoundError, orjson.JSONDecodeError, TypeError, ValueError):
            return record_of(self.storage.read(name))
        packed = {manifest["run_id"]: manifest for manifest in self.manifests()}
        try:
            return dict(packed[run_id])
        except KeyError:
            fix = "start another run with --new: stored answers are used again"
            place = self.storage.place(name)
            raise StoreError(Fault("missing or damaged manifest", place, fix=fix)) from None

    def manifests(self) -> list[dict[str, Any]]:
        """Read all manifests, sorted by run_id; a damaged one is left out and named in `live().damaged`."""
        return self._look.records("runs")

    def publish(self, table: str, stem: str, rows: pa.Table) -> bool:
        """Publish `<table>/<stem>.parquet`; False if it is there already, which then stays as it is."""
        if table not in TABLES:
            raise StoreError(Fault(f"no table `{table}`", fix=did_you_mean(table, TABLES)))
        return publish(self._writing(), table, checked(stem, "file name"), rows)

    def publish_samples(self, dataset_id: str, rows: pa.Table | Iterable[pa.Table]) -> None:
        """Store a dataset, unless it is there; where rows come in parts, in the order of `position`."""
        import pyarrow as pa

        storage, stem = self._writing(), checked(dataset_id, "dataset id")
        if latest(storage).number_of("samples", stem) >= 0:
            return
        if isinstance(rows, pa.Table):
            publish(storage, "samples", stem, rows)
        else:
            publish_batches(storage, "samples", stem, rows)

    def publish_scorer(self, scorer_id: str, record: Mapping[str, Any]) -> None:
        """Store a scorer's definition, unless it is there."""
        self._publish_json(f"scorers/{checked(scorer_id, 'scorer id')}.json", record)

    def publish_task(self, task: str, definition: Mapping[str, Any]) -> int:
        """Store a task's definition if it differs from the current one; return the current number."""
        checked(task, "task name")
        wanted = orjson.loads(orjson.dumps(dict(definition)))
        while True:
            named = map(parse_task, self.storage.list("tasks"))
            n = max((found[1] for found in named if found and found[0] == task), default=0)
            if n:
                try:
                    if record_of(self.storage.read(f"tasks/{task}.{n}.json")) == wanted:
                        return n
                except ValueError:
                    pass  # a damaged definition is followed by a whole one
            if self._publish_json(f"tasks/{task}.{n + 1}.json", wanted):
                return n + 1

    def _publish_json(self, name: str, record: Mapping[str, Any]) -> bool:
        data = certified(record, orjson.OPT_INDENT_2)
        return self._writing().create(name, lambda file: file.write(data))

    def scores_number(self, run_id: str, scorer_id: str) -> int:
        """Give the number of the live scores of a run by a scorer; 0 if there are none."""
        live, _ = self._look.scores(run_id, scorer_id[:12])
        return live.number if live else 0

    def publish_scores(
        self,
        run_id: str,
        scorer_id: str,
        rows: pa.Table | Spool,
        metadata: Mapping[str, Any],
        *,
        over: int | None = None,
        seen: Record | None = None,
    ) -> int:
        """Publish all scores of a run by a scorer under the next number, and return the number that counts.

        `metadata` (`scored_at`, counts) becomes Parquet key-value metadata. `over` is the
        `scores_number` that grading began with: scores that another process published since are
        kept, and rows are added to them only where they say more, or about a newer answer. `seen` is the
        record of packs of the look that was graded: rows that name an answer which was removed since
        are left out. Nothing is published if that adds nothing; `metadata` then is dropped too.
        """
        checked(run_id, "run id"), checked(scorer_id, "scorer id")
        held = (run_id, scorer_id[:12])
        return publish_scores(self._writing(), self._look, held, rows, metadata, over=over, seen=seen)

    def start_plan(self, run_id: str, rows: pa.Table) -> None:
        """Publish the trials of a new run, before its first call; columns that are NULL may be left out."""
        plan = Part(checked(run_id, "run id"), 0)
        if not publish_batches(self._writing(), "trials", plan.stem, ordered("trials", rows)):
            raise StoreError(Fault("the run has a plan already", self.storage.place(plan.segment("trials"))))

    def writer(self, run_id: str, *, header: Row | None = None, part_rows: int = PART_ROWS) -> RunWriter:
        """Begin to generate into a run; RunLockedError names the process that does so already.

        `header` becomes the first line of the journal. What dead writers of the run left is sealed
        first, and counted in `absorbed`.
        """
        return RunWriter(self._writing(), checked(run_id, "run id"), header=header, part_rows=part_rows)

    @contextlib.contextmanager
    def planning(self, plan_id: str) -> Iterator[None]:
        """Hold up other processes that would start a run of the same plan, until this one has begun.

        Waits for one that does so already; StoreError if that takes minutes.
        """
        name = plan_lock(checked(plan_id, "plan id"))
        patience = time.monotonic() + PLANNING_PATIENCE_S
        claim = None
        while claim is None:
            claim = self._writing().claim(name)
            if claim is None and time.monotonic() > patience:
                fix = "end the process that hangs, and run the same command again"
                raise StoreError(Fault("another process is still about to start this run", name, fix=fix))
        try:
            yield
        finally:
            claim.release(delete=True)

    def moment(self) -> str:
        """Give a mark that changes whenever a run, trials or answers are added.

        A look at the warehouse that was begun at this mark still holds while the mark is the same. It is
        empty while there are none.
        """
        names = [
            f"{folder}/{file}"
            for folder in ("runs", "trials", "responses", "packs")
            for file in self.storage.list(folder)
        ]
        sizes = self.storage.sizes("journal", JOURNAL)
        listed = "\n".join([*(n for n in names if not n.endswith(LOCK)), *map(str, sizes.items())])
        return hashlib.sha256(listed.encode()).hexdigest() if listed else ""

    def live(self) -> Live:
        """Look at everything that is in the warehouse now; needs no lock and writes nothing."""
        live = self._look.live()
        self.storage.tidy(GRACE_S)
        return live

    def trials(self, run_id: str) -> pa.Table:
        """Give the trials of one run as they stand, each once; empty for an unknown run."""
        return self._look.trials(checked(run_id, "run id"))

    def states(self, run_id: str) -> pa.Table:
        """Give `status` and `error_type` of the trials of one run as they stand, in no order."""
        return self._look.states(checked(run_id, "run id"))

    def compact(self, grace_s: float = GRACE_S) -> Compacted | None:
        """Pack what is finished and delete what is packed for longer than the grace period.

        None if another process does so now.
        """
        storage = self._writing()
        claim = storage.claim(PACK_LOCK)
        if claim is None:
            return None
        try:
            packed = pack(storage, this_program())
            if packed is None:
                return None
            return Compacted(packed, reclaim(storage, this_program(), grace_s))
        finally:
            claim.release()

    def compact_if_many(self) -> Compacted | None:
        """Compact if a table has more loose files than a look should have to open; None if not."""
        return self.compact() if loose_files(self.storage) > LOOSE_FILES else None

    def set_aside(self, names: list[str]) -> list[str]:
        """Move damaged files to `quarantine/`; give the names of those that were moved."""
        from gradetrail.store.repair import set_aside

        with self._packing_alone():
            return set_aside(self._writing(), names, this_program())

    def remove(
        self,
        removal: Removal,
        pinned: Mapping[str, frozenset[str]],
        confirm: Callable[[], None] = lambda: None,
    ) -> Freed:
        """Remove a run for good; say what that frees.

        Trials of other runs that are `pinned` to answers which go are pending from then on. `confirm` is
        called when the runs are locked, and raises if there is more to remove by then.
        """
        from gradetrail.store.removal import pending, remove

        with contextlib.ExitStack() as stack:
            for run_id in sorted({removal.run_id, *pinned}):
                writer = stack.enter_context(self.writer(run_id))
                if run_id in pinned:
                    writer.add_trials(pending(self.trials(run_id), pinned[run_id]))
                    with contextlib.suppress(StoreError):
                        self.write_manifest(run_id, self.manifest(run_id) | {"status": "incomplete"})
                writer.finish()
            stack.enter_context(self._packing_alone())
            return remove(self._writing(), removal, this_program(), confirm)

    @contextlib.contextmanager
    def _packing_alone(self) -> Iterator[None]:
        """Keep packers out; RunLockedError if one is at work."""
        claim = self._writing().claim(PACK_LOCK)
        if claim is None:
            raise RunLockedError(
                Fault("another process packs this warehouse now", self.storage.place(), fix="wait for it")
            )
        try:
            yield
        finally:
            claim.release()

    def notes(self, record: Record, stem: str) -> dict[str, str] | None:
        """Give what was noted of packed scores, by the stem of the file that they were; None if nothing."""
        try:
            text = self._look.bodies(record, "notes").get(stem)
        except QueryError:
            return None
        return None if text is None else dict(orjson.loads(text))

    @property
    def home(self) -> Path:
        """A local folder with what the user added (`sql/`, `prices.yaml`), and for logs."""
        return self.storage.home

    def own(self, files: Iterable[str]) -> list[str]:
        """Keep the files that are of this warehouse."""
        found = []
        for file in files:
            with contextlib.suppress(ValueError):
                self.storage.name(file)
                found.append(file)
        return found

    def suspect(self, files: Iterable[str], *, is_thorough: bool = False) -> list[Fault]:
        """Read footers (or, thorough, every page) of live files after a query failed.

        Files that are damaged are returned and left out of `live()` from now on.
        """
        names: dict[str, list[str]] = {}
        for file in files:
            name = self.storage.name(file)
            names.setdefault(table_of(name), []).append(name)
        self.storage.forget(name for listed in names.values() for name in listed)
        return [
            fault
            for table, listed in names.items()
            for fault in self._look.suspect(table, listed, is_thorough=is_thorough)
        ]
