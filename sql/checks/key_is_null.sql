-- Rows without their key: a file that was written without field ids reads as nothing but NULL.
-- One row per table and run with such rows.
-- n counts rows; run_id is NULL where it is lost too.
-- Source: counting only.
with keyless as (
    select
        'responses' as stored_table,
        responses.run_id
    from responses
    where responses.request_key is null
    union all
    select
        'calls' as stored_table,
        calls.run_id
    from calls
    where calls.request_key is null
    union all
    select
        'trials' as stored_table,
        trials.run_id
    from trials
    where trials.request_key is null
    union all
    select
        'scores' as stored_table,
        scores.run_id
    from scores
    where scores.scorer_id is null
    union all
    select
        'samples' as stored_table,
        samples.dataset_id as run_id
    from samples
    where samples.sample_id is null
)

select
    keyless.stored_table,
    keyless.run_id,
    count(*) as n
from keyless
group by
    keyless.stored_table,
    keyless.run_id
order by
    keyless.stored_table asc,
    keyless.run_id asc nulls first
