"""The notebooks of the docs: what stands in them is what comes out of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_running_them_again_gives_what_they_show() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "notebooks.py", "--check"],
        capture_output=True, text=True, timeout=280, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_their_outputs_name_no_machine_and_no_moment(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    outputs = json.dumps([cell["outputs"] for cell in cells])
    assert len(cells) >= 5
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert all(output["output_type"] != "error" for cell in cells for output in cell["outputs"])
    assert re.findall(r"/tmp/|/home/|0x[0-9a-f]{8}|20\d\d-\d\d-\d\d|20\d{6}T", outputs) == []


def test_both_notebooks_draw_and_are_named_in_the_docs() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) == 2
    for path in NOTEBOOKS:
        assert f"notebooks/{path.name}" in page
        assert "image/svg+xml" in path.read_text(encoding="utf-8")
