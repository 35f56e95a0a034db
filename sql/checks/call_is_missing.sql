-- Answers of a provider whose call is not stored, so that costs are too low.
-- One row per run with such answers.
-- n counts answers; those that were imported have no calls.
-- Source: responses against calls.
select
    responses.run_id,
    count(*) as n
from responses
anti join calls
    on responses.run_id = calls.run_id
    and responses.response_id = calls.response_id
where responses.origin in ('api', 'batch', 'mock')
group by responses.run_id
order by responses.run_id asc
