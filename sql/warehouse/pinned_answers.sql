-- Answers that a run paid for and other runs rest on.
-- One row per (run that rests on it, response_id).
-- Never NULL. A grade whose trial is pending by now (a removal was cut short) still rests on what it graded.
-- Source: trials, and answers that grades name: of the trial, of its opponent, of judges.
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
union
select
    scores.run_id,
    scores.response_id
from scores
semi join responses
    on scores.response_id = responses.response_id
    and responses.run_id = $run_id
semi join trials
    on scores.run_id = trials.run_id
    and scores.model = trials.model
    and scores.prompt = trials.prompt
    and scores.sample_id = trials.sample_id
    and scores.epoch = trials.epoch
    and trials.status = 'pending'
where scores.run_id <> $run_id
order by
    run_id asc,
    response_id asc
