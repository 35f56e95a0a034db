"""How a store is reached: credentials of every source, stores that refuse them, that are slow or silent."""

from __future__ import annotations

import os
import socket
import stat
import sys
from pathlib import Path

import pytest

from gradetrail.errors import StoreError
from gradetrail.store import Store, remote
from gradetrail.store.endpoints import endpoint_of
from gradetrail.store.places import storage_at
from gradetrail.store.remote import LARGE, TEMPORARY, Remote
from tests.cli.command import gradetrail
from tests.objects.places import SECRET, Machine, in_bucket
from tests.servers.line import line_to
from tests.store.rows import RUN, answered, planned, statuses

PROFILES = """
[default]
region = eu-central-1
[profile lab]
region = us-west-2
endpoint_url = SERVER
s3 =
    max_concurrent_requests = 20
[profile broken]
credential_process = false
[profile made]
endpoint_url = SERVER
credential_process = PROGRAM
"""
KEYS = f"""
[lab]
aws_access_key_id = laboratory
aws_secret_access_key = {SECRET}
aws_session_token = for-an-hour
"""
PROCESS = f"""#!{sys.executable}
print('{{"Version": 1, "AccessKeyId": "made", "SecretAccessKey": "{SECRET}"}}')
"""


@pytest.fixture
def profiles(machine: Machine, s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have credentials in AWS's two files alone."""
    program = tmp_path / "credentials.py"
    program.write_text(PROCESS)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "config").write_text(PROFILES.replace("SERVER", s3_server).replace("PROGRAM", str(program)))
    (tmp_path / "keys").write_text(KEYS)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)


@pytest.mark.parametrize("name", ["lab", "made"])
def test_a_profile_of_the_aws_files_gives_keys_region_and_endpoint(
    profiles: None, s3_server: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = in_bucket(s3_server, "bucket")
    monkeypatch.setenv("AWS_PROFILE", name)
    store = planned(address, 1)
    assert statuses(store.live()) == {"pending": 1}
    found = endpoint_of("s3://bucket/x")
    assert found.config["endpoint"] == s3_server
    if name == "lab":
        assert found.config["region"] == "us-west-2"
        assert found.config["access_key_id"] == "laboratory"
        assert found.config["session_token"] == "for-an-hour"
    else:
        assert found.provider()["access_key_id"] == "made"


def test_what_the_environment_says_wins_over_a_profile(
    profiles: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "lab")
    for name, value in {
        "ACCESS_KEY_ID": "own",
        "REGION": "eu-west-1",
        "ENDPOINT_URL": "https://mine",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    assert endpoint_of("s3://bucket/x").config == {"endpoint": "https://mine"}


def test_a_profile_that_is_not_there_is_named_with_those_that_are(
    profiles: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "lap")
    with pytest.raises(StoreError, match=r"AWS_PROFILE: there is no profile `lap`\n.*did you mean `lab`"):
        storage_at("s3://bucket/x")


def test_a_profile_without_keys_of_its_own_says_what_it_takes(
    profiles: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "made")
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(StoreError, match=r"profile `made` gets its credentials by `credential_process`"):
        storage_at("s3://bucket/x")


def test_a_profile_whose_credentials_cannot_be_had_is_named(
    profiles: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "broken")
    done = gradetrail("show", "runs", "--warehouse", "s3://bucket/x")
    assert done.code == 2
    assert "error: s3://bucket/x: profile `broken` gave no credentials: " in done.err


def test_an_account_of_azure_must_be_named(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match="az://box/x: AZURE_STORAGE_ACCOUNT_NAME is not set"):
        storage_at("az://box/x")
    identities = []
    for account in ("one", "two"):
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", account)
        identities.append(endpoint_of("az://box/x").identity)
    assert identities[0] != identities[1], "two accounts have containers of one name"


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("s3a://bucket/a", "s3://bucket/a"),
        ("gcs://bucket/a", "gs://bucket/a"),
        ("abfs://box/a", "az://box/a"),
        ("abfss://box/a", "az://box/a"),
        ("azure://box/a/", "az://box/a"),
        ("local:///tmp/a", "/tmp/a"),
    ],
)
def test_the_schemes_of_other_libraries_name_the_same_places(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, given: str, place: str
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "lab")
    assert storage_at(given).place() == storage_at(Path(given)).place() == place


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("memory://x", "gone with its process"),
        ("https://host/x", "is only read"),
        ("hf://datasets/x", "is only read"),
        ("sftp://host/x", "no creation on condition"),
        ("hdfs://host/x", "no creation on condition"),
        ("abfss://box@lab.dfs.core.windows.net/x", "AZURE_STORAGE_ACCOUNT_NAME=lab"),
        ("s4://bucket/x", "is no address of a warehouse"),
    ],
)
def test_a_place_where_no_name_can_be_made_once_is_refused_with_the_reason(given: str, reason: str) -> None:
    for words in (("show", "runs"), ("check",)):
        done = gradetrail(*words, "--warehouse", given)
        assert done.code == 2
        assert f"error: {given}: " in done.err
        assert reason in done.err
        assert "az://" in done.err, "what can be given instead"


@pytest.mark.parametrize(
    ("kind", "said", "fix"),
    [
        ("denied", "access denied", "must be allowed to list, read, write and delete"),
        ("stranger", "the credentials are refused", "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"),
        ("forger", "the credentials are refused", "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"),
        ("expired", "the credentials have expired", "get new ones"),
        ("skewed", "refuses the time of this machine's clock", "set it: here it is 20"),
        ("elsewhere", "the bucket is in another region", "AWS_REGION"),
    ],
)
def test_a_refusal_says_once_what_is_wrong(
    machine: Machine, s3_server: str, kind: str, said: str, fix: str
) -> None:
    address = in_bucket(s3_server, kind)
    for words in (("show", "runs"), ("compact",)):
        done = gradetrail(*words, "--warehouse", address)
        assert (done.code, done.out) == (2, "")
        assert done.err.count("error: ") == 1
        assert said in done.err
        assert fix in done.err
        assert len(done.err.splitlines()) == 2, done.err


def test_a_store_that_asks_to_slow_down_at_every_first_request_is_asked_again(
    machine: Machine, s3_server: str
) -> None:
    address = in_bucket(s3_server, "slow")
    store = planned(address, 3)
    with store.writer(RUN, part_rows=1) as writer:
        for number in range(3):
            writer.append(**answered(number))
    assert statuses(store.live()) == {"answered": 3}
    assert store.compact(0.0) is not None
    machine("two")
    assert statuses(Store(address, create=False).live()) == {"answered": 3}


def test_a_store_that_says_nothing_is_taken_to_be_away(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "SILENCE_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(StoreError, match="the endpoint cannot be reached"):
            storage_at("s3://bucket/x").exists()


def test_a_store_that_is_mended_is_used_again_by_the_same_process(
    machine: Machine, s3_server: str, address: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with line_to(s3_server) as line:
        monkeypatch.setenv("AWS_ENDPOINT_URL", line.url)
        store = planned(address, 1)
        line.cut()
        with pytest.raises(StoreError, match="the endpoint cannot be reached"):
            store.live()
        line.mend()
        assert statuses(store.live()) == {"pending": 1}


def test_a_folder_of_thousands_of_objects_is_listed_whole(address: Path) -> None:
    wanted = {f"{number:05}" for number in range(2_345)}
    there = Remote(str(address))
    for name in wanted:
        there.put(f"many/{name}", b"")
    assert there.list("many").keys() == wanted
    assert set(storage_at(address).list("many")) == wanted
    assert there.top() == ("many",)


def file_of(path: Path, size: int) -> Path:
    path.write_bytes(os.urandom(size))
    return path


def test_a_large_object_is_sent_in_parts_and_put_in_place_once(
    address: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Remote(str(address))
    assert there._places_once
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("was read into memory"))
    first, other = (file_of(tmp_path / name, LARGE + 1) for name in ("first", "other"))
    made = there.create("packs/a", first)
    assert made is not None
    assert made.size == LARGE + 1
    assert there.create("packs/a", other) is None
    assert there.create("packs/a", first) == there.head("packs/a"), "the same content: a reply that was lost"
    with (tmp_path / "copy").open("w+b") as copy:
        there.download("packs/a", copy)
        copy.seek(0)
        with first.open("rb") as wanted:
            assert copy.read() == wanted.read()
    assert there.list(TEMPORARY) == {}


def test_a_store_that_would_overwrite_when_putting_in_place_gets_large_objects_whole(
    address: Path, tmp_path: Path, s3_server: str
) -> None:
    hasty = Remote(str(in_bucket(s3_server, "hasty")))
    assert not hasty._places_once
    first, other = (file_of(tmp_path / name, LARGE + 1) for name in ("first", "other"))
    assert hasty.create("packs/a", first) is not None
    assert hasty.create("packs/a", other) is None
    assert hasty.read("packs/a") == first.read_bytes()


def test_an_object_beyond_what_stores_take_is_refused_before_it_is_sent(
    address: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "LARGEST", 100)
    with pytest.raises(StoreError, match="an object store takes"):
        Remote(str(address)).create("packs/a", file_of(tmp_path / "a", 101))


def test_what_a_dead_writer_was_sending_is_reclaimed(address: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = planned(address, 1)
    store.storage.replace(f"{TEMPORARY}/0a1b", b"half")
    assert store.compact(0.0) is not None
    assert Remote(str(address)).list(TEMPORARY).keys() == {"0a1b"}, "too young"
    monkeypatch.setattr("gradetrail.store.reclaiming.DEAD_AFTER_S", -60.0)
    assert store.compact(-60.0) is not None
    assert Remote(str(address)).list(TEMPORARY) == {}


@pytest.mark.parametrize("variable", ["GRADETRAIL_CACHE", "XDG_STATE_HOME"])
def test_a_cache_or_spool_that_cannot_be_made_is_told_as_that(
    address: Path, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(address, 2)
    (tmp_path / "file").write_text("in the way")
    for place in (str(tmp_path / "file"), "/proc/nobody"):
        monkeypatch.setenv(variable, place)
        done = gradetrail("show", "trials", "--warehouse", address)
        assert done.code == 2
        assert f"error: {place}/" in done.err
        assert f"set {variable} to a folder that you may write to" in done.err
        assert len(done.err.splitlines()) == 2
