import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("altair", "anthropic", "openai", "pandas", "polars", "prompt_toolkit", "ray", "rich.progress",
         "vl_convert")  # fmt: skip
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


def test_grading_and_running_load_no_pandas_though_pyarrow_would(warehouse: Path) -> None:
    loaded = loaded_by(warehouse, "score", "--all", "--force")
    assert "pyarrow" in loaded
    assert "pandas" not in loaded


CALLING = {
    "asyncio",
    "gradetrail.generation.engine",
    "gradetrail.generation.plan",
    "gradetrail.providers.check",
}
"""What calls to models need, or the planning of them."""


def test_grading_again_loads_nothing_that_makes_calls(warehouse: Path) -> None:
    assert loaded_by(warehouse, "score", "--all", "--force") & CALLING == set()


@pytest.mark.parametrize("arguments", [["score", "--all", "--force"], ["run", "latest"]], ids=" ".join)
def test_grading_by_scorers_of_ours_loads_no_numpy(warehouse: Path, arguments: list[str]) -> None:
    loaded = loaded_by(warehouse, *arguments)
    assert "pyarrow" in loaded
    assert "numpy" not in loaded


def test_a_scorer_of_the_user_still_gets_arrow_tables_that_know_numpy(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import numpy as np\n"
        "import pyarrow as pa\n"
        "import polars as pl\n"
        "def grade(frame):\n"
        "    return pl.Series(pa.array(np.ones(len(frame))).to_numpy())\n"
    )
    (tmp_path / "d.jsonl").write_text('{"q": "1+1", "a": "2"}\n')
    (tmp_path / "s.yaml").write_text(
        "name: s\ndataset: d.jsonl\nprompt: '{{ q }}'\ntarget: '{{ a }}'\nmodel: mock/rule_based\n"
        "scorer: {type: python, path: own.py}\n"
    )
    for command in ("run", "score"):
        arguments = [sys.executable, "-m", "gradetrail", command, "s.yaml", "--format", "jsonl"]
        done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert '"mean": 1.0' in done.stdout


def test_an_adapter_of_the_user_still_gets_pandas(tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text(
        "import pandas as pd\n"
        "import pyarrow as pa\n"
        "class Adapter:\n"
        "    model_id = 'mean'\n"
        "    def generate(self, messages, sample):\n"
        "        table = pa.Table.from_pandas(pd.DataFrame({'x': [1, 3]}))\n"
        "        return str(table.to_pandas()['x'].mean())\n"
    )
    (tmp_path / "d.jsonl").write_text('{"q": "mean of 1 and 3?", "a": "2.0"}\n')
    (tmp_path / "s.yaml").write_text(
        "name: s\ndataset: d.jsonl\nprompt: '{{ q }}'\ntarget: '{{ a }}'\nscorer: exact\n"
        "model: {model: python/mean, path: adapter.py}\n"
    )
    command = [sys.executable, "-m", "gradetrail", "run", "s.yaml", "--format", "jsonl"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert '"n_pass": 1' in done.stdout


def test_commands_that_read_load_no_pydantic_for_their_options(warehouse: Path) -> None:
    for arguments in (["show"], ["show", "runs", "--format", "csv", "--limit", "3"], ["sql", "select 1"]):
        assert loaded_by(warehouse, *arguments) & {"pydantic", "typer._adapters"} == set()
