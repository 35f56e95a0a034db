"""Runs the notebooks of the docs and writes what came out, or checks that it still comes out.

    python .ci/notebooks.py            run docs/notebooks/*.ipynb and write their outputs
    python .ci/notebooks.py --check    exit 1 naming the cells that differ

Pictures are compared by the texts in them: where a glyph stands depends on the machine's fonts.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
TEXT = re.compile(r"<text[^>]*>([^<]*)")
LIMIT_S = 240


def executed(path: Path) -> nbformat.NotebookNode:
    """Run every cell in a fresh kernel, in the notebook's folder; give it without times and machines."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=LIMIT_S, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    )
    client.execute()
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for cell in notebook.cells:
        cell.metadata = {}
    return notebook


def told(notebook: nbformat.NotebookNode) -> list[tuple[str, list[Any]]]:
    """Give what a reader sees of each cell: its source and its outputs."""
    return [(cell.source, [shown(output) for output in cell.get("outputs", ())]) for cell in notebook.cells]


def shown(output: nbformat.NotebookNode) -> Any:
    """Give an output; of a picture, its texts in order."""
    if output.output_type == "stream":
        return output.text
    data = dict(output.get("data", {}))
    if "image/svg+xml" in data:
        return sorted(TEXT.findall(data["image/svg+xml"]))
    return data


def differing(path: Path, now: nbformat.NotebookNode) -> list[str]:
    """Name the cells of a notebook whose outputs are no longer those in the file."""
    before = told(nbformat.read(path, as_version=4))
    pairs = zip(before, told(now), strict=True)
    return [
        f"{path.name}: cell {n}:\n  was {was[1]!r}\n  is  {is_[1]!r}"
        for n, (was, is_) in enumerate(pairs)
        if was != is_
    ]


def main() -> int:
    """Run all notebooks; give the exit code."""
    for name in [name for name in os.environ if name.startswith("GRADETRAIL_")]:
        del os.environ[name]
    faults: list[str] = []
    for path in sorted(FOLDER.glob("*.ipynb")):
        try:
            notebook = executed(path)
        except CellExecutionError as error:
            faults.append(f"{path.name}: {error}")
            continue
        if "--check" in sys.argv[1:]:
            faults += differing(path, notebook)
        else:
            nbformat.write(notebook, path)
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
