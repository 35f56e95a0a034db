"""A warehouse of a format that is not known is refused by everything that opens one, and stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gradetrail.errors import StoreError
from gradetrail.store import Store
from gradetrail.warehouse import Warehouse
from gradetrail.warehouse.health import examine
from gradetrail.warehouse.importing import import_warehouse
from gradetrail.warehouse.removing import outlook
from tests.faults.operations import run, write_spec
from tests.store.rows import RUN, planned

OPENINGS: dict[str, Callable[[Path], object]] = {
    "reading": lambda root: Store(root, create=False),
    "writing": Store,
    "querying": Warehouse,
    "check": examine,
    "rm": lambda root: outlook(root, RUN),
    "import from it": lambda root: list(import_warehouse(root.parent / "mine", root)),
    "run": lambda root: run(root.parent, write_spec(root.parent, "sums", 1)),
}


def content(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"format": 2, "written_by": "gradetrail 9"}', "gradetrail 9 wrote it in format 2"),
        ('{"format": 0}', "is damaged"),
        ('{"format": true}', "is damaged"),
        ('{"format": 1.5}', "is damaged"),
        ('{"format": "2"}', "is damaged"),
        ("[1]", "is damaged"),
    ],
)
@pytest.mark.parametrize("opening", OPENINGS)
def test_an_unknown_format_is_refused_everywhere_and_nothing_is_written(
    tmp_path: Path, opening: str, text: str, said: str
) -> None:
    root = tmp_path / "warehouse"
    planned(root, 2)
    Store(tmp_path / "mine")
    (root / "gradetrail.json").write_text(text)
    before = content(root)
    with pytest.raises(StoreError, match=said):
        OPENINGS[opening](root)
    assert content(root) == before
