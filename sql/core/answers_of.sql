-- The answers that a run rests on: those of its trials, of their opponents and of its judges.
-- One row per response_id; argument: a whole run_id.
-- Never NULL.
-- Source: trials and scores.
create or replace macro answers_of(of_run) as table
select trials.response_id
from trials
where
    trials.run_id = of_run
    and trials.response_id is not null
union
select scores.opponent_response_id
from scores
where
    scores.run_id = of_run
    and scores.opponent_response_id is not null
union
select unnest(scores.judge_response_ids)
from scores
where scores.run_id = of_run;
