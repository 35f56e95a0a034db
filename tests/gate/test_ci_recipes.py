"""The recipes of docs/ci.md, tried: their own commands, in a shell, on main and then on a pull request."""

from __future__ import annotations

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = ("GitHub Actions", "GitLab CI")


def recipe(system: str) -> dict[Any, Any]:
    page = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {system}\n")[2]
    found = re.search(r"^```yaml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found is not None
    whole: dict[Any, Any] = yaml.safe_load(found[1])
    return whole


def commands(system: str, event: str) -> list[str]:
    """Give the shell scripts that a system runs on an event, but for the installation."""
    if system == "GitLab CI":
        return [str(step) for step in recipe(system)["evals"]["script"]]
    steps = recipe(system)["jobs"]["evals"]["steps"]
    return [
        step["run"]
        for step in steps
        if "run" in step
        and not step["run"].startswith("pip install")
        and step.get("if", f"github.event_name == '{event}'") == f"github.event_name == '{event}'"
    ]


@dataclass
class Server:
    """Keeps one folder of artifacts, as the API of a CI system does."""

    folder: Path
    url: str = ""
    asked: list[tuple[str, str | None]] = field(default_factory=list)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    kept = Server(tmp_path / "artifacts")
    kept.folder.mkdir()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kept.asked.append((self.path, self.headers["JOB-TOKEN"]))
            file = kept.folder / "main.bundle"
            self.send_response(200 if file.exists() else 404)
            self.end_headers()
            if file.exists():
                self.wfile.write(file.read_bytes())

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        kept.url = f"http://127.0.0.1:{listening.server_port}/api/v4"
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield kept
        listening.shutdown()
        thread.join()


@dataclass
class Job:
    """One job in a fresh checkout."""

    system: str
    server: Server
    n: int = 40

    def run(
        self, event: str, checkout: Path, *, model: str = "good", prompt: str = "{{ question }}"
    ) -> subprocess.CompletedProcess[str]:
        """Run the recipe's commands; stops at the first that fails, as CI does."""
        checkout.mkdir()
        rows = [{"id": f"s{k}", "question": f"{k} + 1?", "target": str(k + 1)} for k in range(self.n)]
        wrong = {"good": 2, "same": 2, "bad": 14, "unsure": 5}
        answers = [
            {"sample_id": f"s{k}", "model": name, "text": "?" if k < n else str(k + 1)}
            for name, n in wrong.items()
            for k in range(self.n)
        ]
        for file, lines in (("data.jsonl", rows), ("answers.jsonl", answers)):
            (checkout / file).write_text("".join(json.dumps(line) + "\n" for line in lines))
        spec = {
            "name": "gsm8k", "dataset": "data.jsonl", "prompt": prompt, "target": "{{ target }}",
            "scorer": "exact", "model": {"model": f"replay/{model}", "as": "bot", "answers": "answers.jsonl"},
        }  # fmt: skip
        (checkout / "spec.yaml").write_text(json.dumps(spec))
        return self.again(event, checkout, checkout.name)

    def again(self, event: str, checkout: Path, commit: str) -> subprocess.CompletedProcess[str]:
        """Run them in a checkout that is there, with its warehouse if it has one."""
        kept = self.server.folder / "main.bundle"
        if self.system == "GitHub Actions" and kept.exists():
            (checkout / "main.bundle").write_bytes(kept.read_bytes())
        own = Path(sys.executable).parent
        env = {
            "PATH": f"{own}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(checkout),
            "TZ": "UTC",
            "GITHUB_STEP_SUMMARY": str(checkout / "summary.md"),
            "CI_API_V4_URL": self.server.url,
            "CI_PROJECT_ID": "7",
            "CI_JOB_TOKEN": "token",
            "GITHUB_SHA": sha256(commit.encode()).hexdigest()[:40],
            "CI_COMMIT_SHA": sha256(commit.encode()).hexdigest()[:40],
            "CI_DEFAULT_BRANCH": "main",
        }
        if event == "push":
            env["CI_COMMIT_BRANCH"] = "main"
        script = "set -eo pipefail\n" + "\n".join(commands(self.system, event))
        done = subprocess.run(
            ["bash", "-c", script], cwd=checkout, env=env, capture_output=True, text=True, timeout=120
        )
        if event == "push" and done.returncode == 0:
            kept.write_bytes((checkout / "main.bundle").read_bytes())
        return done


def shown(checkout: Path) -> str:
    """Give what the system shows of the verdict."""
    return "".join(
        file.read_text() for file in (checkout / "summary.md", checkout / "gate.xml") if file.exists()
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_recipe_passes_fails_and_refuses(system: str, server: Server, tmp_path: Path) -> None:
    job = Job(system, server)
    first = job.run("pull_request", tmp_path / "first")
    assert (first.returncode, "main has no run yet" in first.stdout) == (0, True), first.stderr
    assert job.run("push", tmp_path / "main").returncode == 0

    same = job.run("pull_request", tmp_path / "same", model="same")
    assert (same.returncode, "pass" in shown(tmp_path / "same")) == (0, True), same.stderr

    untouched = job.run("pull_request", tmp_path / "untouched")
    assert (untouched.returncode, "0/0 requests, 40 hits" in untouched.stderr) == (0, True), untouched.stderr

    bad = job.run("pull_request", tmp_path / "bad", model="bad")
    assert (bad.returncode, "0.95 -> 0.65, lost 0.3" in bad.stderr) == (1, True), bad.stderr
    assert "fail" in shown(tmp_path / "bad")

    asked = job.run("pull_request", tmp_path / "asked", prompt="{{ question }} Think.")
    assert (asked.returncode, "other prompt: 40 of 40" in asked.stderr) == (3, True), asked.stderr
    if system == "GitLab CI":
        asked_for = "/api/v4/projects/7/jobs/artifacts/main/raw/main.bundle?job=evals"
        assert set(server.asked) == {(asked_for, "token")}


@pytest.mark.parametrize("system", SYSTEMS)
def test_twenty_samples_are_too_few_to_block_on_three(system: str, server: Server, tmp_path: Path) -> None:
    job = Job(system, server, n=20)
    assert job.run("push", tmp_path / "main").returncode == 0
    unsure = job.run("pull_request", tmp_path / "unsure", model="unsure")
    assert unsure.returncode == 0, unsure.stderr
    assert "warning: exact bot: undecided: 0.9 -> 0.75" in unsure.stderr
    assert "undecided" in shown(tmp_path / "unsure")


def test_a_run_on_main_takes_the_place_of_the_one_before(server: Server, tmp_path: Path) -> None:
    job = Job("GitLab CI", server)
    assert job.run("push", tmp_path / "main").returncode == 0
    before = (server.folder / "main.bundle").read_bytes()
    again = job.run("push", tmp_path / "merged", model="same")
    assert again.returncode == 0, again.stderr
    assert (server.folder / "main.bundle").read_bytes() != before
    assert job.run("pull_request", tmp_path / "pr", model="same").returncode == 0


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_prompt_that_goes_back_is_judged_by_its_own_run(
    system: str, server: Server, tmp_path: Path
) -> None:
    """The run of the older prompt is begun before the one that main had in between."""
    job = Job(system, server)
    assert job.run("push", tmp_path / "one").returncode == 0
    other = job.run("push", tmp_path / "two", prompt="{{ question }} Think.")
    assert other.returncode == 0, other.stderr
    (tmp_path / "two" / "spec.yaml").write_bytes((tmp_path / "one" / "spec.yaml").read_bytes())
    back = job.again("push", tmp_path / "two", "third")
    assert back.returncode == 0, back.stderr
    assert "note: gsm8k@latest is" in back.stderr
    untouched = job.run("pull_request", tmp_path / "pr")
    assert untouched.returncode == 0, untouched.stderr
