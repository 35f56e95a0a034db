"""A folder with a small dataset, a fake server and a warehouse, to run specs in from start to end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradetrail import pipeline
from gradetrail.dataset import Selection
from gradetrail.generation.outstanding import Options
from gradetrail.generation.plan import Narrowing
from gradetrail.pipeline import Forecast, Invocation, Job, Run
from gradetrail.spec import Spec, load_spec
from gradetrail.warehouse import Warehouse
from tests.servers import Call, FakeApi
from tests.servers.api import Behaviour
from tests.servers.replies import Manner

Row = dict[str, Any]
SIX = [
    {"id": f"s{n}", "question": f"What is {n}+{n}? [[gold={2 * n}]]", "target": str(2 * n)}
    for n in range(1, 7)
]
"""Six questions that the fake servers can answer."""
PROVIDERS = ("openai", "openai_compatible", "anthropic")


def spec_text(**parts: Any) -> str:
    """Write a spec; parts that are None are left out."""
    whole = {
        "name": "sums", "dataset": "data.jsonl", "prompt": "{{ question }}", "target": "{{ target }}",
        "extract": r"Answer:\s*(.+)", "scorer": "numeric", "request": {"max_tokens": 64}, **parts,
    }  # fmt: skip
    return json.dumps({key: value for key, value in whole.items() if value is not None}, indent=1)


def chat(text: str | None, stop: str = "stop", usage: Any = (12, 5), **message: Any) -> Row:
    """Give the body of a chat completion; `usage` is a pair of counts, or as the server gives it."""
    if isinstance(usage, tuple):
        usage = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    choice = {"index": 0, "finish_reason": stop, "message": {"role": "assistant", "content": text, **message}}
    body: Row = {"id": "x", "object": "chat.completion", "model": "m1-2026", "choices": [choice]}
    return body if usage is None else {**body, "usage": usage}


def question_of(call: Call) -> str:
    """Give what a call asks: its last message."""
    return str(call.body["messages"][-1]["content"])


@dataclass
class Lab:
    """Runs specs in one folder, against one server."""

    folder: Path
    api: FakeApi
    warehouse_name: str = "warehouse"

    @property
    def warehouse(self) -> Path:
        return self.folder / self.warehouse_name

    def model(self, provider: str = "openai_compatible", name: str = "m1", **options: Any) -> Row:
        """Give a model of the fake server."""
        url = self.api.url if provider == "anthropic" else self.api.v1
        return {"model": f"{provider}/{name}", "base_url": url, **options}

    def data(self, rows: Sequence[Mapping[str, Any]] | str, name: str = "data.jsonl") -> Path:
        """Write a dataset."""
        path = self.folder / name
        text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(text, encoding="utf-8")
        return path

    def write(self, file: str = "spec.yaml", **parts: Any) -> Path:
        """Write a spec of one model of the fake server, unless the parts say otherwise."""
        if "models" not in parts:
            parts.setdefault("model", self.model())
        path = self.folder / file
        path.write_text(spec_text(**parts), encoding="utf-8")
        return path

    def spec(self, **parts: Any) -> Spec:
        return load_spec(self.write(**parts))

    def run(self, spec: Spec | None = None, **asked: Any) -> Run:
        """Run a spec (default: the plain one); `asked` are fields of Selection, Narrowing and Options."""
        return pipeline.run(spec or self.spec(), warehouse=self.warehouse, invocation=invocation(**asked))

    def forecast(self, spec: Spec | None = None, **asked: Any) -> Forecast:
        return pipeline.forecast(
            Job(spec or self.spec()), warehouse=self.warehouse, invocation=invocation(**asked)
        )

    def calls(self, act: Callable[[], Any]) -> int:
        """Count the requests that the server gets meanwhile."""
        before = self.api.n_calls
        act()
        return self.api.n_calls - before

    def rows(self, query: str, **params: Any) -> list[Row]:
        """Ask the warehouse as it is now."""
        with Warehouse(self.warehouse) as opened:
            names, rows = opened.rows(query, params)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def row(self, query: str, **params: Any) -> Row:
        (row,) = self.rows(query, **params)
        return row


def invocation(**asked: Any) -> Invocation:
    """Sort flags into the records that hold them."""

    def fields(record: type) -> Row:
        return {name: asked.pop(name) for name in list(asked) if name in record.__dataclass_fields__}

    made = Invocation(
        selection=Selection(**fields(Selection)),
        narrowing=Narrowing(**fields(Narrowing)),
        options=Options(**fields(Options)),
    )
    assert not asked, f"unknown: {asked}"
    return made


@contextmanager
def lab_in(folder: Path) -> Iterator[Lab]:
    """Open a lab with six questions, whose server answers all of them right."""
    with FakeApi(behaviour=Behaviour(manner=Manner(accuracy=1.0, words=4))) as api:
        lab = Lab(folder, api)
        lab.data(SIX)
        yield lab
