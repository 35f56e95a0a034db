import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("altair", "anthropic", "openai", "pandas", "polars", "ray", "rich.progress", "vl_convert")
LISTED = """
import sys
from gradetrail.cli import main
try:
    code = main()
except SystemExit as exit:
    code = exit.code
print("loaded:", *sorted(sys.modules), file=sys.stderr)
sys.exit(code)
"""


def loaded_by(warehouse: Path, *arguments: str) -> set[str]:
    """Run the command line in a fresh interpreter; give the modules that it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", LISTED, *arguments],
        cwd=warehouse.parent, env={"GRADETRAIL_WAREHOUSE": str(warehouse), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("loaded:")[2].split())


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("light") / "warehouse"
    loaded_by(path, "demo")
    return path


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["show", "--help"], ["show"], ["show", "leaderboard"], ["show", "runs"], ["show", "--sql"]],
    ids=" ".join,
)
def test_no_sdk_and_no_data_frame_library_is_loaded(warehouse: Path, arguments: list[str]) -> None:
    assert loaded_by(warehouse, *arguments) & set(HEAVY) == set()


def test_help_opens_no_database(tmp_path: Path) -> None:
    assert loaded_by(tmp_path / "warehouse", "--help") & {"duckdb", "pyarrow", "aiohttp", "jinja2"} == set()
    assert not (tmp_path / "warehouse").exists()
