import json
import subprocess
import zipfile
from pathlib import Path

from tests.project.conftest import Installed

ROOT = Path(__file__).resolve().parents[2]


def test_the_wheel_holds_every_query_and_spec_that_git_has(installed: Installed) -> None:
    listing = subprocess.run(
        ["git", "ls-files", "sql/*.sql", "specs"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    wanted = {f"gradetrail/_{name}" for name in listing.stdout.split() if (ROOT / name).is_file()}
    assert wanted
    assert wanted - set(zipfile.ZipFile(installed.wheel).namelist()) == set()


def test_the_installed_package_is_the_wheel_and_not_the_checkout(installed: Installed) -> None:
    code = (
        "import json, gradetrail, gradetrail.sql as s; "
        "print(json.dumps([gradetrail.__file__, str(s.sql_root()), len(s.names('views'))]))"
    )
    package, sql_root, n_views = json.loads(installed.run("python", "-P", "-c", code).stdout)
    assert not Path(package).is_relative_to(ROOT)
    assert Path(sql_root) == Path(package).parent / "_sql"
    assert n_views == len(list((ROOT / "sql/views").glob("*.sql")))


def test_help_works_without_the_sources(installed: Installed) -> None:
    done = installed.run("gradetrail", "--help")
    for command in ("demo", "init", "run", "generate", "score", "plan", "show", "diff", "sql"):
        assert command in done.stdout


def test_the_demo_counts_right_answers_as_the_authors_did_without_the_sources(installed: Installed) -> None:
    done = installed.run("gradetrail", "demo")
    cells = {line.split()[1]: line.split() for line in done.stdout.splitlines() if "1319" in line}
    right = {model: int(row[2]) for model, row in cells.items()}
    assert right == {
        "175b_verification": 742,
        "6b_verification": 515,
        "175b_finetuning": 458,
        "6b_finetuning": 286,
    }
