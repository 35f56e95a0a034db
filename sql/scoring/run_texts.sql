-- The answers that the trials of one run used, beside the part in which they are graded.
-- One row per stored answer of the run $run_id and part; an answer that was stored twice is there twice.
-- tool_calls are NULL where there are none.
-- Source: the stored tables trials and responses; hashes find candidates, which whoever reads this compares.
with used as (
    select distinct
        hash(trials.response_id) as key,
        (hash(trials.sample_id) % $n_parts)::integer as part
    from trials
    where
        trials.run_id = $run_id
        and trials.response_id is not null
)

select
    used.part,
    responses.response_id,
    responses.text,
    responses.tool_calls
from responses
inner join used on hash(responses.response_id) = used.key
where responses.run_id in (
    select distinct own.response_run_id
    from trials as own
    where own.run_id = $run_id
)
