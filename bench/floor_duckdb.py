"""The floor of grading and of reading: DuckDB over one Parquet file, and nothing else.

    python bench/floor_duckdb.py regrade graded.parquet out.parquet    read, extract, write
    python bench/floor_duckdb.py board graded.parquet                  read, count, mean
    python bench/floor_duckdb.py open                                  a connection

`graded.parquet` is what floor_cache.py wrote.
"""

from __future__ import annotations

import sys

import duckdb


def regrade(source: str, out: str) -> None:
    """Grade by another expression than before and write the scores."""
    duckdb.connect().execute(
        r"""
        copy (
            select
                sample_id,
                (regexp_extract(text, '(-?\d+)\s*$', 1) = gold)::double as score
            from read_parquet($source)
        ) to $out (format parquet, compression zstd)
        """,
        {"source": source, "out": out},
    )


def board(source: str) -> None:
    """Print n and mean."""
    query = "select count(score), avg(score) from read_parquet($source)"
    print(duckdb.connect().execute(query, {"source": source}).fetchone())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["regrade", source, out]:
            regrade(source, out)
        case ["board", source]:
            board(source)
        case ["open"]:
            print(duckdb.connect().execute("select 1").fetchone())
        case _:
            sys.exit(__doc__)
