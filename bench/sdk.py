"""Measures gradetrail's `openai` and `anthropic` providers beside the bare SDKs, over the same transport.

    python bench/sdk.py [--n 2000] [--repeats 3] [--latency-ms 20]

The bare SDK asks as its manual says, over its own aiohttp transport, with a pool as wide as the calls in
flight; it stores nothing. Numbers are whole processes; CPU is user and system.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import make_dataset
from measure import HERE, Cost, MockServer, median, run

SPEC = """\
name: bench
dataset: {data}
prompt: "{{{{ question }}}}\\nEnd with 'Answer: <number>'."
target: "{{{{ answer }}}}"
extract: 'Answer: (-?\\d+)'
scorer: exact
model: {{model: {provider}/mock-model, base_url: "http://127.0.0.1:{port}{path}", endpoint: mock}}
request: {{max_tokens: 256}}
run: {{concurrency: 64}}
"""
PATHS = {"openai": "/v1", "anthropic": ""}


def measured(provider: str, n: int, latency_ms: float, folder: Path, *, bare: bool) -> Cost:
    """Ask n questions, bare or with gradetrail, against a server of their own."""
    data = folder / f"{n}.jsonl"
    env = {name: value for name, value in os.environ.items() if not name.startswith("GRADETRAIL_")}
    env |= {"OPENAI_API_KEY": "sk-bench-0123456789", "ANTHROPIC_API_KEY": "sk-bench-0123456789"}
    env["GRADETRAIL_WAREHOUSE"] = str(folder / "warehouse")
    shutil.rmtree(folder / "warehouse", ignore_errors=True)
    with MockServer(latency_ms) as server:
        if bare:
            script = [str(HERE / "floor_client.py"), "--client", f"{provider}_aiohttp"]
            command = [*script, "--port", str(server.port), "--data", str(data)]
        else:
            spec = folder / "spec.yaml"
            spec.write_text(SPEC.format(data=data, provider=provider, port=server.port, path=PATHS[provider]))
            command = ["-m", "gradetrail", "generate", str(spec)]
        cost = run([sys.executable, *command], log=folder / "bench.log", env=env)
        found = server.n_requests(PATHS_ASKED[provider])
    if found != n:
        raise RuntimeError(f"{found} requests reached the server, not {n}")
    return cost


PATHS_ASKED = {"openai": "/chat/completions", "anthropic": "/messages"}


def main() -> None:
    """Measure in turn, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--latency-ms", type=float, default=20)
    args = parser.parse_args()
    print("| provider | bare SDK, s | gradetrail, s | ratio | bare, CPU ms a call | gradetrail | ratio |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="gradetrail-bench-") as name:
        folder = Path(name)
        make_dataset.write(folder / f"{args.n}.jsonl", args.n)
        for provider in PATHS:
            costs: dict[bool, list[Cost]] = {True: [], False: []}
            for _ in range(args.repeats):
                for bare in (True, False):
                    costs[bare].append(measured(provider, args.n, args.latency_ms, folder, bare=bare))
            floor, product = median(costs[True]), median(costs[False])
            cells = [
                provider, f"{floor.wall_s:.2f}", f"{product.wall_s:.2f}",
                f"{product.wall_s / floor.wall_s:.2f}x", f"{floor.cpu_s / args.n * 1000:.2f}",
                f"{product.cpu_s / args.n * 1000:.2f}", f"{product.cpu_s / floor.cpu_s:.2f}x",
            ]  # fmt: skip
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
