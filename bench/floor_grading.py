"""The floors of re-grading: DuckDB alone, over one flat Parquet file or over the stored tables.

    python bench/floor_grading.py regex|numeric|templated flat.parquet out.parquet
    python bench/floor_grading.py regex|numeric|templated warehouse out.parquet

`flat.parquet` has model, sample_id, epoch, gold, text; `out.parquet` gets a row for each: the key, the
score and what was found. From a warehouse, trials, answers and dataset rows are joined, and the rows have
the columns of the stored table `scores`: no checksums, no rules for answers that are missing, blank or
cut off. `templated` searches a pattern of each gold's own, in one prepared query for each pattern over a
table in the patterns' order: the fastest way known in DuckDB.
"""

from __future__ import annotations

import sys
from pathlib import Path

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


REGEX_RULE = r"""
create macro found(text) as regexp_extract(text, 'Answer: (-?\d+)', 1);
create macro is_right(extracted, gold) as extracted = gold
"""
NUMERIC_RULE = r"""
create macro found(text) as regexp_extract_all(text, '-?\d+(?:\.\d+)?')[-1];
create macro is_right(extracted, gold) as try_cast(extracted as double) = gold::double
"""
JUDGED = """
create view judged as
select response_id, found(text) as extracted from responses
"""
ALL_COLUMNS = """
copy (
    select
        trials.run_id, trials.task, 'score' as scorer, repeat('0', 64) as scorer_id, 'score' as metric,
        trials.model, trials.model_id, trials.prompt, trials.sample_id, trials.epoch, trials.response_id,
        null::varchar as opponent_response_id, samples.content ->> '$.answer' as target,
        is_right(judged.extracted, samples.content ->> '$.answer')::double as score,
        is_right(judged.extracted, samples.content ->> '$.answer') as is_pass, trials.status as outcome,
        judged.extracted, 'regex' as extracted_by, trials.confidence, null::varchar as confidence_source,
        null::varchar as detail, null::varchar[] as judge_response_ids
    from trials
    left join judged on trials.response_id = judged.response_id
    left join samples on trials.sample_id = samples.sample_id
) to $out (format parquet, compression zstd)
"""
SORT_STORED = """
create table sorted as
select samples.content ->> '$.answer' as gold, trials.response_id, responses.text
from trials
inner join responses on trials.response_id = responses.response_id
inner join samples on trials.sample_id = samples.sample_id
order by gold
"""
MATCH_STORED = """
insert into judged
select response_id, regexp_extract(text, $pattern, 0) from sorted where gold = $gold
"""


def stored(con: duckdb.DuckDBPyConnection, kind: str, warehouse: Path, out: str) -> None:
    """Grade what is stored in a warehouse; the rows have every column of its table `scores`."""
    for table in ("trials", "responses", "samples"):
        con.read_parquet(str(warehouse / table / "*.parquet")).create_view(table)
    con.execute(NUMERIC_RULE if kind == "numeric" else REGEX_RULE)
    if kind != "templated":
        con.execute(JUDGED)
    else:
        con.execute("create or replace macro is_right(extracted, gold) as extracted <> ''")
        con.execute(SORT_STORED)
        con.execute("create table judged (response_id varchar, extracted varchar)")
        con.begin()
        for (gold,) in con.execute("select distinct gold from sorted").fetchall():
            con.execute(MATCH_STORED, {"pattern": rf"Answer: {gold}\s*\z", "gold": gold})
        con.commit()
    con.execute(ALL_COLUMNS, {"out": out})


def main(kind: str, source: str, out: str) -> None:
    """Grade every answer and write the scores."""
    con = duckdb.connect()
    if Path(source).is_dir():
        stored(con, kind, Path(source), out)
    elif kind == "templated":
        templated(con, source, out)
    else:
        query = {"regex": REGEX, "numeric": NUMERIC}[kind]
        con.execute(query, {"source": source, "out": out})


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
