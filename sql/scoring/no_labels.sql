-- An empty list of labels.
-- One row per label.
-- NULL in a key means any; `run` is a run_id, its beginning, or its last six digits.
-- Source: filled from a file or from the samples.
create or replace temp table label (
    row bigint,
    sample_id varchar,
    model varchar,
    prompt varchar,
    epoch integer,
    run varchar,
    rater varchar,
    score double,
    reason varchar,
    fault varchar
)
