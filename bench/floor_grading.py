"""The floor of re-grading: DuckDB over one flat Parquet file, and nothing else.

    python bench/floor_grading.py regex|numeric|templated flat.parquet out.parquet

`flat.parquet` has model, sample_id, epoch, gold, text; `out.parquet` gets a row for each: the key, the
score and what was found. `templated` searches a pattern of each gold's own, in one prepared query for
each pattern over a table in the patterns' order: the fastest way known in DuckDB.
"""

from __future__ import annotations

import sys

import duckdb

REGEX = r"""
copy (
    select model, sample_id, epoch, extracted, (extracted = gold)::double as score
    from (
        select *, regexp_extract(text, 'Answer: (-?\d+)', 1) as extracted
        from read_parquet($source)
    )
) to $out (format parquet, compression zstd)
"""
NUMERIC = r"""
copy (
    select model, sample_id, epoch, extracted, (try_cast(extracted as double) = gold::double)::double as score
    from (
        select *, regexp_extract_all(text, '-?\d+(?:\.\d+)?')[-1] as extracted
        from read_parquet($source)
    )
) to $out (format parquet, compression zstd)
"""
SORT = """
create table sorted as
select model, sample_id, epoch, gold, text from read_parquet($source) order by gold
"""
MATCH = """
insert into scores
select model, sample_id, epoch, regexp_extract(text, $pattern, 0), regexp_matches(text, $pattern)::double
from sorted where gold = $gold
"""


def templated(con: duckdb.DuckDBPyConnection, source: str, out: str) -> None:
    """Grade with a pattern for each gold."""
    con.execute(SORT, {"source": source})
    con.execute(
        "create table scores (model varchar, sample_id varchar, epoch int, extracted varchar, score double)"
    )
    con.begin()
    for (gold,) in con.execute("select distinct gold from sorted").fetchall():
        con.execute(MATCH, {"pattern": rf"Answer: {gold}\s*\z", "gold": gold})
    con.commit()
    con.execute("copy scores to $out (format parquet, compression zstd)", {"out": out})


def main(kind: str, source: str, out: str) -> None:
    """Grade every answer and write the scores."""
    con = duckdb.connect()
    if kind == "templated":
        templated(con, source, out)
    else:
        query = {"regex": REGEX, "numeric": NUMERIC}[kind]
        con.execute(query, {"source": source, "out": out})


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
