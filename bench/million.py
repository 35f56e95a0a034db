"""Measures runs that are large: time, rate and peak memory of each command over N samples.

    python bench/million.py [--samples 1000000] [--provider replay|server]

`replay` answers from a file of N recorded answers of 60 words, `server` from the fake API at no latency.
Every line is one whole process (see measure.py); the commands follow each other on one warehouse.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import make_dataset
from measure import HERE, Cost, MockServer, run

sys.path.insert(0, str(HERE.parent))

SPEC = """\
name: million
dataset: data.jsonl
prompt: "{{{{ question }}}}\\nEnd with 'Answer: <number>'."
target: "{{{{ answer }}}}"
extract: 'Answer: (-?\\d+)'
scorer: exact
model: {model}
request: {{temperature: 0, max_tokens: 256}}
run: {{concurrency: 64}}
"""
SERVER = '{{model: openai_compatible/mock-model, base_url: "http://127.0.0.1:{port}/v1", endpoint: mock}}'
REPLAY = "{model: replay/recorded, answers: answers.jsonl}"

WORK = (
    ("plan", ("plan", "SPEC"), "load, render, look up"),
    ("generate", ("generate", "SPEC"), "the same, then ask, journal, seal, fold"),
    ("again", ("generate", "SPEC"), "nothing left to ask"),
    ("score", ("score", "SPEC"), "grade all answers"),
    ("board", ("show", "leaderboard"), ""),
)
HEAD = """\
| provider | command | samples | wall, s | samples a second | CPU, ms a sample | peak, MiB |
|---|---|---|---|---|---|---|"""


def record_answers(folder: Path) -> None:
    """Write an answer to every row, as the fake server would give it."""
    from tests.servers.replies import Manner, answer_text

    manner = Manner(words=60)
    with (folder / "data.jsonl").open() as rows, (folder / "answers.jsonl").open("w") as out:
        for line in rows:
            row = json.loads(line)
            text = answer_text(row["question"], blake2b(row["id"].encode()).digest(), manner)
            out.write(json.dumps({"sample_id": row["id"], "text": text}, separators=(",", ":")) + "\n")


@contextlib.contextmanager
def model(provider: str, folder: Path) -> Iterator[str]:
    """Give the spec's model, with what answers for it."""
    if provider == "server":
        with MockServer(0) as server:
            yield SERVER.format(port=server.port)
    else:
        record_answers(folder)
        yield REPLAY


def measured(provider: str, n: int, folder: Path) -> Iterator[tuple[str, Cost]]:
    """Run every command over n samples."""
    make_dataset.write(folder / "data.jsonl", n)
    env = {name: value for name, value in os.environ.items() if not name.startswith("GRADETRAIL_")}
    env["GRADETRAIL_WAREHOUSE"] = str(folder / "warehouse")
    program = str(Path(sys.executable).with_name("gradetrail"))
    spec = folder / "million.yaml"
    with model(provider, folder) as asked:
        spec.write_text(SPEC.format(model=asked))
        for name, words, _ in WORK:
            command = [program, *(str(spec) if word == "SPEC" else word for word in words)]
            yield name, run(command, log=folder / f"{name}.log", env=env, timeout_s=7200)


def line(provider: str, name: str, n: int, cost: Cost) -> str:
    """Write a row of the table."""
    cells = (
        provider, name, f"{n:,}", f"{cost.wall_s:.1f}", f"{n / cost.wall_s:,.0f}",
        f"{cost.cpu_s / n * 1000:.3f}", f"{cost.peak_mb:.0f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--provider", choices=("replay", "server"), default="replay")
    args = parser.parse_args()
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="gradetrail-million-") as folder:
        for name, cost in measured(args.provider, args.samples, Path(folder)):
            print(line(args.provider, name, args.samples, cost), flush=True)


if __name__ == "__main__":
    main()
