"""The floor of analytics at scale: DuckDB and Polars over synthetic answers in Parquet.

    python bench/floor_analytics.py make DIR --rows 200000 --runs 20 --files 20
    python bench/floor_analytics.py time DIR --engine duckdb --query regrade

A row: run, model, sample_id, gold, score, text (about 500 bytes that end in `Answer: N`).
mean: accuracy per run from the stored score. regrade: the same from a regex over the text. write:
regrade and write the scores. pairs: wins, losses and ties of run 0 against every other run.
`time` prints one JSON line: median seconds in the process, rows a second, CPU seconds, peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATTERN = r"Answer: (-?\d+)"

MAKE = """
copy (
    with pieces as (select list(piece) as piece from chunks),

    numbered as (
        select
            i,
            i // $per_run as run,
            i % $per_run as sample,
            (hash(i) % 100) < 60 + (i // $per_run) % 30 as is_right,
            (hash(i % $per_run) % 5000)::int as gold
        from range($low, $high) as numbers (i)
    )

    select
        'run' || lpad(run::varchar, 5, '0') as run,
        'model-' || (run % 7) as model,
        's' || lpad(sample::varchar, 7, '0') as sample_id,
        gold::varchar as gold,
        is_right::int::double as score,
        piece[(hash(i * 5) % 20000)::int + 1]
        || (i % 97)::varchar
        || ' '
        || piece[(hash(i * 5 + 1) % 20000)::int + 1]
        || piece[(hash(i * 5 + 2) % 20000)::int + 1]
        || (gold // 3)::varchar
        || ' '
        || piece[(hash(i * 5 + 3) % 20000)::int + 1]
        || piece[(hash(i * 5 + 4) % 20000)::int + 1]
        || 'Answer: '
        || (case when is_right then gold else gold + 1 + i % 9 end)::varchar as text
    from numbered, pieces
    order by i
) to $out (format parquet, compression zstd)
"""

QUERIES = {
    "mean": """
        select run, any_value(model), count(*), avg(score) from read_parquet($files) group by run
    """,
    "regrade": """
        select run, count(*), avg((regexp_extract(text, 'Answer: (-?\\d+)', 1) = gold)::int)
        from read_parquet($files) group by run
    """,
    "write": """
        copy (
            select run, sample_id, (regexp_extract(text, 'Answer: (-?\\d+)', 1) = gold)::int as score
            from read_parquet($files)
        ) to $out (format parquet, compression zstd)
    """,
    "pairs": """
        with rows as (select run, sample_id, score from read_parquet($files)),
        base as (select sample_id, score from rows where run = 'run00000')
        select r.run, sum((r.score > b.score)::int), sum((r.score < b.score)::int), count(*)
        from rows as r inner join base as b on r.sample_id = b.sample_id group by r.run
    """,
}


def make(folder: Path, rows: int, runs: int, files: int) -> dict[str, Any]:
    """Write the rows; give their number and size."""
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(1)
    words = ["".join(rng.choices("etaoinshrdlucmfwyp", k=rng.randint(2, 9))) for _ in range(4000)]
    chunks = [" ".join(rng.choices(words, k=16)) + " " for _ in range(20000)]
    con = duckdb.connect()
    con.execute("create table chunks as select unnest($chunks) as piece", {"chunks": chunks})
    per_file = rows // files
    for number in range(files):
        bounds = {"low": number * per_file, "high": (number + 1) * per_file, "per_run": rows // runs}
        con.execute(MAKE, {**bounds, "out": str(folder / f"part{number:04d}.parquet")})
    size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    return {"rows": per_file * files, "bytes": size, "bytes_per_row": round(size / rows, 1)}


def with_duckdb(files: list[str], query: str, out: str, threads: int) -> Callable[[], object]:
    """Prepare a query for DuckDB."""
    import duckdb

    con = duckdb.connect(config={"threads": threads})
    params: dict[str, Any] = {"files": files} | ({"out": out} if query == "write" else {})
    return lambda: con.execute(QUERIES[query], params).fetchall()


def with_polars(files: list[str], query: str, out: str, threads: int) -> Callable[[], object]:
    """Prepare the same query for Polars, on its streaming engine."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars as pl

    rows = pl.scan_parquet(files)
    right = pl.col("text").str.extract(PATTERN, 1) == pl.col("gold")
    scores = rows.select("run", "sample_id", "score")
    base = scores.filter(pl.col("run") == "run00000").select("sample_id", base="score")
    plans: dict[str, Callable[[], pl.LazyFrame]] = {
        "mean": lambda: rows.group_by("run").agg(pl.len(), pl.col("score").mean()),
        "regrade": lambda: rows.group_by("run").agg(pl.len(), right.mean()),
        "pairs": lambda: (
            scores.join(base, on="sample_id")
            .group_by("run")
            .agg(
                (pl.col("score") > pl.col("base")).sum().alias("wins"),
                (pl.col("score") < pl.col("base")).sum().alias("losses"),
                pl.len(),
            )
        ),
    }
    if query == "write":
        graded = rows.select("run", "sample_id", right.cast(pl.Int32).alias("score"))
        return lambda: graded.sink_parquet(out, compression="zstd")
    return lambda: plans[query]().collect(engine="streaming")


def measure(folder: Path, engine: str, query: str, repeats: int, threads: int) -> dict[str, Any]:
    """Run a query several times in this process."""
    import pyarrow.parquet as pq

    files = sorted(str(path) for path in folder.glob("*.parquet"))
    n_rows = sum(pq.read_metadata(path).num_rows for path in files)
    prepare = with_duckdb if engine == "duckdb" else with_polars
    go = prepare(files, query, f"{folder}.scores.parquet", threads)
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        go()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    wall = statistics.median(walls)
    return {
        "engine": engine,
        "query": query,
        "threads": threads,
        "rows": n_rows,
        "median_s": round(wall, 3),
        "rows_per_s": round(n_rows / wall),
        "cpu_s": round(statistics.median(cpus), 3),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main() -> None:
    """Parse the command line; make the rows or time a query."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make")
    maker.add_argument("folder", type=Path)
    maker.add_argument("--rows", type=int, default=200_000)
    maker.add_argument("--runs", type=int, default=20)
    maker.add_argument("--files", type=int, default=20)
    timer = commands.add_parser("time")
    timer.add_argument("folder", type=Path)
    timer.add_argument("--engine", default="duckdb", choices=["duckdb", "polars"])
    timer.add_argument("--query", default="mean", choices=sorted(QUERIES))
    timer.add_argument("--repeats", type=int, default=3)
    timer.add_argument("--threads", type=int, default=2)
    given = vars(parser.parse_args())
    result = make(**given) if given.pop("command") == "make" else measure(**given)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
