"""`rm --answers`: of an answer that must go, no text is left in any file, whatever had quoted it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gradetrail import pipeline
from gradetrail.errors import StoreError
from gradetrail.generation.outstanding import Options
from gradetrail.pipeline import Invocation
from gradetrail.store import Store
from gradetrail.store.layout import Part
from gradetrail.store.repair import damaged
from gradetrail.store.storage import LocalStorage
from gradetrail.warehouse.health import examine
from gradetrail.warehouse.removing import outlook, remove_run

SECRET = "confidential-47"
"""Written out nowhere but in answers: a manifest holds the text of the adapter."""
ADAPTER = """
class Adapter:
    model_id = "talker"

    def generate(self, messages, sample):
        if len(messages) > 1:
            return "I am sure. Answer: " + sample["target"]
        return "-".join(("confidential", "47")) + " of " + sample["id"] + ". Answer: " + sample["target"]
"""
QUESTION = "{{ question }}"


class Workshop:
    """Runs specs of three questions in one folder, by a model that gives a secret away."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "warehouse"
        rows = [{"id": f"s{n}", "question": f"{n}+{n}?", "target": str(2 * n)} for n in range(3)]
        (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "adapter.py").write_text(ADAPTER)
        judge = Path(__file__).parents[2] / "specs" / "templates" / "judge" / "correct.yaml"
        (folder / "judge.yaml").write_text(judge.read_text())

    def run(self, name: str, **parts: object) -> str:
        """Run a spec; give the run's id."""
        spec = {
            "name": name, "dataset": "data.jsonl", "prompt": QUESTION, "target": "{{ target }}",
            "model": {"model": "python/talker", "path": "adapter.py"}, "scorer": "includes",
            "extract": "(.+)", **parts,
        }  # fmt: skip
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps({key: value for key, value in spec.items() if value is not None}))
        options = Invocation(options=Options(new=True))
        return pipeline.run(path, warehouse=self.root, invocation=options).run_id

    def holding(self) -> list[str]:
        """Name the files in which the secret can be read."""
        files = sorted(path for path in self.root.rglob("*") if path.is_file())
        return [path.relative_to(self.root).as_posix() for path in files if SECRET in text_of(path)]


def text_of(path: Path) -> str:
    """Give all text of a file: of Parquet, every column of every row that can still be read."""
    data = path.read_bytes()
    if not data.startswith(b"PAR1") or not data.endswith(b"PAR1"):
        return data.decode(errors="replace")
    texts = [data.decode(errors="replace")]
    file = pq.ParquetFile(pa.BufferReader(data))
    for column in file.schema_arrow.names:
        try:
            texts.append(repr(file.read([column]).to_pylist()))
        except (OSError, pa.ArrowException):
            continue
    return "\n".join(texts)


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def score_by_another_rule(shop: Workshop, task: str) -> None:
    """Grade a task by a scorer that it was not graded by."""
    spec = json.loads((shop.folder / f"{task}.yaml").read_text())
    (shop.folder / "again.yaml").write_text(json.dumps({**spec, "scorer": "exact"}))
    pipeline.score(shop.folder / "again.yaml", warehouse=shop.root)


@pytest.mark.parametrize("moment", ["not written", "half written", "not looked at"])
@pytest.mark.parametrize("task", ["plain", "resting"])
def test_grades_that_were_being_made_of_an_answer_when_it_went_go_too(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, task: str, moment: str
) -> None:
    run, other = shop.run("plain"), shop.run("resting")
    create, is_due = LocalStorage.create, [True]

    def remove() -> None:
        is_due.clear()
        remove_run(shop.root, outlook(shop.root, run, with_answers=True, force=True))
        assert shop.holding() == []

    def interrupted(storage: LocalStorage, name: str, write: Callable[[BinaryIO], object]) -> bool:
        def writing(sink: BinaryIO) -> None:
            write(sink)
            sink.flush()
            remove()

        is_ours = name.startswith("scores/") and bool(is_due)
        if is_ours and moment == "not written":
            remove()
        is_made = create(storage, name, writing if is_ours and moment == "half written" else write)
        if is_ours and moment == "not looked at":
            remove()
        return is_made

    monkeypatch.setattr(LocalStorage, "create", interrupted)
    score_by_another_rule(shop, task)
    assert not is_due, "nothing was removed"
    assert shop.holding() == []
    assert examine(shop.root).findings == ()
    assert {m["run_id"]: m["status"] for m in Store(shop.root).manifests()} == {other: "incomplete"}


@pytest.mark.parametrize("task", ["plain", "resting"])
def test_grades_that_are_made_just_before_an_answer_goes_go_too(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    run, other = shop.run("plain"), shop.run("resting")
    plan = outlook(shop.root, run, with_answers=True, force=True)
    create, names = LocalStorage.create, []

    def interrupted(storage: LocalStorage, name: str, write: Callable[[BinaryIO], object]) -> bool:
        if name == "packs/2.json":  # the first has everything
            score_by_another_rule(shop, task)
            names.extend(shop.holding())
        return create(storage, name, write)

    monkeypatch.setattr(LocalStorage, "create", interrupted)
    remove_run(shop.root, plan)
    assert any(name.startswith("scores/") for name in names) == (task == "plain"), names
    assert shop.holding() == []
    assert examine(shop.root).findings == ()
    assert {m["run_id"]: m["status"] for m in Store(shop.root).manifests()} == {other: "incomplete"}


def test_a_removal_is_given_up_where_another_run_has_come_to_rest_on_the_answers(shop: Workshop) -> None:
    run = shop.run("plain")
    for is_insisting in (False, True):
        plan = outlook(shop.root, run, with_answers=True, force=is_insisting)
        shop.run(f"resting_{is_insisting}".lower())
        with pytest.raises(StoreError, match="began to rest"):
            remove_run(shop.root, plan)
        assert examine(shop.root).findings == ()
        assert set(Store(shop.root).trials(run).column("status").to_pylist()) == {"answered"}


CONVERSATION = {"turns": [QUESTION, "Are you sure?"]}
JUDGED = {"scorer": {"type": "judge", "file": "judge.yaml", "model": "mock/judge"}}


def test_what_judges_and_later_turns_were_asked_with_an_answer_goes_with_it(shop: Workshop) -> None:
    run = shop.run("plain")
    others = [
        shop.run("judged", **JUDGED),
        shop.run("talk", prompt=CONVERSATION),
        shop.run("apart", prompt="What is {{ question }}"),
    ]
    apart = [shop.run("apart_too", prompt="What is {{ question }}"), others.pop()]
    tables = {name.partition("/")[0] for name in shop.holding()}
    assert {"responses", "scores"} <= tables, "the test has nothing to find"
    remove_run(shop.root, outlook(shop.root, apart[1], with_answers=True, force=True))
    remove_run(shop.root, outlook(shop.root, apart[0], with_answers=True, force=True))
    plan = outlook(shop.root, run, with_answers=True, force=True)
    assert plan.pinned.keys() == set(others)
    remove_run(shop.root, plan)
    assert shop.holding() == []
    assert examine(shop.root).findings == ()
    left = {m["run_id"]: m["status"] for m in Store(shop.root).manifests()}
    assert left == dict.fromkeys(others, "incomplete")
    assert set(Store(shop.root).trials(others[1]).column("status").to_pylist()) == {"pending"}


def test_without_force_what_a_conversation_went_on_from_stays_and_is_listed(shop: Workshop) -> None:
    run = shop.run("plain")
    talk = shop.run("talk", prompt=CONVERSATION)
    plan = outlook(shop.root, run, with_answers=True)
    assert [len(answers) for answers in (plan.pinned[talk], plan.removal.kept)] == [3, 3]
    remove_run(shop.root, plan)
    assert examine(shop.root).findings == ()
    assert shop.holding() != []


@pytest.mark.parametrize("is_packed", [False, True], ids=["loose", "packed"])
def test_what_was_set_aside_or_left_half_written_goes_too(shop: Workshop, is_packed: bool) -> None:
    run, store = shop.run("plain"), Store(shop.root)
    answers = next((shop.root / "responses").iterdir()).read_bytes()
    if is_packed:
        store.compact(0.0)
    kept = "packs" if is_packed else "responses"
    for table in ("responses", "scores"):
        path = next((shop.root / ("packs" if is_packed else table)).glob(f"{table}-*" if is_packed else "*"))
        path.write_bytes(path.read_bytes() + b" ")
    store.set_aside([name for name, _ in damaged(store.storage)])
    for name in (f"{kept}/{run}.7.parquet.0a1b2c3d.tmp", "packs/responses-1-0-0a1b2c3d.parquet.0a1b2c3d.tmp"):
        (shop.root / name).parent.mkdir(exist_ok=True)
        if name.startswith("packs") or not is_packed:
            (shop.root / name).write_bytes(answers)
    journal = shop.root / "quarantine" / Part(run, 9).journal.partition("/")[2]
    journal.write_text(f'{{"text": "{SECRET}"}}')
    assert {name.partition("/")[0] for name in shop.holding()} >= {"quarantine", "packs"}
    remove_run(shop.root, outlook(shop.root, run, with_answers=True))
    assert shop.holding() == []
