"""Loads small datasets for tests: written to a file first, as a user has them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from gradetrail.dataset import Samples, Selection, load_samples, parse_row
from gradetrail.spec import Spec, spec_from

DATA = Path(__file__).parent / "data"


def spec_of(path: str | Path, *, base: Path = Path(), **dataset: Any) -> Spec:
    return spec_from(
        {
            "name": "t",
            "dataset": {"path": str(path), **dataset},
            "prompt": "{{ question }}",
            "target": "x",
            "model": "mock/m",
            "scorer": "exact",
        },
        base=base,
    )


def load(path: str | Path, selection: Selection = Selection(), **dataset: Any) -> Samples:
    return load_samples(spec_of(path, **dataset), selection)


def load_text(
    content: str | bytes, name: str = "d.jsonl", selection: Selection = Selection(), **dataset: Any
) -> Samples:
    data = content if isinstance(content, bytes) else content.encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        return load(path, selection, **dataset)


def load_rows(rows: list[Any], selection: Selection = Selection(), **dataset: Any) -> Samples:
    """Load rows from a JSONL file."""
    return load_text("".join(json.dumps(row) + "\n" for row in rows), selection=selection, **dataset)


def ids(samples: Samples) -> list[str]:
    return samples.selected["sample_id"].to_pylist()


def contents(samples: Samples) -> list[str]:
    return samples.selected["content"].to_pylist()


def rows(samples: Samples) -> list[dict[str, Any]]:
    return [parse_row(content) for content in contents(samples)]
