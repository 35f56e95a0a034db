"""A finished run of any size, stored as the product stores it: for measuring what comes after.

    python bench/stored_answers.py FOLDER SPEC QUESTIONS ANSWERS-TO-EACH

Invariant: files are written by the product's own store, with every column that a real run fills, and
the manifest names the same identities as the rows.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from measure import HERE

sys.path.insert(0, str(HERE.parent))

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from gradetrail.store import Store

RUN_ID = "20261130T083112Z-grading-5f0c2a"
BATCH_ROWS = 122_880
N_MODELS = 4

QUESTIONS = """
create table questions as
select
    's' || lpad(i::varchar, 8, '0') as sample_id,
    (i * 67 + 7)::varchar as gold,
    'What is left of ' || (i % 977) || ' eggs after the neighbours took theirs in week ' || i || '?'
        as question
from range($n) as numbers (i)
"""
ANSWERS = """
create table answers as
with keyed as (
    select
        'model-' || (copy % least($n_models, $n_each)) as model,
        questions.sample_id,
        (copy // least($n_models, $n_each) + 1)::integer as epoch,
        questions.gold,
        questions.question,
        hash(questions.sample_id, copy) as seed
    from questions, range($n_each) as copies (copy)
)

select
    keyed.model,
    keyed.sample_id,
    keyed.epoch,
    keyed.gold,
    keyed.question,
    sha256(concat_ws(' ', keyed.model, keyed.sample_id, keyed.epoch)) as response_id,
    piece[(seed % 20000)::int + 1] || (seed % 97)::varchar || ' '
    || piece[(hash(seed, 1) % 20000)::int + 1]
    || piece[(hash(seed, 2) % 20000)::int + 1] || 'Answer: '
    || case when seed % 100 < 60 then keyed.gold else (seed % 5003)::varchar end as text
from keyed, (select list(chunks.piece) as piece from chunks)
order by keyed.model, keyed.sample_id, keyed.epoch
"""
RESPONSES = """
select
    $run_id as run_id,
    answers.response_id,
    sha256(answers.response_id) as request_key,
    'mock' as provider,
    'recorded' as model,
    '[{"content":"' || answers.question || '","role":"user"}]' as messages,
    '{"max_tokens":256,"temperature":0}' as request,
    answers.text,
    'stop' as stop_reason,
    false as is_text_repaired,
    'mock' as origin,
    '2026-11-30 08:31:12+00'::timestamptz as created_at
from answers
"""
TRIALS = """
select
    $run_id as run_id,
    'grading' as task,
    answers.model,
    answers.model as model_id,
    'default' as prompt,
    answers.sample_id,
    sha256(answers.sample_id) as sample_hash,
    $dataset_id as dataset_id,
    answers.epoch,
    sha256(answers.question) as input_hash,
    sha256(answers.response_id) as request_key,
    answers.response_id,
    $run_id as response_run_id,
    'answered' as status,
    false as is_hit,
    'stop' as stop_reason,
    200.0 + hash(answers.response_id) % 100 as latency_ms,
    80 as input_tokens,
    60 as output_tokens,
    '2026-11-30 08:31:12+00'::timestamptz as ended_at
from answers
"""
SAMPLES = """
select
    $dataset_id as dataset_id,
    questions.sample_id,
    sha256(questions.sample_id) as sample_hash,
    row_number() over (order by questions.sample_id) - 1 as position,
    json_object('id', questions.sample_id, 'question', questions.question, 'answer', questions.gold)::varchar
        as content
from questions
order by questions.sample_id
"""
FLAT = """
copy (select model, sample_id, epoch, gold, text from answers)
to $out (format parquet, compression zstd)
"""


@dataclass(frozen=True)
class Shape:
    """How many questions, and how many answers to each."""

    n_questions: int
    n_each: int

    @property
    def n_answers(self) -> int:
        """Answers in all."""
        return self.n_questions * self.n_each


def store_answers(folder: Path, spec_path: Path, shape: Shape) -> None:
    """Write `warehouse` with one finished run of the spec, and `flat.parquet` with the same answers."""
    import duckdb

    from gradetrail.store import Store

    con = duckdb.connect(str(folder / "making.duckdb"))
    con.execute("set TimeZone = 'UTC'")
    rng = random.Random(1)
    words = ["".join(rng.choices("etaoinshrdlucmfwyp", k=rng.randint(2, 9))) for _ in range(4000)]
    pieces = [" ".join(rng.choices(words, k=15)) + " " for _ in range(20000)]
    con.execute("create table chunks as select unnest($pieces) as piece", {"pieces": pieces})
    con.execute(QUESTIONS, {"n": shape.n_questions})
    con.execute(ANSWERS, {"n_each": shape.n_each, "n_models": N_MODELS})
    con.execute(FLAT, {"out": str(folder / "flat.parquet")})
    store = Store(folder / "warehouse")
    _publish(con, store, "samples", "d" * 64, SAMPLES)
    _publish(con, store, "responses", f"{RUN_ID}.1", RESPONSES)
    _publish(con, store, "trials", f"{RUN_ID}.1f", TRIALS)
    store.write_manifest(RUN_ID, _manifest(spec_path, shape))
    con.close()
    (folder / "making.duckdb").unlink()


def _publish(con: duckdb.DuckDBPyConnection, store: Store, table: str, stem: str, query: str) -> None:
    from gradetrail.store.segments import publish_batches

    publish_batches(store.storage, table, stem, _batches(con, query))


def _batches(con: duckdb.DuckDBPyConnection, query: str) -> Iterator[pa.Table]:
    import pyarrow as pa

    known = {"run_id": RUN_ID, "dataset_id": "d" * 64}
    params = {name: value for name, value in known.items() if f"${name}" in query}
    for batch in con.sql(query, params=params).to_arrow_reader(BATCH_ROWS):
        yield pa.Table.from_batches([batch])


def _manifest(spec_path: Path, shape: Shape) -> dict[str, object]:
    from gradetrail.generation.manifest import stored_spec
    from gradetrail.spec import load_spec

    spec = load_spec(spec_path)
    models = [f"model-{number}" for number in range(min(N_MODELS, shape.n_each))]
    return {
        "run_id": RUN_ID,
        "task": spec.name,
        "name": spec.name,
        "tags": [],
        "status": "complete",
        "spec_id": "1" * 64,
        "plan_id": "2" * 64,
        "plan_version": 1,
        "dataset_id": "d" * 64,
        "models": [{"model": m, "model_id": m, "provider": "mock", "name": m} for m in models],
        "prompts": {"default": "default"},
        "scorers": {},
        "primary": next(iter(spec.scorers)),
        "unanswered": spec.unanswered,
        "epochs": -(-shape.n_each // len(models)),
        "selection": {},
        "is_limited": False,
        "n_samples": shape.n_questions,
        "n_selected_of": shape.n_questions,
        "n_trials": shape.n_answers,
        "started_at": "2026-11-30T08:31:12+00:00",
        "ended_at": "2026-11-30T08:41:12+00:00",
        "elapsed_s": 600.0,
        "spec": stored_spec(spec),
        "files": {},
        "base": str(spec.base.resolve()),
    }


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    store_answers(Path(sys.argv[1]), Path(sys.argv[2]), Shape(int(sys.argv[3]), int(sys.argv[4])))
