"""What publishes is creation on condition: stores that cannot do it, replies that are lost, and copies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradetrail.errors import StoreError
from gradetrail.store import Store
from gradetrail.store.copies import Copies, cache_folder
from gradetrail.store.objects import ObjectStorage
from gradetrail.store.places import is_warehouse, place_name, storage_at
from gradetrail.store.remote import TEMPORARY, Remote, Version
from tests.objects.places import Machine, in_bucket
from tests.objects.steps import copied
from tests.store.rows import RUN, answered, planned, statuses, texts
from tests.store.test_processes import outputs

SAME = """
print(Store(root).storage.create("responses/same", lambda file: file.write(b"x" * 100 + bytes([numbers[0]]))))
"""

READ = """
storage = Store(root, create=False).storage
storage.list("responses")
print(len(storage.local("responses/large").read_bytes()), storage.ends("responses/large", 1, 1)[0])
"""


def test_a_store_that_lets_two_create_one_object_is_refused_before_anything_is_written(
    machine: Machine, s3_server: str
) -> None:
    address = in_bucket(s3_server, "careless")
    with pytest.raises(StoreError, match="lets two writers create one object"):
        Store(address)
    assert not is_warehouse(address)
    assert ObjectStorage(str(address)).list(TEMPORARY) == []


def test_a_warehouse_that_was_copied_to_such_a_store_is_read_there_and_not_written(
    address: Path, s3_server: str, tmp_path: Path
) -> None:
    planned(address, 1)
    careless = in_bucket(s3_server, "careless")
    copied(address, careless)
    with pytest.raises(StoreError, match="lets two writers create one object"):
        Store(careless)
    assert statuses(Store(careless, create=False).live()) == {"pending": 1}


def test_a_store_is_tried_once_on_each_machine(address: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(address)
    monkeypatch.setattr(Remote, "check_creates", lambda _: pytest.fail("tried again"))
    Store(address)


def test_a_store_that_denies_access_says_what_is_needed(machine: Machine, s3_server: str) -> None:
    address = in_bucket(s3_server, "denied")
    for create in (True, False):
        with pytest.raises(StoreError, match="access denied") as caught:
            Store(address, create=create)
        assert "AWS_ACCESS_KEY_ID" in str(caught.value)


def test_a_creation_whose_reply_was_lost_is_a_creation(machine: Machine, s3_server: str) -> None:
    # the client asks again and hears that the name is taken: by itself
    address = in_bucket(s3_server, "forgetful")
    store = planned(address, 3)
    with store.writer(RUN, part_rows=1) as writer:
        for number in range(3):
            writer.append(**answered(number))
    assert statuses(store.live()) == {"answered": 3}
    assert texts(store.live()) == ["answer 0", "answer 1", "answer 2"]
    assert store.compact(0.0) is not None
    assert texts(Store(address, create=False).live()) == ["answer 0", "answer 1", "answer 2"]


def test_a_store_that_is_away_for_a_moment_does_not_end_a_run(machine: Machine, s3_server: str) -> None:
    # the second upload and all its retries fail, and part of the third's
    store, n_seen = planned(in_bucket(s3_server, "weary"), 3), []
    with store.writer(RUN) as writer:
        for number in range(3):
            writer.append(**answered(number))
            writer.flush()
            writer.sync()
            seen = texts(store.live())
            assert seen == [f"answer {n}" for n in range(len(seen))]
            n_seen.append(len(seen))
    assert n_seen == [1, 1, 3]
    assert texts(store.live()) == ["answer 0", "answer 1", "answer 2"]


def test_of_processes_that_create_one_name_with_different_content_one_wins(any_address: Path) -> None:
    Store(any_address)
    assert sorted(outputs(SAME, any_address, *range(6))) == ["False"] * 5 + ["True"]


def test_processes_that_fill_one_cache_at_once_all_read_the_whole_object(
    address: Path, tmp_path: Path, machine: Machine
) -> None:
    content = os.urandom(300_000)
    assert Store(address).storage.create("responses/large", lambda file: file.write(content))
    machine("two")
    assert outputs(READ, address, *range(4)) == ["300000 300000"] * 4
    copies = [path for path in (tmp_path / "two" / "cache").rglob("*") if path.is_file()]
    assert [path.name for path in copies] == ["large"]
    assert copies[0].read_bytes() == content


def test_a_copy_that_was_cut_short_is_fetched_again(address: Path) -> None:
    storage = Store(address).storage
    storage.create("responses/a", lambda file: file.write(b"0123456789"))
    storage.list("responses")
    copy = storage.local("responses/a")
    copy.write_bytes(b"01234")
    assert storage.local("responses/a").read_bytes() == b"0123456789"


def test_a_copy_is_of_one_content_though_the_name_is_used_again(address: Path, machine: Machine) -> None:
    one = Store(address).storage
    machine("two")
    two = Store(address).storage
    one.create("scores/a", lambda file: file.write(b"first"))
    two.list("scores")
    assert two.local("scores/a").read_bytes() == b"first"
    one.delete("scores/a")
    one.create("scores/a", lambda file: file.write(b"other"))
    two.list("scores")
    assert two.local("scores/a").read_bytes() == b"other"


def test_check_reads_the_objects_and_not_their_copies(address: Path) -> None:
    from gradetrail.store.repair import damaged

    store = planned(address, 3)
    live = store.live()
    path = Path(live.files["trials"][0])
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert list(damaged(store.storage)) == []
    storage = store.storage
    storage.replace("trials/" + path.name, bytes(data))
    assert [name for name, _ in damaged(storage)] == ["trials/" + path.name]


def test_copies_of_what_is_gone_are_dropped_and_others_stay(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    kept, gone = Version(1, "a", 0.0), Version(1, "b", 0.0)
    for version in (kept, gone):
        copies.keep(copies.write(lambda file: file.write(b"x")), "trials/t", version)
    copies.keep(copies.write(lambda file: file.write(b"x")), "scores/s", gone)
    copies.tidy({"trials/t": kept}, frozenset({"trials"}), 3600.0)
    assert copies.has("trials/t", gone), "too young"
    copies.tidy({"trials/t": kept}, frozenset({"trials"}), 0.0)
    assert copies.has("trials/t", kept)
    assert not copies.has("trials/t", gone)
    assert copies.has("scores/s", gone), "its folder was not listed"


def test_a_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "gradetrail" / "warehouses"
    monkeypatch.setenv("GRADETRAIL_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("s3://bucket/a/b/", "s3://bucket/a/b"),
        (Path("s3://bucket/a"), "s3://bucket/a"),
        ("s3://bucket", "s3://bucket"),
        ("gs://bucket/a", "gs://bucket/a"),
        ("file:///tmp/a", "/tmp/a"),
    ],
)
def test_an_address_means_the_same_as_text_and_as_a_path(given: str | Path, place: str) -> None:
    storage = storage_at(given)
    assert storage.place() == place
    assert storage_at(storage.root).place() == place


def test_a_folder_may_have_a_colon_and_an_unknown_address_is_refused(tmp_path: Path) -> None:
    assert storage_at(tmp_path / "a:b").root == tmp_path / "a:b"
    with pytest.raises(StoreError, match="ftp://host/x: is no address of a warehouse"):
        storage_at("ftp://host/x")
    assert place_name(Path("s3://bucket/x")) == "s3://bucket/x"


def test_an_upload_interval_that_is_no_number_is_refused(
    address: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADETRAIL_UPLOAD_S", "soon")
    store = planned(address, 1)
    with pytest.raises(StoreError, match="`soon` is no number of seconds"), store.writer(RUN) as writer:
        writer.append(**answered(0))
