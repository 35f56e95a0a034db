-- Runs that paid for the answers that a run rests on, itself among them.
-- One row per run_id.
-- Never NULL.
-- Source: trials, and responses that the run's grades name.
with judged as (
    select answer.response_id
    from answers_of($run_id) as answer
    anti join trials
        on answer.response_id = trials.response_id
        and trials.run_id = $run_id
),

named as (
    select trials.response_run_id as run_id
    from trials
    where
        trials.run_id = $run_id
        and trials.response_run_id is not null
    union
    select responses.run_id
    from responses
    semi join judged
        on responses.response_id = judged.response_id
    union
    select $run_id as run_id
)

select named.run_id
from named
order by named.run_id asc
