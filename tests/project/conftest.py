"""An installation of the built wheel that cannot see the checkout."""

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Installed:
    """A virtual environment that holds the wheel, and an empty folder to work in."""

    wheel: Path
    bin: Path
    folder: Path

    def run(self, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment in the empty folder; fail with its output."""
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))
        }
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=self.folder, env=clean | env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build the wheel and install it, with no index, beside the dependencies of this interpreter."""
    home = tmp_path_factory.mktemp("wheel")
    venv, folder = home / "venv", home / "empty"
    folder.mkdir()
    build = ["-m", "build", "--wheel", "--no-isolation", "--outdir", str(home), str(ROOT)]
    subprocess.run([sys.executable, *build], check=True, capture_output=True)
    (wheel,) = home.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    # plain path entries: the .pth of an editable install inside them is not followed
    site = Path(sysconfig.get_path("purelib", vars={"base": str(venv), "platbase": str(venv)}))
    paths = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    (site / "dependencies.pth").write_text("\n".join(paths) + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin/python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-index", "--no-deps", "--force-reinstall", str(wheel)], check=True)
    return Installed(wheel, venv / "bin", folder)
