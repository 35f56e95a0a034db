"""The other tools: how each is installed, and the commands by which it does the work that is compared.

Invariant: a tool gets the settings under which it is fastest without losing results, and a row is
measured only if the server got as many requests as the work has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import Cost, MockServer, run
from run import FIRST_PATTERN, OTHER_PATTERN, expect

HERE = Path(__file__).resolve().parent
N_RUNS = 20
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("GRADETRAIL_")}


class NotInstalledError(Exception):
    """A tool cannot be installed here; the message is the reason."""


@dataclass(frozen=True)
class Work:
    """One row of the comparison as one tool does it."""

    row: str
    note: str
    """What a reader has to know of how it was done."""
    measure: Callable[[], Cost]


@dataclass(frozen=True)
class Place:
    """Folders, sizes and the port that all tools work with."""

    installed: Path
    """Kept between measurements."""
    work: Path
    """Holds `<n>.jsonl` for both sizes, and what the tools write."""
    n_few: int
    n_many: int
    port: int
    """One for all: some caches hold the address."""

    def data(self, n: int) -> Path:
        """Give the questions."""
        return self.work / f"{n}.jsonl"

    def served(self, latency_ms: float, n: int, act: Callable[[], Cost]) -> Cost:
        """Run something beside the server, which must get n requests."""
        with MockServer(latency_ms, self.port) as server:
            cost = act()
            expect(server.n_requests(), n)
        return cost

    def folder(self, tool: str) -> Path:
        """Make the folder of a tool, with what this project holds of it."""
        made = self.work / tool
        if not made.exists():
            shutil.copytree(HERE / tool, made)
        return made


def pinned(tool: str, package: str) -> str:
    """Give the version of a package that a tool's folder asks for."""
    node = HERE / tool / "package.json"
    if node.exists():
        return str(json.loads(node.read_text())["dependencies"][package])
    pins = dict(line.split("==") for line in (HERE / tool / "requirements.txt").read_text().split())
    return pins[package]


def install_python(place: Place, tool: str) -> Path:
    """Install a tool into a virtual environment of its own, unless it is there; give its `bin`."""
    venv, wanted = place.installed / tool, (HERE / tool / "requirements.txt").read_text()
    marker = venv / "installed.txt"
    if not marker.exists() or marker.read_text() != wanted:
        requirements = str(HERE / tool / "requirements.txt")
        pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        installed([sys.executable, "-m", "venv", "--clear", str(venv)], venv.parent)
        installed([*pip, "--requirement", requirements], venv.parent)
        marker.write_text(wanted)
    return venv / "bin"


def install_node(place: Place, tool: str) -> Path:
    """Install a tool into a folder of node modules of its own, unless it is there; give its `.bin`."""
    folder, wanted = place.installed / tool, (HERE / tool / "package.json").read_text()
    marker = folder / "installed.txt"
    if not marker.exists() or marker.read_text() != wanted:
        if shutil.which("npm") is None:
            raise NotInstalledError("there is no npm")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(wanted)
        installed(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"], folder)
        marker.write_text(wanted)
    return folder / "node_modules" / ".bin"


def installed(command: Sequence[str], folder: Path) -> None:
    """Run a step of an installation; NotInstalledError with the last line of a failure."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=PLAIN)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise NotInstalledError(lines[-1] if lines else f"{command[0]} ended with {done.returncode}")


class Inspect:
    """inspect-ai, as it is (`tuned` off), or without its live view of samples and scores."""

    def __init__(self, place: Place, *, tuned: bool) -> None:
        self.place = place
        self.bin = install_python(place, "inspect-ai")
        self.folder = place.folder("inspect-ai")
        self.options = ["--no-log-realtime", "--no-score-display"] if tuned else []
        url = f"http://127.0.0.1:{place.port}/v1"
        cache = {"INSPECT_CACHE_DIR": str(self.folder / "cache")}
        self.env = PLAIN | cache | {"MOCK_API_KEY": "x", "MOCK_BASE_URL": url}
        self.tuned = tuned

    def command(self, *arguments: object) -> Cost:
        """Run something of its environment in the tool's folder."""
        command = [str(self.bin / str(arguments[0])), *map(str, arguments[1:])]
        return run(command, log=self.folder / "log.txt", env=self.env, folder=self.folder)

    def evaluate(self, n: int, latency_ms: float, n_requests: int, *, cache: bool = False) -> Cost:
        """Ask and grade."""
        shutil.rmtree(self.folder / "logs", ignore_errors=True)
        model = ["--model", "openai-api/mock/mock-model", "--model-base-url", self.env["MOCK_BASE_URL"]]
        limits = ["--max-connections", 64, "--max-samples", 64, "--display", "none", "--log-dir", "logs"]
        task = ["-T", f"data={self.place.data(n)}", *(["-T", "cache=true"] if cache else [])]
        cost = self.place.served(
            latency_ms,
            n_requests,
            lambda: self.command("inspect", "eval", "gsm_mock.py", *model, *limits, *task, *self.options),
        )
        if n == self.place.n_many:
            (log,) = (self.folder / "logs").glob("*.eval")
            shutil.copy(log, self.folder / "kept.eval")
        return cost

    def fill(self, latency_ms: float = 0) -> Cost:
        """Ask everything and keep it in the cache."""
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        return self.evaluate(self.place.n_many, latency_ms, self.place.n_many, cache=True)

    def warm(self) -> Cost:
        """Ask everything of the cache."""
        if not (self.folder / "cache").exists():
            self.fill()
        return self.evaluate(self.place.n_many, 20, 0, cache=True)

    def log(self) -> Path:
        """Give the log of the many questions."""
        if not (self.folder / "kept.eval").exists():
            self.fill()
        return self.folder / "kept.eval"

    def rescore(self) -> Cost:
        """Grade the log of a run again."""
        out = self.folder / "rescored.eval"
        out.unlink(missing_ok=True)
        scorer = ["--scorer", "rescore.py@last_number", "--action", "append"]
        return self.command(
            "inspect", "score", self.log(), *scorer, "--output-file", out, "--display", "none"
        )

    def means(self, what: str) -> Cost:
        """Read the accuracy of 20 runs."""
        logs = self.folder / "logs20"
        if not logs.exists():
            self.command("python", "replicate.py", self.log(), logs, N_RUNS)
        return self.command("python", "load_df.py", logs, what)

    def works(self) -> Iterator[Work]:
        """List what it can do."""
        few, many = self.place.n_few, self.place.n_many
        note = ", ".join(self.options) or "defaults"
        yield Work("a", note, lambda: self.evaluate(few, 200, few))
        if self.tuned:
            yield Work("b", f"{note}; fills its cache", lambda: self.fill(20))
        else:
            yield Work("b", f"{note}; no cache", lambda: self.evaluate(many, 20, many))
        yield Work("c", note, self.warm)
        if not self.tuned:
            yield Work("d", "`inspect score`", self.rescore)
            yield Work("e", "`samples_df`, parallel", lambda: self.means("samples"))
            yield Work("e", "`evals_df`: the headers' own means", lambda: self.means("evals"))


class LmEval:
    """lm-evaluation-harness over its client for chat completions."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.bin = install_python(place, "lm-eval")
        self.folder = place.folder("lm-eval")
        home = {"HF_HOME": str(self.folder / "home"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
        self.env = PLAIN | home | {"OPENAI_API_KEY": "x"}
        self.task = (self.folder / "gsm_mock.yaml").read_text()

    def command(self, *arguments: object) -> Cost:
        """Run something of its environment in the tool's folder."""
        command = [str(self.bin / str(arguments[0])), *map(str, arguments[1:])]
        return run(command, log=self.folder / "log.txt", env=self.env, folder=self.folder)

    def evaluate(
        self, n: int, latency_ms: float, n_requests: int, pattern: str = FIRST_PATTERN, *, cache: bool = False
    ) -> Cost:
        """Ask and grade."""
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        task = self.folder / "task" / "gsm_mock.yaml"
        task.parent.mkdir(exist_ok=True)
        escaped = pattern.replace("\\", "\\\\")
        task.write_text(self.task.replace("__DATA__", str(self.place.data(n))).replace("__REGEX__", escaped))
        model = (
            f"model=mock-model,base_url=http://127.0.0.1:{self.place.port}/v1/chat/completions,"
            "num_concurrent=64,tokenized_requests=False"
        )
        asked = ["--model", "local-chat-completions", "--model_args", model, "--apply_chat_template"]
        about = ["--tasks", "gsm_mock", "--include_path", "task", "--log_samples", "--output_path", "out"]
        kept = ["--use_cache", "cache/c"] if cache else []
        cost = self.place.served(
            latency_ms, n_requests, lambda: self.command("lm-eval", "run", *asked, *about, *kept)
        )
        if n == self.place.n_many:
            (rows,) = (self.folder / "out").glob("*/samples*.jsonl")
            shutil.copy(rows, self.folder / "kept.jsonl")
        return cost

    def warm(self, pattern: str) -> Cost:
        """Ask everything of the cache."""
        many = self.place.n_many
        if not (self.folder / "cache").exists():
            self.evaluate(many, 0, many, cache=True)
        return self.evaluate(many, 20, 0, pattern, cache=True)

    def means(self) -> Cost:
        """Read the accuracy of 20 runs."""
        folder = self.folder / "rows20"
        if not folder.exists():
            if not (self.folder / "kept.jsonl").exists():
                self.evaluate(self.place.n_many, 0, self.place.n_many)
            folder.mkdir()
            for number in range(N_RUNS):
                shutil.copy(self.folder / "kept.jsonl", folder / f"{number}.jsonl")
        return self.command("python", "load_df.py", f"{folder}/*.jsonl")

    def works(self) -> Iterator[Work]:
        """List what it can do."""
        few, many = self.place.n_few, self.place.n_many
        yield Work("a", "local-chat-completions", lambda: self.evaluate(few, 200, few))
        yield Work("b", "local-chat-completions; no cache", lambda: self.evaluate(many, 20, many))
        yield Work("c", "`--use_cache`", lambda: self.warm(FIRST_PATTERN))
        yield Work("d", "`--use_cache`, another filter", lambda: self.warm(OTHER_PATTERN))
        yield Work("e", "Polars over its rows", self.means)


class Promptfoo:
    """promptfoo, its debug log off (with it, it often ends without a summary)."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.bin = install_node(place, "promptfoo")
        self.folder = place.folder("promptfoo")
        self.home = self.folder / "home"
        off = "TELEMETRY UPDATE SHARING REMOTE_GENERATION DEBUG_LOG ERROR_LOG".split()
        self.env = PLAIN | {f"PROMPTFOO_DISABLE_{name}": "1" for name in off}
        self.env["PROMPTFOO_CONFIG_DIR"] = str(self.home)

    def evaluate(
        self, n: int, latency_ms: float, n_requests: int, check: str = "answer", *, cache: bool = False
    ) -> Cost:
        """Ask and grade, into an empty database."""
        if (self.home / "cache").exists():
            shutil.rmtree(self.folder / "cache", ignore_errors=True)
            shutil.move(self.home / "cache", self.folder / "cache")
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        if cache and (self.folder / "cache").exists():
            shutil.copytree(self.folder / "cache", self.home / "cache")
        with (self.folder / "tests.jsonl").open("w") as out:
            for line in self.place.data(n).read_text().splitlines():
                row = json.loads(line)
                values = {"question": row["question"], "gold": row["answer"]}
                out.write(json.dumps({"vars": values}) + "\n")
        text = (self.folder / "promptfooconfig.yaml").read_text()
        for mark, value in (
            ("PORT", self.place.port),
            ("ASSERT", f"assert_{check}.js"),
            ("TESTS", "tests.jsonl"),
        ):
            text = text.replace(f"__{mark}__", str(value))
        (self.folder / "config.yaml").write_text(text)
        command = [str(self.bin / "promptfoo"), "eval", "-j", "64", "--no-progress-bar", "--no-table"]
        command += ["-c", "config.yaml", *([] if cache else ["--no-cache"])]
        # 100: it is done, and some answers were wrong
        return self.place.served(
            latency_ms,
            n_requests,
            lambda: run(
                command, log=self.folder / "log.txt", env=self.env, folder=self.folder, accepted=(0, 100)
            ),
        )

    def warm(self, check: str) -> Cost:
        """Ask everything of the cache."""
        many = self.place.n_many
        if not (self.folder / "cache").exists() and not (self.home / "cache").exists():
            self.evaluate(many, 0, many, cache=True)
        return self.evaluate(many, 20, 0, check, cache=True)

    def means(self) -> Cost:
        """Read the accuracy of 20 runs from its database."""
        database, read = self.folder / "20.db", [sys.executable, str(self.folder / "load_db.py")]
        log = self.folder / "log.txt"
        if not database.exists():
            if not (self.home / "promptfoo.db").exists():
                self.evaluate(self.place.n_many, 0, self.place.n_many)
            shutil.copy(self.home / "promptfoo.db", database)
            if (self.home / "promptfoo.db-wal").exists():
                shutil.copy(self.home / "promptfoo.db-wal", f"{database}-wal")
            run([*read, str(database), str(N_RUNS - 1)], log=log, env=PLAIN)
        return run([*read, str(database)], log=log, env=PLAIN)

    def works(self) -> Iterator[Work]:
        """List what it can do."""
        few, many = self.place.n_few, self.place.n_many
        note = "debug log off"
        yield Work("a", f"{note}; no cache", lambda: self.evaluate(few, 200, few))
        yield Work("b", f"{note}; no cache", lambda: self.evaluate(many, 20, many))
        yield Work("c", note, lambda: self.warm("answer"))
        yield Work("d", f"{note}; its cache, another assertion", lambda: self.warm("last"))
        yield Work("e", "SQL over its database", self.means)


class DeepEval:
    """deepeval, which asks no model itself: it grades what is given."""

    def __init__(self, place: Place, answers: Path) -> None:
        self.bin = install_python(place, "deepeval")
        self.folder = place.folder("deepeval")
        self.answers = answers
        self.env = PLAIN | {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_RESULTS_FOLDER": ""}

    def rescore(self) -> Cost:
        """Grade stored answers."""
        import pyarrow.parquet as pq

        replies = self.folder / "replies.jsonl"
        if not replies.exists():
            with replies.open("w") as out:
                for row in pq.read_table(self.answers).to_pylist():
                    reply = {"input": row["sample_id"], "output": row["text"], "gold": row["gold"]}
                    out.write(json.dumps(reply) + "\n")
        command = [str(self.bin / "python"), "rescore.py", replies.name]
        return run(command, log=self.folder / "log.txt", env=self.env, folder=self.folder)

    def works(self) -> Iterator[Work]:
        """List what it can do."""
        yield Work("d", "a metric of one's own", self.rescore)
