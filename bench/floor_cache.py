"""The floor of a run that is all cached: hash N requests, look them up, grade, write the rows.

    python bench/floor_cache.py fill gsm10k.jsonl cache.parquet
    python bench/floor_cache.py warm gsm10k.jsonl cache.parquet graded.parquet

The key is a sha256 of the request as canonical JSON. `graded.parquet` has one row per sample:
sample_id, text, gold, score; floor_duckdb.py reads it. Prints the mean.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator

FILLER = "so the total per day is taken over the week which leaves the remaining amount " * 4


def requests(path: str) -> Iterator[tuple[str, str, str]]:
    """Yield (sample_id, key, gold) of each row."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            message = {"role": "user", "content": row["question"] + "\nEnd with 'Answer: <number>'."}
            request = {"model": "mock-model", "temperature": 0, "max_tokens": 256, "messages": [message]}
            text = json.dumps(request, sort_keys=True, separators=(",", ":"))
            yield row["id"], hashlib.sha256(text.encode()).hexdigest(), row["answer"]


def fill(data: str, cache: str) -> None:
    """Store a right answer for every request."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys, texts = [], []
    for _, key, gold in requests(data):
        keys.append(key)
        texts.append(f"{FILLER}Answer: {gold}")
    pq.write_table(pa.table({"key": keys, "text": texts}), cache, compression="zstd")


def warm(data: str, cache: str, out: str) -> float:
    """Look every request up, grade it, write the rows; give the mean."""
    import duckdb
    import pyarrow as pa

    ids, keys, golds = zip(*requests(data), strict=True)
    con = duckdb.connect()
    con.register("plan", pa.table({"sample_id": ids, "key": keys, "gold": golds}))
    con.execute(
        r"""
        copy (
            select
                plan.sample_id,
                answers.text,
                plan.gold,
                (regexp_extract(answers.text, 'Answer: (-?\d+)', 1) = plan.gold)::double as score
            from plan
            inner join read_parquet($cache) as answers on plan.key = answers.key
        ) to $out (format parquet, compression zstd)
        """,
        {"cache": cache, "out": out},
    )
    row = con.execute("select avg(score) from read_parquet($out)", {"out": out}).fetchone()
    assert row is not None
    return float(row[0])


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        fill(sys.argv[2], sys.argv[3])
    else:
        print(warm(sys.argv[2], sys.argv[3], sys.argv[4]))
