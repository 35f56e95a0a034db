-- Answered trials whose answer is not stored.
-- One row per run and the run that should hold the answers.
-- n counts trials.
-- Source: trials against responses.
select
    trials.run_id,
    trials.response_run_id,
    count(*) as n
from trials
anti join responses
    on trials.response_run_id = responses.run_id
    and trials.response_id = responses.response_id
where trials.status = 'answered'
group by
    trials.run_id,
    trials.response_run_id
order by
    trials.run_id asc,
    trials.response_run_id asc nulls first
