"""Prints the accuracy of each run from lm-eval's rows: `load_df.py 'FOLDER/*.jsonl'`."""

import sys

import polars as pl

rows = pl.scan_ndjson(sys.argv[1], include_file_paths="run")
print(rows.group_by("run").agg(pl.len(), pl.col("exact_match").mean()).collect())
