-- Answers that a run paid for and other runs rest on.
-- One row per (run that rests on it, response_id).
-- Never NULL.
-- Source: trials, and answers of judges and opponents that grades name.
with named as (
    select
        scores.run_id,
        unnest(list_append(scores.judge_response_ids, scores.opponent_response_id)) as response_id
    from scores
    where scores.run_id <> $run_id
)

select
    trials.run_id,
    trials.response_id
from trials
where
    trials.response_run_id = $run_id
    and trials.run_id <> $run_id
    and trials.response_id is not null
union
select
    named.run_id,
    named.response_id
from named
semi join responses
    on named.response_id = responses.response_id
    and responses.run_id = $run_id
order by
    run_id asc,
    response_id asc
