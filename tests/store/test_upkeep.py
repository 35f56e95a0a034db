"""Health and removal: every flipped bit is noticed, repair loses only what is damaged, what goes is gone."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from gradetrail.errors import StoreError
from gradetrail.store import Store
from gradetrail.store.packing import pack
from gradetrail.store.packs import latest
from gradetrail.store.reading import Look
from gradetrail.store.reclaiming import reclaim
from gradetrail.store.removal import Removal
from gradetrail.store.repair import damaged
from gradetrail.store.segments import conformed
from gradetrail.store.storage import LocalStorage
from tests.store.rows import SCORER, answered, planned, rows_of, statuses, table_of, texts, trial
from tests.store.test_packing import NO_GRACE, finished, grade, run_name

FLIPS = 50
SECRET = "a secret that must go"


def files_of(root: Path) -> list[Path]:
    return sorted(p for p in root.rglob("*") if p.suffix in (".json", ".parquet") and p.is_file())


@pytest.mark.parametrize("is_packed", [False, True], ids=["loose files", "packs"])
def test_any_flipped_bit_of_any_file_is_noticed(tmp_path: Path, is_packed: bool) -> None:
    for number in range(3):
        finished(tmp_path, number)
    store = Store(tmp_path)
    store.publish_scorer(SCORER, {"scorer_id": SCORER, "definition": {"type": "exact"}})
    store.publish_task("gsm8k", {"scorers": {"strict": SCORER}, "primary": "strict"})
    if is_packed:
        store.compact(NO_GRACE)
    assert list(damaged(store.storage)) == []
    files, draw = files_of(tmp_path), random.Random(7)
    for turn in range(FLIPS):
        path = files[turn % len(files)]
        whole = path.read_bytes()
        bit = draw.randrange(8 * len(whole))
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(flipped)
        found = [fault.where for _, fault in damaged(store.storage)]
        assert str(path) in found, f"bit {bit} of {path.name}"
        path.write_bytes(whole)
    assert list(damaged(store.storage)) == []


def test_a_damaged_pack_is_set_aside_and_loose_files_count_again(tmp_path: Path) -> None:
    runs = [finished(tmp_path, number) for number in range(3)]
    store = Store(tmp_path)
    store.compact(3600)
    pack = next((tmp_path / "packs").glob("responses-*"))
    pack.write_bytes(b"x" + pack.read_bytes()[1:])
    names = [name for name, _ in damaged(store.storage)]
    assert store.set_aside(names) == [f"packs/{pack.name}"]
    live = store.live()
    assert live.damaged == []
    assert len(texts(live)) == 9
    assert (tmp_path / "quarantine" / pack.name).exists()
    assert store.manifest(runs[0])["status"] == "complete"
    assert list(damaged(store.storage)) == []


def test_a_damaged_pack_whose_runs_are_nowhere_else_costs_only_what_it_held(tmp_path: Path) -> None:
    for number in range(3):
        finished(tmp_path, number)
    store = Store(tmp_path)
    store.compact(NO_GRACE)
    pack = next((tmp_path / "packs").glob("scores-*"))
    pack.write_bytes(pack.read_bytes()[:-9])
    store.set_aside([name for name, _ in damaged(store.storage)])
    live = store.live()
    assert live.damaged == []
    assert statuses(live) == {"answered": 9}
    assert rows_of(live, "scores") == []
    assert live.stems("scores") == []
    assert store.scores_number(run_name(1), SCORER) == 0


@pytest.mark.parametrize("kind", ["responses", "calls", "trials", "scores", "runs"])
@pytest.mark.parametrize("has_looked", [False, True], ids=["at first", "after a look"])
def test_a_pack_that_is_gone_is_named_and_costs_only_what_it_held(
    tmp_path: Path, kind: str, has_looked: bool
) -> None:
    runs = [finished(tmp_path, number) for number in range(3)]
    store = Store(tmp_path)
    store.compact(NO_GRACE)
    store = Store(tmp_path, create=False)
    assert not has_looked or store.live().damaged == []
    pack = next((tmp_path / "packs").glob(f"{kind}-*"))
    pack.unlink()
    if has_looked and kind != "runs":
        assert store.suspect([str(pack)]) == []  # as a query does that does not find it
    for _ in range(2):
        live = (store if kind != "runs" else Store(tmp_path, create=False)).live()
        left = {table: len(rows_of(live, table)) for table in ("responses", "calls", "trials", "scores")}
        assert left == {table: 9 * (table != kind) for table in left}
        assert len(live.manifests) == (3 if kind != "runs" else 0)
        assert [fault.where for fault in live.damaged] == [str(pack)]
    assert len(store.trials(runs[0])) == (3 if kind != "trials" else 0)
    repaired = Store(tmp_path)
    assert repaired.set_aside([name for name, _ in damaged(repaired.storage)]) == []
    assert repaired.live().damaged == list(damaged(repaired.storage)) == []
    assert grade(repaired, runs[0], 3) == 1


def test_a_pack_that_was_packed_anew_is_no_damage(tmp_path: Path) -> None:
    finished(tmp_path, 0)
    store = Store(tmp_path)
    store.compact(NO_GRACE)
    storage, record = LocalStorage(tmp_path), latest(store.storage)
    look, is_due = Look(storage), [True]

    class Late(LocalStorage):
        def ends(self, name: str, head: int, tail: int) -> tuple[int, bytes, bytes]:
            if is_due and name == record.files[0].name:
                is_due.clear()
                finished(tmp_path, 1)
                store.compact(NO_GRACE)
            return super().ends(name, head, tail)

    look.storage = Late(tmp_path)
    live = look.live()
    assert not is_due
    assert live.damaged == []
    assert statuses(live) == {"answered": 6}


def test_a_removal_that_slept_deletes_nothing_of_a_later_packer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = secretive(tmp_path, 1)
    finished(tmp_path, 2)
    store, listed, is_due = Store(tmp_path), LocalStorage.list, [True]

    def late(storage: LocalStorage, folder: str) -> list[str]:
        if is_due and (tmp_path / "packs" / "2.json").exists() and folder == "packs":
            is_due.clear()
            finished(tmp_path, 3)
            assert pack(storage, "a packer that a lapsed lock let in") is not None
        return listed(storage, folder)

    monkeypatch.setattr(LocalStorage, "list", late)
    store.remove(Removal(run, with_answers=True), {})
    assert not is_due
    live = Store(tmp_path).live()
    assert live.damaged == []
    assert statuses(live) == {"answered": 6}
    assert not holds_secret(tmp_path)


def test_a_file_that_vanishes_while_bytes_are_counted_ends_no_removal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = secretive(tmp_path, 1)
    log = tmp_path / "logs" / "another.jsonl"
    log.parent.mkdir(exist_ok=True)
    log.write_text("{}\n")
    store, size = Store(tmp_path), LocalStorage.size

    def late(storage: LocalStorage, name: str) -> int:
        if name == "logs/another.jsonl":
            log.unlink(missing_ok=True)
        return size(storage, name)

    monkeypatch.setattr(LocalStorage, "size", late)
    assert store.remove(Removal(run, with_answers=True), {}).n_now > 0
    assert not log.exists()
    assert not holds_secret(tmp_path)


def test_who_slept_while_what_he_packed_was_reclaimed_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = secretive(tmp_path, 1)
    finished(tmp_path, 2)
    store, create, is_due = Store(tmp_path), LocalStorage.create, [True]

    def late(storage: LocalStorage, name: str, write: Callable[[BinaryIO], object]) -> bool:
        if is_due and name == "packs/2.json":
            is_due.clear()
            reclaim(storage, "a packer that a lapsed lock let in", NO_GRACE)
        return create(storage, name, write)

    monkeypatch.setattr(LocalStorage, "create", late)
    with pytest.raises(StoreError, match="packed meanwhile"):
        store.remove(Removal(run, with_answers=True), {})
    live = Store(tmp_path).live()
    assert (live.damaged, statuses(live)) == ([], {"answered": 5})
    store.remove(Removal(run, with_answers=True), {})
    live = Store(tmp_path).live()
    assert (live.damaged, statuses(live)) == ([], {"answered": 3})
    assert not holds_secret(tmp_path)


def test_files_that_others_delete_meanwhile_do_not_end_a_compact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished(tmp_path, 0)
    store = Store(tmp_path)
    lock = tmp_path / "journal" / "another.lock"
    listed = LocalStorage.list

    def ending(storage: LocalStorage, folder: str) -> list[str]:
        if folder != "journal":
            return listed(storage, folder)
        lock.touch()
        files = listed(storage, folder)
        lock.unlink()  # its run ends just now
        return files

    monkeypatch.setattr(LocalStorage, "list", ending)
    assert store.compact(NO_GRACE) is not None
    assert list(damaged(store.storage)) == []


def test_a_manifest_that_its_run_has_written_again_is_not_set_aside(tmp_path: Path) -> None:
    run = finished(tmp_path, 1)
    store = Store(tmp_path)
    path = tmp_path / "runs" / f"{run}.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    names = [name for name, _ in damaged(store.storage)]
    path.write_bytes(whole)
    assert (names, store.set_aside(names)) == ([f"runs/{run}.json"], [])
    assert store.manifest(run)["status"] == "complete"


def test_a_damaged_record_of_packs_is_set_aside(tmp_path: Path) -> None:
    finished(tmp_path, 1)
    store = Store(tmp_path)
    store.compact(3600)
    (tmp_path / "packs" / "1.json").write_bytes(b"{")
    store.set_aside([name for name, _ in damaged(store.storage)])
    assert statuses(store.live()) == {"answered": 3}
    store.compact(3600)
    assert statuses(store.live()) == {"answered": 3}


def secretive(root: Path, number: int) -> str:
    run_id = run_name(number)
    store = planned(root, 2, run_id)
    with store.writer(run_id) as writer:
        for n in range(2):
            writer.append(**answered(n, run_id, text=f"{SECRET} {n}"))
    store.write_manifest(run_id, {"run_id": run_id, "task": "gsm8k", "status": "complete"})
    return run_id


def pinned(root: Path, number: int, to: str) -> str:
    """Make a run that takes another run's answers."""
    run_id = run_name(number)
    store = planned(root, 2, run_id)
    rows = [trial(n, "answered", run_id, response_run_id=to) for n in range(2)]
    with store.writer(run_id) as writer:
        writer.add_trials(conformed("trials", table_of("trials", rows)))
    store.write_manifest(run_id, {"run_id": run_id, "task": "gsm8k", "status": "complete"})
    return run_id


def holds_secret(root: Path) -> bool:
    """Say whether any answer text with the secret can still be read from any file."""
    import pyarrow.parquet as pq

    found = False
    for path in [*root.rglob("responses*"), *root.glob("responses/*")]:
        if path.is_file():
            columns = pq.read_table(path, columns=["text"]).column("text").to_pylist()
            found = found or any(text and SECRET in text for text in columns)
    return found


@pytest.mark.parametrize("packed", ["before", "not yet", "with others since"])
def test_a_removed_run_is_in_no_file_any_more(tmp_path: Path, packed: str) -> None:
    run = secretive(tmp_path, 1)
    others = [finished(tmp_path, number) for number in (0, 2)]
    store = Store(tmp_path)
    if packed != "not yet":
        store.compact(NO_GRACE if packed == "before" else 3600)
    assert holds_secret(tmp_path)
    store.remove(Removal(run, with_answers=True), {})
    assert not holds_secret(tmp_path)
    for _ in range(2):
        live = store.live()
        assert live.damaged == []
        assert statuses(live) == {"answered": 6}
        assert {manifest["run_id"] for manifest in live.manifests} == set(others)
        assert len(texts(live)) == len(rows_of(live, "calls")) == len(rows_of(live, "scores")) == 6
        store.compact(NO_GRACE)
    with pytest.raises(StoreError, match="missing"):
        store.manifest(run)


def test_answers_stay_unless_they_are_named(tmp_path: Path) -> None:
    run = secretive(tmp_path, 1)
    store = Store(tmp_path)
    store.remove(Removal(run), {})
    live = store.live()
    assert statuses(live) == {}
    assert len(texts(live)) == 2


def test_an_answer_that_another_run_rests_on_stays_with_its_call(tmp_path: Path) -> None:
    run = secretive(tmp_path, 1)
    other = pinned(tmp_path, 2, run)
    store = Store(tmp_path)
    first = answered(0, run)["response"]["response_id"]
    store.remove(Removal(run, with_answers=True, kept=frozenset({first})), {})
    for _ in range(2):
        live = store.live()
        assert texts(live) == [f"{SECRET} 0"]
        assert [row[0] for row in rows_of(live, "calls", "response_id")] == [first]
        assert {row[0] for row in rows_of(live, "trials", "run_id")} == {other}
        store.compact(NO_GRACE)


def test_with_force_trials_of_other_runs_are_pending_again(tmp_path: Path) -> None:
    run = secretive(tmp_path, 1)
    other = pinned(tmp_path, 2, run)
    store = Store(tmp_path)
    store.compact(NO_GRACE)
    answers = frozenset(answered(n, run)["response"]["response_id"] for n in range(2))
    store.remove(Removal(run, with_answers=True, ungraded=frozenset({other})), {other: answers})
    for _ in range(2):
        live = store.live()
        assert not holds_secret(tmp_path)
        assert statuses(live) == {"pending": 2}
        assert store.manifest(other)["status"] == "incomplete"
        store.compact(NO_GRACE)
