"""Every main command at s3://bucket/prefix, on one machine and then on another with an empty cache."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gradetrail.store import Store
from gradetrail.store.places import place_name
from tests.cli import command
from tests.objects.places import SECRET, Machine

SPEC = """
name: sums
dataset: sums.jsonl
prompt: "{{ question }}"
target: "{{ target }}"
models: [mock/rule_based, mock/noisy]
scorer: numeric
request: {max_tokens: 64}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with a spec."""
    found = tmp_path / "work"
    found.mkdir()
    (found / "sums.yaml").write_text(SPEC)
    rows = [f'{{"id": "s{n}", "question": "What is {n} + 2?", "target": "{n + 2}"}}\n' for n in range(6)]
    (found / "sums.jsonl").write_text("".join(rows))
    monkeypatch.chdir(found)
    return found


def url(root: Path) -> str:
    """Write an address as a user does."""
    return place_name(root)


def gradetrail(*words: str, warehouse: Path | str, code: int = 0) -> str:
    """Run a command; give what it printed, stderr after stdout."""
    done = command.gradetrail(*words, "--warehouse", url(Path(warehouse)))
    said = done.out + done.err
    assert done.code == code, said
    return said


def objects(root: Path) -> dict[str, bytes]:
    """Read everything that is below an address."""
    import obstore
    from obstore.store import from_url

    store = from_url(url(root), client_options={"allow_http": True})
    names = [meta["path"] for chunk in obstore.list(store) for meta in chunk]
    return {name: bytes(obstore.get(store, name).bytes()) for name in names}


def test_a_run_is_generated_scored_shown_compared_packed_checked_and_removed(
    any_address: Path, folder: Path, machine: Machine
) -> None:
    address = any_address
    gradetrail("generate", "sums.yaml", warehouse=address)
    gradetrail("score", "latest", warehouse=address)
    board = gradetrail("show", warehouse=address)
    assert "mock/rule_based" in board
    gradetrail("run", "sums.yaml", "--new", warehouse=address)
    assert "12 same" in gradetrail("diff", "latest~1", "latest", warehouse=address)
    assert "healthy" in gradetrail("check", warehouse=address)

    def shown(view: str) -> list[str]:
        """Give the lines of a view; those of `graded` have no order of their own."""
        lines = gradetrail("show", view, warehouse=address).splitlines()
        return sorted(lines) if view == "graded" else lines

    before = {view: shown(view) for view in ("runs", "graded", "leaderboard")}
    assert "packed" in gradetrail("compact", "--grace", "0", warehouse=address)
    machine("two")
    for view, lines in before.items():
        assert shown(view) == lines, f"{view} on a machine with an empty cache"
    n = gradetrail("sql", "select count(*) as n from responses", "--format", "csv", warehouse=address)
    assert n == "n\n12\n"
    gradetrail("export", "runs", "--output", "runs.parquet", warehouse=address)
    gradetrail("rm", "latest", "--yes", warehouse=address)
    assert gradetrail("show", "runs", "--format", "csv", warehouse=address).count("complete") == 1
    assert "healthy" in gradetrail("check", warehouse=address)


def test_removed_answers_are_in_no_object_and_in_no_copy_on_this_machine(
    address: Path, folder: Path, tmp_path: Path
) -> None:
    gradetrail("run", "sums.yaml", warehouse=address)
    other = folder / "other.yaml"
    other.write_text(
        SPEC.replace("name: sums", "name: other").replace("{{ question }}", "Say: {{ question }}")
    )
    gradetrail("run", "other.yaml", warehouse=address)
    run_id = next(m["run_id"] for m in Store(address).manifests() if m["task"] == "sums")
    gradetrail("rm", run_id, "--answers", "--yes", warehouse=address)
    names = [name for name in objects(address) if run_id in name]
    names += [str(path) for path in tmp_path.rglob(f"*{run_id}*") if path.is_file()]
    assert names == []
    assert run_id not in packed_runs(address)
    assert "other" in gradetrail("show", warehouse=address)


def packed_runs(root: Path) -> set[str]:
    """Collect the runs of which a pack has rows."""
    import pyarrow.parquet as pq

    found: set[str] = set()
    storage = Store(root, create=False).storage
    for file in storage.list("packs"):
        if file.startswith(("responses-", "calls-", "trials-", "scores-")):
            found.update(pq.read_table(storage.local(f"packs/{file}"))["run_id"].to_pylist())
    assert found
    return found


def test_runs_go_from_a_folder_to_an_object_store_and_back(address: Path, folder: Path) -> None:
    gradetrail("run", "sums.yaml", warehouse=folder / "here")
    assert "1 run that was not there" in gradetrail("import", "here", warehouse=address)
    assert "1 run that was not there" in gradetrail("import", url(address), warehouse=folder / "again")
    boards = [gradetrail("show", warehouse=root) for root in (folder / "here", address, folder / "again")]
    assert boards[0] == boards[1] == boards[2]
    assert "is this warehouse itself" in gradetrail("import", url(address), warehouse=address, code=2)


def test_the_users_views_and_prices_come_from_the_object_store(address: Path, folder: Path) -> None:
    gradetrail("run", "sums.yaml", warehouse=address)
    storage = Store(address).storage
    storage.replace(
        "sql/mine.sql", b"-- How many runs there are.\ncreate view mine as select count(*) as n from runs;\n"
    )
    assert gradetrail("show", "mine", "--format", "csv", warehouse=address) == "n\n1\n"
    assert "select count(*) as n" in gradetrail("show", "mine", "--sql", warehouse=address)
    assert "How many runs there are." in gradetrail("show", "--help-views", warehouse=address)
    storage.replace("sql/sample.sql", b"create view sample as select 'my own' as says;\n")
    assert gradetrail("show", "sample", "--format", "csv", warehouse=address) == "says\nmy own\n"
    storage.replace("sql/costs.sql", b"create view costs as select 1 as one;\n")
    assert "costs.sql: is ignored" in gradetrail("show", "costs", warehouse=address)
    storage.delete("sql/mine.sql")
    assert "no view `mine`" in gradetrail("show", "mine", warehouse=address, code=2)


def test_credentials_are_in_no_object_no_log_and_no_message(
    address: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = gradetrail("run", "sums.yaml", warehouse=address)
    written = [
        *objects(address).values(),
        *(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()),
    ]
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    said += gradetrail("show", warehouse=address, code=2)
    assert len(written) > 10
    assert not any(SECRET.encode() in content for content in [*written, said.encode()])


@pytest.mark.parametrize("words", [("show",), ("run", "sums.yaml")])
def test_what_is_wrong_with_the_place_is_said(
    address: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    assert "s3://no-such-bucket: the bucket does not exist" in gradetrail(
        *words, warehouse="s3://no-such-bucket/x", code=2
    )
    assert "ftp://host/x: is no address of a warehouse" in gradetrail(
        *words, warehouse="ftp://host/x", code=2
    )
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    said = gradetrail(*words, warehouse=address, code=2)
    assert "the endpoint cannot be reached" in said
    assert "AWS_ENDPOINT_URL" in said


def test_a_prefix_that_holds_something_else_is_left_alone(address: Path, folder: Path) -> None:
    Store(address).storage.replace("notes/a.txt", b"mine")
    said = gradetrail("run", "sums.yaml", warehouse=address / "notes", code=2)
    assert "is not a warehouse, and holds `a.txt`" in said


def test_a_cache_that_is_deleted_is_filled_again(address: Path, folder: Path, tmp_path: Path) -> None:
    gradetrail("run", "sums.yaml", warehouse=address)
    board = gradetrail("show", warehouse=address)
    shutil.rmtree(tmp_path / "one" / "cache")
    assert gradetrail("show", warehouse=address) == board


def test_a_ceiling_and_a_plan_know_the_prices_that_are_in_the_object_store(
    address: Path, folder: Path
) -> None:
    model = 'model: {model: openai_compatible/m1, base_url: "http://127.0.0.1:9/v1"}'
    spec = SPEC.replace("models: [mock/rule_based, mock/noisy]", model) + "run: {max_cost_usd: 0.01}\n"
    (folder / "paid.yaml").write_text(spec)
    assert "unknown" in gradetrail("plan", "paid.yaml", warehouse=address)
    assert "cannot hold: no price" in gradetrail("run", "paid.yaml", warehouse=address, code=2)
    price = (
        b"- {provider: openai_compatible, model: m1, input_usd_per_mtok: 1000, output_usd_per_mtok: 4000}\n"
    )
    Store(address).storage.replace("prices.yaml", price)
    assert "unknown" not in gradetrail("plan", "paid.yaml", warehouse=address)
