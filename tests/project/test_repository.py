import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {
    "altair",
    "anthropic",
    "huggingface_hub",
    "math_verify",
    "openai",
    "pandas",
    "polars",
    "ray",
    "sacrebleu",
}


def tracked(*patterns: str) -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


HOSTS = ("py" + "pi.org", "python" + "hosted", "registry." + "npmjs", "deb." + "debian")
MACHINE = re.compile(
    r"(?<![\w.$}])/(?:work|farm|root|home/\w+|Users/\w+)/\w|@ {1}file:|--(?:extra-)?index-url|"
    + "|".join(map(re.escape, HOSTS))
)


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = [
        f"{named(path)}:{number}: {line.strip()[:120]}"
        for path in tracked()
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if MACHINE.search(line)
    ]
    assert found == []


def requirement_name(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match, requirement
    return match[0].lower()


def test_every_dependency_says_why_it_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(r for extra in project["optional-dependencies"].values() for r in extra),
    ]
    listed = re.findall(
        r"^\| `([^`]+)` \|", (ROOT / "docs/design/dependencies.md").read_text(encoding="utf-8"), re.M
    )
    assert sorted(listed) == sorted(map(requirement_name, wanted))


def test_constraints_pin_plain_versions_and_every_dependency() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", pin)] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = {requirement_name(r) for r in [*project["dependencies"], *extras["dev"], *extras["text"]]}
    pinned = {pin.partition("==")[0].lower().replace("_", "-") for pin in pins}
    assert wanted - pinned == set()


def test_no_module_passes_400_lines() -> None:
    lengths = {
        named(path): len(text_of(path).splitlines()) for path in tracked("gradetrail/*.py", "bench/*.py")
    }
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def imports_at_load(tree: ast.Module) -> set[str]:
    """Collect top-level packages that importing the module imports: not those inside functions."""
    names: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting.extend(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return names


def test_heavy_libraries_are_imported_inside_the_function_that_needs_them() -> None:
    found = {
        named(path): sorted(heavy)
        for path in tracked("gradetrail/*.py")
        if (heavy := imports_at_load(ast.parse(text_of(path))) & HEAVY)
    }
    assert found == {}


def test_no_test_sleeps() -> None:
    found = [
        f"{named(path)}:{node.lineno}"
        for path in tracked("tests/*.py")
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "sleep")
    ]
    assert found == []


def test_every_query_says_what_its_grain_is_its_units_and_its_source() -> None:
    headless = [
        named(path)
        for path in tracked("sql/*.sql")
        if not all(line.startswith("-- ") for line in text_of(path).splitlines()[:4])
    ]
    assert headless == []


def test_every_query_is_indented_by_fours() -> None:
    crooked = [
        f"{named(path)}:{number}"
        for path in tracked("sql/*.sql")
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if "\t" in line or (len(line) - len(line.lstrip(" "))) % 4
    ]
    assert crooked == []


@pytest.mark.parametrize("layer", ["macros", "core", "views"])
def test_every_query_makes_the_object_that_its_file_is_named_after(layer: str) -> None:
    made = re.compile(r"^create (?:or replace )?(?:temp(?:orary)? )?(?:view|macro|table) (\w+)", re.MULTILINE)
    wrong = {
        named(path): names
        for path in tracked(f"sql/{layer}/*.sql")
        if (names := made.findall(text_of(path))) != [path.stem]
    }
    assert wrong == {}


def test_every_package_that_the_code_imports_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [r for name, extra in project["optional-dependencies"].items() if name != "dev" for r in extra]
    declared = {requirement_name(r).replace("-", "_") for r in [*project["dependencies"], *extras]}
    imported = {"pyyaml": "yaml", "vl_convert_python": "vl_convert"}
    known = {imported.get(name, name) for name in declared}
    found = {
        f"{named(path)}:{node.lineno}: {top}"
        for path in tracked("gradetrail/*.py")
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        )
        if (top := module.partition(".")[0]) not in known
        and top not in sys.stdlib_module_names
        and top != "gradetrail"
    }
    assert found == set()
